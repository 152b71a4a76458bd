"""The calibration of a model: what its scores become before they count as log-likelihood ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..densities.base import Density
from ..densities.parameters import check_weights
from ..densities.scorer import Scorer, Wanted
from ..errors import CalibrationWarning, DataError, remedy, warn
from ..stats.base import read_only
from ..tables.features import Feature
from ..tables.labels import positions
from ..tables.table import Table

Array = NDArray[Any]

SHARE = "(calibration)"  # its name among the shares of columns


@dataclass(frozen=True, eq=False)
class Calibration:
    """An affine map of scores, fitted to scores of held-out rows: scale * log p(x | class) + offset of the class.

    A naive Bayes model counts correlated evidence twice. A scale below 1 takes that back. With weights of columns, some
    columns give back more than others: the sum over columns of weight * log p(cell | class) is what is scaled.

    Parameters
    ----------
    scale : float
        One factor for all classes; 0 leaves the class frequencies alone.
    offset : array of shape (k,)
        What is added to the score of each class. Only differences matter.
    rows : int
        The number of held-out rows that it was fitted to.
    is_current : bool, default=True
        False if the model has learnt or forgotten rows since.
    weights : array of shape (d,), optional
        One factor for each column, not negative; None counts all columns alike.
    """

    scale: float
    offset: Array
    rows: int
    is_current: bool = True
    weights: Array | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.scale) and np.isfinite(self.offset).all() and self.offset.ndim == 1):
            raise DataError(f"a calibration needs finite numbers, not scale={self.scale}, offset={self.offset}")
        if self.weights is not None:
            check_weights(self.weights, self.weights.size)
        for name in ("offset", "weights"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __str__(self) -> str:
        since = "" if self.is_current else "; the model has learnt or forgotten rows since"
        weighted = ""
        if self.weights is not None and self.weights.size:
            weighted = f", columns weighted by {self.weights.min():.3g} to {self.weights.max():.3g}"
        return f"scale {self.scale:.3g}{weighted}, fitted to {self.rows} held-out rows{since}"

    def __call__(self, scores: Array) -> Array:
        """Calibrate log-likelihoods (n, k), in place; one of -inf stays."""
        if self.scale == 0:
            scores[np.isfinite(scores)] = 0.0  # or else 0 times -inf
        else:
            scores *= self.scale
        scores += self.offset
        return scores

    def evidence(self, scorer: Scorer) -> Scorer:
        """Return what gives the scores that this map takes: the density, or the density with weights of columns."""
        if self.weights is None:
            return scorer
        if not isinstance(scorer, Density):
            raise DataError(f"its calibration has weights of columns, which {scorer!r} does not take")
        return scorer.weighted(self.weights)

    def of_shares(self, shares: Array) -> Array:
        """Return shares (n, d) of columns in a log-likelihood ratio after weights and scale, without the offsets."""
        factors = self.factors(shares.shape[1])
        with np.errstate(invalid="ignore"):
            return np.where(factors == 0, 0.0, shares * factors)

    def factors(self, d: int) -> Array:
        """Return what the shares of d columns are multiplied with."""
        return np.full(d, self.scale) if self.weights is None else self.scale * self.weights

    def share(self, i: int, j: int) -> float:
        """Return what the offsets add to the log-likelihood ratio of class j over class i."""
        return float(self.offset[j] - self.offset[i])

    def of_classes(self, indices: Sequence[int]) -> Calibration:
        """Return the same for some of the classes."""
        return replace(self, offset=self.offset[list(indices)])

    def after_changes(self, known: Array, classes: Array) -> Calibration:
        """Return the calibration of a model that has learnt or forgotten rows, with a warning.

        Parameters
        ----------
        known, classes : array of shape (k,)
            The classes of the model before and now. A new class gets the mean offset.

        Returns
        -------
        Calibration
            No longer current.
        """
        warn(
            "the calibration of this model was fitted to other rows, and is kept; "
            + remedy(
                "choose the model again with suffice.fit for a new one, or delete its calibration_ to use the scores "
                "as they are",
                "fit the model again with suffice fit for a new one",
            ),
            CalibrationWarning,
        )
        return replace(self.aligned(known, classes), is_current=False)

    def aligned(self, known: Array, classes: Array) -> Calibration:
        """Return the calibration of a model with other classes; a new class gets the mean offset."""
        index = positions(classes, known)
        return replace(self, offset=np.where(index < 0, self.offset.mean(), self.offset[np.maximum(index, 0)]))

    def to_header(self) -> dict[str, Any]:
        """Return the calibration as values for JSON."""
        own = {"scale": self.scale, "offset": self.offset.tolist(), "rows": self.rows}
        weighted = {} if self.weights is None else {"weights": self.weights.tolist()}
        return own | {"is_current": self.is_current} | weighted

    @classmethod
    def from_header(cls, header: Mapping[str, Any], n_classes: int, n_features: int | None = None) -> Calibration:
        """Return the calibration that `to_header` described, for so many classes and columns."""
        offset = np.array(header["offset"], np.float64)
        if offset.shape != (n_classes,):
            raise ValueError(f"its calibration is of {len(offset)} classes, not of {n_classes}")
        weights = None if header.get("weights") is None else np.array(header["weights"], np.float64)
        if weights is not None and n_features is not None and weights.shape != (n_features,):
            raise ValueError(f"its calibration has weights of {weights.size} columns, not of {n_features}")
        return cls(float(header["scale"]), offset, int(header["rows"]), bool(header["is_current"]), weights)


@dataclass(frozen=True, eq=False)
class WrappedScorer(Scorer):
    """A scorer that reads rows as another one does."""

    scorer: Scorer

    @property
    def seen(self) -> Array:  # type: ignore[override]
        return self.scorer.seen

    @property
    def reads_sparse(self) -> bool:  # type: ignore[override]
        return self.scorer.reads_sparse

    @property
    def has_zeros(self) -> bool:
        return self.scorer.has_zeros

    @property
    def n_classes(self) -> int:
        return self.scorer.n_classes

    @property
    def n_features(self) -> int:
        return self.scorer.n_features

    @property
    def n_read(self) -> int:
        return self.scorer.n_read

    @property
    def features(self) -> tuple[Feature, ...]:  # type: ignore[override]
        """Columns that are derived from those of the table."""
        return self.scorer.features

    @property
    def columns_read(self) -> Sequence[int]:
        return self.scorer.columns_read

    def categories_of_columns(self) -> dict[int, Array]:
        return self.scorer.categories_of_columns()

    def columns_of_booleans(self) -> frozenset[int]:
        return self.scorer.columns_of_booleans()

    def columns_of_text(self) -> frozenset[int]:
        return self.scorer.columns_of_text()

    def read(self, table: Table) -> Any:
        return self.scorer.read(table)

    def usual_values(self) -> Array:
        return self.scorer.usual_values()

    def parameters(self) -> dict[str, Any]:
        return self.scorer.parameters()


@dataclass(frozen=True, eq=False)
class CalibratedScorer(WrappedScorer):
    """The calibrated scores of a density or a logistic model: log-likelihoods up to a term that all classes share."""

    calibration: Calibration
    has_likelihoods = False

    def of_classes(self, indices: Sequence[int]) -> Self:
        return type(self)(self.scorer.of_classes(indices), self.calibration.of_classes(indices))

    def _score(self, X: Any, offset: Array | float, wanted: Wanted, relative: bool) -> bool:  # noqa: ARG002
        some = next(out for out in wanted if out is not None)
        scores = wanted.all if wanted.all is not None else np.empty((len(some), self.n_classes))
        finite = self.scorer.score(X, all=scores, relative=True)
        self.calibration(scores)
        scores += offset
        if wanted.best is not None:
            wanted.best[:] = scores.argmax(axis=1)
        if wanted.evidence is not None:
            top = scores.max(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                wanted.evidence[:] = np.where(
                    np.isneginf(top), top, top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
                )
        return finite


@dataclass(frozen=True, eq=False)
class BothScorer(WrappedScorer):
    """The scores of two scorers that read rows alike, side by side."""

    other: Scorer

    @property
    def n_classes(self) -> int:
        return self.scorer.n_classes + self.other.n_classes

    def of_classes(self, indices: Sequence[int]) -> Self:
        return type(self)(self.scorer.of_classes(indices), self.other.of_classes(indices))

    def _score(self, X: Any, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
        k, finite = self.scorer.n_classes, True
        assert wanted.all is not None
        for scorer, part in ((self.scorer, slice(k)), (self.other, slice(k, None))):
            scores = np.empty((len(wanted.all), scorer.n_classes))
            finite &= scorer.score(X, offset, all=scores, relative=relative)
            wanted.all[:, part] = scores
        return finite
