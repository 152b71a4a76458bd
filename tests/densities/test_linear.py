"""Where log p(x | class) is linear in x, and the log-likelihood of rows from their statistic alone."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.preprocessing import OneHotEncoder

from suffice.densities import (
    BernoulliDensity,
    BinomialDensity,
    CategoricalDensity,
    ComplementDensity,
    GammaPoissonDensity,
    GaussianDensity,
    MultinomialDensity,
    PoissonDensity,
    PolyaDensity,
    ProductDensity,
    SparseCountDensity,
    StudentDensity,
)
from suffice.errors import DataError, EmptyClassWarning
from suffice.sources import as_table
from suffice.stats import BundleStats, CategoryStats, CountStats, MomentStats
from suffice.tables.batch import Batch

Y = np.repeat(["a", "b", "c"], [30, 50, 20])


def presence(batch):
    return CountStats.of(batch, presence=True)


def kept_sparse(stats):
    return CountStats(stats.classes, np.array(stats.weight), csr_array(stats.count), None, stats.presence)


def sparse_presence(batch):
    return kept_sparse(presence(batch))


def blocks(batch):
    return BundleStats.of(
        batch,
        {"gaussian": ((0,), MomentStats.of), "categorical": ((1,), CategoryStats.of), "bernoulli": ((2,), presence)},
    )


def product(stats, alpha=1.0):
    families = {
        "gaussian": lambda s: GaussianDensity.estimate(s, "tied_diag"),
        "categorical": lambda s: CategoricalDensity.estimate(s, alpha),
        "bernoulli": lambda s: BernoulliDensity.estimate(s, alpha),
    }
    return ProductDensity.estimate(stats, families)


def full(batch):
    return MomentStats.of(batch, "full")


def moments(layout):
    return lambda batch: MomentStats.of(batch, layout)


def gaussian(structure):
    return lambda stats: GaussianDensity.estimate(stats, structure)


LINEAR = {  # how the statistic is collected, and the density estimated
    "tied": (full, gaussian("tied")),
    "tied diag": (MomentStats.of, gaussian("tied_diag")),
    "tied spherical": (MomentStats.of, gaussian("tied_spherical")),
    "bernoulli": (presence, BernoulliDensity.estimate),
    "binomial": (CountStats.of, lambda s: BinomialDensity.estimate(s, 5, 1.0)),
    "poisson": (CountStats.of, PoissonDensity.estimate),
    "multinomial": (CountStats.of, MultinomialDensity.estimate),
    "complement": (CountStats.of, ComplementDensity.estimate),
    "categorical": (CategoryStats.of, CategoricalDensity.estimate),
    "product": (blocks, product),
}


@pytest.fixture(name="X")
def rows(rng):
    share = np.array([[0.1, 0.3, 0.5], [0.6, 0.2, 0.1], [0.3, 0.7, 0.6]])
    return rng.binomial(5, share[np.searchsorted(["a", "b", "c"], Y)]).astype(float)


@pytest.mark.parametrize("family", LINEAR)
def test_linear_scores_are_the_scores(family, X):
    of, estimate = LINEAR[family]
    with pytest.warns(EmptyClassWarning, match="'z'"):
        density = estimate(of(Batch.of(X, Y)).aligned(np.array(["a", "b", "c", "z"])))
    form = density.linear()
    rows = density.linear_rows(density.read(as_table(X)))
    scores = form.constant + (rows - form.center) @ form.slope.T
    expected = density.log_likelihood(X)
    assert np.isneginf(scores[:, 3]).all()
    np.testing.assert_allclose(scores[:, :3] - scores[:, :1], expected[:, :3] - expected[:, :1], rtol=1e-9, atol=1e-9)
    assert len(density.linear_names(["u", "v", "w"])) == form.slope.shape[1]


def test_categories_are_encoded_as_scikit_learn_does(X):
    density = CategoricalDensity.estimate(CategoryStats.of(Batch.of(X.astype(int), Y)))
    encoder = OneHotEncoder(sparse_output=False).fit(X.astype(int))
    rows = density.linear_rows(density.read(as_table(X.astype(int))))
    np.testing.assert_array_equal(rows, encoder.transform(X.astype(int)))
    assert density.linear_names(["u", "v", "w"]) == tuple(encoder.get_feature_names_out(["u", "v", "w"]))
    unknown = density.linear_rows(density.read(as_table(np.array([[99, 1, 1]]))))
    assert unknown.sum() == 2


def test_a_product_names_the_columns_of_its_blocks(X):
    density = product(blocks(Batch.of(X, Y)))
    categories = density.parts["categorical"].categories[0].tolist()
    assert density.linear_names(["u", "v", "w"]) == ("u", *(f"v_{c}" for c in categories), "w")


NOT_LINEAR = {
    "quadratic": (lambda X: gaussian("full")(full(Batch.of(X, Y))), 'quadratic in x.*use "tied"'),
    "student": (lambda X: StudentDensity.estimate(full(Batch.of(X, Y))), "is not linear in x for StudentDensity"),
    "polya": (lambda X: PolyaDensity.estimate(CountStats.of(Batch.of(X, Y))), "not linear .* use the plug-in model"),
    "gamma-Poisson": (lambda X: GammaPoissonDensity.estimate(CountStats.of(Batch.of(X, Y))), "not linear"),
    "zeros": (lambda X: MultinomialDensity.estimate(CountStats.of(Batch.of(X * [1, 1, 0], Y)), 0), "use alpha > 0"),
    "zero categories": (lambda X: CategoricalDensity.estimate(CategoryStats.of(Batch.of(X, Y)), 0), "use alpha > 0"),
    "sparse": (lambda X: SparseCountDensity.estimate(kept_sparse(CountStats.of(Batch.of(X, Y)))), "too many"),
    "a part": (lambda X: product(blocks(Batch.of(X, Y)), alpha=0), "use alpha > 0"),
}


@pytest.mark.parametrize("case", NOT_LINEAR)
def test_what_is_not_linear_is_refused(case, X):
    make, message = NOT_LINEAR[case]
    with pytest.raises(DataError, match=message):
        make(X).linear()


EXACT = {
    **{
        f"{structure}, {layout}": (moments(layout), gaussian(structure))
        for structure, layout in [
            ("full", "full"), ("full", "quartic"), ("tied", "full"), ("tied", "pooled"), ("diag", "diag"),
            ("diag", "full"), ("tied_diag", "diag"), ("spherical", "diag"), ("tied_spherical", "quartic"),
        ]
    },
    "bernoulli": (presence, BernoulliDensity.estimate),
    "bernoulli, alpha 0": (presence, lambda s: BernoulliDensity.estimate(s, 0)),
    "sparse bernoulli": (sparse_presence, SparseCountDensity.estimate),
    "sparse bernoulli, alpha 0": (sparse_presence, lambda s: SparseCountDensity.estimate(s, 0)),
    "categorical": (CategoryStats.of, CategoricalDensity.estimate),
    "categorical, alpha 0": (CategoryStats.of, lambda s: CategoricalDensity.estimate(s, 0)),
    "product": (blocks, product),
    "poisson": (CountStats.of, PoissonDensity.estimate),
    "multinomial": (CountStats.of, MultinomialDensity.estimate),
    "multinomial, alpha 0": (CountStats.of, lambda s: MultinomialDensity.estimate(s, 0)),
    "sparse multinomial": (
        lambda batch: replace(s := CountStats.of(batch), count=csr_array(s.count)), SparseCountDensity.estimate
    ),
}  # fmt: skip


@pytest.mark.parametrize("family", EXACT)
def test_the_statistic_holds_the_log_likelihood_of_its_rows(family, X, rng):
    of, estimate = EXACT[family]
    weight = rng.uniform(0.5, 2, len(X))
    stats = of(Batch.of(X, Y, weight))
    density = estimate(stats)
    own = density.log_likelihood(X)[np.arange(len(X)), np.searchsorted(stats.classes, Y)]
    assert density.log_likelihood_of(stats) == pytest.approx(weight @ own, rel=1e-11)
    others = X.copy()
    others[0] = abs(1 - X[0])  # rows that the density was not estimated from
    if "alpha 0" not in family and family != "categorical" and family != "product":
        more = of(Batch.of(others, Y, weight))
        own = density.log_likelihood(others)[np.arange(len(X)), np.searchsorted(stats.classes, Y)]
        assert density.log_likelihood_of(more) == pytest.approx(weight @ own, rel=1e-11)


@pytest.mark.parametrize("structure", ["diag", "tied_diag"])
def test_missing_cells_drop_out(structure, X, rng):
    X = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    for stats, density in (
        (s := MomentStats.of(Batch.of(X, Y), skip_missing=True), GaussianDensity.estimate(s, structure)),
        (s := presence(Batch.of(X, Y)), BernoulliDensity.estimate(s)),
        (s := CategoryStats.of(Batch.of(X, Y)), CategoricalDensity.estimate(s)),
        (s := CountStats.of(Batch.of(X, Y)), PoissonDensity.estimate(s)),
    ):
        scores = density.marginal(density.read(as_table(X)))
        own = scores[np.arange(len(X)), np.searchsorted(stats.classes, Y)]
        assert density.log_likelihood_of(stats) == pytest.approx(own.sum(), rel=1e-11)


def test_impossible_rows_have_the_log_likelihood_of_impossible_rows(X):
    for of, kind in ((presence, BernoulliDensity), (CategoryStats.of, CategoricalDensity)):
        stats = of(Batch.of((X > 0).astype(int), np.where(X[:, 0] > 0, "b", "a")))  # the first column says the class
        other = of(Batch.of((X > 0).astype(int), np.where(X[:, 0] > 0, "a", "b")))
        assert np.isfinite(kind.estimate(stats, 0).log_likelihood_of(stats))
        assert kind.estimate(stats, 0).log_likelihood_of(other) == -np.inf
    with pytest.warns(EmptyClassWarning):
        densities = [e(of(Batch.of(X, Y)).aligned(np.array(list("abcz")))) for of, e in EXACT.values()]
    for (of, _), density in zip(EXACT.values(), densities, strict=True):
        one = np.where(np.arange(len(Y)) == 0, "z", Y), np.full(len(Y), 0.5)  # a single row, of little weight
        relabelled = of(Batch.of(X, *one)).aligned(np.array(list("abcz")))
        assert density.log_likelihood_of(relabelled) == -np.inf


def summed_by_a_database(batch):
    return replace(CountStats.of(batch), log_factorials=None)


def with_missing_cells(batch):
    return CountStats.of(replace(batch, table=as_table(np.where(np.eye(*batch.table.floats().shape), np.nan, 1.0))))


REFUSED = {
    "poisson": (summed_by_a_database, PoissonDensity.estimate, "log x!"),
    "multinomial": (summed_by_a_database, MultinomialDensity.estimate, "log x!"),
    "multinomial with missing cells": (with_missing_cells, MultinomialDensity.estimate, "where cells are missing"),
    "binomial": (CountStats.of, lambda s: BinomialDensity.estimate(s, 9), "is not kept"),
    "complement": (CountStats.of, ComplementDensity.estimate, "not probabilities"),
    "polya": (CountStats.of, PolyaDensity.estimate, "cannot be computed from CountStats"),
    "student": (full, StudentDensity.estimate, "cannot be computed from MomentStats"),
}


@pytest.mark.parametrize("family", REFUSED)
def test_where_the_statistic_does_not_hold_it_that_is_said(family, X):
    of, estimate, message = REFUSED[family]
    stats = of(Batch.of(X, Y))
    with pytest.raises(DataError, match=message):
        estimate(stats).log_likelihood_of(stats)


def test_a_statistic_must_fit(X):
    density = gaussian("diag")(MomentStats.of(Batch.of(X, Y)))
    with pytest.raises(DataError, match=r"and GaussianDensity.* differ in their numbers of classes or columns"):
        density.log_likelihood_of(MomentStats.of(Batch.of(X[:, :2], Y)))
    categories = CategoricalDensity.estimate(CategoryStats.of(Batch.of(X, Y)))
    with pytest.raises(DataError, match="different categories"):
        categories.log_likelihood_of(CategoryStats.of(Batch.of(X + 1, Y)))
