"""The comparison on real tables, with tables that need no download."""

import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from benchmarks import tables
from benchmarks.datasets import LabelledTable, extracted
from benchmarks.peers import PEERS, Columns


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "CACHE", tmp_path)
    some = {name: PEERS[name] for name in ("LogisticRegression", "LDA", "GaussianNB")}
    monkeypatch.setattr(tables, "PEERS", some)
    monkeypatch.setattr(tables, "NAMES", (tables.OURS, *some))

    def run(*arguments):
        done = CliRunner().invoke(tables.main, ["--tables", "^(iris|penguins)$", *arguments], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    return run


def test_the_results_are_kept_and_written(run, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- results -->\nearlier\n<!-- end of results -->\nafter\n")
    printed = run("--only", "peers")
    assert "suffice.fit" not in printed
    kept = tmp_path / "results" / "all rows"
    times = {path: os.stat(path).st_mtime_ns for path in kept.rglob("*.json")}
    assert len(times) == 2 * (len(tables.PEERS) + 1)

    printed = run("--only", "ours", "--folds", "2", "--label", "new", "--write", str(page))
    assert all(os.stat(path).st_mtime_ns == time for path, time in times.items())
    folds = json.loads((kept / "new" / "iris.json").read_text())["folds"]
    assert [fold["rows"] for fold in folds] == [30, 30]
    assert [fold["failure"] for fold in folds] == [None, None]
    assert max(fold["log_loss"] for fold in folds) < 0.3
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "earlier" not in text
    assert "| suffice.fit | " in text
    assert "| penguins | A | 344 | 7 | 3 |" in text
    assert "worse than the class frequencies: 0" in text

    printed = run("--only", "none", "--folds", "2", "--label", "new", "--against", "new")
    assert "suffice.fit" in printed
    assert "+0.0000" in printed
    assert all(os.stat(path).st_mtime_ns == time for path, time in times.items())
    run("--only", "peers", "--anew", "LDA")
    changed = {path.parent.name for path, time in times.items() if os.stat(path).st_mtime_ns != time}
    assert changed == {"LDA"}


def test_results_of_a_peer_with_other_settings_are_not_used(run, tmp_path, monkeypatch):
    run("--only", "peers", "--tables", "^iris$")
    path = tmp_path / "results" / "all rows" / "GaussianNB" / "iris.json"
    before = json.loads(path.read_text())
    other = PEERS["GaussianNB"].__class__(PEERS["GaussianNB"].steps).set_params(gaussiannb__var_smoothing=10.0)
    monkeypatch.setitem(tables.PEERS, "GaussianNB", other)
    run("--only", "peers", "--tables", "^iris$")
    after = json.loads(path.read_text())
    assert after["depends"] != before["depends"]
    assert after["folds"][0]["log_loss"] != before["folds"][0]["log_loss"]


def test_a_contestant_that_fails_gives_the_class_frequencies():
    frame = pd.DataFrame({"x": np.arange(40.0), "class": [0, 1] * 20})
    frame.loc[3, "x"] = np.inf
    found = tables.evaluated("LDA", frame, "class", np.arange(20), np.arange(20, 40))
    assert "infinity" in found.failure
    assert found.log_loss == pytest.approx(np.log(2))
    assert found.error == 0.5


def test_columns_are_prepared_as_described():
    n = 20
    frame = pd.DataFrame(
        {
            "number": np.arange(n) / 2,
            "constant": 1,
            "empty": np.nan,
            "price": [f"${i},000.50" for i in range(n)],
            "share": ["14.07%"] * 10 + ["n/a"] + ["3 %"] * 9,
            "day": [f"2024-01-{i + 1:02d}" for i in range(n)],
            "ages": ["10-14", "15-19"] * 10,
            "name": [f"person {i}" for i in range(n)],
            "colour": ["red"] * 10 + ["blue"] * 8 + ["green", None],
        }
    )
    found = Columns(most=2).fit(frame).transform(frame)
    assert list(found) == ["number", "price", "share", "day", "ages", "colour"]
    assert found["price"].tolist() == [1000 * i + 0.5 for i in range(n)]
    assert found["share"].isna().tolist() == [i == 10 for i in range(n)]
    assert found["ages"].tolist() == frame["ages"].tolist()
    assert found["day"].tolist() == [19723 + i for i in range(n)]
    assert found["colour"].isna().tolist() == [False] * 18 + [True] * 2  # the rarest category is not kept


def test_rows_without_a_label_and_rare_classes_are_left_out():
    labels = ["a"] * 30 + ["b"] * 10 + ["c"] * 9 + [None]
    table = LabelledTable(lambda: pd.DataFrame({"x": range(50), "y": labels}), "y")
    assert table.load()["y"].value_counts().to_dict() == {"a": 30, "b": 10}
    assert len(table.load(20)) <= 20


def test_a_file_of_an_archive_in_an_archive_is_found(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "outer").mkdir()
    shutil.make_archive(str(tmp_path / "outer" / "inner"), "gztar", tmp_path, "a.csv")
    shutil.make_archive(str(tmp_path / "package"), "zip", tmp_path, "outer")
    assert extracted((tmp_path / "package.zip").read_bytes(), "inner.tar.gz!a.csv") == b"x\n1\n"
