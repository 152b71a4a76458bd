"""How well a model does on labelled rows: one pass for their scores, and all figures from these."""

from __future__ import annotations

import textwrap
from contextlib import suppress
from dataclasses import asdict, dataclass
from html import escape
from math import isfinite, log
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import decisions, metrics
from ..errors import DataError, DecisionError, MissingLabelsError, listed, remedy
from ..lines import aligned, counted, folded, shown
from ..sources import Source
from ..sources.labelled import labelled
from ..tables.batch import Batch
from ..tables.labels import missing_labels, missing_message, positions
from .choice import SURE
from .intervals import weighted_mean, wilson
from .loop import reduce_scores

if TYPE_CHECKING:
    from .model import Model

Array = NDArray[Any]

_COSTS = "log_loss", "log_loss_interval", "log_loss_of_prior", "dcf", "cllr", "min_cllr", "eer"
MANY = 20  # classes: of more, the worst are shown


@dataclass(frozen=True)
class Evaluation:
    """How well a model does on labelled rows. Prints as a table.

    A figure is None where the rows cannot give it: the log loss needs rows of every class; the log-likelihood ratio
    costs need two classes, and all but `cllr` rows of one weight.

    Parameters
    ----------
    rows : int
        The number of rows with a weight above zero.
    weight : float
        The sum of their weights.
    prior : list of float
        The prior that decisions were made with.
    error_rate : float
        The share of wrong decisions.
    error_rate_interval : (float, float)
        Its 95% interval.
    log_loss : float or None
        The mean of -log P(true class | x), in nats, of rows in the proportions of the prior.
    log_loss_interval : (float, float) or None
        Its 95% interval.
    log_loss_of_prior : float or None
        The log loss of the prior alone.
    dcf : float or None
        The detection cost, where a prior or a cost was given; 1 is what the best decision without looking costs.
    cllr : float or None
        The cost of log-likelihood ratios, in bits.
    min_cllr : float or None
        Its minimum after calibration.
    eer : float or None
        The equal error rate.
    classes : list
        The rows of `confusion`.
    decisions : list
        The columns of `confusion`.
    confusion : list of list of float
        The confusion matrix: the weight of each true class (rows) that was given each decision (columns).
    recall : list of float or None
        The share of each class that was classified correctly.
    precision : list of float or None
        The share of each decision that was right.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> GaussianClassifier("tied").fit(X[::2], y[::2]).evaluate(X[1::2], y[1::2])
    rows        75
    prior       0 0.333, 1 0.333, 2 0.333
    error rate  4.00% of the rows (95% interval 1.37% to 11.11%)
    log loss    0.07794 nats (95% interval 0 to 0.1575), classes weighted by the prior; without data 1.099
    <BLANKLINE>
    true \\ predicted       0      1      2  recall
    0                     25      0      0  100.0%
    1                      0     24      1   96.0%
    2                      0      2     23   92.0%
    precision         100.0%  92.3%  95.8%
    """

    rows: int
    weight: float
    prior: list[float]
    error_rate: float
    error_rate_interval: tuple[float, float]
    log_loss: float | None
    log_loss_interval: tuple[float, float] | None
    log_loss_of_prior: float | None
    dcf: float | None
    cllr: float | None
    min_cllr: float | None
    eer: float | None
    classes: list[Any]
    decisions: list[Any]
    confusion: list[list[float]]
    recall: list[float | None]
    precision: list[float | None]

    def to_dict(self) -> dict[str, Any]:
        """Give all figures in the values that JSON has.

        Returns
        -------
        dict
            Figures that are None are left out; infinite ones are None.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> found = heights.evaluate([[160.0], [171.0], [165.0], [180.0]], ["F", "F", "M", "M"])
        >>> found.to_dict()["confusion"]
        [[1.0, 1.0], [1.0, 1.0]]
        """
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return {name: None if _is_infinite(value) else value for name, value in known.items()}

    @property
    def beats_prior(self) -> bool | None:
        """Whether the log loss is clearly below that of the prior alone; None if these are not known."""
        if self.log_loss is None or self.log_loss_of_prior is None:
            return None
        return self.log_loss < self.log_loss_of_prior and not self._is_level

    @property
    def _is_level(self) -> bool:
        """Whether the log loss of the prior alone lies within the interval of the model's."""
        ends, alone = self.log_loss_interval, self.log_loss_of_prior
        return ends is not None and alone is not None and ends[0] <= alone <= ends[1]

    def _facts(self) -> list[tuple[str, str]]:
        facts = [("rows", f"{self.rows}")]
        if self.weight != self.rows:
            facts.append(("weight", counted(self.weight)))
        prior = [f"{label} {p:.3g}" for label, p in zip(self.classes, self.prior, strict=True)]
        error = _between([f"{end:.2%}" for end in self.error_rate_interval])
        facts += [("prior", shown(prior)), ("error rate", f"{self.error_rate:.2%} of the rows{error}")]
        if self.log_loss is None or self.log_loss_of_prior is None:
            facts.append(("log loss", "not known: some classes have no rows"))
        else:
            alone = f"without data {_number(self.log_loss_of_prior)}"
            worse = ", which is better" if self.log_loss > self.log_loss_of_prior else ""
            worse = ": the model is not clearly better" if self._is_level else worse
            loss = f"{_number(self.log_loss)} nats{_between([*map(_number, self.log_loss_interval or ())])}"
            facts.append(("log loss", f"{loss}, classes weighted by the prior; {alone}{worse}"))
        more = {
            "DCF": (self.dcf, ", classes weighted by the prior; without data 1"),
            "Cllr": (self.cllr, ", classes weighted equally; without data 1"),
            "minimum Cllr": (self.min_cllr, ""),
            "EER": (self.eer, ""),
        }
        return facts + [(title, f"{_number(value)}{how}") for title, (value, how) in more.items() if value is not None]

    def _matrix(self) -> list[tuple[Any, ...]]:
        body = [
            (label, *map(counted, counts), _share(recall))
            for label, counts, recall in zip(self.classes, self.confusion, self.recall, strict=True)
        ]
        return [
            ("true \\ predicted", *self.decisions, "recall"),
            *body,
            ("precision", *map(_share, self.precision), ""),
        ]

    def folded(self, width: int) -> str:
        """Give the tables in lines of a width; of many classes, those with the most errors.

        Parameters
        ----------
        width : int
            The characters of a line.

        Returns
        -------
        str
            The lines.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> found = heights.evaluate([[160.0], [171.0], [165.0], [180.0]], ["F", "F", "M", "M"])
        >>> print(found.folded(60).partition("\\n")[0])
        rows        4
        """
        room = max(len(title) for title, _ in self._facts()) + 2
        facts = [
            textwrap.fill(f"{title:<{room}}{fact}", width, subsequent_indent=" " * room, break_long_words=False)
            for title, fact in self._facts()
        ]
        matrix = aligned(self._matrix())
        if len(self.classes) > MANY or len(matrix.partition("\n")[0]) > width:
            matrix = self._worst(width)
        return "\n".join(facts) + f"\n\n{matrix}"

    def _worst(self, width: int) -> str:
        """A table of the classes with the most errors, and what they are taken for."""
        confusion = np.array(self.confusion)
        right = positions(np.array(self.classes, object), np.array(self.decisions, object))
        wrong = confusion.copy()
        wrong[right >= 0, right[right >= 0]] = 0
        precision = dict(zip(self.decisions, self.precision, strict=True))
        lines = [("class", "rows", "recall", "precision", "most often taken for")]
        for c in np.argsort(-wrong.sum(axis=1), kind="stable")[:MANY]:
            label, most = self.classes[c], wrong[c].argmax()
            taken = f"{counted(wrong[c, most])} {self.decisions[most]}" if wrong[c, most] else ""
            figures = counted(confusion[c].sum()), _share(self.recall[c]), _share(precision.get(label))
            lines.append((label, *figures, taken))
        more = len(self.classes) - MANY
        rest = f"\nand {more} more class{'es' if more > 1 else ''}, with no more errors" if more > 0 else ""
        return f"{folded(lines, width)}{rest}\n{remedy('', '--json prints the whole confusion matrix')}".rstrip()

    def __str__(self) -> str:
        return f"{aligned(self._facts(), right=False)}\n\n{aligned(self._matrix())}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tables = ("".join(_html_row(row) for row in rows) for rows in (self._facts(), self._matrix()))
        return "".join(f"<table>{rows}</table>" for rows in tables)


def evaluated(
    model: Model, X: Any, y: Any, weight: Any, prior: Any, cost: Any, skip_unlabelled: bool = False
) -> Evaluation:
    """All that labelled rows say of a model."""
    scores, labels, weights = scored_rows(model, X, y, weight, skip_unlabelled)
    counted = weights > 0
    if not counted.any():
        raise DataError("all weights are zero: there is nothing to evaluate on")
    return figures(model, scores[counted], labels[counted], weights[counted], prior, cost)


def scored_rows(model: Model, X: Any, y: Any, weight: Any, skip_unlabelled: bool = False) -> tuple[Array, Array, Array]:
    """The scores (n, k), the labels, all of them classes of the model, and the weights of all rows."""
    check_labels(model, y)
    source = model._source(X, y, weight)
    code, scores, weights = scores_of(model, labelled(source) if skip_unlabelled else source, y)
    return scores, model.classes[code], weights


def scores_of(model: Model, source: Source, y: Any) -> tuple[Array, Array, Array]:
    """The indices of the classes (n,), the scores (n, k) and the weights (n,) of the rows of a source, in one pass."""

    def of(batch: Batch, scores: Array) -> list[tuple[Array, Array, Array]]:
        weights = np.ones(len(batch)) if batch.weight is None else batch.weight
        return [(np.asarray(batch.y), scores, weights)]

    parts = reduce_scores(source, model._scorer, of, lambda a, b: [*a, *b], takes_infinity=model.takes_infinity)
    labels, scores, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return class_codes(labels, model.classes, y), scores, weights


def check_labels(model: Model, y: Any) -> None:
    """Raise an error if there are no labels, or if they are a column that the model reads."""
    if y is None:
        raise DataError("the true labels are needed: pass y, or the name of the column that holds them")
    if isinstance(y, str) and y in (model.names or ()):
        raise DataError(f"column {y!r} is one that the model reads: it cannot hold the labels, too")


def class_codes(labels: Array, classes: Array, y: Any) -> Array:
    """Return the index of the class of each label, or raise an error if one is missing or not known."""
    if (missing := missing_labels(labels)).any():
        rows = np.flatnonzero(missing).tolist()
        raise MissingLabelsError(missing_message(len(rows), rows))
    index = positions(labels, classes)
    if (index < 0).any():
        unknown, known = dict.fromkeys(labels[index < 0].tolist()), listed(classes, 10)
        where = f"column {y!r}" if isinstance(y, str) else "y"
        raise DataError(f"{where} holds {listed(unknown)}, but the classes of the model are {known}")
    return index


def figures(model: Model, scores: Array, labels: Array, weight: Array, prior: Any, cost: Any) -> Evaluation:
    classes, used, case = model.classes, model._as_prior(prior), model._application(prior, cost)
    actions = case.actions
    decided = actions[case.decide(case.log_posterior(scores + case.log_prior))]
    case.warn()
    confusion = np.zeros((len(classes), len(actions)))
    np.add.at(confusion, (positions(labels, classes), positions(decided, actions)), weight)
    found: dict[str, Any] = {}
    if confusion.any(axis=1).all():
        found = _costs(classes, scores, labels, weight, used)
        if prior is not None or cost is not None:
            with suppress(DecisionError):  # a prior with which the best decision without data costs nothing
                found["dcf"] = metrics.multiclass_dcf(labels, decided, used, cost, sample_weight=weight)
    error_rate = float(weight[decided != labels].sum() / weight.sum())
    own = positions(classes, actions)
    right = np.where(own >= 0, confusion[np.arange(len(classes)), own], 0.0)
    taken = positions(actions, classes)
    return Evaluation(
        rows=len(weight),
        weight=float(weight.sum()),
        prior=used.tolist(),
        error_rate=error_rate,
        error_rate_interval=wilson(error_rate, weight.sum() ** 2 / (weight**2).sum()),  # rows that weights are worth
        **{name: found.get(name) for name in _COSTS},
        classes=classes.tolist(),
        decisions=actions.tolist(),
        confusion=confusion.tolist(),
        recall=_shares(right, confusion.sum(axis=1)),
        precision=_shares(np.where(taken >= 0, right[taken], 0.0), confusion.sum(axis=0)),
    )


def _costs(classes: Array, scores: Array, labels: Array, weight: Array, prior: Array) -> dict[str, Any]:
    """What scores cost, where there are rows of every class."""

    def log_loss(scores: Array) -> float:
        return log(2) * metrics.multiclass_log_cost(labels, scores, prior, normalize=False, sample_weight=weight)

    code = positions(labels, classes)
    mean, error = weighted_mean(log(2) * metrics.log_cost_of_rows(code, scores, prior), code, weight, prior)
    found: dict[str, Any] = {"log_loss": log_loss(scores), "log_loss_of_prior": log_loss(np.zeros_like(scores))}
    if isfinite(error):
        found["log_loss_interval"] = max(mean - SURE * error, 0.0), mean + SURE * error
    if len(classes) == 2:
        found["cllr"] = metrics.multiclass_log_cost(labels, scores, "uniform", sample_weight=weight)
        if (weight == weight[0]).all():  # the others know no weights
            target, llr = labels == classes[1], decisions.log_likelihood_ratio(scores, 0, 1)
            found |= {"min_cllr": metrics.min_cllr(target, llr), "eer": metrics.eer(target, llr)}
    return found


def _shares(some: Array, all: Array) -> list[float | None]:
    return [float(one / total) if total else None for one, total in zip(some, all, strict=True)]


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and not isfinite(value)


def _number(value: float | None) -> str:
    return "infinite" if value is None or _is_infinite(value) else f"{value:.4g}"


def _between(ends: list[str]) -> str:
    return f" (95% interval {' to '.join(ends)})" if ends else ""


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _html_row(cells: tuple[Any, ...]) -> str:
    return "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"
