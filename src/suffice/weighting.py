"""Weights of columns: how much of its evidence each column may keep, where columns repeat each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_APART = 10.0  # the precision of the weights about their common scale, which itself has a precision of 1 about 1
_STEPS = 50  # of Newton's method; it takes about ten
_ENOUGH = 1e-5  # relative decrease of the loss with which steps end


@dataclass(frozen=True)
class Weighting:
    """The scores sum over columns of weight * log p(cell | class), plus an offset for each class."""

    weights: Array  # (d,) not negative
    offset: Array  # (k,) with mean 0

    def __call__(self, shares: Array) -> Array:
        """Return the scores (n, k) of shares (n, k, d)."""
        return np.asarray(shares @ self.weights + self.offset)


@dataclass(frozen=True)
class WeightedShares:
    """Shares of columns in the log-likelihoods of held-out rows, to find weights for.

    The weights have the least log loss with a penalty: that of a prior under which they are Gaussian about a common
    scale, and that scale about 1. It matters for few rows. No weight is negative.

    Parameters
    ----------
    shares : array of shape (n, k, d)
        log p(cell | class), finite, up to a constant of each cell.
    code : array of shape (n,)
        The index of the true class.
    weight : array of shape (n,)
        Row weights.
    log_prior : array of shape (n, k)
        The log probabilities of the classes before a row is seen; -inf rules a class out.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> code = rng.integers(0, 2, 4000)
    >>> llr = rng.normal(np.where(code, 1.0, -1.0), np.sqrt(2))
    >>> llrs = np.stack([llr, llr, rng.normal(size=4000)], axis=1)  # two copies, and a column that says nothing
    >>> rows = WeightedShares(np.stack([0 * llrs, llrs], axis=1), code, np.ones(4000), np.zeros((4000, 2)))
    >>> rows.fit().weights.round(1)
    array([0.5, 0.5, 0. ])
    """

    shares: Array
    code: Array
    weight: Array
    log_prior: Array

    def fit(self, start: Weighting | None = None) -> Weighting:
        """Return the best weights and offsets, by Newton's method on those weights that are not held at zero.

        Parameters
        ----------
        start : Weighting, optional
            Where to begin, such as at the weights of similar rows.

        Returns
        -------
        Weighting
            The weights and the offsets.
        """
        _, k, d = self.shares.shape
        bounded = np.arange(d + k) < d
        at = Weighting(np.full(d, self._usual_scale()), np.zeros(k)) if start is None else start
        theta = np.append(at.weights, at.offset)
        loss, p = self._loss(theta)
        for _ in range(_STEPS):
            gradient, hessian = self._derivatives(theta, p)
            free = ~(bounded & (theta <= 0) & (gradient > 0))
            step = np.zeros(d + k)
            step[free] = np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
            size = 1.0
            while True:
                moved = theta - size * step
                moved[:d] = np.maximum(moved[:d], 0.0)
                after, p_after = self._loss(moved)
                if after <= loss - 1e-4 * float(gradient @ (theta - moved)) or size < 1e-8:
                    break
                size /= 2
            theta, change, loss, p = moved, loss - after, after, p_after
            if change <= _ENOUGH * max(loss, 1.0):
                break
        return Weighting(theta[:d], theta[d:] - theta[d:].mean())

    def _usual_scale(self) -> float:
        """A scale with which the sums of shares are not extreme."""
        size = np.ptp(self.shares.sum(axis=2), axis=1)
        return min(1.0, 10.0 / max(float(np.median(size)), 1e-300)) if len(size) else 1.0

    def _penalised(self, apart: Array) -> Array:
        """The precision of the weights times how far they are from 1, (d,): that of a variance of 1 that all share,
        and of 1 / _APART of each."""
        return np.asarray(_APART * (apart - self._common * apart.sum()))

    @property
    def _common(self) -> float:
        return _APART / (1 + int(self.shares.shape[2]) * _APART)

    @cached_property
    def _of_second(self) -> Array:
        """What the second of two classes has more than the first, (n, d): all that matters of their shares."""
        return np.asarray(self.shares[:, 1] - self.shares[:, 0])

    def _scores(self, theta: Array) -> Array:
        """The scores (n, k) up to a constant of each row."""
        _, k, d = self.shares.shape
        if k == 2:
            return np.outer(self._of_second @ theta[:d], [0.0, 1.0]) + theta[d:]
        return Weighting(theta[:d], theta[d:])(self.shares)

    def _loss(self, theta: Array) -> tuple[float, Array]:
        """Return the loss with its penalty, and the posteriors (n, k)."""
        d = self.shares.shape[2]
        logit = np.add(self._scores(theta), self.log_prior, order="F")  # for quick sums
        logit -= logit.max(axis=1, keepdims=True)
        share = np.exp(logit)
        total = share.sum(axis=1)
        apart, offset = theta[:d] - 1, theta[d:]
        penalty = 0.5 * float(apart @ self._penalised(apart) + offset @ offset)
        own = logit[np.arange(len(self.code)), self.code]
        return float(self.weight @ (np.log(total) - own)) + penalty, share / total[:, None]

    def _derivatives(self, theta: Array, p: Array) -> tuple[Array, Array]:
        """Return the gradient and the Hessian of the loss with its penalty, from the posteriors."""
        n, k, d = self.shares.shape
        error = p * self.weight[:, None]
        hessian = np.empty((d + k, d + k))
        if k == 2:
            root = np.sqrt(error[:, 0] * p[:, 1])
            away = self._of_second * root[:, None]
            hessian[d:, :d] = np.outer([-1, 1], root @ away)
        else:
            root = np.sqrt(error)[:, :, None]
            away = (self.shares - p[:, None, :] @ self.shares) * root
            hessian[d:, :d] = np.einsum("nkd,nk->kd", away, root[:, :, 0])
            away = away.reshape(n * k, d)
        hessian[:d, :d] = away.T @ away - _APART * self._common
        hessian[np.arange(d), np.arange(d)] += _APART
        hessian[:d, d:] = hessian[d:, :d].T
        hessian[d:, d:] = np.diag(error.sum(axis=0)) - error.T @ p + np.eye(k)
        error[np.arange(n), self.code] -= self.weight
        of_weights = error[:, 1] @ self._of_second if k == 2 else self.shares.reshape(n * k, d).T @ error.ravel()
        of_weights += self._penalised(theta[:d] - 1)
        return np.append(of_weights, error.sum(axis=0) + theta[d:]), hessian
