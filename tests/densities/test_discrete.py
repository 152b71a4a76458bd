"""The contract of densities, on every discrete family and their product: alone, with zeros, and with missing cells."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.sparse import csr_array

from suffice.densities import (
    BernoulliDensity,
    BetaBinomialDensity,
    BinomialDensity,
    CategoricalDensity,
    ComplementDensity,
    GammaPoissonDensity,
    GaussianDensity,
    MultinomialDensity,
    NegativeBinomialDensity,
    PoissonDensity,
    PolyaDensity,
    ProductDensity,
    SparseCountDensity,
)
from suffice.errors import DataError, EmptyClassWarning
from suffice.sources import as_table
from suffice.stats import CategoryStats, CountStats, MomentStats, counts
from suffice.tables.batch import Batch
from suffice.tables.table import Matrix

D, K, TRIALS = 4, 3, 5.0
inf, nan = np.inf, np.nan


def counted(X, y, presence=False, weight=None):
    return CountStats.of(Batch.of(as_table(X), y, weight), presence=presence)


def kept_sparse(stats):
    """The same counts, stored as those of very many classes and features are."""
    return CountStats(stats.classes, np.array(stats.weight), csr_array(stats.count), stats.missing, stats.presence)


def product(X, y, alpha, empty=()):
    """A block of every family; `empty` classes have no rows."""
    moments = MomentStats.of(Batch.of(X[:, :1], y), "diag", skip_missing=True) + MomentStats.zeros(empty, 1, "diag")
    sums = counted(X[:, 1:2], y) + CountStats.zeros(empty, 1)
    presence = counted(X[:, 2:3], y, presence=True) + CountStats.zeros(empty, 1, presence=True)
    categories = CategoryStats.of(Batch.of(X[:, 3:], y)) + CategoryStats.zeros(empty, 1)
    parts = {
        "gaussian": GaussianDensity.estimate(moments, "diag"),
        "poisson": PoissonDensity.estimate(sums, alpha),
        "bernoulli": BernoulliDensity.estimate(presence, alpha),
        "categorical": CategoricalDensity.estimate(categories, alpha),
    }
    columns = {name: (j,) for j, name in enumerate(parts)}
    return ProductDensity(parts, columns, ("g", "p", "b", "c"))


FAMILIES = {  # from rows of whole numbers up to 5, labels and a pseudo-count
    "bernoulli": lambda X, y, alpha: BernoulliDensity.estimate(counted(X, y, presence=True), alpha),
    "binomial": lambda X, y, alpha: BinomialDensity.estimate(counted(X, y), TRIALS, alpha),
    "poisson": lambda X, y, alpha: PoissonDensity.estimate(counted(X, y), alpha),
    "multinomial": lambda X, y, alpha: MultinomialDensity.estimate(counted(X, y), alpha),
    "complement": lambda X, y, alpha: ComplementDensity.estimate(counted(X, y), alpha),
    "normalized": lambda X, y, alpha: ComplementDensity.estimate(counted(X, y), alpha, normalize=True),
    "polya": lambda X, y, alpha: PolyaDensity.estimate(counted(X, y), alpha or 0.1),
    "gamma-Poisson": lambda X, y, alpha: GammaPoissonDensity.estimate(counted(X, y), alpha or 0.1),
    "beta binomial": lambda X, y, alpha: BetaBinomialDensity.estimate(counted(X, y), TRIALS, alpha or 0.1),
    "hashed": lambda X, y, alpha: SparseCountDensity.estimate(kept_sparse(counted(X, y)), alpha),
    "hashed presence": lambda X, y, alpha: SparseCountDensity.estimate(
        kept_sparse(counted(np.nan_to_num(X), y, presence=True)), alpha
    ),
    "categorical": lambda X, y, alpha: CategoricalDensity.estimate(CategoryStats.of(Batch.of(X, y)), alpha),
    "ignoring": lambda X, y, alpha: CategoricalDensity.estimate(CategoryStats.of(Batch.of(X, y)), alpha, "ignore"),
    "product": product,
}
every = pytest.mark.parametrize("family", FAMILIES)
DRAWN = ["bernoulli", "binomial", "beta binomial", "poisson", "categorical", "gamma-Poisson", "product"]
few = settings(max_examples=15)


@pytest.fixture
def rows(rng):
    """Whole numbers, of three classes with different habits."""
    y = np.repeat(list("abc"), [30, 50, 20])
    share = np.array([[0.1, 0.3, 0.5, 0.2], [0.6, 0.2, 0.1, 0.4], [0.3, 0.7, 0.6, 0.1]])
    return rng.binomial(5, share[np.searchsorted(["a", "b", "c"], y)]).astype(float), y


def holed(X, rng, share=0.3):
    return np.where(rng.random(X.shape) < share, nan, X)


def assert_consistent(density, X):
    """Scores are numbers or -inf; shares sum to them; classes alone and arrays say the same."""
    table = as_table(X)
    x = density.read(table)
    scores = np.empty((len(table), density.n_classes))
    assert density.score(x, all=scores)
    assert not np.isnan(scores).any()
    assert not np.isposinf(scores).any()
    np.testing.assert_allclose(density.marginal(x), scores, rtol=1e-12, atol=1e-12)
    for c in np.flatnonzero(getattr(density, "seen", np.ones(density.n_classes, bool))):
        shares = density.explain(x, int(c))
        assert not np.isnan(shares).any()
        np.testing.assert_allclose(shares.sum(axis=1), scores[:, c], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(density.of_classes([c]).marginal(x)[:, 0], scores[:, c], rtol=1e-12, atol=1e-12)
    again = type(density).from_arrays(density.to_arrays())
    assert again.to_arrays().keys() == density.to_arrays().keys()
    np.testing.assert_array_equal(again.marginal(again.read(table)), density.marginal(x))
    given = type(density).from_parameters(**density.parameters())
    np.testing.assert_allclose(given.marginal(given.read(table)), scores, rtol=1e-9, atol=1e-9)
    if np.isneginf(scores).any():
        assert density.has_zeros or not density.seen.all()
    best, evidence = np.empty(len(table), np.int64), np.empty(len(table))
    density.score(x, best=best, evidence=evidence)
    # A term that all classes share may round two scores to one.
    np.testing.assert_allclose(scores[np.arange(len(table)), best], scores.max(axis=1), rtol=1e-12)
    with np.errstate(divide="ignore"):
        expected = np.where(np.isneginf(scores.max(axis=1)), -inf, np.logaddexp.reduce(scores, axis=1))
    np.testing.assert_allclose(evidence, expected, rtol=1e-12, atol=1e-12)
    relative = np.empty_like(scores)
    density.score(x, all=relative, relative=True)
    possible = np.isfinite(scores).all(axis=1)
    difference = [s[possible] - s[possible, :1] for s in (relative, scores)]
    np.testing.assert_allclose(*difference, rtol=1e-9, atol=1e-9)


@every
@pytest.mark.parametrize("alpha", [0, 0.5, 1])
def test_scores_shares_and_arrays_agree(family, alpha, rows):
    density = FAMILIES[family](*rows, alpha)
    assert_consistent(density, rows[0])
    assert (density.n_classes, density.n_features) == (K, D)
    assert str(K) in repr(density)


@every
@pytest.mark.parametrize("alpha", [0, 1])
def test_they_agree_with_missing_cells(family, alpha, rows, rng):
    X, y = rows
    holes = holed(X, rng)
    holes[:2] = nan
    for train in (X, holes):
        if family == "product":
            density = FAMILIES[family](train, y, alpha)
            x = density.read(as_table(holes))
            scores = density.marginal(x)
            for c in range(K):
                np.testing.assert_allclose(density.explain(x, c).sum(axis=1), scores[:, c], rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(density.log_likelihood(holes), scores, rtol=1e-12, atol=1e-12)
        else:
            density = FAMILIES[family](train, y, alpha)
            assert_consistent(density, holes)
            scores = density.log_likelihood(holes)
        np.testing.assert_allclose(scores[:2], 0.0, atol=1e-9)  # a row that says nothing


@every
@few
@given(st.data())
def test_zeros_never_become_nan(family, data):
    """Without pseudo-counts, from few rows, scored on rows that do what was never seen."""
    cell = st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0])
    n = data.draw(st.integers(3, 6))
    X = np.array(data.draw(st.lists(st.tuples(*[cell] * D), min_size=n, max_size=n)))
    Q = np.array(data.draw(st.lists(st.tuples(*[cell | st.just(nan)] * D), min_size=1, max_size=5)))
    if family == "product":
        X[:, 0], Q[:, 0] = np.arange(n), 1.0  # a variance, and no cell that would drop out of a Gaussian
        y = np.full(n, "a")
    else:
        y = np.array(list("abc") + ["a"] * (n - 3))
    density = FAMILIES[family](X, y, 0)
    assert_consistent(density, Q)
    if family not in ("categorical", "ignoring", "product") and not np.isnan(Q).any():
        assert_consistent(density, csr_array(Q))
        np.testing.assert_allclose(
            density.log_likelihood(csr_array(Q)), density.log_likelihood(Q), rtol=1e-10, atol=1e-10
        )


IMPOSSIBLE = {  # family, a row, and the log-likelihoods under "always" and "never"
    "present": ("bernoulli", [1], [0, -inf]),
    "absent": ("bernoulli", [0], [-inf, 0]),
    "missing": ("bernoulli", [nan], [0, 0]),
    "all trials": ("binomial", [5], [-inf, -inf]),
    "no trial": ("binomial", [0], [-inf, 0]),
    "no trial known": ("binomial", [nan], [0, 0]),
    "an event": ("poisson", [1], [-1, -inf]),
    "no event": ("poisson", [0], [-1, 0]),
    "no event known": ("poisson", [nan], [0, 0]),
}


@pytest.mark.parametrize(("family", "row", "expected"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_is_certain_and_what_is_impossible(family, row, expected):
    X, y = np.array([[1.0], [1], [0], [0]]), np.array(["always", "always", "never", "never"])
    if family == "binomial":
        density = BinomialDensity.estimate(counted(X * 4, y), 4)
        row, expected = [min(v, 4) if v == v else v for v in row], [0 if row == [5] else expected[0], expected[1]]
    else:
        density = FAMILIES[family](X, y, 0)
    np.testing.assert_array_equal(density.log_likelihood([row]), [expected])
    if not np.isnan(row).any():
        np.testing.assert_array_equal(density.log_likelihood(csr_array(np.array([row]))), [expected])


def test_certainty_survives_weights_whatever_their_rounding(rng):
    w = rng.uniform(0.1, 3, 3000)
    X, y = np.column_stack([np.ones(3000), np.zeros(3000)]), np.repeat(["a", "b"], 1500)
    stats = counted(X, y, True, w)
    pieces = sum(
        (counted(X[i : i + 7], y[i : i + 7], True, w[i : i + 7]) for i in range(7, 3000, 7)),
        counted(X[:7], y[:7], True, w[:7]),
    )
    for s in (stats, pieces, kept_sparse(stats), kept_sparse(pieces)):
        density = (SparseCountDensity if s.is_sparse else BernoulliDensity).estimate(s, 0)
        np.testing.assert_array_equal(
            density.log_likelihood([[1, 0], [0, 0], [1, 1]]), [[0, 0], [-inf] * 2, [-inf] * 2]
        )


def test_the_last_bit_of_a_weight_is_no_absence():
    stats = counted(np.array([[1.0, 0]]), ["a"], True, [0.1 + 0.2])
    stats = CountStats.from_arrays(stats.classes, stats.to_arrays() | {"count": np.array([[0.3, 0.0]])})
    for density in (BernoulliDensity.estimate(stats, 0), SparseCountDensity.estimate(kept_sparse(stats), 0)):
        np.testing.assert_array_equal(density.log_likelihood([[0, 0]]), [[-inf]])
        np.testing.assert_allclose(density.log_likelihood([[1, 0]]), [[0]], atol=1e-15)


@pytest.mark.parametrize("alpha", [0, 0.3, 1])
@pytest.mark.parametrize("presence", [False, True])
@given(st.data())
@few
def test_counts_kept_sparse_give_the_same_density(presence, alpha, data):
    cell = st.sampled_from([0, 0, 0, 1, 2])
    X = np.array(data.draw(st.lists(st.tuples(*[cell] * D), min_size=3, max_size=8)), float)
    Q = np.array(data.draw(st.lists(st.tuples(*[cell] * D), min_size=1, max_size=5)), float)
    y = np.array([*"abc", *"abcab"][: len(X)])
    if data.draw(st.booleans()):
        X[y == "c"] = 0  # a class without any counts
    stats = counted(X, y, presence)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "DENSE", 1)
        sparse = counted(csr_array(X), y, presence)
    assert sparse.is_sparse
    assert not stats.is_sparse
    plain = (BernoulliDensity if presence else MultinomialDensity).estimate(stats, alpha)
    hashed = SparseCountDensity.estimate(sparse, alpha)
    holes = np.where(Q == 2, nan, Q)
    for rows in (Q, csr_array(Q), holes):
        np.testing.assert_allclose(hashed.log_likelihood(rows), plain.log_likelihood(rows), rtol=1e-10, atol=1e-10)
        x = plain.read(as_table(rows))
        for c in range(K):
            np.testing.assert_allclose(hashed.explain(x, c), plain.explain(x, c), rtol=1e-10, atol=1e-10)


def test_a_hashed_density_draws_and_fills_nothing(rows):
    density = FAMILIES["hashed"](*rows, 1)
    x = density.read(as_table(rows[0]))
    assert density.fill(x, np.full((len(x), K), 1 / K)) is x
    for call in (
        lambda: density.sample(np.zeros(1, int), np.random.default_rng(0)),
        lambda: density.typicality(x),
        lambda: density.fill(density.hide(x, np.ones((len(x), D), bool)), np.full((len(x), K), 1 / K)),
    ):
        with pytest.raises(DataError):
            call()
    with pytest.raises(DataError, match="missing"):
        SparseCountDensity.estimate(kept_sparse(counted(np.full((3, 2), nan), list("abc"), True)), 1)


@pytest.mark.parametrize("family", ["complement", "polya"])
def test_what_is_not_defined_is_refused(family, rows):
    density = FAMILIES[family](*rows, 1)
    x = density.read(as_table(rows[0]))
    with pytest.raises(DataError, match="typicality"):
        density.typicality(x)
    if family == "complement":
        for call in (
            lambda: density.sample(np.zeros(1, int), np.random.default_rng(0)),
            lambda: density.fill(x, np.full((len(x), K), 1 / K)),
        ):
            with pytest.raises(DataError, match="not probabilities"):
                call()
    for predictive in (PolyaDensity, GammaPoissonDensity):
        with pytest.raises(DataError, match="alpha"):
            predictive.estimate(counted(*rows), 0)


def test_normalized_weights_of_one_word_are_no_nan():
    density = ComplementDensity.estimate(counted(np.array([[1.0], [2.0]]), ["a", "b"]), 1, normalize=True)
    np.testing.assert_array_equal(density.log_likelihood([[3]]), [[0, 0]])


# Missing cells: the sum over what they could have been.

ALPHABET = {
    "bernoulli": [0, 1], "binomial": range(6), "poisson": range(80), "gamma-Poisson": range(400),
    "beta binomial": range(6),
    "categorical": range(6),
}  # fmt: skip


@pytest.mark.parametrize("family", ALPHABET)
@pytest.mark.parametrize("alpha", [0, 1])
def test_a_missing_cell_is_summed_out(family, alpha, rows):
    density = FAMILIES[family](*rows, alpha)
    row = np.array([1.0, 0, 1, 1])
    for j in range(D):
        every = np.tile(row, (len(ALPHABET[family]), 1))
        every[:, j] = ALPHABET[family]
        known = set(np.unique(rows[0][:, j]).astype(int))
        if family == "categorical":
            every = every[[v in known for v in ALPHABET[family]]]
        hidden = row.copy()
        hidden[j] = nan
        expected = np.exp(density.log_likelihood(every)).sum(axis=0)
        np.testing.assert_allclose(np.exp(density.log_likelihood([hidden]))[0], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("family", ["multinomial", "polya"])
def test_probabilities_of_all_documents_of_a_length_sum_to_one(family, rows):
    density = FAMILIES[family](*rows, 1)
    every = np.array([[a, b, c, 4 - a - b - c] for a in range(5) for b in range(5 - a) for c in range(5 - a - b)])
    np.testing.assert_allclose(np.exp(density.log_likelihood(every)).sum(axis=0), 1.0, rtol=1e-12)


@pytest.mark.parametrize("family", DRAWN)
def test_hidden_cells_are_missing(family, rows, rng):
    density = FAMILIES[family](*rows, 1)
    x = density.read(as_table(rows[0]))
    hidden = rng.random(rows[0].shape) < 0.4
    out = density.hide(x, hidden)
    np.testing.assert_array_equal(density.missing(out), hidden)
    assert not density.missing(x).any()
    expected = density.marginal(density.read(as_table(np.where(hidden, nan, rows[0]))))
    np.testing.assert_allclose(density.marginal(out), expected, rtol=1e-12, atol=1e-12)
    again = density.hide(out, np.zeros_like(hidden))
    np.testing.assert_array_equal(density.missing(again), hidden)


MISSED = np.array([[2, nan, 0, 3], [nan, nan, 4, 1], [nan, 2, nan, nan], [nan] * 4, [nan, 0, 0, nan], [1, 2, 3, 0]])


@pytest.mark.parametrize("family", ["multinomial", "hashed", "polya"])
@pytest.mark.parametrize("alpha", [0.5, 1])
def test_counts_compete_with_what_is_observed_alone(family, alpha, rows):
    """Against SciPy, with the parameters of the observed features and no others."""
    X, y = rows
    density = FAMILIES[family](X, y, alpha)
    x = density.read(as_table(MISSED))
    scores = density.marginal(x)
    for i, row in enumerate(MISSED):
        seen, count = ~np.isnan(row), row[~np.isnan(row)]
        for c, label in enumerate("abc"):
            own = X[y == label].sum(axis=0)[seen] + alpha
            if not seen.any():
                expected = 0.0
            elif family == "polya":
                expected = stats.dirichlet_multinomial(own, int(count.sum())).logpmf(count.astype(int))
            else:
                expected = stats.multinomial(int(count.sum()), own / own.sum()).logpmf(count)
            assert scores[i, c] == pytest.approx(expected, rel=1e-12, abs=1e-12)
            shares = density.explain(x, c)[i]
            assert shares.sum() == pytest.approx(expected, rel=1e-12, abs=1e-12)
    log_prior = np.log([0.2, 0.3, 0.5])
    posterior = np.exp(scores + log_prior) / np.exp(scores + log_prior).sum(axis=1, keepdims=True)
    if family != "hashed":
        filled = density.write(density.impute(x, log_prior))
        np.testing.assert_allclose(filled, np.where(np.isnan(MISSED), posterior @ density.mean, MISSED), rtol=1e-12)


def test_words_that_only_missing_features_have_are_impossible():
    """A class whose probability is all on what is missing: it can have no other word, but it can have none."""
    density = FAMILIES["multinomial"](np.array([[3.0, 0, 0], [1, 1, 1]]), ["a", "b"], 0)
    x = density.read(as_table([[nan, 1, 0], [nan, 0, 0]]))
    np.testing.assert_allclose(density.marginal(x), [[-inf, np.log(0.5)], [0, 0]], atol=1e-15)
    np.testing.assert_allclose(density.typicality(x), [[0, 1], [1, 1]])


def test_typicality_with_missing_cells_is_that_of_the_observed_words(rows):
    """As of a density of the observed features alone, and uniform over its own draws."""
    X, y = rows
    density, part = FAMILIES["multinomial"](X, y, 1), FAMILIES["multinomial"](X[:, [0, 2, 3]], y, 1)
    few = X[:, [0, 2, 3]]
    found = density.typicality(density.read(as_table(np.insert(few, 1, nan, axis=1))))
    np.testing.assert_allclose(found, part.typicality(part.read(as_table(few))), rtol=1e-9)
    rng = np.random.default_rng(0)
    words = rng.multinomial(400, np.exp(part.one[1]), 2000).astype(float)
    ranks = density.typicality(density.read(as_table(np.insert(words, 1, nan, axis=1))))[:, 1]
    assert stats.kstest(ranks, "uniform").statistic < 0.05


@pytest.mark.parametrize("family", ["bernoulli", "binomial", "poisson", "gamma-Poisson"])
def test_imputed_cells_are_expectations(family, rows):
    X, y = rows
    density = FAMILIES[family](X, y, 0.1)
    x = density.read(as_table([[1.0, nan, 1, nan], [1, 0, 1, 1]]))
    log_prior = np.log([0.2, 0.3, 0.5])
    joint = density.marginal(x) + log_prior
    posterior = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    filled = density.write(density.impute(x, log_prior))
    expected = posterior[0] @ density.mean
    if family == "bernoulli":  # the more probable truth
        expected = np.rint(expected)
    np.testing.assert_allclose(filled, [[1, expected[1], 1, expected[3]], [1, 0, 1, 1]], rtol=1e-12)


def test_imputed_categories_are_the_most_probable():
    X = np.array([["x", "u"], ["x", "u"], ["x", "v"], ["y", "v"], ["y", "w"], ["y", "w"]], object)
    density = CategoricalDensity.estimate(CategoryStats.of(Batch.of(X, list("aaabbb"))), 0.1)
    x = density.read(as_table(np.array([["x", None], ["y", None], [None, None], ["y", "v"]], object)))
    filled = density.write(density.impute(x, np.log([0.5, 0.5])))
    assert filled.tolist() == [["x", "u"], ["y", "w"], ["x", "u"], ["y", "v"]]


def test_an_impossible_row_is_imputed_by_the_prior():
    density = FAMILIES["bernoulli"](np.array([[1.0, 1], [0, 0]]), ["a", "b"], 0)
    x = density.read(as_table([[0, nan], [1, nan]]))
    both = density.of_classes([0, 0])
    np.testing.assert_array_equal(density.write(density.impute(x, np.log([0.5, 0.5]))), [[0, 0], [1, 1]])
    np.testing.assert_array_equal(both.write(both.impute(x, np.log([0.5, 0.5]))), [[0, 1], [1, 1]])


def test_a_product_imputes_every_family(rows):
    X, y = rows
    density = FAMILIES["product"](X, y, 1)
    filled = density.write(
        density.impute(density.read(as_table([[nan, nan, nan, nan]])), np.log([1.0, 1e-300, 1e-300]))
    )
    one = filled.to_pylist()[0]
    own = X[y == "a"]
    assert one["g"] == pytest.approx(own[:, 0].mean())
    assert one["p"] == pytest.approx((own[:, 1].sum() + X[:, 1].mean()) / 31)
    assert one["b"] == round(((own[:, 2] > 0).sum() + 1) / 32)
    assert one["c"] == np.bincount(own[:, 3].astype(int)).argmax()


# Columns that a class, or every class, never had.


@pytest.mark.parametrize("family", ["bernoulli", "binomial", "poisson", "categorical", "gamma-Poisson", "product"])
@pytest.mark.parametrize("alpha", [0, 1])
def test_a_column_that_one_class_never_had(family, alpha, rows):
    X, y = rows[0].copy(), rows[1]
    j = 1  # a column of events in the product
    X[y == "a", j] = nan
    density = FAMILIES[family](X, y, alpha)
    row = np.array([[1.0, 1, 1, 1]])
    hidden = np.where(np.arange(D) == j, nan, row)
    with_it, without = density.log_likelihood(row), density.log_likelihood(hidden)
    assert np.isfinite(with_it).all()
    own = np.exp((with_it - without)[0])  # p(x_j | class)
    if alpha == 0:  # what all rows say, which speaks for no class
        pooled = FAMILIES[family](X, np.full(len(y), "a"), 0)
        expected = np.exp((pooled.log_likelihood(row) - pooled.log_likelihood(hidden))[0, 0])
        if family != "gamma-Poisson":
            np.testing.assert_allclose(own[0], expected, rtol=1e-10)
            assert min(own[1:]) < own[0] < max(own[1:])
    np.testing.assert_allclose(density.explain(density.read(as_table(row)), 0).sum(axis=1), with_it[:, 0], rtol=1e-10)


@pytest.mark.parametrize("family", [*DRAWN, "multinomial", "polya"])
@pytest.mark.parametrize("alpha", [0, 1])
def test_a_column_that_no_class_ever_had(family, alpha, rows):
    X, y = rows[0].copy(), rows[1]
    X[:, 1] = nan
    density = FAMILIES[family](X, y, alpha)
    with_it, without = density.log_likelihood([[1.0, 0, 1, 1], [1.0, nan, 1, 1]])
    assert np.isfinite(without).all()
    assert np.isfinite(with_it).all()
    difference = with_it - without
    if family != "polya" and (family, alpha) != ("multinomial", 1):  # a pseudo-count is another share in each class
        np.testing.assert_allclose(difference - difference[0], 0.0, atol=1e-9)
    if family not in ("multinomial", "polya"):
        counted = density.log_likelihood([[1.0, 2, 1, 1]])[0]
        assert np.isfinite(counted).all()
        np.testing.assert_allclose((counted - without) - (counted - without)[0], 0.0, atol=1e-9)


@every
def test_a_class_without_rows_has_no_likelihood(family, rows):
    X, y = rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyClassWarning)
        more = with_empty_class(family, X, y)
    scores = more.log_likelihood(X)
    assert np.isneginf(scores[:, 3]).all()
    np.testing.assert_allclose(scores[:, :3], FAMILIES[family](X, y, 1).log_likelihood(X), rtol=1e-12)
    if family in DRAWN:
        assert not more.typicality(more.read(as_table(X[:5])))[:, 3].any()


def with_empty_class(family, X, y):
    stats = {
        "categorical": CategoryStats.of(Batch.of(X, y)) + CategoryStats.zeros(["d"], D),
        "sums": counted(X, y) + CountStats.zeros(["d"], D),
        "presence": counted(X, y, True) + CountStats.zeros(["d"], D, presence=True),
    }
    return {
        "bernoulli": lambda: BernoulliDensity.estimate(stats["presence"], 1),
        "binomial": lambda: BinomialDensity.estimate(stats["sums"], TRIALS, 1),
        "poisson": lambda: PoissonDensity.estimate(stats["sums"], 1),
        "multinomial": lambda: MultinomialDensity.estimate(stats["sums"], 1),
        "complement": lambda: ComplementDensity.estimate(stats["sums"], 1),
        "normalized": lambda: ComplementDensity.estimate(stats["sums"], 1, normalize=True),
        "polya": lambda: PolyaDensity.estimate(stats["sums"], 1),
        "gamma-Poisson": lambda: GammaPoissonDensity.estimate(stats["sums"], 1),
        "beta binomial": lambda: BetaBinomialDensity.estimate(stats["sums"], TRIALS, 1),
        "hashed": lambda: SparseCountDensity.estimate(kept_sparse(stats["sums"]), 1),
        "hashed presence": lambda: SparseCountDensity.estimate(kept_sparse(stats["presence"]), 1),
        "categorical": lambda: CategoricalDensity.estimate(stats["categorical"], 1),
        "ignoring": lambda: CategoricalDensity.estimate(stats["categorical"], 1, "ignore"),
        "product": lambda: product(X, y, 1, empty=["d"]),
    }[family]()


# Draws.


@pytest.mark.parametrize("family", ["bernoulli", "binomial", "poisson", "multinomial", "polya", "gamma-Poisson"])
def test_draws_have_the_means_of_their_class(family, rows):
    density = FAMILIES[family](*rows, 1)
    n = 20_000
    for c in range(K):
        drawn = density.write(density.sample(np.full(n, c), np.random.default_rng(c)))
        assert drawn.shape == (n, D)
        assert (drawn == np.rint(drawn)).all()
        error = drawn.std(axis=0) / np.sqrt(n)
        mean = density.events[c] / density.rows[c] if family == "gamma-Poisson" else density.mean[c]
        np.testing.assert_array_less(np.abs(drawn.mean(axis=0) - mean), 5 * error + 1e-12)
        assert np.isfinite(density.log_likelihood(drawn)[:, c]).all()


def test_bursts_vary_more_than_independent_words():
    stats = counted(np.array([[3.0, 1], [2, 2]]), ["a", "a"])
    plain, bursts = MultinomialDensity.estimate(stats, 0.5), PolyaDensity.estimate(stats, 0.5)
    code, rng = np.zeros(5000, int), np.random.default_rng(0)
    spread = [np.var(density.write(density.sample(code, rng))[:, 0]) for density in (plain, bursts)]
    assert spread[1] > 1.1 * spread[0]


def test_drawn_categories_have_their_probabilities():
    X = np.array([["x", 1], ["x", 2], ["y", 1], ["z", 1], ["z", 3]], object)
    density = CategoricalDensity.estimate(CategoryStats.of(Batch.of(X, list("aaabb"))), 0)
    drawn = density.write(density.sample(np.repeat([0, 1], 10_000), np.random.default_rng(0)))
    one, two = drawn[:10_000, 0], drawn[10_000:, 0]
    assert np.mean(one == "x") == pytest.approx(2 / 3, abs=0.02)
    assert set(one) == {"x", "y"}
    assert set(two) == {"z"}
    assert np.mean(drawn[10_000:, 1] == 3) == pytest.approx(0.5, abs=0.02)


def test_words_are_drawn_whose_concentrations_are_next_to_nothing():
    density = PolyaDensity.from_parameters([[1e-9, 3e-9]], [5.0])  # draws of a Gamma distribution are all zero
    drawn = density.sample(np.zeros(4000, int), np.random.default_rng(0)).dense()
    assert not drawn.all(axis=1).any()  # one word has it all
    assert np.mean(drawn[drawn.any(axis=1)][:, 1] > 0) == pytest.approx(0.75, abs=0.03)


def test_draws_of_a_product_are_a_table(rows):
    density = FAMILIES["product"](*rows, 1)
    drawn = density.write(density.sample(np.zeros(500, int), np.random.default_rng(0)))
    assert drawn.column_names == ["g", "p", "b", "c"]
    assert np.isfinite(density.log_likelihood(drawn)[:, 0]).all()
    own = rows[0][rows[1] == "a"]
    assert np.mean(drawn["p"].to_numpy()) == pytest.approx(own[:, 1].mean(), abs=0.3)


# Typicality.


@pytest.mark.parametrize("family", [*DRAWN, "multinomial"])
@pytest.mark.parametrize("missing", [False, True])
def test_typicality_of_ones_own_draws_is_uniform(family, missing, rows):
    """As nearly as values that tie can be: P(typicality <= t) <= t."""
    X, y = rows
    density = FAMILIES[family](np.tile(X, (1, 1)), y, 1)
    if family == "multinomial" and missing:
        return  # of a document, the total is given by what is observed
    drawn = density.sample(np.zeros(2000, int), np.random.default_rng(99))
    if missing:
        hidden = np.zeros((2000, D), bool)
        hidden[::2, 0] = True
        drawn = density.hide(drawn, hidden)
    typicality = density.typicality(drawn)[:, 0]
    assert ((typicality >= 0) & (typicality <= 1)).all()
    for t in (0.05, 0.25, 0.5, 0.9):
        slack = 0.12 if family == "multinomial" else 0.04  # a normal approximation
        assert np.mean(typicality <= t) <= t + slack
    assert 0.4 < typicality.mean() < 0.85


OUTLIERS = {
    "poisson": [40.0, 40, 40, 40],
    "gamma-Poisson": [40.0, 40, 40, 40],
    "multinomial": [0.0, 0, 0, 40],
    "binomial": [5.0, 0, 0, 5],
    "product": [50.0, 40, 1, 1],
}


@pytest.mark.parametrize(("family", "row"), OUTLIERS.items())
def test_outliers_are_not_typical(family, row, rows):
    density = FAMILIES[family](*rows, 1)
    typical = density.typicality(density.read(as_table([row, np.rint(rows[0][rows[1] == "b"].mean(axis=0))])))
    known = [0, 2] if family == "multinomial" else [0, 1, 2]  # the second class has many of the fourth word
    assert (typical[0, known] < 0.01).all()
    assert typical[1, 1] > 0.1


@pytest.mark.parametrize("family", DRAWN)
def test_an_impossible_row_is_not_typical_and_an_empty_one_is(family, rows):
    X, y = rows[0].copy(), rows[1]
    X[y == "a", 3] = 0
    density = FAMILIES[family](X, y, 0)
    typicality = density.typicality(density.read(as_table([[1.0, 1, 1, 5], [nan] * 4])))
    if family not in ("gamma-Poisson", "beta binomial"):  # which have pseudo-counts
        assert typicality[0, 0] == 0
    np.testing.assert_array_equal(typicality[1], 1)


# Reading.


def test_single_precision_loses_nothing(rows):
    X = rows[0] * 1001
    for family in ("poisson", "multinomial", "polya", "gamma-Poisson", "hashed"):
        density = FAMILIES[family](*rows, 1)
        expected = density.log_likelihood(X)
        for form in (
            X.astype(np.float32),
            X.astype(int),
            csr_array(X.astype(np.float32)),
            csr_array(X.astype(np.int32)),
        ):
            np.testing.assert_allclose(density.log_likelihood(form), expected, rtol=1e-12)


@pytest.mark.parametrize("bad", [-1.0, inf])
@pytest.mark.parametrize("form", [np.array, csr_array])
def test_what_is_no_count_is_refused(bad, form, rows):
    for family in ("poisson", "multinomial", "binomial", "polya", "hashed"):
        with pytest.raises(DataError, match="column 1"):
            FAMILIES[family](*rows, 1).log_likelihood(form(np.array([[1, bad, 0, 0], [0, 0, 0, 0]])))


def test_successes_beyond_the_trials_are_refused(rows):
    density = FAMILIES["binomial"](*rows, 1)
    with pytest.raises(DataError, match="more successes than trials"):
        density.log_likelihood([[6, 0, 0, 0]])
    for trials in (0, 2.5, -1, [5, 5, 5, nan]):
        with pytest.raises(DataError, match="whole numbers"):
            BinomialDensity.estimate(counted(*rows), trials)
    with pytest.raises(DataError, match="more successes"):
        BinomialDensity.estimate(counted(*rows), 1)


def test_rows_of_another_width_are_refused(rows):
    for family in FAMILIES:
        with pytest.raises(DataError, match="X has 2 features"):
            FAMILIES[family](*rows, 1).log_likelihood(rows[0][:, :2])


READ = {
    "integers": np.array([[0, 1], [2, 5]]),
    "small integers": np.array([[0, 1], [2, 5]], np.int8),
    "large unsigned ones": np.array([[0, 1], [2, 2**64 - 1]], np.uint64),
    "floats": np.array([[0, 1.0], [2, 5]]),
    "text": np.array([["0", "1"], ["2", "5"]], object),
    "mixed": np.array([[0, "1"], [2.0, b"5"]], object),
    "single precision": np.array([[0, 1.0], [2, 5]], np.float32),
}


@pytest.mark.parametrize("X", READ.values(), ids=READ)
@pytest.mark.parametrize("unknown", ["smooth", "ignore"])
def test_categories_are_known_in_whatever_form_they_come(X, unknown):
    train = np.array([[0, 1], [2, -1], [2, 1], [0, 1]])
    for form in (train, train.astype(str).astype(object), train.astype(float)):
        density = CategoricalDensity.estimate(CategoryStats.of(Batch.of(form, list("aabb"))), 1, unknown)
        unseen = [0.0, 0.0] if unknown == "ignore" else np.log([1 / 4, 1 / 4])
        expected = [np.log([1 / 2, 1 / 2]) + np.log([2 / 4, 3 / 4]), np.log([1 / 2, 1 / 2]) + unseen]
        np.testing.assert_allclose(density.log_likelihood(X), expected, rtol=1e-12)
        codes = density.read(as_table(X))
        np.testing.assert_array_equal(density.indices(codes), [[0, 1], [1, -2]])
        np.testing.assert_allclose([density.explain(codes, c).sum(axis=1) for c in (0, 1)], np.transpose(expected))


def test_booleans_are_categories():
    density = CategoricalDensity.estimate(
        CategoryStats.of(Batch.of(np.array([[True], [False], [True]]), list("aab"))), 1
    )
    for X in (np.array([[True], [False]]), np.array([["True"], ["False"]])):
        np.testing.assert_allclose(np.exp(density.log_likelihood(X)), [[1 / 2, 2 / 3], [1 / 2, 1 / 3]])
    for X in (np.array([[1], [0]]), np.array([[1.0], [0]])):  # numbers are something else
        np.testing.assert_allclose(np.exp(density.log_likelihood(X)), [[1 / 4, 1 / 3], [1 / 4, 1 / 3]])
    drawn = density.write(density.sample(np.zeros(9, int), np.random.default_rng(0)))
    assert drawn.dtype == bool


def test_an_unknown_policy_is_refused():
    with pytest.raises(DataError, match="'guess'"):
        CategoricalDensity.estimate(CategoryStats.of(Batch.of([[1]], ["a"])), 1, "guess")


def test_a_strided_view_is_scored_like_a_copy(rows):
    X = np.asfortranarray(np.repeat(rows[0], 2, axis=1))[::2, ::2]
    for family in FAMILIES:
        density = FAMILIES[family](*rows, 1)
        scored = density.log_likelihood(Matrix(X))
        np.testing.assert_allclose(scored, density.log_likelihood(X.copy()), rtol=1e-12)


@pytest.mark.parametrize(
    "density",
    [
        PoissonDensity.from_parameters([1.0, 1e19]),
        GammaPoissonDensity.from_parameters([1.0, 1e19], [1.0, 1.0]),
        NegativeBinomialDensity.from_parameters([1.0, 1e19], [1.0, 1e9]),
        MultinomialDensity.from_parameters([[0.5, 0.5], [0.5, 0.5]], [1.0, 1e19]),
        PolyaDensity.from_parameters([[1.0, 1.0], [1.0, 1.0]], [1.0, 1e19]),
    ],
    ids=lambda density: type(density).__name__,
)
def test_counts_beyond_integers_are_not_drawn(density):
    rng = np.random.default_rng(0)
    density.sample(np.array([0]), rng)
    with pytest.raises(DataError, match=r"cannot draw a count with a rate of 1e\+19: the largest rate is 9.2e18"):
        density.sample(np.array([0, 1]), rng)
