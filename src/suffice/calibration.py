"""Calibrate scores: map them to log-likelihood ratios, by logistic regression or by the best monotone map.

Scores of S systems have shape (n, S, k): log-likelihoods of the k classes, up to a constant of each row and system. For
two classes, a score s stands for (0, s). Infinite scores rule classes out; calibration leaves them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .errors import DataError, SeparableWarning, warn
from .metrics import SortedScores

Array = NDArray[Any]

_STEPS = 100  # of Newton's method; it takes about ten
_FLAT = 1e-8  # less curvature than this, of standardised scores and for the rarest class, counts as none


@dataclass(frozen=True)
class AffineMap:
    """The map log p(x | class) = sum over systems of scale * score + offset of the class."""

    scale: Array  # (S,)
    offset: Array  # (k,); the first is zero

    def fits(self, n_classes: int, n_columns: int) -> bool:
        """Return whether the map is one of so many classes and columns of scores."""
        columns = len(self.scale) * (1 if n_classes == 2 else n_classes)
        return self.offset.shape == (n_classes,) and columns == n_columns and bool(np.isfinite(self.scale).all())

    def __call__(self, scores: Array) -> Array:
        """Return calibrated log-likelihoods (n, k) of scores (n, S, k)."""
        finite, impossible = _finite(scores)
        mapped = np.einsum("nsk,s->nk", finite, self.scale) + self.offset
        return np.where(impossible, -np.inf, mapped)

    @classmethod
    def fit(cls, scores: Array, code: Array, weight: Array, prior: Array) -> AffineMap:
        """Fit the map with the least cross-entropy when the classes have the probabilities `prior`.

        Parameters
        ----------
        scores : array of shape (n, S, k)
            The scores of each system.
        code : array of shape (n,)
            The index of the true class.
        weight : array of shape (n,)
            Row weights. Only their proportions within a class matter.
        prior : array of shape (k,)
            Class probabilities, all above 0.

        Returns
        -------
        AffineMap
            The fitted map.
        """
        finite, impossible = _finite(scores)
        if impossible[np.arange(len(code)), code].any():
            raise DataError(
                "some infinite scores rule out the true class, and calibration cannot correct that. Use a classifier "
                "that is never certain, or clip the scores, as in np.clip(llr, -20, 20)"
            )
        rows = weight * (prior / np.bincount(code, weight, minlength=len(prior)))[code]
        problem = _Logistic.of(finite, impossible, code, rows, np.log(prior))
        fitted, curvature, loss = problem.solve(0.0)
        entropy = -float(prior @ np.log(prior))
        if loss < _FLAT * entropy or curvature < _FLAT * prior.min():
            warn(
                "the scores separate the classes perfectly, so that their scale cannot be estimated; a penalty worth "
                "one row limits it",
                SeparableWarning,
            )
            fitted, _, _ = problem.solve(1.0 / float(weight.sum()))
        return cls(*problem.raw(fitted))


Scaling = tuple[float, Array]  # a factor for all scores, and an offset for each class


def held_towards_one(
    scores: Array, code: Array, weight: Array, log_prior: Array, part: Array | None = None
) -> tuple[Scaling, list[Scaling]]:
    """Fit a scale and offsets (k,) to the scores of one system, held towards 1 and 0 by a penalty worth a row or so.

    The penalty matters for few rows, for classes without rows and for scores that separate the classes: the map is
    always defined. Where it would turn the scores around, the scale is 0.

    Parameters
    ----------
    scores : array of shape (n, k)
        Log-likelihoods, up to a constant of each row. -inf rules a class out.
    code : array of shape (n,)
        The index of the true class.
    weight : array of shape (n,)
        Row weights.
    log_prior : array of shape (k,) or (n, k)
        The log probabilities of the classes before a row is seen.
    part : array of int of shape (n,), default=None
        The part that each row belongs to, from 0.

    Returns
    -------
    scaling : tuple of float and array of shape (k,)
        The scale, not negative, and the offsets, with mean 0.
    without : list of such tuples
        The scaling of the other rows, for each part: one step of Newton's method from that of all rows, whose gradient
        and Hessian are those of all rows less those of the part.
    """
    rows = (_ScaledTwo if scores.shape[1] == 2 else _Scaled).of(scores, code, weight, log_prior)
    theta = rows.start()
    center, penalty = np.eye(1, len(theta))[0], np.diag(rows.penalty(len(theta)))
    loss, p = rows.posterior(theta)
    for _ in range(_STEPS):
        gradient, hessian = rows.derivatives(p)
        gradient, hessian = gradient + penalty @ (theta - center), hessian + penalty
        step = np.linalg.solve(hessian, gradient)
        decrease, size = float(gradient @ step), 1.0
        while True:
            after, p_after = rows.posterior(theta - size * step)
            if after <= loss - 1e-4 * size * decrease or size < 1e-8:
                break
            size /= 2
        theta, change, loss, p = theta - size * step, loss - after, after, p_after
        if change <= 1e-5 * max(loss, 1.0):
            break
    without = []
    if part is not None:
        every = [rows.derivatives(p, np.flatnonzero(part == f)) for f in range(int(part.max()) + 1)]
        gradients, hessians = (np.stack(own) for own in zip(*every, strict=True))
        gradients = gradients.sum(axis=0) + penalty @ (theta - center) - gradients
        hessians = hessians.sum(axis=0) + penalty - hessians
        without = list(theta - np.linalg.solve(hessians, gradients[:, :, None])[:, :, 0])
    return rows.scaling(theta), list(map(rows.scaling, without))


@dataclass(frozen=True)
class _Scaled:
    """Scores times a scale plus offsets, with theta = (scale, offsets): their loss and its derivatives."""

    evidence: Array  # (k, n) scores, at most 0; class after class, since sums over few classes are faster so
    base: Array  # (k, n) the log prior, or -inf where a class is ruled out
    code: Array  # (n,)
    weight: Array  # (n,)

    @classmethod
    def of(cls, scores: Array, code: Array, weight: Array, log_prior: Array) -> Self:
        evidence, base = (np.array(np.broadcast_to(own, scores.shape).T, order="C") for own in (scores, log_prior))
        impossible = np.isneginf(evidence + base)
        if impossible.any():
            weight = np.where(impossible[code, np.arange(len(code))], 0.0, weight)  # no map helps there
            evidence[impossible], base[impossible] = 0.0, -np.inf
            base[:, weight == 0] = 0.0
        evidence -= evidence.max(axis=0)
        return cls(evidence, base, code, weight)

    def start(self) -> Array:
        theta = np.zeros(len(self.evidence) + 1)
        theta[0] = min(1.0, 10.0 / max(float(np.median(-self.evidence.min(axis=0))), 1e-300))
        return theta

    @staticmethod
    def penalty(m: int) -> Array:
        """What the square of each of m numbers costs, times two."""
        return np.ones(m)

    @staticmethod
    def scaling(theta: Array) -> Scaling:
        """The scale, not negative, and the offsets of the classes, with mean 0."""
        if theta[0] <= 0:
            return 0.0, np.zeros(len(theta) - 1)
        return float(theta[0]), theta[1:] - theta[1:].mean()

    def posterior(self, theta: Array) -> tuple[float, Array]:
        """The loss with its penalty, and the posteriors (k, n)."""
        logit = theta[0] * self.evidence
        logit += self.base
        logit += theta[1:, None]
        logit -= logit.max(axis=0)
        own = logit[self.code, np.arange(len(self.code))]
        share = np.exp(logit, out=logit)
        total = share.sum(axis=0)
        loss = self.weight @ (np.log(total) - own) + 0.5 * ((theta[0] - 1) ** 2 + theta[1:] @ theta[1:])
        share /= total
        return float(loss), share

    def derivatives(self, p: Array, rows: Array | None = None) -> tuple[Array, Array]:
        """The gradient and the Hessian of the loss of some rows, without the penalty, from the posteriors."""
        evidence, weight, code = self.evidence, self.weight, self.code
        if rows is not None:
            p, evidence, weight, code = p[:, rows], evidence[:, rows], weight[rows], code[rows]
        k = len(p)
        error = p * weight
        away = evidence - np.einsum("kn,kn->n", p, evidence)
        away *= error
        hessian = np.empty((k + 1, k + 1))
        hessian[0, 0] = np.vdot(away, evidence)  # away from the mean, which errors sum to
        hessian[0, 1:] = hessian[1:, 0] = away.sum(axis=1)
        hessian[1:, 1:] = np.diag(error.sum(axis=1)) - error @ p.T
        error[code, np.arange(len(code))] -= weight
        return np.append(np.vdot(error, evidence), error.sum(axis=1)), hessian


class _ScaledTwo(_Scaled):
    """The same of two classes, whose log odds (n,) are enough: theta = (scale, offset of the second less that of the
    first)."""

    @classmethod
    def of(cls, scores: Array, code: Array, weight: Array, log_prior: Array) -> Self:
        both = _Scaled.of(scores, code, weight, log_prior)
        evidence, base = (own[1] - own[0] for own in (both.evidence, both.base))
        return cls(evidence, base, np.where(code == 1, 1.0, -1.0), both.weight)

    def start(self) -> Array:
        return np.array([min(1.0, 10.0 / max(float(np.median(np.abs(self.evidence))), 1e-300)), 0.0])

    @staticmethod
    def penalty(m: int) -> Array:  # noqa: ARG004
        return np.array([1.0, 0.5])

    @staticmethod
    def scaling(theta: Array) -> Scaling:
        return _Scaled.scaling(np.array([theta[0], -0.5 * theta[1], 0.5 * theta[1]]))

    def posterior(self, theta: Array) -> tuple[float, Array]:
        """The loss with its penalty, and the posteriors (n,) of the other class than the true one."""
        against = -self.code * (self.base + theta[0] * self.evidence + theta[1])
        small = np.exp(-np.abs(against))
        loss = self.weight @ (np.maximum(against, 0.0) + np.log1p(small))
        loss += 0.5 * (theta[0] - 1) ** 2 + 0.25 * theta[1] ** 2
        return float(loss), np.where(against > 0, 1.0, small) / (1 + small)

    def derivatives(self, p: Array, rows: Array | None = None) -> tuple[Array, Array]:
        evidence, weight, code = self.evidence, self.weight, self.code
        if rows is not None:
            p, evidence, weight, code = p[rows], evidence[rows], weight[rows], code[rows]
        p_weight = p * weight
        error, curved = -code * p_weight, p_weight * (1 - p)
        across = float(curved @ evidence)
        hessian = np.array([[(curved * evidence) @ evidence, across], [across, curved.sum()]])
        return np.array([error @ evidence, error.sum()]), hessian


@dataclass(frozen=True)
class _Logistic:
    """Multinomial logistic regression with a scale for each system and an offset for each class but the first.

    Scores are centred by system and class and scaled to unit spread, which keeps the optimiser stable.
    """

    scores: Array  # (n, S, k), standardised
    center: Array  # (S, k)
    spread: Array  # (S,)
    size: Array  # (S,) root mean square of the standardised scores; the penalty is relative to it
    base: Array  # (n, k) the log prior, or -inf where a class is ruled out
    code: Array  # (n,)
    weight: Array  # (n,), summing to one

    @classmethod
    def of(cls, scores: Array, impossible: Array, code: Array, weight: Array, log_prior: Array) -> _Logistic:
        # A constant added to all classes of a row carries no information, and can be far larger than the differences.
        row = np.where(impossible[:, None], np.nan, scores)
        scores = scores - np.nanmean(row, axis=2, keepdims=True)
        # Medians, so that a few extreme scores do not set the scale.
        possible = ~impossible * weight[:, None]
        center = np.array(
            [[_median(own, w) for own, w in zip(s.T, possible.T, strict=True)] for s in np.swapaxes(scores, 0, 1)]
        )
        scores = np.where(impossible[:, None], 0.0, scores - center)
        size = np.abs(scores).max(axis=2)
        spread = np.array([_median(own, weight) for own in size.T])
        spread = np.where(spread > 0, spread, size[weight > 0].max(axis=0))
        spread = np.where(spread > 0, spread, 1.0)
        scores = scores / spread[:, None]
        size = np.sqrt(np.einsum("n,nsk->s", weight, scores**2))
        return cls(scores, center, spread, size, np.where(impossible, -np.inf, log_prior), code, weight)

    def solve(self, penalty: float) -> tuple[Array, float, float]:
        """Return the parameters, the least curvature at them, and the cross-entropy."""
        from scipy.optimize import minimize

        curved = self._curved() if not penalty else np.eye(len(self.spread) + self.scores.shape[2] - 1)

        def loss(phi: Array) -> tuple[float, Array]:
            value, gradient = self._loss(curved @ phi, penalty)
            return value, curved.T @ gradient

        def hessian(phi: Array, penalty: float = penalty) -> Array:
            return np.asarray(curved.T @ self._hessian(curved @ phi, penalty) @ curved)

        start, rarest = np.zeros(curved.shape[1]), float(np.bincount(self.code, self.weight).min())
        phi = minimize(
            loss,
            start,
            jac=True,
            hess=hessian,
            method="trust-exact",
            options={"gtol": 0.1 * _FLAT * rarest, "maxiter": 200},
        ).x
        # One more Newton step, where the loss is curved: the loss itself determines only half of the digits.
        phi = phi - np.linalg.pinv(hessian(phi), 1e-12, True) @ loss(phi)[1]
        least = float(np.linalg.eigvalsh(hessian(phi, 0.0))[0])
        return curved @ phi, least, self._loss(curved @ phi, 0.0)[0]

    def _curved(self) -> Array:
        """Return the directions in which the loss is curved.

        A system that repeats others or carries no information adds none, and gets the smallest scale that fits.
        """
        _, systems, k = self.scores.shape
        values, vectors = np.linalg.eigh(self._hessian(np.zeros(systems + k - 1), 0.0))
        curved = values > _FLAT * values[-1]
        return vectors[:, curved] if curved.any() else vectors

    def raw(self, theta: Array) -> tuple[Array, Array]:
        """Return scale and offset for the original scores."""
        systems = self.scores.shape[1]
        scale = theta[:systems] / self.spread
        offset = np.concatenate([[0.0], theta[systems:]]) - scale @ self.center
        return scale, offset - offset[0]

    def _log_posterior(self, theta: Array) -> Array:
        systems = self.scores.shape[1]
        logit = np.einsum("nsk,s->nk", self.scores, theta[:systems]) + self.base
        logit[:, 1:] += theta[systems:]
        logit -= logit.max(axis=1, keepdims=True)
        return np.asarray(logit - np.log(np.exp(logit).sum(axis=1, keepdims=True)))

    def _loss(self, theta: Array, penalty: float) -> tuple[float, Array]:
        systems, rows = self.scores.shape[1], np.arange(len(self.code))
        log_posterior = self._log_posterior(theta)
        loss = -float(self.weight @ log_posterior[rows, self.code])
        error = np.exp(log_posterior)
        error[rows, self.code] -= 1.0
        error *= self.weight[:, None]
        gradient = np.concatenate([np.einsum("nk,nsk->s", error, self.scores), error[:, 1:].sum(axis=0)])
        held = penalty * self.size**2 * theta[:systems]
        gradient[:systems] += held
        return loss + 0.5 * float(held @ theta[:systems]), gradient

    def _hessian(self, theta: Array, penalty: float) -> Array:
        p = np.exp(self._log_posterior(theta))
        weighted = p * self.weight[:, None]
        mean = np.einsum("nk,nsk->ns", p, self.scores)
        away = self.scores - mean[:, :, None]
        scales = np.einsum("nk,nsk,ntk->st", weighted, away, away, optimize=True) + penalty * np.diag(self.size**2)
        cross = np.einsum("nk,nsk->sk", weighted, away)[:, 1:]
        offsets = (np.diag(weighted.sum(axis=0)) - weighted.T @ p)[1:, 1:]
        return np.block([[scales, cross], [cross.T, offsets]])


@dataclass(frozen=True)
class MonotoneMap:
    """A step function of one score: the best monotone calibration (pool adjacent violators)."""

    edges: Array  # (m - 1,) ascending; a score on an edge belongs to the lower step
    llr: Array  # (m,) ascending

    def fits(self, n_classes: int, n_columns: int) -> bool:
        """Return whether the map is one of so many classes and columns of scores."""
        ascending = bool((np.diff(self.edges) >= 0).all() and (np.diff(self.llr) >= 0).all())
        return (n_classes, n_columns) == (2, 1) and len(self.llr) == len(self.edges) + 1 and ascending

    def __call__(self, scores: Array) -> Array:
        return np.asarray(self.llr[np.searchsorted(self.edges, scores, side="left")])

    @classmethod
    def fit(cls, scores: Array, target: Array) -> MonotoneMap:
        """Fit scores (n,) of targets and non-targets; the share of targets has no influence."""
        ordered = SortedScores.of(target, scores)
        hull, everything = ordered.hull(), np.sort(scores)
        last = np.cumsum(hull.targets + hull.others).astype(np.intp)[:-1]  # the first row of the next step
        return cls(_between(everything[last - 1], everything[last]), hull.llr)


def _median(values: Array, weight: Array) -> float:
    """Return the weighted median of values (n,); values of weight 0 are ignored."""
    order = np.argsort(values)
    reached = np.cumsum(weight[order])
    return float(values[order[np.searchsorted(reached, reached[-1] / 2 * (1 - 1e-9))]])


def _between(low: Array, high: Array) -> Array:
    """Return for each pair a number x with low <= x < high: the middle, if there is one."""
    with np.errstate(invalid="ignore"):
        middle = np.where(np.isinf(low) & np.isinf(high), 0.0, low / 2 + high / 2)
    middle = np.where(np.isposinf(middle), np.nextafter(np.inf, 0.0), middle)
    return np.where((low <= middle) & (middle < high), middle, low)


def _finite(scores: Array) -> tuple[Array, Array]:
    """Return scores (n, S, k) with 0 for classes that are ruled out, and a Boolean mask of these, (n, k)."""
    if np.isnan(scores).any():
        raise DataError("scores contain NaN")
    impossible = np.asarray(np.isneginf(scores).any(axis=1))
    if np.isposinf(scores).any():
        raise DataError("a log-likelihood cannot be +inf")
    if impossible.all(axis=1).any():
        raise DataError("for some rows, every class has log-likelihood -inf")
    return (np.where(impossible[:, None], 0.0, scores) if impossible.any() else scores), impossible
