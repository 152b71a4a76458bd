"""Parts of dates, from days since 1970, in the arithmetic of any engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

_MILLISECONDS = 86_400_000.0  # of a day


class Arithmetic(NamedTuple):
    """What an engine has beside the four operations."""

    floor: Callable[[Any], Any]
    number: Callable[[float], Any]
    named: Callable[[Any], Any] = lambda x: x  # so that what is used more than once is worked out once


def part_of(part: str, days: Any, own: Arithmetic) -> Any:
    """The month, weekday or hour of a date, as `tables.parsing` has them.

    >>> import math
    >>> [part_of(part, 20775.75, Arithmetic(math.floor, float)) for part in PARTS]  # 2026-11-18, a Wednesday, 18 h
    [11.0, 2.0, 18]
    """
    floor, number, named = own
    rounded = named(floor(days * number(_MILLISECONDS) + number(0.5)))
    return PARTS[part](rounded, named(floor(rounded / number(_MILLISECONDS))), own)


def _month(_: Any, day: Any, own: Arithmetic) -> Any:
    """By eras of 400 years, of which the first day is the first of March."""
    floor, number, named = own
    day = named(day + number(719_468))
    of_era = named(day - floor(day / number(146_097)) * number(146_097))
    leap = floor(of_era / number(1_460)) - floor(of_era / number(36_524)) + floor(of_era / number(146_096))
    year = named(floor((of_era - leap) / number(365)))
    of_year = named(of_era - year * number(365) - floor(year / number(4)) + floor(year / number(100)))
    month = named(floor((of_year * number(5) + number(2)) / number(153)))
    return month + number(3) - floor(month / number(10)) * number(12)


def _weekday(_: Any, day: Any, own: Arithmetic) -> Any:
    floor, number, named = own
    since = named(day + number(3))
    return since - floor(since / number(7)) * number(7)


def _hour(rounded: Any, day: Any, own: Arithmetic) -> Any:
    floor, number, _ = own
    return floor((rounded - day * number(_MILLISECONDS)) / number(3_600_000))


PARTS: dict[str, Callable[[Any, Any, Arithmetic], Any]] = {"month": _month, "weekday": _weekday, "hour": _hour}
