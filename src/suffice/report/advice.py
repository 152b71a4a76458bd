"""What to do next, from what the rows show."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..scoring.evaluation import Evaluation
from .columns import ColumnFacts
from .rows import ReportRows
from .strange import LEVEL, Outliers

_SHOWN = 5  # names in a sentence
_FEW = 30  # rows of a class, below which its figures hardly say anything


def advice(rows: ReportRows, found: Evaluation, columns: list[ColumnFacts], outliers: Outliers | None) -> Iterator[str]:
    """Yield sentences, the most urgent first."""
    choice, classes = rows.model.choice, rows.classes
    if choice is not None and not choice.beats_baseline:
        yield (
            "The model is not better than the class frequencies by more than chance explains. Collect more rows, or "
            "columns that say more about the classes, before you use it."
        )
    elif found.beats_prior is False:
        ends, alone = found.log_loss_interval, found.log_loss_of_prior
        by_chance = ends is not None and alone is not None and ends[0] <= alone
        how = "is not better than the prior alone by more than chance explains"
        how = how if by_chance else "does worse than the prior alone"
        yield (
            f"On these rows the model {how}. Check that they come from the same source as the training rows and that "
            "the labels mean the same; then fit again."
        )
    few = [classes[c] for c in np.flatnonzero(rows.by_class < _FEW)]
    if few:
        yield (
            f"There are fewer than {_FEW} evaluated rows of {_listed(few)}, so that the figures for these classes are "
            "uncertain. Evaluate on more rows of them."
        )
    if found.cllr is not None and found.min_cllr is not None and found.cllr > 1.2 * found.min_cllr + 0.02:
        instead = ", or choose the model with suffice.fit, which calibrates" if choice is None else ""
        yield (
            f"Cllr is {found.cllr:.3g}, but could be {found.min_cllr:.3g} after calibration: the scores are too "
            "certain, or not certain enough. Calibrate them with suffice.LLRCalibrator on rows that are held "
            f"out{instead}."
        )
    pair = _confused(found)
    if pair is not None:
        yield (
            f"Most mistakes are {pair[0]} taken for {pair[1]}. Look at the rows above, and for columns that "
            "separate these two classes."
        )
    if outliers is not None and outliers.n_found > 3 * LEVEL * outliers.n_rows + 3:
        yield (
            f"{100 * outliers.n_found / outliers.n_rows:.1f}% of the rows are typical of no class, where "
            f"{100 * LEVEL:.0f}% are to be expected. They may come from another source, hold errors, or belong to "
            "classes that the model does not know; or the families of the columns do not fit. suffice outliers lists "
            "all of them."
        )
    unknown = [column.name for column in columns if column.unknown]
    if unknown:
        yield (
            f"{_listed(unknown)} {'holds' if len(unknown) == 1 else 'hold'} categories that were never seen in "
            "training. Fit again with rows that have "
            "them, or correct the spelling."
        )
    gaps = [column.name for column in columns if column.missing > 0.2]
    if gaps:
        yield f"More than a fifth of the values of {_listed(gaps)} are missing. Find out why before you rely on them."
    useless = [column.name for column in columns if column.is_needless]
    if useless and len(columns) > 1:
        helps = "does not help" if len(useless) == 1 else "do not help"
        yield f"{_listed(useless)} {helps} on these rows. Try the model without, and compare."
    yield "Set the prior and the costs of your application above, and give the same ones to predict (prior=, cost=)."


def _confused(found: Evaluation) -> tuple[str, str] | None:
    """The class that is most often taken for another, and that one, if there are three classes or more."""
    if len(found.classes) < 3 or len(found.decisions) != len(found.classes):
        return None
    wrong = np.array(found.confusion)
    np.fill_diagonal(wrong, 0.0)
    if wrong.sum() < 5 or wrong.max() < 0.4 * wrong.sum():
        return None
    i, j = np.unravel_index(wrong.argmax(), wrong.shape)
    return str(found.classes[i]), str(found.decisions[j])


def _listed(names: list[str]) -> str:
    *most, last = names if len(names) <= _SHOWN else [*names[:_SHOWN], f"{len(names) - _SHOWN} more"]
    return f"{', '.join(most)} and {last}" if most else last
