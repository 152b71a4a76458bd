"""One body over every format of files: the same rows give the same model as in memory, whatever holds them."""

import gzip
import json
import os
import signal
import subprocess
import sys
from functools import partial
from itertools import cycle, pairwise
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from sklearn.naive_bayes import GaussianNB

from suffice import (
    PCA,
    BernoulliClassifier,
    CategoricalClassifier,
    GaussianClassifier,
    LogisticClassifier,
    MixedClassifier,
    MultinomialClassifier,
    PoissonClassifier,
    checkpoint,
    files,
)
from suffice.errors import CheckpointError, DataError, MissingLabelsError, SkippedWarning, UnreadableError
from suffice.sources import as_source, base
from suffice.sources.files import blocks

N = 900
NUMBERS = ["length", "width", "events"]


def rows(seed=0):
    """Numbers, some missing, counts, truths, text and categories; the class "rare" is in the last rows alone."""
    rng = np.random.default_rng(seed)
    label = rng.choice(["ham", "spam"], N).astype(object)
    label[-30:] = "rare"
    fur = rng.choice(["black", "white", 'a "quoted", word', "two\nlines", "三毛"], N)
    return pa.table(
        {
            "length": rng.normal(1e3, 1, N) + (label == "spam"),
            "width": rng.normal(size=N),
            "gap": pa.array(rng.normal(size=N), mask=rng.random(N) < 0.2),
            "events": rng.poisson(3, N),
            "wild": rng.random(N) < 0.3,
            "fur": pa.array(fur.tolist(), mask=rng.random(N) < 0.1),
            "weight": rng.choice([0.0, 0.5, 1.0, 3.0], N),
            "label": pa.array(label.tolist()),
        }
    )


def write_json(table, path):
    text = "".join(json.dumps({k: v for k, v in row.items() if v is not None}) + "\n" for row in table.to_pylist())
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def write_csv(table, path, delimiter=","):
    options = pa.csv.WriteOptions(delimiter=delimiter)
    with pa.output_stream(path, compression="detect") as stream:
        pa.csv.write_csv(table, stream, options)


def write_zip(table, path):
    rows = pa.BufferOutputStream()
    pa.csv.write_csv(table, rows)
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("rows/a.csv", rows.getvalue().to_pybytes())
        for name in ("rows/", "rows/.DS_Store", "__MACOSX/._rows.csv"):
            archive.writestr(name, b"")


def categories(table):
    """The same rows, with categories for text and labels."""
    for name in ("fur", "label"):
        if name in table.column_names:
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, table.column(name).dictionary_encode())
    return table


FORMATS = {
    "parquet": partial(pq.write_table, row_group_size=70),
    "pq": lambda table, path: pq.write_table(categories(table), path, row_group_size=100),
    "arrow": partial(pa.feather.write_feather, compression="uncompressed", chunksize=64),
    "ipc": lambda table, path: pa.feather.write_feather(categories(table), path, compression="zstd", chunksize=100),
    "feather": partial(pa.feather.write_feather, compression="lz4", chunksize=450),
    "csv": write_csv,
    "csv.gz": write_csv,
    "csv.zip": write_zip,
    "tsv": partial(write_csv, delimiter="\t"),
    "jsonl": write_json,
    "json.gz": write_json,
}
CUTS = [0, 200, 200, 640, N]  # one file is empty


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """So that there are many: of every file, and batches of every piece."""
    monkeypatch.setattr(base, "PIECE", 200)
    monkeypatch.setattr(base, "CELLS", 256)
    monkeypatch.setattr(blocks, "BLOCK", 3000)
    monkeypatch.setattr(blocks, "HEAD", 2000)


def written(directory, table, suffix, cuts=CUTS):
    directory.mkdir(exist_ok=True)
    for i, (start, stop) in enumerate(pairwise(cuts)):
        FORMATS[suffix](table.slice(start, stop - start), directory / f"{i}.{suffix}")
    return directory


def same_statistics(one, two, rtol=1e-10, exact=False):
    assert one.classes.tolist() == two.classes.tolist()
    a, b = one.to_arrays(), two.to_arrays()
    assert a.keys() == b.keys()
    for key in a:
        if exact:
            np.testing.assert_array_equal(a[key], b[key], err_msg=key)
        else:
            scale = np.abs(b[key]).max(initial=0)
            np.testing.assert_allclose(a[key], b[key], rtol=rtol, atol=rtol * scale, err_msg=key)


MODELS = {
    "mixed": (MixedClassifier(), ["length", "width", "gap", "events", "wild", "fur"]),
    "diag": (GaussianClassifier("diag"), NUMBERS),
    "full": (GaussianClassifier("full"), NUMBERS),
    "tied": (GaussianClassifier("tied"), NUMBERS),
    "quartic": (GaussianClassifier("full", "ledoit_wolf"), NUMBERS),
    "pca": (PCA(2), NUMBERS),
    "bernoulli": (BernoulliClassifier(), ["wild"]),
    "poisson": (PoissonClassifier(), ["events"]),
    "multinomial": (MultinomialClassifier(), ["events", "wild"]),
    "categorical": (CategoricalClassifier(), ["fur", "events"]),
}


TURNS = cycle(name for name in MODELS if name != "mixed")


@pytest.mark.parametrize(
    ("suffix", "weight", "names"),
    [
        (suffix, weight, ("mixed", next(TURNS), next(TURNS)))
        for suffix, weight in zip(FORMATS, cycle([None, "weight"]), strict=False)
    ],
)
def test_every_format_gives_the_model_of_the_table_in_memory(tmp_path, suffix, weight, names):
    table = rows()
    path = written(tmp_path / "data", table, suffix)
    declared = categories if suffix in ("pq", "ipc") else lambda table: table
    for name in names:
        model, columns = MODELS[name]
        features = declared(table.select(columns))
        w = None if weight is None else table.column(weight)
        expected = model.fit(features, table.column("label"), sample_weight=w).statistics_
        fitted = model.fit(files(path, columns), "label", sample_weight=weight)
        same_statistics(fitted.statistics_, expected)
        results = fitted.transform if name == "pca" else fitted.log_likelihood
        np.testing.assert_array_equal(results(path), results(features), err_msg=name)
        if name != "pca":
            assert fitted.predict(str(path)).tolist() == fitted.predict(features).tolist()


def test_the_moments_are_those_of_scikit_learn(tmp_path):
    table = rows()
    path = written(tmp_path / "data", table, "parquet")
    X, y, w = (np.asarray(table.select(names).to_pandas()) for names in (NUMBERS, ["label"], ["weight"]))
    theirs = GaussianNB(var_smoothing=0).fit(X, y[:, 0].astype(str), sample_weight=w[:, 0])
    ours = GaussianClassifier("diag").fit(files(path, NUMBERS), "label", sample_weight="weight")
    np.testing.assert_allclose(ours.means_, theirs.theta_, rtol=1e-12)
    np.testing.assert_allclose(ours.covariances_, theirs.var_, rtol=1e-9)
    np.testing.assert_array_equal(ours.predict(path), theirs.predict(X))


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_threads_change_nothing(tmp_path, suffix, n_jobs):
    path = written(tmp_path / "data", rows(), suffix)
    one = GaussianClassifier("full", n_jobs=3).fit(files(path, NUMBERS), "label")
    two = GaussianClassifier("full", n_jobs=n_jobs).fit(files(path, NUMBERS), "label")
    same_statistics(one.statistics_, two.statistics_, exact=True)


def test_what_needs_all_rows_reads_them_into_memory(tmp_path):
    table = rows()
    path = written(tmp_path / "data", table, "csv")
    columns = ["length", "width", "gap"]
    features, labels = table.select(columns), table.column("label")
    clf = MixedClassifier().fit(files(path, columns), "label")
    assert clf.impute(files(path)).equals(clf.impute(features))
    assert clf.explain(path, "ham", "spam", tidy=True).equals(clf.explain(features, "ham", "spam", tidy=True))
    model = GaussianClassifier("diag")
    np.testing.assert_array_equal(
        model.leave_one_out(files(path, NUMBERS), "label"), model.leave_one_out(table.select(NUMBERS), labels)
    )
    np.testing.assert_array_equal(
        LogisticClassifier().fit(files(path, NUMBERS), "label", sample_weight="weight").llr(path, "ham", "spam"),
        LogisticClassifier()
        .fit(table.select(NUMBERS), labels, sample_weight=table.column("weight"))
        .llr(table.select(NUMBERS), "ham", "spam"),
    )


def test_models_stream_and_forget_files(tmp_path):
    path = written(tmp_path / "data", rows().select([*NUMBERS, "label"]), "parquet")
    parts = [str(path / f"{i}.parquet") for i in (0, 2, 3)]
    clf = GaussianClassifier("full").fit(parts[0], "label").partial_fit(parts[1:], "label").forget(parts[0], "label")
    same_statistics(clf.statistics_, GaussianClassifier("full").fit(parts[1:], "label").statistics_, rtol=1e-6)


# Which files, and which of their columns and rows.


@pytest.mark.parametrize(
    "path",
    ["data", "data/*.parquet", "**/*.parquet", ["data/[0-2].parquet", "data/3.parquet"], ["data", "data/1.parquet"]],
    ids=str,
)
def test_paths_globs_directories_and_lists(tmp_path, monkeypatch, path):
    table = rows().select([*NUMBERS, "label"])
    written(tmp_path / "data", table, "parquet")
    (tmp_path / "data" / "_SUCCESS.parquet").write_bytes(b"what Spark leaves behind")
    monkeypatch.chdir(tmp_path)
    expected = GaussianClassifier().fit(table, "label")
    if path == "data/*.parquet":
        os.remove("data/_SUCCESS.parquet")  # a glob takes what it matches
    if path == "**/*.parquet":
        os.remove("data/_SUCCESS.parquet")
    same_statistics(GaussianClassifier().fit(path, "label").statistics_, expected.statistics_)


def test_directories_name_columns_as_hive_has_them(tmp_path):
    table = rows().select([*NUMBERS, "label"])
    for name in ("ham", "spam", "rare"):
        for part in range(2):
            own = table.filter(pc.field("label") == name)
            directory = tmp_path / f"label={name}" / f"part={part}"
            directory.mkdir(parents=True)
            half = own.slice(0, len(own) // 2) if part == 0 else own.slice(len(own) // 2)
            pq.write_table(half.drop_columns("label"), directory / "a.parquet")
    expected = GaussianClassifier().fit(table, "label").statistics_
    same_statistics(GaussianClassifier().fit(files(tmp_path, NUMBERS), "label").statistics_, expected)
    clf = MixedClassifier().fit(tmp_path / "*" / "*" / "*.parquet", "label")
    assert clf.feature_names_in_.tolist() == [*NUMBERS, "part"]
    assert clf.statistics_.weight.sum() == N
    few = files(tmp_path, NUMBERS, filter=pc.field("label") != "ham")
    assert GaussianClassifier().fit(few, "label").classes_.tolist() == ["rare", "spam"]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl", "arrow"])
@pytest.mark.parametrize(
    ("condition", "mask"),
    [
        ([("events", ">=", 4)], lambda t: pc.greater_equal(t["events"], 4)),
        (pc.field("fur") == "white", lambda t: pc.equal(t["fur"], "white")),
        (
            (pc.field("width") > 0) & (pc.field("weight") > 0),
            lambda t: pc.and_(pc.greater(t["width"], 0), pc.greater(t["weight"], 0)),
        ),
    ],
    ids=["list", "column that is no feature", "expression"],
)
def test_filters_choose_rows(tmp_path, suffix, condition, mask):
    table = rows()
    path = written(tmp_path / "data", table, suffix)
    kept = table.filter(mask(table)).select([*NUMBERS, "label"])
    source = files(path, NUMBERS, filter=condition)
    clf = GaussianClassifier("diag").fit(source, "label")
    same_statistics(clf.statistics_, GaussianClassifier("diag").fit(kept, "label").statistics_)
    assert clf.predict(source).tolist() == clf.predict(kept.select(NUMBERS)).tolist()


def test_row_groups_that_the_filter_excludes_are_not_read(tmp_path):
    table = rows().append_column("day", pa.array(np.arange(N) // 100))
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    damaged(tmp_path / "a.parquet", row_group=2)
    clf = GaussianClassifier().fit(files(tmp_path / "a.parquet", NUMBERS, filter=[("day", ">=", 5)]), "label")
    assert clf.statistics_.weight.sum() == 400


def test_integers_of_text_may_become_fractions_later(tmp_path):
    text = "x,label\n" + "1,0\n2,1\n" * 300 + "2.5,0\n3,1\n" * 200  # within the first block
    (tmp_path / "a.csv").write_text(text)
    table = pa.csv.read_csv(tmp_path / "a.csv", pa.csv.ReadOptions(block_size=len(text)))
    fitted = GaussianClassifier("diag").fit(tmp_path / "a.csv", "label")
    same_statistics(fitted.statistics_, GaussianClassifier("diag").fit(table, "label").statistics_)
    assert fitted.classes_.dtype == np.int64  # labels stay what they are
    lines = text.replace("x,label\n", "").splitlines()
    objects = [json.dumps({"x": json.loads(x), "label": int(y)}) for x, y in (line.split(",") for line in lines)]
    (tmp_path / "a.jsonl").write_text("\n".join(objects))  # and the last line has no end
    same_statistics(GaussianClassifier("diag").fit(tmp_path / "a.jsonl", "label").statistics_, fitted.statistics_)


def test_types_of_different_files_agree_where_they_can(tmp_path):
    label = list("abab")
    pq.write_table(pa.table({"x": [1, 2, 3, 5], "c": ["u", "v", "u", "u"], "label": label}), tmp_path / "0.parquet")
    other = {"x": [1.5, None, 3, 4], "c": pa.array(["w"] * 4).dictionary_encode(), "label": label}
    pq.write_table(pa.table(other), tmp_path / "1.parquet")
    nothing = {"x": pa.nulls(4), "c": pa.nulls(4), "label": label}
    pq.write_table(pa.table(nothing), tmp_path / "2.parquet")
    clf = MixedClassifier({"x": "gaussian"}).fit(tmp_path, "label")
    assert clf.statistics_.weight.tolist() == [6, 6]
    np.testing.assert_allclose(clf.statistics_.parts["gaussian"].mean, [[(1 + 3 + 1.5 + 3) / 4], [11 / 3]])
    assert clf.statistics_.parts["categorical"].categories[0].tolist() == ["u", "v", "w"]


def test_types_may_be_given(tmp_path):
    (tmp_path / "a.csv").write_text("zip,label\n01234,1\n99999,2\n01234,1\n")
    clf = CategoricalClassifier().fit(files(tmp_path / "a.csv", types={"zip": "string"}), "label")
    assert clf.statistics_.categories[0].tolist() == ["01234", "99999"]


CELLS = {"zeros": ("01", "02"), "truths": ("true", "false"), "fractions": ("1.50", "2.00")}


@pytest.mark.parametrize("kind", [CategoricalClassifier, MixedClassifier])
@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS)
@pytest.mark.parametrize(("suffix", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_what_was_learnt_as_text_is_read_as_text(tmp_path, cells, kind, suffix, delimiter):
    known = {"c": [*cells, "x", "y"], "y": ["01", "no", "01", "no"]}
    new = {"c": list(cells), "y": ["01", "01"]}
    more = tmp_path / f"more.{suffix}"
    more.write_text("".join(delimiter.join(row) + "\n" for row in [new.keys(), *zip(*new.values(), strict=True)]))
    clf = kind().fit(pa.table(known), "y")
    before = clf.statistics_
    assert not clf.unknown_cells(more).any()
    np.testing.assert_array_equal(clf.log_likelihood(more), clf.log_likelihood(pa.table({"c": cells})))
    assert np.sum(clf.evaluate(more, "y").confusion, axis=1).tolist() == [2, 0]  # both are of class "01"
    clf.to_parquet(more, tmp_path / "out.parquet", outputs=["decision"])
    assert pq.read_table(tmp_path / "out.parquet")["c"].to_pylist() == new["c"]
    both = kind().fit(pa.concat_tables([pa.table(known), pa.table(new)]), "y")
    same_statistics(clf.partial_fit(more, "y").statistics_, both.statistics_)
    same_statistics(clf.forget(more, "y").statistics_, before)


def test_types_that_the_user_gives_go_before_those_that_a_model_knows(tmp_path):
    (tmp_path / "a.csv").write_text("c\n01\n02\n")
    clf = CategoricalClassifier().fit(pa.table({"c": ["01", "x", "02"], "y": ["a", "b", "b"]}), "y")
    assert clf.unknown_cells(files(tmp_path / "a.csv", types={"c": "int64"})).all()


def test_directories_are_read_as_text_where_it_was_learnt(tmp_path):
    (tmp_path / "zip=01").mkdir()
    (tmp_path / "zip=01" / "a.csv").write_text("x\n1\n")
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "zip": ["01", "x", "01", "x"], "y": ["a", "a", "b", "b"]})
    clf = MixedClassifier().fit(table, "y")
    assert not clf.unknown_cells(tmp_path).any()


def test_rows_may_be_longer_than_a_block(tmp_path):
    names = [f"a column with a long name {j}" for j in range(300)]
    table = pa.table({**{name: np.random.default_rng(j).normal(size=40) for j, name in enumerate(names)}})
    table = table.append_column("label", pa.array(["a", "b"] * 20))
    for suffix in ("csv", "jsonl"):
        path = written(tmp_path / suffix, table, suffix, [0, 40])
        found = GaussianClassifier("diag").fit(path, "label")
        same_statistics(found.statistics_, GaussianClassifier("diag").fit(table, "label").statistics_)


def test_the_index_that_pandas_leaves_in_a_file_is_no_feature(tmp_path):
    frame = rows().select([*NUMBERS, "label"]).to_pandas()
    frame[frame["width"] > 0].to_parquet(tmp_path / "a.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "a.parquet").names
    clf = GaussianClassifier().fit(tmp_path / "a.parquet", "label")
    assert clf.feature_names_in_.tolist() == NUMBERS


def test_columns_may_stand_in_another_order(tmp_path):
    (tmp_path / "a.csv").write_text("x,y,label\n1,2,a\n3,5,b\n")
    (tmp_path / "b.csv").write_text("label,y,x\r\na,4,3\r\nb,6,1\r\n")
    clf = GaussianClassifier("diag").fit(tmp_path, "label")
    assert clf.means_.tolist() == [[2, 3], [2, 5.5]]


def test_progress_tells_rows_and_bytes(tmp_path):
    for suffix in ("parquet", "csv.gz", "arrow"):
        path = written(tmp_path / suffix, rows(), suffix)
        seen = []
        GaussianClassifier().fit(files(path, NUMBERS, progress=seen.append), "label")
        size = sum(file.stat().st_size for file in path.iterdir())
        assert seen[-1].rows == N
        assert seen[-1].bytes == seen[-1].total_bytes == size
        for count in ("rows", "bytes"):
            values = [getattr(step, count) for step in seen]
            assert values == sorted(values)
        assert len(seen) > len(CUTS)


# Mistakes.


def damaged(path, row_group):
    """Overwrite the middle of a row group of a Parquet file."""
    column = pq.read_metadata(path).row_group(row_group).column(0)
    content = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    content[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(content)


def test_what_is_wrong_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "a.csv": "x,label\n1,a\n2,b\n3,a\n4,b\n",
        "other.csv": "x,z,label\n1,2,a\n",
        "words.csv": "x,label\none,a\n",
        "null.csv": "x,label\n1,a\n2,\n3,\n4,b\n",
        "header.csv": "x,label\n",
        "empty.csv": "",
        "table.dat": "x,label\n1,a\n2,b\n3,a\n4,b\n",
        "w.csv": "x,w,label\n1,1,a\n2,-1,b\n",
        "label.csv": "label\na\nb\n",
        "array.json": '[{"x": 1, "label": "a"},\n{"x": 2, "label": "b"}]\n',
    }.items():
        (tmp_path / name).write_text(text)
    pq.write_table(pa.table({"x": ["one"], "label": ["a"]}), tmp_path / "words.parquet")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "d" / "k=1").mkdir(parents=True)
    for path in ("d/k=1/a.csv", "d/b.csv"):
        (tmp_path / path).write_text("x,label\n1,a\n")
    clf = GaussianClassifier("diag")
    for path, error, message in [
        ("no.csv", FileNotFoundError, "there is no file or directory 'no.csv'"),
        ("no*.csv", FileNotFoundError, r"no file matches 'no\*\.csv'"),
        ("nothing", FileNotFoundError, "there is no table in 'nothing'"),
        (["a.csv", "other.csv"], DataError, r"other\.csv has other columns than a\.csv: only one of them has 'z'"),
        (["a.csv", "words.csv"], DataError, r"this model needs numbers, but column 'x' \(string\)"),
        (["words.parquet", "a.csv"], DataError, r"column 'x' is int64 in a\.csv, but string in words\.parquet"),
        (["a.csv", "words.parquet"], DataError, r"column 'x' is string in words\.parquet, but int64 in a\.csv"),
        ("null.csv", MissingLabelsError, "y has 2 missing labels"),
        ("header.csv", DataError, r"there is no row in 'header\.csv'"),
        ("empty.csv", DataError, r"there is nothing to read in 'empty\.csv'"),
        ("array.json", DataError, r"array\.json is a JSON array, but JSON lines are needed"),
        ("label.csv", DataError, "no column is left for features"),
        ("d", DataError, r"only one of d/b\.csv and d/k=1/a\.csv has 'k' in its path"),
        (files("a.csv", ["x", "q"]), DataError, "the files have no column 'q'; their columns are 'x', 'label'"),
        (files("a.csv", filter=[("q", ">", 1)]), DataError, "filter=.* does not fit the columns 'x', 'label'"),
        (files("a.csv", filter=[("x", ">", 9)]), DataError, r"no row that passes \(x > 9\) in 'a\.csv'"),
        (files("a.csv", types={"x": "floating"}), DataError, "'floating', which is not the name of an Arrow type"),
        (files("a.csv", types={"q": "string"}), DataError, "the files have no column 'q'; their columns are 'x'"),
        (files(["a.csv", "other.csv"], ["x", "z"]), DataError, r"a\.csv has no column 'z'"),
    ]:
        with pytest.raises(error, match=message):
            clf.fit(path, "label")
    with pytest.raises(
        DataError, match="there is no column 'class' to take the labels from; the columns are 'x', 'label'"
    ):
        clf.fit("a.csv", "class")
    with pytest.raises(DataError, match="the labels of files are one of their columns: pass its name, not list"):
        clf.fit("a.csv", ["a", "b"])
    with pytest.raises(DataError, match="there is no column 'q' to take the weights from"):
        clf.fit("a.csv", "label", sample_weight="q")
    with pytest.raises(DataError, match="weights must be finite and not negative"):
        clf.fit("w.csv", "label", sample_weight="w")
    (tmp_path / "w.csv").write_text("x,w,label\n1,0,a\n2,0,b\n")
    with pytest.raises(DataError, match="all weights are zero"):
        clf.fit("w.csv", "label", sample_weight="w")
    with pytest.raises(DataError, match="the files have no column 'x'"):
        clf.fit("a.csv", "label").predict("label.csv")
    assert clf.fit(files("table.dat", format="csv"), "label").means_.tolist() == [[2], [3]]
    for options, message in [
        ({"format": "xls"}, "format='xls' is not known"),
        ({"on_error": "ignore"}, "on_error='ignore' is not known"),
        ({"columns": "x"}, "columns='x' must be a list"),
    ]:
        with pytest.raises(DataError, match=message):
            files("a.csv", **options)
    with pytest.raises(DataError, match="path= must be a path or a list of paths"):
        files([])
    monkeypatch.setenv("HOME", str(tmp_path))
    assert clf.fit("~/a.csv", "label").means_.tolist() == [[2], [3]]


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (["3", "5"], ["abc", "7"]),
        (["1", "2"], ['"1,234"', '"5,678"']),
        (["1", "0"], ["yes", "no"]),
        (["2021-01-02", "2021-01-03"], ["02/13/2021", "02/14/2021"]),
        (["true", "false"], ["1", "0"]),
        (["1.5", "2"], ["2021-01-02", "2021-01-03"]),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_cells_that_look_like_other_types_in_other_files_are_text(tmp_path, first, other, turned):
    """As they are, where these rows are in one file."""
    parts = [other, first] if turned else [first, other]
    for name, cells in zip("ab", parts, strict=True):
        lines = [f"{cell},{label}\n" for cell, label in zip(cells * 10, ["u", "v", "v"] * 10, strict=False)]
        (tmp_path / f"{name}.csv").write_text("x,y\n" + "".join(lines))
    source = as_source(str(tmp_path / "*.csv"), "y")
    (column,) = source.in_memory().table.columns()
    assert column.kind == "text"
    assert [*map(str, column.values.to_pylist())] == [cell.strip('"') for cells in parts for cell in cells * 10]
    swapped = as_source(str(tmp_path / "*.csv"), "x")  # also of labels
    assert set(swapped.in_memory().y) == {cell.strip('"') for cells in parts for cell in cells}


def test_words_are_not_paths():
    assert as_source(["the cat sat", "a dog"]).in_memory().array_source().n_rows == 2


def break_parquet(path):
    damaged(path, row_group=2)
    return "row group 2", slice(140, 210)


def cut_parquet(path):
    path.write_bytes(path.read_bytes()[:-100])
    return "cannot be read", slice(0, N)


def break_csv(path):
    lines = path.read_text().splitlines(keepends=True)
    lines[400] = lines[400].replace("\n", ",more\n")
    path.write_text("".join(lines))
    return "line 401", 399


def break_json(path):
    lines = path.read_text().splitlines(keepends=True)
    lines[400] = lines[400][:20] + "\n"
    path.write_text("".join(lines))
    return "line 401", 400


def cut_gz(path):
    path.write_bytes(path.read_bytes()[:-2000])
    return "after byte [1-9][0-9]*: ", None


def change_zip(path):
    """The wrong sum of all bytes, which is only known at the end."""
    content = bytearray(path.read_bytes())
    for header, place in ((b"PK\x03\x04", 14), (b"PK\x01\x02", 16)):
        content[content.find(header) + place] ^= 1
    path.write_bytes(content)
    return "Bad CRC-32", None


def cut_arrow(path):
    path.write_bytes(path.read_bytes()[:-100])
    return "cannot be read", slice(0, N)


def test_quotes_that_are_never_closed_are_named(tmp_path):
    (tmp_path / "a.csv").write_text('c,y\n"one, ""two""\nlines",a\n2,b\n3,"a\n')
    with pytest.raises(UnreadableError, match=r"a\.csv, line 5: .*quotes are opened and never closed"):
        CategoricalClassifier().fit(tmp_path / "a.csv", "y")
    (tmp_path / "a.csv").write_text('c,y\n5" pipe,a\nrod,b\n')  # within a cell, they are part of it
    clf = CategoricalClassifier().fit(tmp_path / "a.csv", "y")
    assert clf.statistics_.categories[0].tolist() == ['5" pipe', "rod"]


@pytest.mark.parametrize(
    ("suffix", "breaks"),
    [
        ("parquet", break_parquet),
        ("parquet", cut_parquet),
        ("csv", break_csv),
        ("jsonl", break_json),
        ("csv.gz", cut_gz),
        ("csv.zip", change_zip),
        ("arrow", cut_arrow),
    ],
)
def test_damage_is_named_with_its_place_or_skipped_and_listed(tmp_path, suffix, breaks):
    table = rows().select([*NUMBERS, "label"])
    path = written(tmp_path / "data", table, suffix, [0, N])
    FORMATS[suffix](table, path / f"1.{suffix}")
    place, lost = breaks(path / f"0.{suffix}")
    with pytest.raises(UnreadableError, match=rf"0\.{suffix}.*{place}"):
        GaussianClassifier().fit(path, "label")
    source = files(path, on_error="skip")
    with pytest.warns(SkippedWarning, match=rf"1 part of the files could not be read and is left out: .*0\.{suffix}"):
        clf = GaussianClassifier().fit(source, "label")
    assert len(source.skipped) == 1
    assert f"0.{suffix}" in source.skipped[0]
    if lost is None:
        assert N < clf.statistics_.weight.sum() < 2 * N
    else:
        kept = np.delete(np.arange(2 * N), lost)
        expected = GaussianClassifier().fit(pa.concat_tables([table, table]).take(kept), "label")
        same_statistics(clf.statistics_, expected.statistics_)


def test_one_damaged_row_group_does_not_take_others_along(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "PIECE", 1 << 20)  # all row groups are one piece
    table = rows().select([*NUMBERS, "label"])
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=70)
    damaged(path, row_group=2)
    damaged(path, row_group=5)
    with pytest.raises(UnreadableError, match=r"a\.parquet, row group 2: "):
        GaussianClassifier().fit(path, "label")
    kept = np.delete(np.arange(N), [*range(140, 210), *range(350, 420)])
    expected = GaussianClassifier().fit(table.take(kept), "label")
    state = tmp_path / "run.ckpt"
    for _ in range(2):  # the second time, from the notes
        source = files(path, on_error="skip", checkpoint=state)
        with pytest.warns(SkippedWarning, match="2 parts of the files"):
            clf = GaussianClassifier().fit(source, "label")
        same_statistics(clf.statistics_, expected.statistics_)
        assert [message.split(":")[0] for message in source.skipped] == [f"{path}, row group {i}" for i in (2, 5)]


# Runs that are stopped.

SCRIPT = """
import os, signal, sys
from suffice import GaussianClassifier, MixedClassifier, arrayfile, checkpoint, files
from suffice.sources import base
from suffice.sources.files import blocks
base.PIECE, base.CELLS, blocks.BLOCK, blocks.HEAD, checkpoint.SECONDS = 200, 256, 3000, 2000, 0
moment, path, state = sys.argv[1:]
kind, _, count = moment.partition(" ")
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
seen = []
def progress(step):
    seen.append(step)
    if kind == "pieces" and len(seen) == int(count):
        die()
replace, writes = os.replace, []
def replaced(a, b):
    writes.append(b)
    replace(a, b)
    if kind == "writes" and len(writes) == int(count):
        die()
os.replace = replaced
MixedClassifier(covariance="full", n_jobs=2).fit(files(path, COLUMNS, checkpoint=state, progress=progress), "label")
"""
COLUMNS = ["length", "width", "events", "fur"]


def mixed(source):
    return MixedClassifier(covariance="full", n_jobs=2).fit(source, "label").statistics_


@pytest.mark.parametrize(
    ("suffix", "moment"),
    [("parquet", "writes 3"), ("csv.gz", "pieces 9")],
)
def test_killed_at_any_moment_a_run_goes_on_to_the_same_model(tmp_path, monkeypatch, suffix, moment):
    path = written(tmp_path / "data", rows(), suffix)
    expected = mixed(files(path, COLUMNS))
    state = tmp_path / "run.ckpt"
    script = SCRIPT.replace("COLUMNS", repr(COLUMNS))
    done = subprocess.run([sys.executable, "-c", script, moment, str(path), str(state)], timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    assert state.exists()
    header, _ = checkpoint.arrayfile.read(state, "checkpoint", checkpoint.FORMAT, CheckpointError)
    before = sum(note["rows"] for note in header["done"].values())
    assert before < N
    seen = []
    found = mixed(files(path, COLUMNS, checkpoint=state, progress=seen.append))
    same_statistics(found, expected, exact=True)
    assert seen[0].rows > before
    again = []
    same_statistics(mixed(files(path, COLUMNS, checkpoint=state, progress=again.append)), expected, exact=True)
    assert again == []  # there was nothing left to read


def test_files_that_came_since_are_added(tmp_path):
    table = rows()
    path = written(tmp_path / "data", table, "parquet", [0, 300, 600])
    state = tmp_path / "run.ckpt"
    mixed(files(path, COLUMNS, checkpoint=state))
    pq.write_table(table.slice(600), path / "00.parquet")  # before the others
    seen = []
    found = mixed(files(path, COLUMNS, checkpoint=state, progress=seen.append))
    same_statistics(
        found, MixedClassifier(covariance="full").fit(table.select([*COLUMNS, "label"]), "label").statistics_
    )
    assert {step.file for step in seen} == {str(path / "00.parquet")}


def test_a_run_that_damage_stopped_goes_on_without_it(tmp_path):
    path = written(tmp_path / "data", rows(), "parquet", [0, 300, 600, N])
    damaged(path / "1.parquet", row_group=1)
    state = tmp_path / "run.ckpt"
    with pytest.raises(UnreadableError, match="row group 1"):
        GaussianClassifier().fit(files(path, NUMBERS, checkpoint=state), "label")
    seen = []
    with pytest.warns(SkippedWarning, match="row group 1"):
        clf = GaussianClassifier().fit(
            files(path, NUMBERS, checkpoint=state, on_error="skip", progress=seen.append), "label"
        )
    assert seen[0].file.endswith("1.parquet")  # what came before was not lost
    assert clf.statistics_.weight.sum() == N - 70
    source = files(path, NUMBERS, checkpoint=state, on_error="skip")
    with pytest.warns(SkippedWarning, match="row group 1"):
        same_statistics(GaussianClassifier().fit(source, "label").statistics_, clf.statistics_, exact=True)


FULL = GaussianClassifier("full")


def touched(path):
    status = (path / "0.parquet").stat()
    os.utime(path / "0.parquet", ns=(status.st_atime_ns, status.st_mtime_ns + 1))


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (touched, {}, r"0\.parquet has changed since it was counted"),
        (lambda path: os.remove(path / "0.parquet"), {}, r"0\.parquet', which is not among the files now"),
        (None, {"model": GaussianClassifier("diag")}, "its statistic is .*'full'.*, here it is .*'diag'"),
        (None, {"y": "fur"}, "another job: its columns is"),
        (None, {"columns": ["length"]}, "another job: its columns is"),
        (None, {"filter": [("width", ">", 0)]}, "its filter is None, here it is '.*width > 0"),
        (
            lambda path: (path.parent / "run.ckpt").write_bytes(b"no"),
            {},
            "is not a checkpoint file of suffice",
        ),
    ],
    ids=["touched", "gone", "another layout", "other labels", "other columns", "a filter", "damaged"],
)
def test_other_jobs_and_changed_files_are_refused(tmp_path, change, options, message):
    path = written(tmp_path / "data", rows(), "parquet", [0, 300, 600])
    state = tmp_path / "run.ckpt"

    def fit(model=FULL, y="label", columns=tuple(NUMBERS), **rest):
        return model.fit(files(path, columns, checkpoint=state, **rest), y)

    fit()
    if change is not None:
        change(path)
    with pytest.raises(CheckpointError, match=message):
        fit(**options)


def test_a_checkpoint_that_cannot_be_written_shows_at_once(tmp_path):
    path = written(tmp_path / "data", rows(), "parquet")
    seen = []
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        mixed(files(path, COLUMNS, checkpoint=tmp_path / "no" / "run.ckpt", progress=seen.append))
    assert seen == []


# Weights of frames in memory.


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_weights_of_frames_may_be_a_column(library):
    import polars as pl

    table = rows().select([*NUMBERS, "weight", "label"])
    frame = {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table), "arrow": lambda: table}[library]()
    expected = GaussianClassifier().fit(table.select(NUMBERS), table["label"], sample_weight=table["weight"])
    fitted = GaussianClassifier().fit(frame, "label", sample_weight="weight")
    same_statistics(fitted.statistics_, expected.statistics_, exact=True)
    assert fitted.feature_names_in_.tolist() == NUMBERS


def test_a_path_may_look_like_a_url(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd:").mkdir()
    (tmp_path / "odd:" / "a.csv").write_text("x,label\n1,a\n2,b\n")
    assert as_source("odd://a.csv", "label").names == ("x",)
