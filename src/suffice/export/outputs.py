"""What can be written beside every row, and what the columns are called, in whatever system."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, ParameterError, alike, listed, remedy

Array = NDArray[Any]

OUTPUTS = ("decision", "posterior", "llr", "log_likelihood")


def check_outputs(outputs: Any, model: Any) -> tuple[str, ...]:
    """Which results are wanted, in the order given; None takes all that a model has."""
    own = OUTPUTS if model.has_likelihoods else OUTPUTS[:-1]
    chosen = own if outputs is None else (outputs,) if isinstance(outputs, str) else tuple(outputs)
    unknown = [each for each in chosen if each not in own]
    if unknown or not chosen:
        given = remedy(f"outputs={outputs!r}", f"--outputs {','.join(chosen)}")
        meant = alike(str(unknown[0]), own) if unknown else ""
        raise ParameterError(f"{given} is not known; choose some of {listed(own)}{meant}")
    return tuple(dict.fromkeys(chosen))


def check_kept(keep: Any) -> list[str] | None:
    """The columns to repeat, in the order given; None leaves the choice."""
    return None if keep is None else [keep] if isinstance(keep, str) else list(dict.fromkeys(keep))


def columns_of(output: str, classes: Array) -> list[str]:
    """The names of the columns of a result: one for each class, but one decision. The llr is that of the second of
    two classes over the first; of more, of all others over the first."""
    labels = _names(classes)
    if output == "decision" or (output == "llr" and len(labels) == 2):
        return [output]
    return [f"{output}_{label}" for label in (labels[1:] if output == "llr" else labels)]


def refuse_taken(names: Iterable[str], kept: Iterable[str]) -> None:
    """Refuse results that are named like columns that are kept; most systems take capital letters for small ones."""
    known = {name.casefold() for name in kept}
    taken = [name for name in names if name.casefold() in known]
    if taken:
        how = remedy("leave them out of keep=", "name the columns to repeat with --keep, without these")
        raise DataError(f"the table has columns named like the results: {listed(taken)}; rename them, or {how}")


def plain_labels(labels: Array) -> list[Any]:
    """Labels as other systems have them; those of several types as text, since a column has one type."""
    plain = [_plain(label) for label in labels.tolist()]
    kinds = {type(label) for label in plain if label is not None}
    if len(kinds) > 1 and kinds != {int, float}:
        return [None if label is None else str(label) for label in plain]
    return plain


def _names(classes: Array) -> list[str]:
    """Return the classes as parts of column names, or their indices if the names differ only in upper and lower case,
    which most databases ignore."""
    labels = [str(_plain(label)) for label in classes.tolist()]
    return labels if len({label.casefold() for label in labels}) == len(labels) else list(map(str, range(len(labels))))


def _plain(label: Any) -> Any:
    label = label.item() if isinstance(label, np.generic) else label
    label = label.decode("utf-8", "surrogateescape") if isinstance(label, bytes) else label
    if not isinstance(label, str | bool | int | float | None):
        raise DataError(f"the decision {label!r} is neither text nor a number nor a Boolean")
    return label
