"""The public surface is `suffice.__all__`, and looking at it costs next to nothing."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import suffice
from suffice import errors


def imported_by(code):
    """The modules that a fresh interpreter has after running some code."""
    script = f"{code}\nimport sys\nprint(*sys.modules, sep='\\n', file=sys.__stdout__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_all_is_without_repetition():
    assert len(suffice.__all__) == len(set(suffice.__all__))  # ruff keeps it sorted


@pytest.mark.parametrize("name", suffice.__all__)
def test_every_public_name_is_there_documented_and_ours(name):
    member = getattr(suffice, name)
    if name == "__version__":
        assert member.count(".") == 2
        return
    assert member.__module__.split(".")[0] == "suffice"
    assert member.__name__ == name
    assert inspect.getdoc(member)


def test_all_is_what_the_module_defines():
    for name in suffice.__all__:
        getattr(suffice, name)  # loaded lazily, and kept
    kept = {name for name, value in vars(suffice).items() if not name.startswith("_") and not inspect.ismodule(value)}
    assert kept - {"TYPE_CHECKING", "import_module"} == set(suffice.__all__) - {"__version__"}
    assert set(dir(suffice)) == {*suffice.__all__, "decisions", "errors", "metrics", "plots", "sklearn"}
    assert set(suffice._HOMES) == set(suffice.__all__) - {"__version__"}


def test_type_checkers_see_the_same_names_in_the_same_places():
    """They read the imports under TYPE_CHECKING; users get what _HOMES says."""
    tree = ast.parse(Path(suffice.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    assert seen == suffice._HOMES


@pytest.mark.parametrize("package", sorted({*suffice._HOMES.values()}))
def test_every_home_exports_what_is_taken_from_it(package):
    module = importlib.import_module(f"suffice.{package}")
    taken = {name for name, home in suffice._HOMES.items() if home == package}
    assert taken <= set(getattr(module, "__all__", taken))
    assert all(hasattr(module, name) for name in getattr(module, "__all__", ()))


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'suffice' has no attribute 'Oracle'"):
        suffice.Oracle  # noqa: B018
    with pytest.raises(ImportError):
        from suffice import Oracle  # noqa: F401


def test_star_imports_the_public_names():
    names = {}
    exec("from suffice import *", names)
    assert set(suffice.__all__) <= names.keys()


HEAVY = {"numpy", "scipy", "sklearn", "pandas", "polars", "pyarrow", "safetensors", "rich", "click"} | {
    "matplotlib",
    "sqlalchemy",
    "duckdb",
}


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import suffice", HEAVY),
        ("import suffice; suffice.__version__; dir(suffice)", HEAVY),
        ("import suffice.errors", HEAVY),
        ("import suffice.cli", HEAVY - {"numpy", "rich", "click"}),
        ("from suffice import *", {"matplotlib", "sqlalchemy", "duckdb"}),
        ("from suffice import plots", {"matplotlib", "sklearn", "pandas", "polars", "pyarrow", "scipy.stats"}),
        ("import suffice.modelfile", {"sklearn", "pandas", "polars", "pyarrow", "scipy.stats"}),
        ("import suffice.densities", {"sklearn", "pandas", "polars", "pyarrow", "scipy.stats"}),
        ("from suffice import MomentStats, GaussianDensity", {"sklearn", "pandas", "polars", "pyarrow", "scipy.stats"}),
    ],
)
def test_imports_bring_only_what_they_need(code, absent):
    assert not absent & imported_by(code)


COLLECT = """
import numpy as np
from suffice import GaussianDensity, MomentStats
from suffice.collect import collect
from suffice.sources import as_source
X = np.random.default_rng(0).normal(size=(40, 3))
statistics = collect(as_source(X, np.arange(40) % 2), MomentStats.of)
GaussianDensity.estimate(statistics, "diag").log_likelihood(X)
"""


def test_arrays_need_no_frames():
    """Recognising a table looks only at modules that are there already."""
    assert not {"pandas", "polars", "pyarrow", "sklearn", "scipy.stats"} & imported_by(COLLECT)


def test_a_saved_model_scores_without_scikit_learn(tmp_path):
    suffice.GaussianClassifier("tied").fit([[0, 1, 2], [1, 0, 3], [2, 2, 1], [4, 1, 0], [3, 3, 3]], list("ababa")).save(
        tmp_path / "m"
    )
    code = f"""
import numpy as np
from suffice import modelfile
from suffice.densities import GaussianDensity
model = modelfile.read({str(tmp_path / "m")!r})
density = GaussianDensity.estimate(model.learnt, model.params["covariance"])
assert density.log_likelihood(np.zeros((2, 3))).shape == (2, 2)
"""
    assert not {"sklearn", "pandas", "pyarrow", "scipy.stats"} & imported_by(code)


def test_errors_and_warnings_form_the_tree_that_is_drawn():
    """Every exception is in the drawing at the head of the file, under its base."""
    above, drawn = [], {}
    for line in errors.__doc__.splitlines():
        name = next((word for word in line.split() if word.startswith(tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))), None)
        if name is None or name not in vars(errors):
            continue
        above = [name] if line.strip().startswith(name) else [above[0], name]
        drawn[name] = above[-2] if len(above) > 1 else None
    classes = {name: member for name, member in vars(errors).items() if inspect.isclass(member)}
    defined = {name: member for name, member in classes.items() if member.__module__ == errors.__name__}
    assert drawn.keys() == defined.keys() == set(errors.__all__)  # and not what others need to phrase messages
    for name, base in drawn.items():
        if base is not None:
            assert issubclass(defined[name], defined[base])
            assert issubclass(defined[name], Warning if base == "SufficeWarning" else ValueError)


def test_show_versions_names_the_kernels_in_use(capsys):
    for name in suffice.kernels.available():
        with suffice.kernels.using(name):
            suffice.show_versions()
        shown = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
        assert shown["suffice"] == suffice.__version__
        assert shown["kernels"].split()[0] == name
        assert int(shown["threads"]) >= 1
        assert shown["numpy"] == importlib.import_module("numpy").__version__
