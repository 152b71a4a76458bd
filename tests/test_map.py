"""The documentation names every folder and module, in the order of imports, and every public name."""

import re
import tomllib
from collections import defaultdict
from pathlib import Path

import suffice

ROOT = Path(__file__).parent.parent
MAP = (ROOT / "docs/how-it-works.md").read_text().partition("## A map of the source")[2]
DRAWN = [re.findall(r"`(\w+/?)`", names) for names in re.findall(r"^\| (`[^|]+`) \|", MAP, re.MULTILINE)]


def test_the_map_names_every_folder_and_module():
    package = ROOT / "src/suffice"
    folders = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    modules = {path.stem for path in package.glob("*.py") if not path.stem.startswith("_")}
    drawn = [name for row in DRAWN for name in row]
    assert sorted(drawn) == sorted(folders | modules)


def test_the_map_follows_the_order_of_imports():
    """Whatever stands higher in the map stands in the same or a higher layer."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [re.findall(r"\w+", layer) for layer in next(c for c in contracts if c["type"] == "layers")["layers"]]
    level = {name: i for i, layer in enumerate(layers) for name in layer}
    order = [level[name.rstrip("/")] for row in DRAWN for name in row if name.rstrip("/") in level]
    assert order == sorted(order)


def test_the_reference_has_every_public_name():
    text = (ROOT / "docs/api.md").read_text()
    described = set(re.findall(r"^\.\. auto(?:class|function):: suffice\.(\w+)$", text, re.MULTILINE))
    assert described == set(suffice.__all__) - {"__version__"}


def test_no_class_has_the_name_of_another():
    """But those that have scikit-learn's names."""
    homes = defaultdict(list)
    for path in sorted((ROOT / "src/suffice").rglob("*.py")):
        if path.parent.name != "sklearn":
            for name in re.findall(r"^class ([A-Z]\w*)", path.read_text(), re.MULTILINE):
                homes[name].append(path.name)
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
