"""Densities from parameters: worked examples with their numbers, round trips, and what is refused."""

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array

from suffice.densities import (
    BernoulliDensity,
    BetaBinomialDensity,
    BinomialDensity,
    CategoricalDensity,
    ComplementDensity,
    Density,
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
from suffice.stats import BundleStats, CategoryStats, CountStats, MomentStats
from suffice.tables.batch import Batch

nan = np.nan
STRUCTURES = ["full", "diag", "spherical", "tied", "tied_diag", "tied_spherical"]
SPD = [[2.0, 0.3], [0.3, 1.0]]
HEIGHTS = GaussianDensity.from_parameters([175.33, 161.82], [52.89, 46.89])


def test_heights_of_men_and_women():
    """SPEC 1.5."""
    male, female = np.exp(HEIGHTS.log_likelihood([[174.0]]))[0]
    assert (round(male, 5), round(female, 5)) == (0.05395, 0.01198)
    assert male / female == pytest.approx(4.5, abs=0.01)
    assert 0.1 * male / (0.9 * female) == pytest.approx(0.5, abs=0.01)


def test_ten_cats():
    """SPEC 4.1: the parameters of an estimate are those of the textbook, and lead back to it."""
    colours = np.array(
        ["black", "orange", "orange", "white", "white", "black", "white", "white", "black", "calico"], object
    )[:, None]
    batch = Batch.of(colours, ["male"] * 5 + ["female"] * 5)
    learnt = CategoricalDensity.estimate(CategoryStats.of(batch), alpha=0).parameters()
    assert learnt["categories"][0].tolist() == ["black", "calico", "orange", "white"]
    np.testing.assert_allclose(learnt["probabilities"][0], [[0.4, 0.2, 0.0, 0.4], [0.2, 0.0, 0.4, 0.4]])
    given = CategoricalDensity.from_parameters(
        ["white", "black", "orange", "calico"], [[0.4, 0.4, 0.0, 0.2], [0.4, 0.2, 0.4, 0.0]]
    )
    np.testing.assert_allclose(np.exp(given.log_likelihood([["calico"], ["orange"]])), [[0.2, 0.0], [0.0, 0.4]])


def test_c_and_python():
    """SPEC 4.3."""
    c = [[6, 8, 14, 1, 10, 1, 7], [8, 10, 14, 0, 11, 1, 7], [12, 22, 34, 1, 21, 2, 13], [4, 6, 10, 1, 6, 1, 4]]
    python = [[6, 14, 30, 6, 2, 16, 16], [2, 8, 14, 3, 1, 9, 8], [4, 14, 26, 7, 2, 15, 14]]
    shares = np.array([np.sum(rows, axis=0) / np.sum(rows) for rows in (python, c)])
    printed = [[0.055, 0.166, 0.323, 0.074, 0.023, 0.184, 0.175], [0.128, 0.196, 0.306, 0.013, 0.204, 0.021, 0.132]]
    np.testing.assert_allclose(shares, printed, atol=6e-4)
    scores = MultinomialDensity.from_parameters(shares).log_likelihood(
        [[2, 10, 12, 0, 1, 1, 0], [2, 18, 16, 3, 0, 1, 1]]
    )
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], [2.73228595, -3.87666464], atol=1e-8)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("kind", [GaussianDensity, StudentDensity])
def test_estimates_lead_back_to_themselves(structure, kind, rng):
    """k == d, so that shapes alone do not say the structure."""
    y = np.repeat(list("abc"), 20)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3)) + np.repeat(rng.normal(size=(3, 3)), 20, axis=0)
    estimated = kind.estimate(MomentStats.of(Batch.of(X, y), "full"), structure)
    again = kind.from_parameters(**estimated.parameters())
    np.testing.assert_allclose(again.log_likelihood(X), estimated.log_likelihood(X), rtol=1e-12)
    assert again.structure == estimated.structure
    for name, value in again.parameters().items():
        np.testing.assert_array_equal(value, estimated.parameters()[name])


def test_gaussians_agree_with_scipy(rng):
    means, root = rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 3))
    covariances = root @ root.swapaxes(1, 2)
    X = rng.normal(size=(5, 3))
    for given in (covariances, covariances[0]):  # full, tied
        own = np.broadcast_to(given, (2, 3, 3))
        expected = [stats.multivariate_normal(m, s).logpdf(X) for m, s in zip(means, own, strict=True)]
        np.testing.assert_allclose(GaussianDensity.from_parameters(means, given).log_likelihood(X).T, expected)
    expected = [stats.multivariate_t(m, s, df).logpdf(X) for m, s, df in zip(means, covariances, (3, 4), strict=True)]
    np.testing.assert_allclose(StudentDensity.from_parameters(means, covariances, [3, 4]).log_likelihood(X).T, expected)


def test_predictives_agree_with_scipy():
    x = np.arange(4)
    a, b = [[2.0], [0.5]], [[1.5], [3.0]]
    beta = BetaBinomialDensity.from_parameters(3, a, b).log_likelihood(x[:, None])
    gamma = GammaPoissonDensity.from_parameters(a, b).log_likelihood(x[:, None])
    for c in range(2):
        np.testing.assert_allclose(beta[:, c], stats.betabinom(3, a[c][0], b[c][0]).logpmf(x))
        p = b[c][0] / (1 + b[c][0])
        np.testing.assert_allclose(gamma[:, c], stats.nbinom(a[c][0], p).logpmf(x))
    rows = [[2, 1, 0], [0, 0, 4]]
    polya = PolyaDensity.from_parameters([[1.0, 2.0, 0.5]]).log_likelihood(rows)[:, 0]
    np.testing.assert_allclose(polya, [stats.dirichlet_multinomial([1.0, 2.0, 0.5], sum(r)).logpmf(r) for r in rows])


def test_scales_of_columns_far_apart_keep_their_digits():
    """Factoring is done relative to each column's own standard deviation."""
    scale = np.array([1e-120, 1e120])
    density = GaussianDensity.from_parameters(np.zeros((1, 2)), [np.array(SPD) * np.outer(scale, scale)])
    plain = GaussianDensity.from_parameters(np.zeros((1, 2)), [SPD])
    np.testing.assert_allclose(density.log_likelihood([[1e-120, 2e120]]), plain.log_likelihood([[1.0, 2.0]]), atol=1e-9)


def test_a_class_of_nan_is_one_without_rows():
    densities = [
        GaussianDensity.from_parameters([[0.0, 0.0], [nan, nan]], [SPD, np.full((2, 2), nan)]),
        GaussianDensity.from_parameters([[0.0, 0.0], [nan, nan]], SPD, "tied"),
        PoissonDensity.from_parameters([[1.0, 2.0], [nan, nan]]),
        MultinomialDensity.from_parameters([[0.5, 0.5], [nan, nan]], [3.0, nan]),
        PolyaDensity.from_parameters([[0.5, 0.5], [nan, nan]]),
        BetaBinomialDensity.from_parameters(3, [[1.0, 2.0], [nan, nan]], np.ones((2, 2))),
        BetaBinomialDensity.from_parameters(3, np.ones((2, 2)), [[1.0, 2.0], [nan, nan]]),
        GammaPoissonDensity.from_parameters([[1.0, 2.0], [nan, nan]], np.ones((2, 2))),
        GammaPoissonDensity.from_parameters(np.ones((2, 2)), [[1.0, 2.0], [nan, nan]]),
        CategoricalDensity.from_parameters([[0, 1], [0, 1]], [[[0.5, 0.5], [nan, nan]]] * 2),
    ]
    for density in densities:
        scores = density.log_likelihood([[1, 1]])
        assert np.isfinite(scores[0, 0])
        assert np.isneginf(scores[0, 1])
        again = type(density).from_parameters(**density.parameters())
        np.testing.assert_allclose(again.log_likelihood([[1, 1]]), scores)


def test_a_product_is_estimated_block_by_block(rng):
    X, y = np.column_stack([rng.normal(size=30), rng.poisson(2, 30), rng.poisson(3, 30)]), np.repeat(["a", "b"], 15)
    blocks = {"g": ((0,), MomentStats.of), "p": ((1, 2), CountStats.of)}
    bundle = BundleStats.of(Batch.of(X, y), blocks).aligned(np.array(["a", "b", "c"]))
    families = {"g": lambda s: GaussianDensity.estimate(s, "diag"), "p": PoissonDensity.estimate}
    with pytest.warns(EmptyClassWarning, match="'c'") as caught:
        density = ProductDensity.estimate(bundle, families)
    assert len(caught) == 1
    assert density.names == ("x0", "x1", "x2")
    alone = PoissonDensity.estimate(CountStats.of(Batch.of(X[:, 1:], y)))
    normal = GaussianDensity.estimate(MomentStats.of(Batch.of(X[:, :1], y)), "diag")
    expected = alone.log_likelihood(X[:, 1:]) + normal.log_likelihood(X[:, :1])
    np.testing.assert_allclose(density.log_likelihood(X)[:, :2], expected)


def test_every_density_is_known_by_its_name():
    assert Density.kinds["PoissonDensity"] is PoissonDensity
    blocks = ProductDensity.from_parameters(
        {"heights": HEIGHTS, "sparse": SparseCountDensity.from_parameters(csr_array(np.eye(2)), [1, 1], 1.0)},
        {"heights": [2], "sparse": [0, 3]},
        names="abcd",
    )
    again = ProductDensity.from_arrays(blocks.to_arrays())
    rows = np.array([[1.0, 9.0, 170.0, 0.0]])
    np.testing.assert_array_equal(again.log_likelihood(rows), blocks.log_likelihood(rows))


REFUSED = {
    "numbers": (lambda: PoissonDensity.from_parameters(["a"]), "rates must be an array of numbers"),
    "three axes": (lambda: PoissonDensity.from_parameters([[[1.0]]]), r"rates must have the shape \(n_classes"),
    "part of a class": (
        lambda: PoissonDensity.from_parameters([[1.0, 1.0], [nan, 1.0]]),
        r"rates\[1, 0\], of class 1, is nan; only finite",
    ),
    "negative rate": (lambda: PoissonDensity.from_parameters([1.0, -2.0]), r"rates\[1, 0\], of class 1, is -2"),
    "probability": (
        lambda: BernoulliDensity.from_parameters([0.5, 1.5]),
        r"of class 1, is 1.5; .*from 0 to 1",
    ),
    "sum": (lambda: MultinomialDensity.from_parameters([[0.5, 0.5], [0.5, 0.4]]), "of class 1 sum to 0.9, not to 1"),
    "length": (lambda: MultinomialDensity.from_parameters([[0.5, 0.5]], [1, 2]), "one for each of 1 classes"),
    "negative length": (lambda: MultinomialDensity.from_parameters([[0.5, 0.5]], -1), "finite and not negative"),
    "trials": (lambda: BinomialDensity.from_parameters(1.5, [0.5]), "whole numbers above zero"),
    "concentration": (lambda: PolyaDensity.from_parameters([[1.0, 0.0]]), r"concentrations\[0, 1\].*above zero"),
    "shapes of a and b": (lambda: BetaBinomialDensity.from_parameters(2, [1.0], [1.0, 1.0]), r"\(1, 1\), not \(2, 1\)"),
    "shapes": (lambda: GammaPoissonDensity.from_parameters([0.0], [1.0]), r"shapes\[0, 0\].*above zero"),
    "weights": (lambda: ComplementDensity.from_parameters([[np.inf]]), "only finite"),
    "asymmetric": (
        lambda: GaussianDensity.from_parameters(np.zeros((2, 2)), [SPD, [[1, 0.5], [0, 1]]]),
        "covariance of class 1 is not symmetric",
    ),
    "indefinite": (
        lambda: GaussianDensity.from_parameters(np.zeros((2, 2)), [SPD, [[1, 2], [2, 1]]]),
        "covariance of class 1 is not positive definite",
    ),
    "indefinite tied": (
        lambda: GaussianDensity.from_parameters(np.zeros((3, 2)), [[1, 2], [2, 1]]),
        "covariance of all classes is not positive definite",
    ),
    "variance": (lambda: GaussianDensity.from_parameters([0.0, 1.0], [1.0, 0.0]), "class 1 has the variance 0"),
    "infinite": (lambda: GaussianDensity.from_parameters([0.0], [np.inf]), "class 0 holds NaN or infinity"),
    "ambiguous": (
        lambda: GaussianDensity.from_parameters(np.zeros((2, 2)), SPD),
        "may be 'diag' or 'tied'; give structure=",
    ),
    "misfit": (
        lambda: GaussianDensity.from_parameters(np.zeros((2, 2)), np.ones(3)),
        "do not fit 2 classes",
    ),
    "structure": (
        lambda: GaussianDensity.from_parameters(np.zeros((2, 2)), SPD, "full"),
        r"'full' must have the shape \(2, 2, 2\)",
    ),
    "no such structure": (lambda: GaussianDensity.from_parameters([0.0], [1.0], "round"), "'round' is not known"),
    "no rows": (lambda: StudentDensity.from_parameters([0.0, nan], [1.0, 1.0], 3), "no classes without rows"),
    "degrees": (lambda: StudentDensity.from_parameters([0.0], [1.0], 0), "degrees_of_freedom.*above zero"),
    "tied scales": (lambda: StudentDensity.from_parameters(np.zeros((3, 2)), SPD, 3), "scales of shape .* do not fit"),
    "twice": (lambda: CategoricalDensity.from_parameters(["a", "a"], [[0.5, 0.5]]), "column 0 are not distinct"),
    "columns": (
        lambda: CategoricalDensity.from_parameters([["a"], ["b"]], [[[1.0]]]),
        "categories has 2 columns, but probabilities has 1",
    ),
    "classes of columns": (
        lambda: CategoricalDensity.from_parameters([["a"], ["b"]], [[[1.0]], [[1.0], [1.0]]]),
        r"column 1 must have the shape \(n_classes, n_categories\) = \(1, 1\)",
    ),
    "sum of categories": (
        lambda: CategoricalDensity.from_parameters(["a", "b"], [[0.5, 0.2]]),
        "probabilities of column 0 of class 0 sum to 0.7",
    ),
    "policy": (lambda: CategoricalDensity.from_parameters(["a"], [[1.0]], "guess"), "unknown='guess' is not known"),
    "sparse": (lambda: SparseCountDensity.from_parameters(csr_array([[-1.0]]), [1.0], 1.0), "finite and not negative"),
    "alpha": (lambda: SparseCountDensity.from_parameters(csr_array([[1.0]]), [1.0], -1.0), "alpha=-1.0"),
    "empty product": (lambda: ProductDensity.from_parameters({}), "at least one block"),
    "columns of a block": (lambda: ProductDensity.from_parameters({"h": HEIGHTS}, {"h": [0, 1]}), "1 features, but 2"),
    "no columns": (lambda: ProductDensity.from_parameters({"h": HEIGHTS}, {}), "1 features, but 0 columns"),
    "same column": (
        lambda: ProductDensity.from_parameters({"h": HEIGHTS, "g": HEIGHTS}, {"h": [0], "g": [0]}),
        "distinct indices",
    ),
    "classes of blocks": (
        lambda: ProductDensity.from_parameters({"h": HEIGHTS, "p": PoissonDensity.from_parameters([1.0])}),
        "different numbers of classes: h 2, p 1",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_impossible_parameters_are_refused(case):
    make, message = REFUSED[case]
    with pytest.raises(DataError, match=message):
        make()
