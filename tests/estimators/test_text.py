"""Text as it is: against scikit-learn's vectorizers and naive Bayes on real documents, and all that models can do."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, HashingVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

import suffice
from suffice import BernoulliClassifier, MixedClassifier, MultinomialClassifier, Tokens, WordStats, kernels
from suffice.errors import ColumnWarning, DataError, StatisticsError
from suffice.sources import as_source


def documents():
    """What scikit-learn says of its functions, and NumPy of its own."""
    found = [
        (getattr(module, name).__doc__ or "", label)
        for module, label in ((sklearn.metrics, "sklearn"), (np, "numpy"), (np.linalg, "linalg"))
        for name in sorted(dir(module))
        if callable(getattr(module, name, None)) and not name.startswith("_")
    ]
    return [text for text, _ in found], [label for _, label in found]


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import sklearn.metrics

    TEXTS, LABELS = documents()
NEW = [text[::-1][:500] + " unseen words" for text in TEXTS[:50]] + TEXTS[:50] + ["", "zzzz"]
FEW, SOME = ["a good film", "good fun", "a bad, bad film", "", "it is"], ["+", "+", "-", "-", "+"]


def peer(model, **options):
    """scikit-learn's vocabulary and log posteriors of new documents."""
    hashing = options.pop("n_features", None)
    vectorizer = (
        HashingVectorizer(n_features=hashing, norm=None, alternate_sign=False, **options)
        if hashing
        else CountVectorizer(**options)
    )
    fitted = model.fit(vectorizer.fit_transform(TEXTS), LABELS)
    words = None if hashing else vectorizer.get_feature_names_out().tolist()
    return words, fitted.predict_log_proba(vectorizer.transform(NEW))


OPTIONS = {  # ours and theirs
    "default": ({}, {}),
    "upper case": ({"lowercase": False}, {"lowercase": False}),
    "pairs": ({"ngrams": (1, 2)}, {"ngram_range": (1, 2)}),
    "triples": ({"ngrams": (3, 3)}, {"ngram_range": (3, 3)}),
    "stop words": (
        {"stop_words": ENGLISH_STOP_WORDS, "ngrams": (1, 2)},
        {"stop_words": "english", "ngram_range": (1, 2)},
    ),
    "frequent": ({"min_df": 5}, {"min_df": 5}),
    "a share": ({"min_df": 0.05}, {"min_df": 0.05}),
    "most frequent": ({"max_features": 100}, {"max_features": 100}),
    "both": (
        {"min_df": 2, "max_features": 1000, "ngrams": (1, 2)},
        {"min_df": 2, "max_features": 1000, "ngram_range": (1, 2)},
    ),
    "pattern": ({"pattern": r"[a-z]{3}"}, {"token_pattern": r"[a-z]{3}"}),
    "group": ({"pattern": r"(\w+)\("}, {"token_pattern": r"(\w+)\("}),
}


@pytest.mark.parametrize(("ours", "theirs"), OPTIONS.values(), ids=OPTIONS)
def test_words_and_posteriors_are_those_of_scikit_learn(ours, theirs):
    clf = MultinomialClassifier(0.5, tokens=Tokens(**ours)).fit(TEXTS, LABELS)
    words, expected = peer(MultinomialNB(alpha=0.5), **theirs)
    assert clf.vocabulary().tolist() == words
    np.testing.assert_allclose(clf.predict_log_proba(NEW), expected, rtol=1e-10, atol=1e-10)


MODELS = {
    "presence": (BernoulliClassifier(0.5), BernoulliNB(alpha=0.5), {}),
    "complement": (MultinomialClassifier(complement=True, prior="uniform"), ComplementNB(), {}),
    "normalized": (MultinomialClassifier(complement="normalized", prior="uniform"), ComplementNB(norm=True), {}),
    "hashed": (
        MultinomialClassifier(tokens=Tokens(hashed=2**10, ngrams=(1, 2))),
        MultinomialNB(),
        {"n_features": 2**10, "ngram_range": (1, 2)},
    ),
    "hashed presence": (BernoulliClassifier(tokens=Tokens(hashed=2**12)), BernoulliNB(), {"n_features": 2**12}),
}


@pytest.mark.parametrize(("ours", "theirs", "options"), MODELS.values(), ids=MODELS)
def test_other_models_of_words(ours, theirs, options):
    found = ours.fit(TEXTS, LABELS).predict_log_proba(NEW)
    np.testing.assert_allclose(found, peer(theirs, **options)[1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("ours", "theirs"), [(MultinomialClassifier, MultinomialNB), (BernoulliClassifier, BernoulliNB)]
)
def test_no_word_is_lost_to_small_weights(ours, theirs):
    rng, vectorizer = np.random.default_rng(1), CountVectorizer()
    X, weight = vectorizer.fit_transform(TEXTS), rng.random(len(TEXTS)) / len(TEXTS)
    clf, expected = ours(1e-3).fit(TEXTS, LABELS, weight), theirs(alpha=1e-3).fit(X, LABELS, weight)
    assert clf.vocabulary().tolist() == vectorizer.get_feature_names_out().tolist()
    np.testing.assert_allclose(
        clf.predict_log_proba(NEW), expected.predict_log_proba(vectorizer.transform(NEW)), rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize(
    "model", [MultinomialClassifier(), MultinomialClassifier(predictive=True), BernoulliClassifier(0)]
)
def test_likelihoods_are_those_of_the_counts(model):
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform(TEXTS)
    ours = model.fit(TEXTS, LABELS)
    expected = type(model)(**model.get_params()).fit(X, LABELS)
    new = vectorizer.transform(NEW)
    np.testing.assert_allclose(ours.log_likelihood(NEW), expected.log_likelihood(new), rtol=1e-9)
    np.testing.assert_allclose(ours.score_samples(NEW), expected.score_samples(new), rtol=1e-9)


def test_frequent_words_need_no_table_of_logs():
    density = suffice.TextDensity.from_parameters([{"the": 900_000, "film": 3}, {"the": 800_000, "fun": 2}])
    assert density.parts[0].slopes_of_counts() is None
    p = np.array([[900_001, 4, 1], [800_001, 1, 3]]) / [[900_006], [800_005]]
    expected = np.log(p) @ [[1, 0], [1, 0], [0, 2]] + [np.log(2), 0]
    np.testing.assert_allclose(density.log_likelihood(["the film", "fun fun"]), expected.T, rtol=1e-12)
    many = [{f"w{i}": 1 + i % 7 for i in range(c, 300)} for c in range(2)]
    assert len(suffice.TextDensity.from_parameters(many).parts[0].slopes_of_counts()) == 8


def test_tables_to_look_words_up_are_made_once(monkeypatch):
    made, make = [], kernels.active.word_table
    clf = MultinomialClassifier().fit(TEXTS, LABELS)
    expected, shares = clf.log_likelihood(NEW), clf.explain(NEW, "numpy", "sklearn")
    clf = MultinomialClassifier().fit(TEXTS, LABELS)
    monkeypatch.setattr(kernels.active, "word_table", lambda *how: made.append(how) or make(*how))
    np.testing.assert_array_equal(clf.explain(NEW, "numpy", "sklearn"), shares)
    np.testing.assert_allclose(clf.llr(NEW, "linalg", "sklearn"), expected[:, 2] - expected[:, 0], rtol=1e-9, atol=1e-9)
    halves = clf.density_.weighted(np.array([0.5]))
    np.testing.assert_allclose(halves.log_likelihood(NEW), expected / 2, rtol=1e-12)
    clf.predict(NEW)
    assert len(made) == 1


def test_every_column_of_text_is_read():
    expected = MultinomialClassifier().fit(FEW, SOME).log_likelihood(FEW)
    arrow = pa.array(FEW)
    columns = [
        tuple(FEW),
        np.array(FEW),
        np.array(FEW, object),
        [text.encode() for text in FEW],
        np.array([text.encode() for text in FEW]),
        np.array(FEW)[:, None],
        pd.Series(FEW),
        pd.Series(FEW, dtype=object),
        pd.Series(FEW, dtype="category"),
        pl.Series(FEW),
        arrow,
        arrow.cast(pa.large_string()),
        pa.array(FEW, pa.string_view()),
        arrow.dictionary_encode(),
        pa.chunked_array([FEW[:2], FEW[2:]]),
        pa.concat_arrays([pa.array(["x"]), arrow])[1:],
        pa.array([text.encode() for text in FEW]).cast(pa.string()),
    ]
    for column in columns:
        clf = MultinomialClassifier().fit(column, SOME)
        np.testing.assert_allclose(clf.log_likelihood(column), expected, err_msg=repr(type(column)))
    table = pd.DataFrame({"text": FEW, "label": SOME})
    np.testing.assert_allclose(MultinomialClassifier().fit(table, "label").log_likelihood(table), expected)


def test_lists_of_tokens_are_taken_as_they_are():
    lists = [["New York", "a"], ["a"], [], ["B", "New York"]]
    for rows in (
        lists,
        pa.array(lists),
        pd.Series(lists),
        pl.Series(lists),
        pd.DataFrame({"t": lists}),
        pa.table({"t": lists}),
    ):
        clf = MultinomialClassifier().fit(rows, [0, 1, 1, 0])
        assert clf.vocabulary().tolist() == ["B", "New York", "a"]
        assert clf.predict(rows).tolist() == [1, 1, 0, 0]
    assert MultinomialClassifier().fit(lists, [0, 1, 1, 0]).predict([["a", "a"]]).tolist() == [1]
    with pytest.raises(DataError, match="do not tell"):  # a space may be part of a token
        MultinomialClassifier().fit_statistics(
            MultinomialClassifier(tokens=Tokens(ngrams=(1, 2))).fit(lists, [0, 1, 1, 0]).statistics_
        )
    both = MultinomialClassifier().fit(pd.DataFrame({"t": lists, "u": ["text"] * 4}), [0, 1, 1, 0]).statistics_
    plain = MultinomialClassifier().fit(pd.DataFrame({"t": ["text"], "u": ["text"]}), [0]).statistics_
    assert [each.as_given for each in (both, both + plain, plain + both, plain)] == [True, True, True, False]


def test_models_stream_merge_forget_and_fade():
    whole = MultinomialClassifier().fit(TEXTS, LABELS)
    one, two = (TEXTS[::2], LABELS[::2]), (TEXTS[1::2], LABELS[1::2])
    stream = MultinomialClassifier().partial_fit(*one).partial_fit(*two)
    merged = MultinomialClassifier().fit(*two) + MultinomialClassifier().fit(*one)
    for other in (stream, merged):
        assert other.vocabulary().tolist() == whole.vocabulary().tolist()
        np.testing.assert_allclose(other.log_likelihood(NEW), whole.log_likelihood(NEW), rtol=1e-12)
    stream.forget(*two)
    fresh = MultinomialClassifier().fit(*one)
    for own in zip(stream.statistics_.to_arrays().values(), fresh.statistics_.to_arrays().values(), strict=True):
        np.testing.assert_array_equal(*own)  # the documents that have a word, too
    assert stream.statistics_.words().tolist() == fresh.statistics_.words().tolist()  # not one that nobody has
    assert stream.vocabulary().tolist() == fresh.vocabulary().tolist()
    np.testing.assert_allclose(stream.log_likelihood(NEW), fresh.log_likelihood(NEW), rtol=1e-12)
    with pytest.raises(StatisticsError, match="never learnt"):
        fresh.forget(["words never learnt"], [LABELS[0]])
    faded = MultinomialClassifier().partial_fit(FEW, SOME).partial_fit(FEW, SOME, decay=0.5)
    weighted = MultinomialClassifier().fit(FEW, SOME, sample_weight=np.full(5, 1.5))
    np.testing.assert_allclose(faded.log_likelihood(FEW), weighted.log_likelihood(FEW))


def test_words_found_in_other_ways_do_not_merge():
    one = MultinomialClassifier().fit(FEW, SOME)
    for other in (Tokens(lowercase=False), Tokens(hashed=8), Tokens(stop_words=["it"])):
        with pytest.raises(StatisticsError, match="different ways"):
            one + MultinomialClassifier(tokens=other).fit(FEW, SOME)
    for min_df, least in ((1000, "1000"), (0.9, "4.5")):
        with pytest.warns(ColumnWarning, match=f"no word is in {least} documents or more.*give a smaller min_df"):
            _ = MultinomialClassifier(tokens=Tokens(min_df=min_df)).fit(FEW, SOME).predict(FEW)
    late = MultinomialClassifier(tokens=Tokens(min_df=2, max_features=3)).fit(FEW, SOME)
    assert (one + late).vocabulary().tolist() == one.vocabulary().tolist()  # these are chosen from the counts of both
    with pytest.raises(StatisticsError, match="different models"):
        one.statistics_ + BernoulliClassifier().fit(FEW, SOME).statistics_


def test_what_counts_tell_is_chosen_late():
    rich = MultinomialClassifier(tokens=Tokens(ngrams=(1, 3))).fit(TEXTS, LABELS).statistics_
    for ngrams in ((1, 1), (1, 2), (2, 3)):
        tokens = Tokens(ngrams=ngrams, min_df=2, max_features=500)
        late = MultinomialClassifier(tokens=tokens).fit_statistics(rich)
        direct = MultinomialClassifier(tokens=tokens).fit(TEXTS, LABELS)
        assert late.vocabulary().tolist() == direct.vocabulary().tolist()
        np.testing.assert_allclose(late.llr(NEW, "numpy", "sklearn"), direct.llr(NEW, "numpy", "sklearn"), rtol=1e-12)
    plain = MultinomialClassifier().fit(TEXTS, LABELS).statistics_
    tokens = Tokens(stop_words=["the", "of"])
    stopped = MultinomialClassifier(tokens=tokens).fit_statistics(plain)
    assert (
        stopped.vocabulary().tolist() == MultinomialClassifier(tokens=tokens).fit(TEXTS, LABELS).vocabulary().tolist()
    )
    for tokens in (Tokens(ngrams=(1, 2)), Tokens(lowercase=False), Tokens(hashed=8), Tokens(pattern="a+")):
        with pytest.raises(DataError, match="do not tell"):
            MultinomialClassifier(tokens=tokens).fit_statistics(plain)
    with pytest.raises(DataError, match="do not tell"):  # words on both sides of a stop word are an n-gram
        MultinomialClassifier(tokens=Tokens(ngrams=(1, 3), stop_words=["the"])).fit_statistics(rich)


def test_files_hold_the_words(tmp_path):
    for tokens in (None, Tokens(ngrams=(1, 2), min_df=2, stop_words=["the"]), Tokens(hashed=64)):
        for model in (MultinomialClassifier(tokens=tokens), BernoulliClassifier(tokens=tokens)):
            model.fit(TEXTS, LABELS).save(tmp_path / "model.safetensors")
            loaded, scores = suffice.load(tmp_path / "model.safetensors"), model.log_likelihood(NEW)
            np.testing.assert_array_equal(loaded.log_likelihood(NEW), scores)
            assert loaded.get_params() == model.get_params()
            np.testing.assert_array_equal(
                suffice.load_model(tmp_path / "model.safetensors").log_likelihood(NEW), scores
            )
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).log_likelihood(NEW), scores)
            loaded.partial_fit(FEW, ["numpy"] * 5)
    MultinomialClassifier().fit([["", "a"], ["b"]], [0, 1]).save(tmp_path / "empty.safetensors")
    assert suffice.load(tmp_path / "empty.safetensors").vocabulary().tolist() == ["", "a", "b"]


def test_the_density_can_be_rebuilt():
    for model in (
        MultinomialClassifier(complement=True),
        MultinomialClassifier(predictive=True),
        BernoulliClassifier(),
    ):
        density = model.fit(TEXTS, LABELS).density_
        again = type(density).from_arrays(density.to_arrays()).checked()
        np.testing.assert_array_equal(again.log_likelihood(NEW), density.log_likelihood(NEW))


def test_every_source_gives_the_same_model(tmp_path):
    table = texts = pd.DataFrame({"text": TEXTS, "label": LABELS})  # noqa: F841  DuckDB finds it by its name
    table.to_parquet(tmp_path / "t.parquet", row_group_size=50)
    table.to_csv(tmp_path / "t.csv", index=False)
    expected = MultinomialClassifier().fit(table, "label").log_likelihood(table)
    for path in (tmp_path / "t.parquet", tmp_path / "t.csv"):
        clf = MultinomialClassifier().fit(path, "label")
        np.testing.assert_allclose(clf.log_likelihood(path), expected, rtol=1e-12)
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "t.db")) as database:
        database.execute("create table documents as from texts")
    rows = suffice.sql(f"duckdb:///{tmp_path / 't.db'}", "documents")
    np.testing.assert_allclose(MultinomialClassifier().fit(rows, "label").log_likelihood(table), expected, rtol=1e-12)
    dask = pytest.importorskip("dask.dataframe")
    parts = dask.from_pandas(table, npartitions=3)
    np.testing.assert_allclose(MultinomialClassifier().fit(parts, "label").log_likelihood(table), expected, rtol=1e-12)


EDGES = {
    "empty": ["", "", ""],
    "one word": ["word", "word", "word"],
    "stop words alone": ["the", "of the", "the"],
    "no words": ["a b c", "!?", "\0"],
    "NUL": ["ab\0cd", "ab", "\0\0cd"],
    "missing": [None, "ab", None],
}


@pytest.mark.parametrize("rows", EDGES.values(), ids=EDGES)
@pytest.mark.parametrize("model", [MultinomialClassifier, BernoulliClassifier])
def test_edges(rows, model):
    clf = model(tokens=Tokens(stop_words=["the", "of"])).fit(rows, [0, 1, 1])
    tokens = [[] if text is None else CountVectorizer(stop_words=["the", "of"]).build_analyzer()(text) for text in rows]
    assert clf.vocabulary().tolist() == sorted({token for row in tokens for token in row})
    posterior = clf.predict_proba([*rows, "other words", None])
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    np.testing.assert_allclose(posterior[-1], [1 / 3, 2 / 3])  # nothing is known of missing text


def test_a_million_words_and_a_large_document():
    words = [f"w{i}" for i in range(1_000_000)]
    clf = MultinomialClassifier().fit([" ".join(words), "w7 other"], ["many", "few"])
    assert len(clf.vocabulary()) == 1_000_001
    assert clf.predict(["w8", "other"], prior="uniform").tolist() == ["many", "few"]
    assert clf.statistics_.columns[0].counts.value.sum() == 1_000_002
    long = ["w " * 40_000 + "see few.csv", "w " * 40_000 + "see many.csv"]  # which are no paths
    assert MultinomialClassifier().fit(long, ["few", "many"]).vocabulary().tolist() == ["csv", "few", "many", "see"]


def test_text_that_is_not_valid_is_refused_with_the_row():
    with pytest.raises(DataError, match="row 1 "):
        MultinomialClassifier().fit(["fine", "lone \ud800 surrogate"], [0, 1])
    raw = pa.array([b"fine", b"bad \xff"]).view(pa.string())
    clf = MultinomialClassifier().fit(FEW, SOME)
    for call in (
        lambda: MultinomialClassifier().fit(raw, [0, 1]),
        lambda: clf.predict(raw),
        lambda: clf.log_likelihood(raw),
        lambda: clf.predict([b"fine", b"bad \xff"]),
    ):
        with pytest.raises(DataError, match="row 1 "):
            call()
    letters = MultinomialClassifier(tokens=Tokens(pattern="[a-z]"))
    with pytest.raises(DataError, match="row 1 "):
        letters.fit(raw, [0, 1])
    with pytest.raises(DataError, match="row 1 "):
        letters.fit(pa.concat_arrays([raw[1:], raw[1:]]), [0, 1], [0, 1])
    assert letters.fit(raw, [0, 0], [1, 0]).vocabulary().tolist() == list("efin")  # absent, whatever it holds


BAD = [
    ({"ngrams": (2, 1)}, "ngrams"),
    ({"ngrams": 2}, "ngrams"),
    ({"stop_words": "english"}, "ENGLISH_STOP_WORDS"),
    ({"stop_words": [1]}, "strings"),
    ({"min_df": 1.5}, "min_df"),
    ({"min_df": 0}, "min_df"),
    ({"max_features": 0}, "max_features"),
    ({"hashed": -1}, "hashed"),
    ({"hashed": 8, "min_df": 2}, "leave min_df"),
    ({"pattern": "("}, "regular expression"),
    ({"pattern": "(a)(b)"}, "2 groups"),
    ({"unknown": "smooth"}, "unknown"),
    ({"stop_words": 5}, "collection"),
    ({"lowercase": "no"}, "lowercase"),
]


@pytest.mark.parametrize(("options", "words"), BAD)
def test_tokens_that_make_no_sense(options, words):
    with pytest.raises(DataError, match=words):
        Tokens(**options)


def test_tokens_take_numbers_of_numpy():
    tokens = Tokens(ngrams=np.array([1, 2]), min_df=np.float32(0.5), max_features=np.int64(9), lowercase=np.True_)
    assert tokens == Tokens(ngrams=(1, 2), min_df=0.5, max_features=9) == Tokens.from_array(tokens.to_array())
    assert Tokens.from_array(Tokens(hashed=np.int64(8)).to_array()).hashed == 8
    fitted = [MultinomialClassifier(tokens=Tokens(min_df=kind(0.3))).fit(FEW, SOME) for kind in (np.float32, float)]
    assert fitted[0].vocabulary().tolist() == fitted[1].vocabulary().tolist() == ["film", "good"]


@pytest.mark.parametrize("given", ["text", "tokens"])
def test_neither_pieces_nor_threads_change_anything(monkeypatch, given):
    """Many rows are scored some thousands at a time, and counted in pieces on several threads."""
    rng = np.random.default_rng(3)
    rows = [" ".join(f"w{i}" for i in rng.geometric(0.05, 1 + r % 5)) for r in range(5000)]
    rows = pa.array(rows if given == "text" else [row.split() for row in rows])
    y, strict = rng.integers(3, size=5000), Tokens(unknown="error")
    monkeypatch.setattr("suffice.sources.base.TEXT_PIECE", 1 << 12)
    one, three = (MultinomialClassifier(tokens=strict, n_jobs=n).fit(rows, y) for n in (1, 3))
    for a, b in zip(one.statistics_.to_arrays().values(), three.statistics_.to_arrays().values(), strict=True):
        np.testing.assert_array_equal(a, b)
    expected = np.vstack([one.log_likelihood(rows[i : i + 500]) for i in range(0, 5000, 500)])
    monkeypatch.setattr("suffice.sources.base.TEXT_PIECE", 1 << 24)
    np.testing.assert_array_equal(three.log_likelihood(rows), expected)
    assert three.predict(rows, prior="uniform").tolist() == expected.argmax(axis=1).tolist()
    strange = rows.to_pylist()
    strange[4321] = "never" if given == "text" else ["never"]
    with pytest.raises(DataError, match="row 4321 has words"):
        one.predict(pa.array(strange))


@pytest.mark.parametrize("alpha", [0, 1])
def test_a_class_without_text_in_a_column_is_scored_by_the_others(alpha):
    table = pd.DataFrame({"title": ["good", "fine", "bad", "poor"], "body": ["so good", "so so", None, None]})
    y, new = ["+", "+", "-", "-"], pd.DataFrame({"title": ["bad", "poor"], "body": ["so good", "so so"]})
    both, titles = (BernoulliClassifier(alpha=alpha).fit(table[names], y) for names in (["title", "body"], ["title"]))
    np.testing.assert_allclose(both.log_likelihood(new)[:, 1], titles.log_likelihood(new[["title"]])[:, 1], rtol=1e-12)


GONE = [
    [None],
    [np.nan],
    [None] * 20_000 + ["good"],
    pd.Series([np.nan, np.nan]),  # a chunk of a file may have no text
    pd.Series(["good", np.nan]).tolist(),
    pa.nulls(2),
    pl.Series([None, None]),
    [None, ["good", "film"]],
    [np.nan] * 2000 + [["good"]],
]


@pytest.mark.parametrize("rows", GONE, ids=range(len(GONE)))
def test_missing_texts_are_missing_however_they_are_given(rows):
    clf, gone = MultinomialClassifier().fit(FEW, SOME), pd.isna(pd.Series(list(rows), dtype=object))
    gone |= pd.Series([each is None or str(each) == "None" for each in rows])
    np.testing.assert_array_equal((clf.log_likelihood(rows) == 0).all(axis=1), gone)
    more = clf.partial_fit(rows, ["+"] * len(rows)).statistics_
    np.testing.assert_array_equal(more.missing[:, 0], [gone.sum(), 0])


def test_columns_without_any_text_may_be_of_any_type():
    table = pd.DataFrame({"title": FEW, "body": np.full(5, np.nan)})
    clf = MultinomialClassifier().fit(table, SOME)
    np.testing.assert_array_equal(clf.llr(table, "-", "+"), MultinomialClassifier().fit(FEW, SOME).llr(FEW, "-", "+"))
    before, gone = clf.statistics_, table.assign(title=np.nan)
    assert clf.partial_fit(gone, SOME).statistics_.missing.tolist() == [[3, 6], [2, 4]]
    np.testing.assert_array_equal(clf.forget(gone, SOME).statistics_.missing, before.missing)
    titles, bodies = (MultinomialClassifier().fit(pd.DataFrame({name: FEW}), SOME) for name in ("title", "body"))
    assert (titles + bodies).statistics_.missing.tolist() == [[3, 3], [2, 2]]  # neither has the column of the other


def test_unknown_words():
    for how in ({}, {"predictive": True}):
        clf = MultinomialClassifier(tokens=Tokens(unknown="error"), **how).fit(FEW, SOME)
        assert clf.predict(["good film"]).tolist() == ["+"]
        for call in (clf.predict, clf.log_likelihood):
            with pytest.raises(DataError, match="row 1 has words"):
                call(["good", "terrific"])


TICKETS = pd.DataFrame(
    {
        "text": [
            f"{'printer is broken again' if i % 2 else 'cannot log in any more'}, ticket number {i}" for i in range(60)
        ],
        "hours": np.arange(60) % 7 + 0.5,
        "team": np.where(np.arange(60) % 2, "hardware", "accounts"),
    }
)


def test_text_beside_numbers():
    clf = MixedClassifier().fit(TICKETS, "team")
    assert clf.schema_.families == ("text", "gaussian")
    assert "different values of" in clf.schema_.reasons[0]
    assert clf.score(TICKETS, "team") == 1.0
    hidden = TICKETS.assign(text=None)
    numbers = MixedClassifier({"text": "drop"}).fit(TICKETS, "team")
    np.testing.assert_allclose(clf.llr(hidden), numbers.llr(TICKETS), atol=1e-12)
    told = clf.explain(TICKETS.head(1), tidy=True)
    assert {"cannot", "log"} <= set(told["value"])
    np.testing.assert_allclose(told["llr"].sum(), clf.llr(TICKETS.head(1)))
    np.testing.assert_allclose(clf.explain(TICKETS).sum(axis=1), clf.llr(TICKETS))
    assert MixedClassifier({"text": "categorical"}).fit(TICKETS, "team").schema_.families == ("categorical", "gaussian")
    assert clf.impute(hidden).shape == (60, 2)
    rows, _ = clf.sample(20, random_state=0)
    assert set(" ".join(rows["text"]).split()) <= set(clf.density_.parts["text"].vocabulary())
    with pytest.raises(
        DataError, match=r"not both, and there is text in column 'text'; use MixedClassifier\(families="
    ):
        MultinomialClassifier().fit(TICKETS, "team")
    with pytest.raises(DataError, match="cannot be scored in SQL"):
        clf.to_sql("tickets", "postgresql")


def test_the_automatic_model_uses_text():
    clf = suffice.fit(TICKETS, "team")
    assert "text" not in clf.choice_.left_out
    assert clf.choice_.beats_baseline
    without = [one for one in clf.choice_.candidates if "'text': 'drop'" in one.name]
    assert without
    assert all(one.log_loss > clf.choice_.candidates[0].log_loss + 0.5 for one in without)  # what text gains


def test_a_single_text_is_taken_for_a_path():
    with pytest.raises(FileNotFoundError, match="to score a single text, put it in a list"):
        MultinomialClassifier().fit(FEW, SOME).predict("good film")


def test_top_words():
    clf = MultinomialClassifier().fit(FEW, SOME)
    assert clf.density_.top_words(1).tolist() == [["good"], ["bad"]]
    words, _ = peer(ComplementNB())
    weights = ComplementNB().fit(CountVectorizer().fit_transform(TEXTS), LABELS).feature_log_prob_
    top = np.array(words)[np.argsort(weights.mean(axis=0) - weights, axis=1, kind="stable")[:, :5]]
    assert MultinomialClassifier(complement=True).fit(TEXTS, LABELS).density_.top_words(5).tolist() == top.tolist()
    assert clf.parameters_["categories"][0].tolist() == clf.vocabulary().tolist()
    np.testing.assert_allclose(clf.probabilities_[0].sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("model", "expected"),
    [(MultinomialClassifier, [[0.75, 0.25], [0, 1]]), (BernoulliClassifier, [[1, 0.5], [0, 1]])],
)
def test_words_that_a_class_always_or_never_has(model, expected):
    clf = model(alpha=0).fit(["good film", "good good", "film"], ["+", "+", "-"])
    shown = clf.density_.labelled_parameters(["review"])
    assert shown["categories"][0].tolist() == ["film", "good"]
    np.testing.assert_allclose(shown["probabilities"][0], np.array(expected)[:, ::-1])
    texts = clf.density_.write(clf.density_.sample(np.ones(20, np.intp), np.random.default_rng(0)))
    assert set(" ".join(texts.ravel()).split()) == {"film"}


def test_typicality_of_documents():
    clf = MultinomialClassifier().fit(FEW, SOME)
    tail = clf.typicality(["good film", "bad " * 50])
    assert tail[0, 0] > 0.2
    assert tail[1].max() < 1e-3


def test_statistics_of_words_are_values():
    stats = WordStats.of(as_source(FEW, SOME).batch(0, 5))
    assert stats.words().tolist() == ["bad", "film", "fun", "good", "is", "it"]
    np.testing.assert_array_equal(stats.counts().toarray(), [[0, 1, 1, 2, 1, 1], [2, 1, 0, 0, 0, 0]])
    again = WordStats.from_arrays(stats.classes, stats.to_arrays())
    assert again.words().tolist() == stats.words().tolist()
    with pytest.raises(ValueError, match="read-only"):
        stats.columns[0].having[0] = 1
    with pytest.raises(DataError, match="hashed"):
        WordStats.zeros(["a"], 1, Tokens(hashed=4)).words()
