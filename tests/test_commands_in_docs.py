"""The commands that the documentation shows print what it says they do."""

import doctest
import re
import shlex
import shutil
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyarrow import csv, parquet

from suffice import MixedClassifier, load
from suffice.cli import app

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(page.name for page in DOCS.glob("*.md") if "```console" in page.read_text())
CHECKER, FLAGS = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(text):
    """The examples of a page in their order: Python and commands."""
    return re.findall(r"^```(python|console)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(block):
    """Each command and what it prints."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        yield line, output


@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    globs, parser = {}, doctest.DocTestParser()
    for kind, block in blocks((DOCS / page).read_text()):
        if kind == "python":
            example = parser.get_doctest(block, globs, page, page, 0)
            assert doctest.DocTestRunner(optionflags=FLAGS).run(example, clear_globs=False).failed == 0
            globs |= example.globs
            continue
        for line, output in commands(block):
            program, *arguments = shlex.split(line)
            assert program == "suffice"
            done = CliRunner().invoke(app, arguments, catch_exceptions=False)
            assert done.exit_code == 0
            assert CHECKER.check_output(output, done.output, FLAGS), f"$ {line}\n{done.output}"


def test_every_command_is_shown():
    shown = {
        line.split()[1] for _, block in blocks((DOCS / "command-line.md").read_text()) for line, _ in commands(block)
    }
    assert shown == set(app.list_commands(None)) - {"demo", "serve"}  # which does not end


@pytest.mark.parametrize("command", [name for name in app.list_commands(None) if name not in ("demo", "serve")])
@pytest.mark.filterwarnings("ignore::suffice.errors.CalibrationWarning")
def test_the_example_of_the_help_works(command, example_files, tmp_path, monkeypatch):
    """As it stands, in a directory with the files that the examples name."""
    shutil.copytree(example_files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    if command == "fit":
        Path("birds.safetensors").unlink()  # which it writes
    text = app.get_command(None, command).epilog
    for line in text.removeprefix("Example: ").split("; "):
        program, *arguments = shlex.split(line)
        assert program == "suffice"
        done = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert done.output.strip()


@pytest.fixture(scope="module")
def example_files(tmp_path_factory):
    where = tmp_path_factory.mktemp("examples")
    penguins = csv.read_csv(str(resources.files("suffice") / "data/penguins.csv")).drop_null()
    rows = {name: penguins.take(list(range(len(penguins)))[part]) for name, part in PARTS.items()}
    for name, table in rows.items():
        csv.write_csv(table, where / f"{name}.csv")
    models = {"birds": "birds", "simple": "birds", "north": "birds", "south": "test"}
    for name, data in models.items():
        settings = {"covariance": "tied_diag"} if name == "simple" else {}
        model = MixedClassifier(**settings).fit(rows[data], "species")
        model.target_ = "species"
        model.save(where / f"{name}.safetensors")
    return where


PARTS = {"birds": slice(0, None, 2), "test": slice(1, None, 2), "new": slice(0, None, 50), "withdrawn": slice(0, 20, 2)}

README = (DOCS.parent / "README.md").read_text()


@pytest.mark.filterwarnings("ignore::suffice.errors.CalibrationWarning")  # of the merged model
def test_commands_of_the_readme_work_in_their_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    penguins = csv.read_csv(str(resources.files("suffice") / "data/penguins.csv")).drop_null()
    csv.write_csv(penguins.take(list(range(0, penguins.num_rows, 2))), "birds.csv")
    csv.write_csv(penguins.take(list(range(1, penguins.num_rows, 3))), "more.csv")
    csv.write_csv(penguins.take(list(range(1, penguins.num_rows, 2))), "test.csv")
    (tmp_path / "new").mkdir()
    parquet.write_table(penguins, "new/all.parquet")
    lines = [line.strip() for line in README.splitlines() if line.startswith("    suffice ")]
    assert len(lines) == 6
    for line in lines:
        done = CliRunner().invoke(app, shlex.split(line)[1:], catch_exceptions=False)
        assert done.exit_code == 0, f"$ {line}\n{done.output}"
    assert parquet.read_table("scores.parquet").num_rows == penguins.num_rows
    assert load("all.safetensors").statistics_.weight.sum() == len(range(0, penguins.num_rows, 2)) + len(
        range(1, penguins.num_rows, 3)
    )


def test_targets_of_the_readme_are_those_of_the_makefile():
    named = re.findall(r"^    make (\w+)", README, re.MULTILINE)
    phony = re.search(r"^\.PHONY: (.+)$", (DOCS.parent / "Makefile").read_text(), re.MULTILINE)
    assert named
    assert set(named) <= set(phony[1].split())
