"""The exceptions and warnings of suffice.

All of them are in this tree::

    SufficeError
    ├── DataError              invalid rows, columns, labels, weights or parameters  (ValueError)
    │   ├── MissingLabelsError some rows have no label
    │   ├── ParameterError     a parameter has a value that is not known
    │   ├── UnreadableError    a file, or part of a file, cannot be read
    │   ├── FamilyError        values that the family of their column cannot have
    │   └── DatabaseError      a database cannot be reached, or rejects a query
    ├── StatisticsError        statistics that cannot be added or subtracted         (ValueError)
    ├── CheckpointError        a checkpoint of another job, or of files that changed (ValueError)
    ├── DecisionError          an invalid prior or cost                              (ValueError)
    └── ModelFileError         a file that is not a complete, readable model         (ValueError)

    SufficeWarning             (UserWarning)
    ├── SingularWarning        a variance was raised
    ├── EmptyClassWarning      a declared class has no rows
    ├── ComponentWarning       components of a mixture lost their rows and are left out
    ├── ImpossibleWarning      a row has probability zero under every class
    ├── SeparableWarning       scores separate the classes perfectly
    ├── PrecisionWarning       forgetting rows left too few accurate digits
    ├── ConvergenceWarning     an iteration ended before it converged
    ├── ColumnWarning          a column is probably an identifier, or numbers stored as text
    ├── CalibrationWarning     a model keeps a calibration that was fitted to other rows
    ├── BaselineWarning        a model is not better than the class frequencies
    ├── FormatWarning          a file of text was read by a guess that may be wrong
    └── SkippedWarning         unreadable parts of files were skipped
"""

import sys
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from shlex import quote
from typing import Any

__all__ = [
    "BaselineWarning",
    "CalibrationWarning",
    "CheckpointError",
    "ColumnWarning",
    "ComponentWarning",
    "ConvergenceWarning",
    "DataError",
    "DatabaseError",
    "DecisionError",
    "EmptyClassWarning",
    "FamilyError",
    "FormatWarning",
    "ImpossibleWarning",
    "MissingLabelsError",
    "ModelFileError",
    "ParameterError",
    "PrecisionWarning",
    "SeparableWarning",
    "SingularWarning",
    "SkippedWarning",
    "StatisticsError",
    "SufficeError",
    "SufficeWarning",
    "UnreadableError",
]


class SufficeError(Exception):
    """Base class of all errors of suffice."""


class DataError(SufficeError, ValueError):
    """Rows, columns, labels, weights or parameters are invalid."""


class MissingLabelsError(DataError):
    """Some rows have no label."""


class ParameterError(DataError):
    """A parameter has a value that is not known."""


class UnreadableError(DataError):
    """A file, or part of a file, cannot be read."""


class DatabaseError(DataError):
    """A database cannot be reached, or rejects a query."""


class StatisticsError(SufficeError, ValueError):
    """Two statistics cannot be added or subtracted."""


class CheckpointError(SufficeError, ValueError):
    """A checkpoint belongs to another job, or to files that have changed since."""


class DecisionError(SufficeError, ValueError):
    """A prior or a cost is invalid."""


class ModelFileError(SufficeError, ValueError):
    """A file is not a complete, readable model."""


class FamilyError(DataError):
    """Values of columns lie outside the family that these have.

    Parameters
    ----------
    message : str
        What is wrong.
    columns : sequence of int
        The indices of the columns.
    """

    def __init__(self, message: str, columns: Iterable[int] = ()) -> None:
        super().__init__(message)
        self.columns = tuple(map(int, columns))


class SufficeWarning(UserWarning):
    """Base class of all warnings of suffice."""


class SingularWarning(SufficeWarning):
    """A class has (almost) no variance in some column or direction; the message says what was done."""


class EmptyClassWarning(SufficeWarning):
    """A declared class has no rows; it is never predicted."""


class ComponentWarning(SufficeWarning):
    """Components of a mixture have lost their rows and are left out."""


class ImpossibleWarning(SufficeWarning):
    """Some rows have probability zero under every class; their posterior is the prior."""


class SeparableWarning(SufficeWarning):
    """Scores separate the classes perfectly, so that their scale cannot be estimated."""


class PrecisionWarning(SufficeWarning):
    """After forgetting rows, what is left is so small that rounding errors dominate it."""


class ConvergenceWarning(SufficeWarning):
    """An iteration took the greatest number of steps and has not converged."""


class ColumnWarning(SufficeWarning):
    """A column is probably an identifier of rows, or holds numbers stored as text."""


class CalibrationWarning(SufficeWarning):
    """A model has learnt or forgotten rows, but keeps a calibration that was fitted to others."""


class BaselineWarning(SufficeWarning):
    """On held-out rows, a model is not better than the class frequencies alone."""


class FormatWarning(SufficeWarning):
    """A file of text was read by a guess that may be wrong: its encoding, or that it has no header."""


class SkippedWarning(SufficeWarning):
    """Parts of files could not be read and were skipped, as ``on_error="skip"`` requests."""


# Who calls suffice for a user, and suffice itself.
_NOT_OF_USERS = frozenset({"suffice", "sklearn", "joblib", "contextlib", "functools"})


def warn(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Warn of the line of the user that led here, however many functions of suffice lie between.

    Parameters
    ----------
    message : str or Warning
        What to tell.
    category : type of Warning, optional
        As `warnings.warn` takes it.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_OF_USERS:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


_commands = False  # whether messages are for the command line


@contextmanager
def for_commands() -> Iterator[None]:
    """Phrase remedies for the command line, for the length of a ``with`` block."""
    global _commands
    before, _commands = _commands, True
    try:
        yield
    finally:
        _commands = before


# How to fit a model that can be merged with another one.
LIKE = "fit the second model with families=first.schema_", "fit the second model with suffice fit --like FIRST"


def remedy(python: str, command: str) -> str:
    """Return the remedy that exists in the interface that prints the message.

    >>> remedy("prior=0.5", "--prior 0.5")
    'prior=0.5'
    >>> with for_commands():
    ...     remedy("prior=0.5", "--prior 0.5")
    '--prior 0.5'
    """
    return command if _commands else python


def as_type(column: str, kind: str = "string") -> str:
    """Return how to read a column of text files as a type."""
    return remedy(f"suffice.files(path, types={{{column!r}: {kind!r}}})", f"--type {quote(f'{column}={kind}')}")


def as_family(column: str | int, family: str) -> str:
    """Return how to choose the family of a column."""
    return remedy(f"families={{{column!r}: {family!r}}}", f"--families {quote(f'{column}={family}')}")


def as_parameter(name: str, *values: Any) -> str:
    """Return how to give a parameter one of some values.

    >>> as_parameter("unknown", "smooth", "ignore")
    'unknown="smooth" or "ignore"'
    >>> with for_commands():
    ...     as_parameter("unknown", "smooth", "ignore"), as_parameter("predictive", False)
    ('--set unknown=smooth or --set unknown=ignore', '--set predictive=false')
    """
    python = " or ".join(f'"{value}"' if isinstance(value, str) else repr(value) for value in values)
    command = " or ".join(f"--set {name}={str(value).lower()}" for value in values)
    return remedy(f"{name}={python}", command)


def instead_of_infinity() -> str:
    """Return what to do about infinite numbers."""
    return "remove these rows or make the values missing, as in " + remedy(
        "X.replace([np.inf, -np.inf], np.nan) of pandas; a model that suffice.fit chooses reads them as missing values",
        "--na inf --na=-inf for CSV files; a model that suffice fit chooses by itself reads them as missing values",
    )


def one_of(name: str, value: Any, known: Collection[str]) -> str:
    """Return a choice if it is among the known names; otherwise raise an error that lists them.

    >>> one_of("unit", "nat", ("nat", "log10"))
    'nat'
    """
    if not (isinstance(value, str) and value in known):
        raise ParameterError(f"{name}={value!r} {not_known(value, known)}")
    return value


def not_known(value: Any, known: Collection[str]) -> str:
    """Return what to say of a value that is not among the known ones.

    >>> not_known("nats", ["nat", "log10"])
    "is not known; choose one of 'nat', 'log10'; did you mean 'nat'?"
    """
    return f"is not known; choose one of {listed(known, len(known))}{alike(str(value), known)}"


def alike(name: str, known: Iterable[str]) -> str:
    """Return a question after the known name that is most like one that is not known, if there is such a name.

    >>> alike("Species", ["species", "sex"])
    "; did you mean 'species'?"
    """
    from difflib import get_close_matches

    written = {one.casefold(): one for one in known}
    return next((f"; did you mean {written[one]!r}?" for one in get_close_matches(name.casefold(), written, 1)), "")


def listed(items: object, limit: int = 5) -> str:
    """Join items for a message and shorten long lists: ``'a', 'b' and 7 more``.

    >>> listed(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    values = [getattr(item, "item", lambda item=item: item)() for item in items]  # type: ignore[attr-defined]
    text = ", ".join(repr(value) for value in values[:limit])
    return text if len(values) <= limit else f"{text} and {len(values) - limit} more"
