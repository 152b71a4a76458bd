"""Text files as people have them: separators, encodings, headers, decimal marks and missing values."""

import gzip
import io
import itertools
import subprocess
import sys
import warnings
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest

from suffice import GaussianClassifier, MixedClassifier, files
from suffice.errors import DataError, FormatWarning, UnreadableError
from suffice.sources import as_source
from suffice.sources.files.dialect import TextOptions, numbered, sniffed

NAMES = ["größe", "b", "café", "label"]
ROWS = [(1.5, 3, "crème", "x"), (-2.25, 4, "brûlée", "y"), (0.75, 5, "thé", "x"), (4.0, 6, "crème", "y")]


def read(path, label="label", **options):
    """All features of files as a dict of lists, and their labels."""
    source = as_source(files(path, **options), label).in_memory()
    table = source.table
    columns = {name: column.values.to_pylist() for name, column in zip(table.names, table.columns(), strict=True)}
    return columns, np.asarray(source.y).tolist()


def written(sep, decimal, header, end="\n"):
    rows = [[str(x).replace(".", decimal) if isinstance(x, float) else str(x) for x in row] for row in ROWS]
    return "".join(sep.join(cells) + end for cells in ([NAMES] if header else []) + rows)


def columns_of(rows, names):
    return {name: [row[j] for row in rows] for j, name in enumerate(names)}


ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "cp1252"]


@pytest.mark.parametrize("header", [True, False], ids=["header", "no header"])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("sep", "decimal"), [(",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ","), ("|", "."), ("  ", ".")]
)
@pytest.mark.parametrize("name", ["a.csv", "a.data", "a.txt.gz"])
def test_files_are_read_as_they_are_written(tmp_path, name, sep, decimal, encoding, header):
    """Without any option, the values are those that were written."""
    if name == "a.csv" and sep == "  ":
        name = "a.dat"  # cells of CSV may hold spaces
    content = written(sep, decimal, header, "\r\n" if encoding == "cp1252" else "\n").encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    names = NAMES if header else ["x0", "x1", "x2", "x3"]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found, labels = read(tmp_path / name, names[3])
    assert found == columns_of(ROWS, names[:3])
    assert labels == [row[3] for row in ROWS]
    texts = " ".join(str(one.message) for one in told)
    assert ("is not UTF-8 and is read as Windows-1252" in texts) == (encoding == "cp1252")
    assert ("holds values, so that its columns are named x0 to x3" in texts) == (not header)


def test_what_is_given_is_not_guessed(tmp_path):
    """Options say what the sniffer would read otherwise, and there is no warning."""
    path = tmp_path / "a.csv"
    path.write_bytes("1,0\t5,0\té\n2,0\t6,0\tü\n".encode("cp1252"))
    options = {"header": False, "encoding": "cp1252"}
    found, labels = read(path, "x2", **options)
    assert (found, labels) == ({"x0": [1, 2], "x1": [5, 6]}, ["é", "ü"])
    found, labels = read(path, "x2", sep=",", **options)
    assert (found, labels) == ({"x0": [1, 2], "x1": ["0\t5", "0\t6"]}, ["0\té", "0\tü"])
    path.write_text("1,2,a\n3,4,b\n")
    found, labels = read(path, "a", header=True)
    assert (found, labels) == ({"1": [3], "2": [4]}, ["b"])
    path.write_text("x,label\n1.5,a\nmany,b\n-,b\n")
    assert read(path, na=["many", "-"])[0]["x"] == [1.5, None, None]
    path.write_text("x;label\n-99;a\n1,5;a\n-99,00;b\n-99,000000;b\n-99,5;b\n")
    assert read(path, na=["-99"])[0]["x"] == [None, 1.5, None, None, -99.5]
    path.write_text('x,label\n"1,250",a\n"2,500",b\n')
    assert read(path, decimal=",")[0]["x"] == [1.25, 2.5]


SNIFFED = {
    "commas within the cells of a European file": ("a;b\n1,5;x\n2,5;y\n", ";", ","),
    "commas between digits alone": ("foo;1,5\nbar;2,5\n", ";", ","),
    "only decimal commas": ("1,5;2,5;3,5\n1,5;2,5;3,5\n", ";", ","),
    "semicolons within the cells of CSV": ("id,tags\n1,a;b\n2,c;d\n", ",", "."),
    "spaces within the cells of CSV": ("first name,last name\nJohn X,Mary Y\n", ",", "."),
    "a single column": ("text\nhello, you\nmy dear\n", ",", "."),
    "no decimals in a file with semicolons": ("a;b\n1;2\n", ";", ","),
    "points in a file with semicolons": ("a;b\n1.5;2\n", ";", "."),
    "thousands": ("a;b\n1,234;2.5\n", ";", "."),
    "points between thousands": ("a;b\n950;0,5\n1.329;0,7\n", ";", ","),
    "only points between thousands": ("a,b\n950 €,x\n1.329 €,y\n", ",", ","),
    "three decimals": ("a;b\n0.950;x\n1.329;y\n", ";", "."),
    "three decimals or thousands": ("a;b\n2.950;x\n1.329;y\n", ";", "."),
    "money": ("a;b\n1.950,50 €;x\n15,00 €;y\n", ";", ","),
    "dates are not decimals": ("a;b\n01.02.2020;1,5\n", ";", ","),
    "a separator in quotes": ('a,b\n"x;y;z",1\n"u;v;w",2\n', ",", "."),
    "one ragged row": ("a;b;c\n" + "1;2;3\n" * 20 + "1;2\n", ";", ","),
    "quoted decimal commas": ('a,b\n"1,5","x"\n"2,5","y"\n', ",", ","),
}


@pytest.mark.parametrize("case", SNIFFED)
def test_separators_and_decimal_marks_are_sniffed(case):
    text, sep, decimal = SNIFFED[case]
    found = sniffed(text, TextOptions(), ",\t;|")
    assert (found.sep, found.decimal) == (sep, decimal)
    assert found.doubtful == (("a", "1.329") if case == "three decimals or thousands" else None)


@pytest.mark.parametrize("given", [{}, {"decimal": ","}])
@pytest.mark.parametrize("unit", ["", " €"])
def test_the_decimal_mark_of_a_file_holds_for_all_columns(tmp_path, unit, given):
    path, amounts = tmp_path / "a.csv", [x + 5 for x in range(600, 1900, 10)]
    cells = [f"{x:,}".replace(",", ".") for x in amounts]
    path.write_text("".join(["a;b;y\n", *(f"{x}{unit};0,{i};{i % 2}\n" for i, x in enumerate(cells))]))
    for clf in (MixedClassifier(), MixedClassifier({"a": "gaussian"}), MixedClassifier({"integer": "binned"})):
        clf.fit(files(path, **given), "y")
        assert clf.schema_.by_name()["a"][0].reads == (("number", ","),)


def test_a_decimal_mark_that_may_separate_thousands_is_warned_of(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,label\n2.950,x\n1.329,y\n")
    with pytest.warns(FormatWarning, match=r"holds 1\.329, which is read as 1\.329; if '\.' separates thousands"):
        assert read(path)[0]["a"] == [2.95, 1.329]
    assert read(path, decimal=".")[0]["a"] == [2.95, 1.329]


HEADERS = {
    "a,b,c": True,
    "id,2019,2020": True,
    "0,1,2,3": True,
    "850,852,854,856,species": True,
    "1100.5,1101.0,1101.5": True,
    ",a,b": True,
    "x1,x2,y": True,
    "5.1,3.5,1.4,0.2,Iris-setosa": False,
    "39,State-gov,77516,Bachelors,13": False,
    "1,0,0,1,yes": False,
    "-1,2,3": False,
    "2,1e5,u": False,
}


@pytest.mark.parametrize("first", HEADERS)
def test_a_first_row_is_a_header_unless_it_cannot_be(first):
    """It is safe to say that it holds values only if its numbers cannot be names."""
    assert sniffed(f"{first}\n{first}\n", TextOptions(), ",").header == HEADERS[first]


def test_names_that_occur_again_are_numbered_as_pandas_does(tmp_path):
    for names in itertools.product(["a", "a.1", "b", "", "a.2"], repeat=4):
        text = ",".join(names) + "\n" + "1,2,3,4\n"
        if not any(names):
            continue  # an empty row
        assert list(sniffed(text, TextOptions(), ",").names) == list(pd.read_csv(io.StringIO(text))), names
    (tmp_path / "a.csv").write_text("\ufeffx,x,label,x\r\n1,2,a,3\r\n4,5,b,6\r\n", encoding="utf-8")
    assert read(tmp_path / "a.csv")[0] == {"x": [1, 4], "x.1": [2, 5], "x.2": [3, 6]}
    assert numbered(["a", "a"]) == ("a", "a.1")


def test_missing_values_are_those_that_people_write(tmp_path):
    text = "n,m,word,label\n1,1,?,a\n?,-,-,b\nNA,.,x,a\n,3,y,b\n2,na,NULL,a\n"
    (tmp_path / "a.csv").write_text(text)
    found, _ = read(tmp_path / "a.csv")
    assert found["n"] == [1, None, None, None, 2]
    # The dash is a category of another column, so that it may be one here, too.
    assert found["m"][1] == "-"
    assert found["word"] == [None, "-", "x", "y", None]
    (tmp_path / "a.csv").write_text(text.replace("-,-", "-,z"))
    found, _ = read(tmp_path / "a.csv")
    assert found["m"] == [1, None, None, 3, None]


def test_quotes_around_every_cell_do_not_make_text_of_numbers(tmp_path):
    (tmp_path / "a.csv").write_text('"x","word","label"\n"1","a","u"\n"","NA","v"\n"3","b","u"\n')
    found, _ = read(tmp_path / "a.csv")
    assert found["x"] == [1, None, 3]
    assert found["word"] == ["a", None, "b"]
    (tmp_path / "a.csv").write_text('x,word,label\n1,"NA",u\n2,NA,v\n')
    assert read(tmp_path / "a.csv")[0]["word"] == ["NA", None]


LAYOUTS = {
    "spaces after separators": "x, word, label\n1, u v, a\n2, ?, b\n",
    "spaces on both sides": "x , word , label\n1 , u v , a\n2 , ? , b\n",
    "quotes after spaces": 'x, word, label\n1, "u v", a\n2, ?, b\n',
    "empty lines": "\n\nx,word,label\n1,u v,a\n\n2,,b\n\n\n",
    "separators at the end of rows": "x,word,label\n1,u v,a,\n2,,b,\n",
    "row names without a name, as R writes them": "x,word,label\nrow1,1,u v,a\nrow2,2,NA,b\n",
    "no end of the last line": "x,word,label\n1,u v,a\n2,,b",
}


@pytest.mark.parametrize("case", LAYOUTS)
def test_rows_may_be_laid_out_as_people_do(tmp_path, case):
    (tmp_path / "a.csv").write_text(LAYOUTS[case])
    found, labels = read(tmp_path / "a.csv")
    assert (found["x"], found["word"], labels) == ([1, 2], ["u v", None], ["a", "b"])


TITLES = {
    "one": "Sales, by month\nx,word,label\n1,u v,a\n2,,b\n",
    "several": "Sales\n\nby;somebody\n\nx;word;label\n1;u v;a\n2;;b\n",
    "as a spreadsheet writes them": ",,\nSales,,\n,,\nx,word,label\n1,u v,a\n2,,b\n",
}


@pytest.mark.parametrize("case", TITLES)
def test_titles_above_the_header_are_no_rows(tmp_path, case):
    (tmp_path / "a.csv").write_text(TITLES[case])
    with pytest.warns(FormatWarning, match=r"title.*: 'x', 'word', 'label'; .* give suffice.files"):
        found, labels = read(tmp_path / "a.csv")
    assert (found["x"], found["word"], labels) == ([1, 2], ["u v", None], ["a", "b"])


def test_spaces_separate_the_cells_of_uci_files(tmp_path):
    """The layout of auto-mpg.data: numbers in columns, a tab, and a name in quotes."""
    lines = ['18.0   8   307.0      130.0\t"chevrolet chevelle"', '  15.0   8   350.0      ?  \t"buick skylark"  ']
    (tmp_path / "auto-mpg.data").write_text("\n".join(lines) + "\n")
    with pytest.warns(FormatWarning, match="columns are named x0 to x4; to say whether it is a header, give suffice"):
        found, labels = read(tmp_path / "auto-mpg.data", "x4")
    assert (found["x0"], found["x2"], labels) == ([18, 15], [307, 350], ["chevrolet chevelle", "buick skylark"])
    assert found["x3"] == [130, None]


def test_types_come_from_the_whole_of_a_large_file(tmp_path):
    """Text that is far from the first lines is text, and not an error."""
    (tmp_path / "a.csv").write_text("x,label\n" + "1,a\n" * 200_000 + "1,b\n" * 50_000 + "u,b\n" * 50_000)
    found, _ = read(tmp_path / "a.csv")
    assert set(found["x"]) == {"1", "u"}


def test_letters_after_the_first_lines_may_show_the_encoding(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"word,label\n" + b"u,a\n" * 100_000 + "é,b\n".encode("latin-1"))
    with pytest.warns(FormatWarning, match="is not UTF-8 and is read as Windows-1252; if letters look wrong"):
        found, _ = read(tmp_path / "a.csv")
    assert found["word"][-1] == "é"
    with pytest.raises(UnreadableError, match=r"not in the encoding that is expected.*encoding="):
        read(tmp_path / "a.csv", encoding="utf-8")
    (tmp_path / "a.csv").write_bytes(b"word,label\n\x81\xe9,a\nu,b\n")  # not even that
    with pytest.warns(FormatWarning, match="read as Latin-1"):
        assert read(tmp_path / "a.csv")[0]["word"] == ["\x81é", "u"]


def test_a_word_that_inference_has_not_seen_is_a_missing_value_with_a_warning(tmp_path):
    """In a column of features; as a label, or where a type was asked for, it is an error, and so are many of them."""
    path = tmp_path / "a.csv"
    path.write_text("x,note,label\n" + '1,"u, v",1\n' * 100_000 + "many,many,1\n" + '1,"u, v",1\n' * 100_000)
    with pytest.warns(FormatWarning, match=r"column 'x' of .*a\.csv holds 'many' among other values: such cells are "):
        found, _ = read(path)
    assert [i for i, x in enumerate(found["x"]) if x is None] == [100_000]
    assert found["note"][100_000] == "many"
    assert read(path, na=["many"])[0]["x"].count(None) == 1
    for how in ({"label": "x"}, {"types": {"x": "int64"}}):
        with pytest.raises(
            UnreadableError,
            match=r"a\.csv, line 100002: column 'x' holds 'many', but values of type \w+ elsewhere; if this is a "
            r"missing value, give suffice\.files\(path, na=\['many'\]\); to read the column as text, give "
            r"suffice\.files\(path, types=\{'x': 'string'\}\)",
        ):
            read(path, **how)
    path.write_text("x,label\n" + "1,1\n" * 100_000 + "".join(f"w{i},1\n" for i in range(21)) + "1,1\n" * 100_000)
    with pytest.raises(UnreadableError, match="column 'x' holds 'w20', but values of type number elsewhere"):
        MixedClassifier().fit(path, "label")


def test_a_number_in_a_form_that_inference_has_not_seen_is_read(tmp_path):
    path, odd = tmp_path / "a.csv", '"1,234",1\n$5.50,1\n(7),1\nmany,1\n,1\n'
    path.write_text("x,label\n" + "1,1\n" * 100_000 + odd + "1,1\n" * 100_000)
    with pytest.warns(FormatWarning, match=r"column 'x' of .*a\.csv holds 'many' among other values"):
        found, _ = read(path)
    assert found["x"][99_999:100_006] == [1, 1234, 5.5, -7, None, None, 1]
    with pytest.raises(UnreadableError, match=r"line 100002: column 'x' holds '1,234', but values of type number"):
        read(path, types={"x": "double"})
    with pytest.raises(UnreadableError, match=r"line 100002: column 'x' holds '1,234', but values of type integer"):
        read(path, label="x")


def test_a_word_that_is_missing_in_one_column_is_a_value_in_another(tmp_path):
    rows = "1,2026-01-31,1\n" * 40_000
    (tmp_path / "a.csv").write_text(f"x,day,label\n{rows}many,1,1\n{rows}")
    with pytest.warns(FormatWarning, match="'x' .* holds 'many'"), pytest.warns(FormatWarning, match="'day' .* '1'"):
        found, _ = read(tmp_path / "a.csv")
    assert [found[name].count(None) for name in ("x", "day")] == [1, 1]


def test_the_end_of_a_large_file_with_quotes_shows_types(tmp_path):
    (tmp_path / "a.csv").write_text(
        "x,note,label\n" + '1,"u, v",1\n' * 60_000 + '1,"u\nv",1\nword,,1\n' + '1,"u, v",1\n' * 50
    )
    assert "word" in read(tmp_path / "a.csv")[0]["x"]


def test_columns_are_dropped(tmp_path):
    (tmp_path / "a.csv").write_text("id,x,label\n1,2,a\n2,3,b\n")
    assert read(tmp_path / "a.csv", drop=["id"])[0] == {"x": [2, 3]}
    with pytest.raises(DataError, match="the files have no column 'ident'"):
        read(tmp_path / "a.csv", drop=["ident"])


def test_files_of_other_names_are_recognised(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "label": ["a", "b"]})
    frame.to_parquet(tmp_path / "parquet")
    frame.to_feather(tmp_path / "feather", compression="uncompressed")
    frame.to_json(tmp_path / "lines", orient="records", lines=True)
    frame.to_csv(tmp_path / "text", index=False)
    for name in ("parquet", "feather", "lines", "text"):
        assert read(tmp_path / name) == ({"x": [1, 2]}, ["a", "b"])


def test_rows_that_are_too_short_are_filled_as_pandas_does(tmp_path):
    text = 'x,label,word\r\n1,a,u\r\n2,b\r\n3,a,"v, w\nz"\r\n4,"b"\r\n5\r\n'
    (tmp_path / "a.csv").write_text(text, newline="")
    with pytest.warns(FormatWarning, match=r"some rows of .*a\.csv have fewer cells than there are columns"):
        found, labels = read(tmp_path / "a.csv")
    assert found == {"x": [1, 2, 3, 4, 5], "word": ["u", None, "v, w\nz", None, None]}
    assert [*map(str, labels)] == ["a", "b", "a", "b", "None"]
    expected = pd.read_csv(tmp_path / "a.csv")
    assert expected["word"].isna().tolist() == [one is None for one in found["word"]]


def zipped(*names):
    with ZipFile(content := io.BytesIO(), "w") as archive:
        for name in names:
            archive.writestr(name, "x,label\n1,a\n2,b\n")
    return content.getvalue()


REFUSED = {
    "an Excel workbook": (
        "a.csv",
        b"PK\x03\x04...",
        "a.csv is a ZIP archive or an Excel workbook; unzip it, or save it",
    ),
    "no archive": ("a.zip", b"x,label\n" + b"1,a\n" * 20, "a.zip cannot be read: File is not a zip file; unzip it"),
    "two files": ("a.zip", zipped("a.csv", "b.csv"), "is a ZIP archive of 2 files, but only one can be read; unzip it"),
    "a file of gzip": ("a.csv", gzip.compress(b"x,label\n"), "compressed by gzip; give it a name that ends in .gz"),
    "bytes": ("a.txt", b"a\0b\0c", "is not a text file, or is UTF-16 without a byte order mark"),
    "lines of old Macs": ("a.csv", b"x,label\r1,a\r2,b\r", "end in CR alone, as those of old Macs; convert them to LF"),
    "nothing": ("a.csv", b"", "there is nothing to read in"),
    "empty lines": ("a.csv", b"\n\n", "there is nothing to read in"),
    "a header alone": ("a.csv", b"x;label\n", "there is no row in"),
    "ragged rows": ("a.csv", b"x,label\n1,a\n1,a,2\n", "line 3: Expected 2 columns, got 3: 1,a,2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused_with_a_remedy(tmp_path, case):
    name, content, message = REFUSED[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as error:
        read(tmp_path / name)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sep": "ab"}, "the separator 'ab' is not one character"),
        ({"sep": '"'}, "is not one character"),
        ({"decimal": "'"}, "decimal mark \"'\" is not known; give '.' or ','"),
        ({"encoding": "utf-9"}, "the encoding 'utf-9' is not known; give one such as 'utf-8'"),
        ({"na": "?"}, r"na='\?' must be a list, as in na=\['\?'\]"),
        ({"drop": "id"}, r"drop='id' must be a list, as in drop=\['id'\]"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(DataError, match=message):
        files("a.csv", **options)


def test_the_standard_input_is_read_as_often_as_needed():
    content = '{"x": 1.5, "label": "a"}\n{"x": 2.5, "label": "b"}\n'
    code = "import suffice; print(suffice.MixedClassifier().fit('-', 'label').predict('-').tolist())"
    done = subprocess.run([sys.executable, "-c", code], input=content, capture_output=True, text=True, timeout=60)
    assert done.stdout == "['a', 'b']\n", done.stderr


def test_a_model_reads_other_layouts_than_the_one_it_learnt(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.normal(size=50), "c": rng.choice(["é", "u"], 50), "label": rng.choice(["a", "b"], 50)}
    )
    frame.to_csv(tmp_path / "one.csv", index=False)
    frame.to_csv(tmp_path / "two.txt", index=False, sep=";", decimal=",", encoding="utf-16")
    clf = MixedClassifier().fit(tmp_path / "one.csv", "label")
    np.testing.assert_array_equal(clf.llr(tmp_path / "one.csv"), clf.llr(tmp_path / "two.txt"))
    both = MixedClassifier().fit([tmp_path / "one.csv", tmp_path / "two.txt"], "label")
    assert both.statistics_.weight.sum() == 100


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_recoded_files_are_resumed(tmp_path, encoding):
    text = "x;label\n" + "".join(f"{i % 7},5;{'éü'[i % 2]}\n" for i in range(3000))
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    source = files(tmp_path / "a.csv", checkpoint=tmp_path / "run", encoding=encoding)
    first = GaussianClassifier("diag").fit(source, "label")
    again = GaussianClassifier("diag").fit(source, "label")
    assert first.statistics_.total == again.statistics_.total == 3000
    np.testing.assert_array_equal(first.means_, again.means_)
