"""Dates, times of the day and durations as text, in one form for all libraries."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_WRITTEN = re.compile(r"(\d{4}-\d\d-\d\d)?(?:(?:^|(?<=\d)[T ])(\d\d:\d\d)(:\d\d)?(?:\.(\d+))?)?(?:Z|[-+]\d\d:?\d\d)?")


def is_moment(value: object) -> bool:
    """Whether a value is a date, a time of the day or a duration."""
    return isinstance(value, dt.date | dt.time | dt.timedelta | np.datetime64 | np.timedelta64)


def moment_text(value: Any) -> str:
    """Return a date, a time of the day or a duration as text, in local time; a date without a time has none.

    >>> moment_text(dt.datetime(2026, 3, 31, 8, 30)), moment_text(dt.datetime(2026, 3, 31))
    ('2026-03-31 08:30:00', '2026-03-31')
    >>> moment_text(np.datetime64("2026-03-31T08:30:00.5", "ns")), moment_text(dt.time(8, 30))
    ('2026-03-31 08:30:00.5', '08:30:00')
    >>> moment_text(dt.timedelta(386)), moment_text(dt.timedelta(hours=2)), moment_text(dt.timedelta(seconds=-0.5))
    ('386 days', '0 days 02:00:00', '-1 days +23:59:59.5')
    """
    if isinstance(value, np.datetime64 | np.timedelta64):
        value = value.astype(f"{value.dtype.kind}8[us]").item()
    if isinstance(value, dt.timedelta):
        clock = (dt.datetime.min + dt.timedelta(seconds=value.seconds, microseconds=value.microseconds)).time()
        days = f"{value.days} days"
        return f"{days} {'+' * (value.days < 0)}{_short(str(clock))}" if clock != dt.time.min else days
    return _short(str(value.replace(tzinfo=None) if isinstance(value, dt.datetime | dt.time) else value))


def _short(text: str) -> str:
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.removesuffix(" 00:00:00")


def moment_texts(values: Array) -> tuple[Array, Array]:
    """Return the different texts of dates or durations of NumPy, and a code for each row: -1 where it is missing."""
    missing = np.isnat(values)
    distinct, code = np.unique(values[~missing], return_inverse=True)
    whole = np.full(len(values), -1, np.int32)
    texts, own = _different([moment_text(value) for value in distinct])
    whole[~missing] = own[code.reshape(-1)]
    return texts, whole


def _different(texts: list[str]) -> tuple[Array, Array]:
    """Different texts, and the index of each."""
    index = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    distinct = np.empty(len(index), object)
    distinct[:] = [*index]
    return distinct, np.array([index[text] for text in texts], np.int32)


def moments_coded(values: list[Any], code: Array) -> tuple[Array, Array]:
    """Return the different texts of values, some of which may be None, and codes of them for codes of the values."""
    known = [value for value in values if value is not None]
    texts, own = _different([moment_text(value) for value in known])
    index = np.full(len(values) + 1, -1, np.int32)
    index[:-1][[value is not None for value in values]] = own
    return texts, index[code]


def moment_word(word: object) -> str | None:
    """Return text of a date or a time of the day as `moment_text` writes it; None where it is neither.

    >>> moment_word("2026-03-31T08:30"), moment_word("2026-03-31 00:00:00"), moment_word("8:30"), moment_word("x")
    ('2026-03-31 08:30:00', '2026-03-31', None, None)
    """
    found = _WRITTEN.fullmatch(word.strip()) if isinstance(word, str) else None
    if found is None or not (found[1] or found[2]):
        return None
    clock = f"{found[2]}{found[3] or ':00'}.{found[4] or '0'}" if found[2] else ""
    return _short(" ".join(filter(None, (found[1], clock))))
