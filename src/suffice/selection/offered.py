"""Methods that an object has only if it can do what they say; if not, the error says why."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import Any


class Offered:
    """A method that is there unless a check raises AttributeError.

    With scikit-learn's `available_if`, users read only that there is no such attribute, whatever the check says.
    """

    def __init__(self, check: Callable[[Any], None], method: Callable[..., Any]) -> None:
        self._check, self._method = check, method
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self._method
        self._check(instance)
        return MethodType(self._method, instance)


def offered_if(check: Callable[[Any], None]) -> Callable[[Callable[..., Any]], Offered]:
    return partial(Offered, check)
