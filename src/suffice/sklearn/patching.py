"""Put the classes of this package in the place of scikit-learn's, and take them away again."""

from __future__ import annotations

import sys
from typing import Any

_replaced: list[tuple[Any, str, Any]] = []


def patch() -> None:
    """Put the classes of `suffice.sklearn` in the place of scikit-learn's, in every module that is loaded.

    Call it before a script imports its estimators. `unpatch` takes them away again.

    Examples
    --------
    >>> import suffice.sklearn
    >>> suffice.sklearn.patch()
    >>> from sklearn.naive_bayes import GaussianNB
    >>> GaussianNB.__module__
    'suffice.sklearn.naive_bayes'
    >>> suffice.sklearn.unpatch()
    """
    if not _replaced:
        _replaced.extend(_replace(_ours(), "sklearn", "__main__"))


def unpatch() -> None:
    """Put scikit-learn's classes back, in every module of scikit-learn.

    Names that your own modules have imported since `patch` stay what they are.

    Examples
    --------
    >>> import suffice.sklearn
    >>> suffice.sklearn.unpatch()
    >>> from sklearn.decomposition import PCA
    >>> PCA.__module__
    'sklearn.decomposition._pca'
    """
    while _replaced:
        module, key, value = _replaced.pop()
        setattr(module, key, value)
    _replace({own: theirs for theirs, own in _ours().items()}, "sklearn")  # also in modules that were loaded since


def _ours() -> dict[type, type]:
    """The classes of scikit-learn that have one of ours for their name."""
    package = sys.modules[__package__]
    classes = [value for name in package.__all__ if isinstance(value := getattr(package, name), type)]
    return {base: cls for cls in classes for base in cls.__mro__[1:] if base.__name__ == cls.__name__}


def _replace(new: dict[type, type], *packages: str) -> list[tuple[Any, str, Any]]:
    """Replace classes in the modules of some packages, as far as they are loaded; return what stood where."""
    replaced = []
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] not in packages:
            continue
        for key, value in list(vars(module).items()):
            if isinstance(value, type) and value in new:
                replaced.append((module, key, value))
                setattr(module, key, new[value])
    return replaced
