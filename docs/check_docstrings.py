"""Check with numpydoc that every public callable is documented completely. ``make lint`` runs this.

Public are the names in ``suffice.__all__``, those in ``__all__`` of the public submodules, the classes in RETURNED, and
the public methods and properties of all these classes. Run ``python docs/check_docstrings.py NAME`` to see only names
that contain NAME.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

import suffice
from suffice.schema import Schema
from suffice.unlabelled import FittedDensity

SUBMODULES = ("decisions", "errors", "metrics", "plots", "server", "sklearn")
RETURNED = (FittedDensity, Schema)  # by functions and attributes of the public names
CHECKS = {
    *("GL06", "GL07", "GL08", "GL10"),  # sections: known, in order; a docstring at all
    *("SS01", "SS02", "SS03", "SS04", "SS05", "SS06"),  # a summary: one sentence on one line
    *("PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "PR08", "PR09", "PR10"),  # all parameters, with types
    *("RT01", "RT02", "RT03", "RT04", "RT05", "YD01"),  # what is returned
    "EX01",  # an example, for functions and classes, and for methods of the rooms in EXAMPLES
}
EXAMPLES = (
    *("suffice.scoring.", "suffice.estimators.", "suffice.selection.", "suffice.metrics", "suffice.decisions"),
    *("suffice.stats.", "suffice.tables.", "suffice.plots.", "suffice.sklearn.", "suffice.errors", "suffice.server."),
    *("suffice.densities.", "suffice.schema", "suffice.unlabelled"),
)


def public() -> Iterator[tuple[str, Any]]:
    """Yield the public functions and classes with their names."""
    for module in (suffice, *(import_module(f"suffice.{name}") for name in SUBMODULES)):
        for name in getattr(module, "__all__", ()) or _classes(module):
            member = getattr(module, name)
            if callable(member):
                yield f"{module.__name__}.{name}", member
    yield from ((f"{member.__module__}.{member.__name__}", member) for member in RETURNED)


def _classes(module: Any) -> list[str]:
    own = inspect.getmembers(module, inspect.isclass)
    return [name for name, member in own if member.__module__ == module.__name__]


def methods(owner: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class that are defined in suffice."""
    for name in dir(owner):
        if name.startswith("_"):
            continue
        found = [vars(base)[name] for base in owner.__mro__ if name in vars(base) and _is_ours(base)]
        members = [m.__func__ if isinstance(m, classmethod | staticmethod) else m for m in found]
        if owner.__module__.startswith("suffice.sklearn.") and not any(member.__doc__ for member in members):
            continue  # scikit-learn documents what its own class has, too; tests/test_sklearn_names.py sees to it
        if members and (inspect.isfunction(members[0]) or isinstance(members[0], property | cached_property)):
            # A method without a docstring of its own has that of the method it overrides.
            yield name, next((member for member in members if member.__doc__), members[0])


def _is_ours(owner: type) -> bool:
    return owner.__module__.partition(".")[0] == "suffice"


def problems(member: Any, *, example: bool) -> list[str]:
    """Return what numpydoc finds wrong with a docstring."""
    errors = validate(get_doc_object(member))["errors"]
    return [f"{code} {text}" for code, text in errors if code in CHECKS - ({"EX01"} if not example else set())]


def check() -> Iterator[tuple[str, str, list[str]]]:
    """Yield the name, the module and the problems of each public callable and method, each once."""
    seen: set[int] = set()
    for name, member in public():
        if id(member) not in seen:
            seen.add(id(member))
            is_error = inspect.isclass(member) and issubclass(member, Exception)  # what raises it has examples
            yield name, member.__module__, problems(member, example=not is_error)
        for method, function in methods(member) if inspect.isclass(member) else ():
            if id(function) not in seen:
                seen.add(id(function))
                home = inspect.unwrap(getattr(function, "fget", None) or getattr(function, "func", None) or function)
                example = inspect.isfunction(function) and home.__module__.startswith(EXAMPLES)
                yield f"{name}.{method}", home.__module__, problems(function, example=example)


def main() -> int:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    checked, failed = 0, 0
    for name, module, found in check():
        if wanted not in name:
            continue
        checked, failed = checked + 1, failed + bool(found)
        for problem in found:
            print(f"{name} ({module}): {problem}")
    print(f"{checked} docstrings checked, {failed} with problems")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
