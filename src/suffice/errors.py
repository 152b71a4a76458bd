"""Everything that suffice raises or warns with, in one tree.

SufficeError
├── DataError              rows, columns, labels or weights that cannot be used   (ValueError)
│   ├── MissingLabelsError some rows have no label
│   ├── UnreadableError    a file, or a part of one, that cannot be read
│   └── DatabaseError      a database that is not there, or does not understand
├── StatisticsError        statistics that do not fit together                    (ValueError)
├── CheckpointError        a checkpoint of another job, or of files that have changed (ValueError)
├── DecisionError          priors or costs that make no sense                     (ValueError)
└── ModelFileError         a file that is not a whole, readable model             (ValueError)

SufficeWarning             (UserWarning)
├── SingularWarning        a variance had to be floored
├── EmptyClassWarning      a class was declared but has no rows
├── ImpossibleWarning      a row has probability zero under every class
├── SeparableWarning       scores tell the classes apart without an error
├── PrecisionWarning       too few digits are left after forgetting
└── SkippedWarning         parts of files could not be read and were left out
"""


class SufficeError(Exception):
    """Base of every error of this library."""


class DataError(SufficeError, ValueError):
    """Rows, columns, labels or weights cannot be used."""


class MissingLabelsError(DataError):
    """Some rows have no label."""


class UnreadableError(DataError):
    """A file, or a part of one, cannot be read."""


class DatabaseError(DataError):
    """A database is not there, or does not understand what it is asked."""


class StatisticsError(SufficeError, ValueError):
    """Two statistics do not fit together."""


class CheckpointError(SufficeError, ValueError):
    """A checkpoint is of another job, or of files that have changed since."""


class DecisionError(SufficeError, ValueError):
    """A prior or a cost makes no sense."""


class ModelFileError(SufficeError, ValueError):
    """A file is not a whole, readable model."""


class SufficeWarning(UserWarning):
    """Base of every warning of this library."""


class SingularWarning(SufficeWarning):
    """A class has (almost) no variance in some direction, so a floor was applied."""


class EmptyClassWarning(SufficeWarning):
    """A class was declared but has no rows; it is never predicted."""


class ImpossibleWarning(SufficeWarning):
    """Some rows have probability zero under every class; the prior decides for them."""


class SeparableWarning(SufficeWarning):
    """Scores tell the classes apart without an error, so that no scale is too large for them."""


class PrecisionWarning(SufficeWarning):
    """What is left after forgetting is too small against what was there to be told from rounding."""


class SkippedWarning(SufficeWarning):
    """Parts of files could not be read, and were left out as they should."""


def listed(items: object, limit: int = 5) -> str:
    """Join items for a message and cut long lists: ``'a', 'b' and 7 more``.

    >>> listed(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    values = [getattr(item, "item", lambda item=item: item)() for item in items]  # type: ignore[attr-defined]
    text = ", ".join(repr(value) for value in values[:limit])
    return text if len(values) <= limit else f"{text} and {len(values) - limit} more"
