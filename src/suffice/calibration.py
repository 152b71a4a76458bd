"""From scores to log-likelihood ratios: affine maps by logistic regression, and the best monotone map.

Scores of S systems are log-likelihoods (n, S, k) up to a term of the row and system; a ratio s of two classes is
(0, s). An infinite ratio, or a log-likelihood of -inf, rules classes out and stays as it is.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataError, SeparableWarning
from .metrics import SortedScores

Array = NDArray[Any]

_FLAT = 1e-8  # a curvature of less than this, of standardised scores and for the rarest class, is none


@dataclass(frozen=True)
class AffineMap:
    """log p(x | class) = sum over systems of scale * score, + offset of the class."""

    scale: Array  # (S,)
    offset: Array  # (k,), of which the first is zero

    def __call__(self, scores: Array) -> Array:
        """Calibrated log-likelihoods (n, k) of scores (n, S, k)."""
        finite, impossible = _finite(scores)
        mapped = np.einsum("nsk,s->nk", finite, self.scale) + self.offset
        return np.where(impossible, -np.inf, mapped)

    @classmethod
    def fit(cls, scores: Array, code: Array, weight: Array, prior: Array) -> AffineMap:
        """The map of least cross-entropy where the classes have the probabilities `prior`.

        Parameters
        ----------
        scores : (n, S, k)
        code : (n,) the true class
        weight : (n,) of the rows; within a class only their proportions count
        prior : (k,) above zero
        """
        finite, impossible = _finite(scores)
        if impossible[np.arange(len(code)), code].any():
            raise DataError(
                "some scores rule out the true class, which no map can mend: they are infinite and wrong. Use a "
                "classifier that is never certain, or cut the scores off, as in np.clip(llr, -20, 20)"
            )
        rows = weight * (prior / np.bincount(code, weight, minlength=len(prior)))[code]
        problem = _Logistic.of(finite, impossible, code, rows, np.log(prior))
        fitted, curvature, loss = problem.solve(0.0)
        entropy = -float(prior @ np.log(prior))
        if loss < _FLAT * entropy or curvature < _FLAT * prior.min():
            warnings.warn(
                "the scores separate the classes: any larger scale would fit as well; the scale is held down by a "
                "penalty worth one row",
                SeparableWarning,
                stacklevel=4,
            )
            fitted, _, _ = problem.solve(1.0 / float(weight.sum()))
        return cls(*problem.raw(fitted))


@dataclass(frozen=True)
class _Logistic:
    """Multinomial logistic regression with a scale for each system and an offset for each class but the first.

    Scores are centred by system and class and brought to unit spread, so that the steps of the optimiser are sane.
    """

    scores: Array  # (n, S, k), standardised
    center: Array  # (S, k)
    spread: Array  # (S,)
    size: Array  # (S,) root mean square of the standardised scores, which a penalty is relative to
    base: Array  # (n, k) the log prior, or -inf where a class is ruled out
    code: Array  # (n,)
    weight: Array  # (n,), summing to one

    @classmethod
    def of(cls, scores: Array, impossible: Array, code: Array, weight: Array, log_prior: Array) -> _Logistic:
        # What a row adds to all classes says nothing, and may be far larger than what does.
        row = np.where(impossible[:, None], np.nan, scores)
        scores = scores - np.nanmean(row, axis=2, keepdims=True)
        # Medians, since a few sure scores should not set the scale.
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
        """The parameters, the least curvature there, and the cross-entropy."""
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
        # One more step of Newton's, since a loss tells half of the digits only; none where it is flat.
        phi = phi - np.linalg.pinv(hessian(phi), 1e-12, True) @ loss(phi)[1]
        least = float(np.linalg.eigvalsh(hessian(phi, 0.0))[0])
        return curved @ phi, least, self._loss(curved @ phi, 0.0)[0]

    def _curved(self) -> Array:
        """The directions in which the loss is curved at all: a system that repeats others, or says nothing, has none of
        its own, and keeps the least scale that will do."""
        _, systems, k = self.scores.shape
        values, vectors = np.linalg.eigh(self._hessian(np.zeros(systems + k - 1), 0.0))
        curved = values > _FLAT * values[-1]
        return vectors[:, curved] if curved.any() else vectors

    def raw(self, theta: Array) -> tuple[Array, Array]:
        """Scale and offset for scores as they came."""
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
    """A step function of one score: the best monotone calibration, by pooling adjacent violators."""

    edges: Array  # (m - 1,) ascending; a score on an edge belongs to the lower step
    llr: Array  # (m,) ascending

    def __call__(self, scores: Array) -> Array:
        return np.asarray(self.llr[np.searchsorted(self.edges, scores, side="left")])

    @classmethod
    def fit(cls, scores: Array, target: Array) -> MonotoneMap:
        """From scores (n,) of targets and others, however many there are of each."""
        ordered = SortedScores.of(target, scores)
        hull, everything = ordered.hull(), np.sort(scores)
        last = np.cumsum(hull.targets + hull.others).astype(np.intp)[:-1]  # the first row of the next step
        return cls(_between(everything[last - 1], everything[last]), hull.llr)


def _median(values: Array, weight: Array) -> float:
    """The weighted median of values (n,), of which those without weight do not count."""
    order = np.argsort(values)
    reached = np.cumsum(weight[order])
    return float(values[order[np.searchsorted(reached, reached[-1] / 2 * (1 - 1e-9))]])


def _between(low: Array, high: Array) -> Array:
    """A number for each pair that is not below low, and below high: the middle where there is one."""
    with np.errstate(invalid="ignore"):
        middle = np.where(np.isinf(low) & np.isinf(high), 0.0, low / 2 + high / 2)
    middle = np.where(np.isposinf(middle), np.nextafter(np.inf, 0.0), middle)
    return np.where((low <= middle) & (middle < high), middle, low)


def _finite(scores: Array) -> tuple[Array, Array]:
    """Scores (n, S, k) with zeros for those of classes that are ruled out, and which are, (n, k)."""
    if np.isnan(scores).any():
        raise DataError("scores contain NaN")
    impossible = np.asarray(np.isneginf(scores).any(axis=1))
    if np.isposinf(scores).any():
        raise DataError("a log-likelihood is +inf; only -inf has a meaning")
    if impossible.all(axis=1).any():
        raise DataError("some rows rule out every class")
    return (np.where(impossible[:, None], 0.0, scores) if impossible.any() else scores), impossible
