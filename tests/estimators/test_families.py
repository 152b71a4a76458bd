"""Families of positive numbers and of counts, in tables, files, merges and databases."""

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from scipy import stats as sps

import suffice
from suffice import MixedClassifier, fit_density
from suffice.errors import DataError, ImpossibleWarning
from suffice.families import FAMILIES as TABLE

FAMILIES = {
    "amount": "lognormal",
    "claim": "gamma",
    "wait": "exponential",
    "drift": "inverse_gaussian",
    "tries": "geometric",
    "visits": "negative_binomial",
}
N = 80


@pytest.fixture
def table(rng):
    y = np.repeat(["no", "yes"], N // 2)
    more = np.where(y == "yes", 2.5, 1.0)
    frame = pd.DataFrame(
        {
            "amount": rng.lognormal(1.0, 0.8, N) * more,
            "claim": rng.gamma(2.0, 100.0, N) * more,
            "wait": rng.exponential(3.0, N) * more,
            "drift": rng.wald(2.0, 3.0, N) * more,
            "tries": rng.geometric(0.3, N) - 1,
            "visits": rng.negative_binomial(2, 0.3, N) * more.astype(int),
            "height": rng.normal(170.0, 8.0, N),
            "target": y,
        }
    )
    frame.loc[rng.random(N) < 0.2, "claim"] = np.nan
    frame["visits"] = frame["visits"].astype("Int64")
    frame.loc[rng.random(N) < 0.2, "visits"] = pd.NA
    return frame


@pytest.fixture
def shuffled(table):
    return table.sample(frac=1.0, random_state=0)


def test_a_table_of_all_families(table):
    clf = MixedClassifier(FAMILIES, alpha=0.0).fit(table, "target")
    assert [clf.schema_.families[i] for i in range(7)] == [*FAMILIES.values(), "gaussian"]
    yes = table[table.target == "yes"]
    shape, _, scale = sps.gamma.fit(yes.claim.dropna(), floc=0)
    deviation, _, median = sps.lognorm.fit(yes.amount, floc=0)
    visits = fit_density("negative_binomial", yes.visits).parameters
    size, mean = visits["size"][0], visits["mean"][0]
    waits, tries = yes.wait.mean(), 1 / (1 + yes.tries.mean())
    drift, spread = yes.drift.mean(), 1 / (1 / yes.drift - 1 / yes.drift.mean()).mean()
    row = table.iloc[:1].fillna({"claim": 90.0, "visits": 3})
    expected = (
        sps.lognorm.logpdf(row.amount, deviation, scale=median)
        + sps.gamma.logpdf(row.claim, shape, scale=scale)
        + sps.expon.logpdf(row.wait, scale=waits)
        + sps.invgauss.logpdf(row.drift, drift / spread, scale=spread)
        + sps.geom.logpmf(row.tries + 1, tries)
        + sps.nbinom.logpmf(int(row.visits.iloc[0]), size, size / (size + mean))
        + sps.norm.logpdf(row.height, yes.height.mean(), yes.height.std(ddof=0))
    )
    assert clf.log_likelihood(row)[0, 1] == pytest.approx(expected[0], rel=1e-9)
    assert (clf.predict(table) == table.target).mean() > 0.8


def same(one, two, table):
    np.testing.assert_allclose(one.log_likelihood(table), two.log_likelihood(table), rtol=1e-8, atol=1e-8)


def test_merging_streaming_and_forgetting(table, shuffled):
    whole = MixedClassifier(FAMILIES).fit(table, "target")
    first, rest = shuffled[:30], shuffled[30:]
    a, b = MixedClassifier(FAMILIES).fit(first, "target"), MixedClassifier(FAMILIES).fit(rest, "target")
    same(a + b, whole, table)
    streamed = MixedClassifier(FAMILIES).partial_fit(first, "target").partial_fit(rest, "target")
    same(streamed, whole, table)
    same(streamed.forget(first, "target"), b, table)
    same(MixedClassifier(FAMILIES).fit_statistics(whole.statistics_), whole, table)


def test_files_and_models_of_files(table, tmp_path):
    clf = MixedClassifier(FAMILIES).fit(table, "target")
    clf.save(tmp_path / "model.suffice")
    same(suffice.load(tmp_path / "model.suffice"), clf, table)
    same(suffice.load_model(tmp_path / "model.suffice"), clf, table)
    table[:50].to_parquet(tmp_path / "part-1.parquet")
    table[50:].to_parquet(tmp_path / "part-2.parquet")
    same(MixedClassifier(FAMILIES).fit(str(tmp_path / "*.parquet"), "target"), clf, table)
    table.to_csv(tmp_path / "rows.csv", index=False)
    same(MixedClassifier(FAMILIES).fit(str(tmp_path / "rows.csv"), "target"), clf, table)


def test_a_database(table, tmp_path):
    engine = sa.create_engine(f"sqlite:///{tmp_path}/rows.db")
    table.to_sql("rows", engine, index=False)
    source = suffice.sql(engine, "SELECT * FROM rows")
    same(MixedClassifier(FAMILIES).fit(source, "target"), MixedClassifier(FAMILIES).fit(table, "target"), table)


@pytest.mark.parametrize("family", FAMILIES.values())
def test_one_family_for_all_columns(family, table):
    X = table[["tries", "tries"]].to_numpy() + (family not in ("geometric", "negative_binomial", "exponential"))
    clf = MixedClassifier(family).fit(X, table.target)
    assert set(clf.schema_.families) == {family}
    assert np.isfinite(clf.log_likelihood(X)).all()


def test_rows_outside_the_support_are_impossible_and_refused_in_training(table):
    clf = MixedClassifier(FAMILIES, prior=[0.3, 0.7]).fit(table, "target")
    odd = table[:2].assign(amount=[-1.0, 2.0])
    with pytest.warns(ImpossibleWarning):
        posterior = clf.predict_proba(odd)
    np.testing.assert_allclose(posterior[0], [0.3, 0.7])
    assert np.isneginf(clf.log_likelihood(odd)[0]).all()
    message = (
        r"in the lognormal columns: column 'amount' holds values that are not above 0 in 1 row; the lognormal family"
    )
    with pytest.raises(DataError, match=message):
        MixedClassifier(FAMILIES).fit(odd, "target")


def test_what_only_generative_models_do(table):
    clf = MixedClassifier(FAMILIES).fit(table, "target")
    drawn, _ = clf.sample(5, random_state=0)
    assert list(drawn) == list(table.columns[:-1])
    filled = clf.impute(table.drop(columns="target"))
    assert not filled.isna().any().any()
    assert (filled.claim[table.claim.isna()] > 0).all()
    shares = clf.explain(table[:3])
    np.testing.assert_allclose(shares.sum(axis=1), clf.llr(table[:3]), rtol=1e-9)
    typical = clf.typicality(table)
    assert 0.02 < typical.max() <= 1.0


def test_families_do_not_mix(table):
    one = MixedClassifier({"amount": "gamma"}).fit(table[["amount", "target"]], "target")
    other = MixedClassifier({"amount": "lognormal"}).fit(table[["amount", "target"]], "target")
    with pytest.raises(suffice.errors.SufficeError, match=r"different families \(gamma and lognormal\)"):
        one + other


def test_a_statistic_is_of_its_own_family(table):
    gamma = MixedClassifier("gamma").fit(table[["amount"]], table.target).statistics_.parts["gamma"]
    counts = MixedClassifier("categorical").fit(table[["tries"]], table.target).statistics_.parts["categorical"]
    words = MixedClassifier("categorical").fit(table[["target"]], table.target).statistics_.parts["categorical"]
    holds = {name: (row.is_held_by(gamma), row.is_held_by(counts)) for name, row in TABLE.items()}
    assert holds["gamma"] == (True, False)
    assert holds["lognormal"] == holds["exponential"] == holds["inverse_gaussian"] == (False, False)
    assert holds["negative_binomial"] == (False, True)
    assert not TABLE["negative_binomial"].is_held_by(words)
    with pytest.raises(DataError, match="a lognormal model needs TransformedStats of log, not"):
        TABLE["lognormal"].adopted(gamma, {})
