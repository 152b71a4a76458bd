"""Only a room itself knows the classes in it: the rest of the library works with the contracts."""

import ast
from functools import cache
from pathlib import Path

from suffice import regression  # noqa: F401  a scorer outside of densities/
from suffice.densities import Density  # noqa: F401  imports all densities
from suffice.densities.scorer import Scorer
from suffice.sources import Source, dask, files, spark, sql  # noqa: F401  import all sources
from suffice.stats import Statistics

PACKAGE = Path(__file__).parent.parent / "src/suffice"
CONTRACTS = {"Statistics", "Scorer", "Density", "Source"}
ROOMS = ("densities", "stats", "sources")
# The table of families says which statistic a family needs; an estimator checks that a file holds its own model.
ALLOWED = {
    ("families.py", "CountStats"),
    ("families.py", "CategoryStats"),
    ("families.py", "PairStats"),
    ("families.py", "MomentStats"),
    ("families.py", "PatternStats"),
    ("families.py", "TransformedStats"),
    ("families.py", "WordStats"),
    ("estimators/logistic.py", "LogisticModel"),
}


def below(kind: type) -> set[str]:
    return {kind.__name__}.union(*(below(child) for child in kind.__subclasses__()))


def attributes_in(node: ast.AST) -> set[str]:
    return {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def names_in(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | attributes_in(node)


@cache
def nodes() -> list[tuple[str, ast.AST]]:
    """All of the package but the rooms themselves."""
    paths = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
    return [
        (where, node)
        for where, path in paths.items()
        if not where.startswith(ROOMS)
        for node in ast.walk(ast.parse(path.read_text()))
    ]


def test_only_rooms_ask_for_the_classes_in_them():
    concrete = set.union(*map(below, (Statistics, Scorer, Source))) - CONTRACTS
    assert {"GaussianDensity", "LogisticModel", "MomentStats", "LocalSource"} <= concrete
    asked = {
        (where, name)
        for where, node in nodes()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("isinstance", "issubclass")
        for name in names_in(node.args[1]) & concrete
    }
    assert asked == ALLOWED


def test_no_case_goes_by_the_name_of_a_class_or_module():
    # The classes of pandas' missing values are not public, and a patch replaces classes by those of the same name.
    compared = {
        where
        for where, node in nodes()
        if (isinstance(node, ast.Compare) and attributes_in(node) & {"__name__", "__qualname__"})
        or (isinstance(node, ast.Attribute) and node.attr == "__module__")
    }
    assert compared == {"tables/labels.py", "sklearn/patching.py"}
