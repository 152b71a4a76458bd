"""Trees of categories, against direct products of tables, all spanning trees, and sums over all rows."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from sklearn.metrics import mutual_info_score

from suffice.densities import CategoricalDensity, TreeDensity
from suffice.densities.categorical import UNKNOWN
from suffice.densities.dependence import heaviest_trees, informations
from suffice.errors import ColumnWarning, DataError
from suffice.sources import as_table
from suffice.stats import CategoryStats, PairStats, pairs
from suffice.tables.batch import Batch

WIDTH = (3, 3, 2, 4)
GRID = np.array(list(product(*map(range, WIDTH))))


def rows(n=200, seed=0):
    """A chain of three columns and a fourth one, of three classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    a = rng.integers(0, 3, n)
    b = np.where(rng.random(n) < 0.7, (a + y) % 3, rng.integers(0, 3, n))
    c = np.where(rng.random(n) < 0.8, b % 2, rng.integers(0, 2, n))
    return np.column_stack([a, b, c, rng.integers(0, 4, n)]), y


def tree(alpha=1.0, unknown="smooth", **choices):
    X, y = rows()
    return TreeDensity.estimate(PairStats.of(Batch.of(X, y)), alpha, unknown, **choices)


def holes(X, seed=0, share=0.4):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, None, X.astype(object))


def test_the_tree_is_the_best_of_all():
    """Weights are those of scikit-learn, class by class; of all sets of three edges without a circle none beats it."""
    X, y = rows()
    stats = PairStats.of(Batch.of(X, y))
    weight = dict(zip(map(tuple, stats.pairs.tolist()), informations(stats), strict=True))
    for (i, j), found in weight.items():
        own = [np.mean(y == c) * mutual_info_score(X[y == c, i], X[y == c, j]) for c in range(3)]
        assert found == pytest.approx(sum(own), abs=1e-12)

    def reached(edges):
        seen = {0}
        for _ in edges:
            seen |= {j for edge in edges if seen & set(edge) for j in edge}
        return seen

    spanning = [edges for edges in combinations(weight, 3) if len(reached(edges)) == 4]
    assert len(spanning) == 4**2  # Cayley
    best = max(spanning, key=lambda edges: sum(weight[edge] for edge in edges))
    density = tree()
    found = {tuple(sorted(edge[:2])): edge.information for edge in density.edges()}
    assert found == {edge: pytest.approx(weight[edge]) for edge in best}
    assert [e.information for e in density.edges()] == sorted(found.values(), reverse=True)


@settings(max_examples=60)
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_spanning_trees_are_the_heaviest(d, seed):
    """Against SciPy, also with ties and edges of weight zero."""
    weight = np.triu(np.random.default_rng(seed).integers(0, 4, (d, d)) / 4, 1)
    parent = heaviest_trees((weight + weight.T)[None])[0]
    own = [(weight + weight.T)[j, p] for j, p in enumerate(parent.tolist()) if p >= 0]
    expected = -minimum_spanning_tree(-weight)
    assert (sum(own), len(own)) == (expected.sum(), expected.nnz)
    _, part = connected_components(weight, directed=False)
    assert np.flatnonzero(parent < 0).tolist() == sorted(np.unique(part, return_index=True)[1])


@pytest.mark.parametrize("alpha", [0, 0.3, 1])
def test_scores_are_products_of_tables(alpha):
    """Of counts of rows, taken one by one."""
    X, y = rows()
    density, found = tree(alpha), np.zeros((len(X), 3))
    for c in range(3):
        own = X[y == c]
        for r, x in enumerate(X):
            for j, p in enumerate(density.parent.tolist()):
                plain = (np.sum(own[:, j] == x[j]) + alpha) / (len(own) + alpha * WIDTH[j])
                if p < 0:
                    chance = plain
                else:
                    above = own[own[:, p] == x[p]]
                    pseudo = alpha * WIDTH[j]
                    hits = np.sum(above[:, j] == x[j])
                    chance = (hits + pseudo * plain) / (len(above) + pseudo) if len(above) + pseudo else plain
                found[r, c] += np.log(chance) if chance else -np.inf
    np.testing.assert_allclose(density.log_likelihood(X), found, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0, 1])
@pytest.mark.parametrize("unknown", ["smooth", "ignore"])
def test_missing_cells_are_summed_over(alpha, unknown):
    density = tree(alpha, unknown)
    whole = np.exp(density.log_likelihood(GRID))
    np.testing.assert_allclose(whole.sum(axis=0), 1.0)
    X = holes(GRID)
    for x, found in zip(X, np.exp(density.log_likelihood(X)), strict=True):
        alike = np.all(
            [[cell is None or cell == own for cell, own in zip(x, row, strict=True)] for row in GRID], axis=1
        )
        np.testing.assert_allclose(found, whole[alike].sum(axis=0), rtol=1e-12)


def test_the_unknown_is_what_its_policy_says():
    X = holes(GRID[::7], share=0.2)
    strange = X.copy()
    strange[::2, 1], strange[::3, 0] = 9, 7
    gone = np.where((strange == 9) | (strange == 7), None, strange)
    ignoring = tree(unknown="ignore")
    np.testing.assert_array_equal(ignoring.log_likelihood(strange), ignoring.log_likelihood(gone))
    whole = np.where(np.arange(4) == 1, 9, GRID)  # numbers, which are not looked up
    np.testing.assert_array_equal(
        ignoring.log_likelihood(whole), ignoring.log_likelihood(np.where(whole == 9, None, whole))
    )
    with pytest.raises(DataError, match="holds 7, which was never seen"):
        tree(unknown="error").log_likelihood(strange)
    # As a category of which there are no rows; what depends on it goes by its class alone.
    (A, y), density = rows(), tree()
    for strange_column in range(4):
        x = GRID[5].copy()
        x[strange_column] = 9
        for c, found in enumerate(density.log_likelihood(x[None])[0]):
            own, chances = A[y == c], []
            for j, p in enumerate(density.parent.tolist()):
                plain = (np.sum(own[:, j] == x[j]) + 1) / (len(own) + WIDTH[j])
                above = own[own[:, p] == x[p]] if p >= 0 else own[:0]
                chances.append((np.sum(above[:, j] == x[j]) + WIDTH[j] * plain) / (len(above) + WIDTH[j]))
            assert found == pytest.approx(np.log(chances).sum())


def test_parts_of_the_contract():
    density, X = tree(), holes(GRID)
    x = density.read(as_table(X))
    np.testing.assert_array_equal(density.missing(x), X == None)  # noqa: E711
    for c in range(3):
        shares = density.explain(x, c)
        np.testing.assert_allclose(shares.sum(axis=1), density.log_likelihood(X)[:, c], atol=1e-12)
        assert not shares[X == None].any()  # noqa: E711
        strange = GRID.copy()
        strange[::2, 0] = 9  # which is impossible: what comes after it has no share
        impossible = tree(0).explain(density.read(as_table(strange)), c).sum(axis=1)
        np.testing.assert_allclose(impossible, tree(0).log_likelihood(strange)[:, c], atol=1e-12)
    for again in (
        TreeDensity.from_arrays(density.to_arrays()),
        TreeDensity.from_parameters(**density.parameters()),
        density.checked(),
    ):
        np.testing.assert_allclose(again.log_likelihood(X), density.log_likelihood(X), rtol=1e-12)
        assert again.edges("abcd") == density.edges("abcd")
    np.testing.assert_array_equal(density.of_classes([2]).log_likelihood(X)[:, 0], density.log_likelihood(X)[:, 2])
    assert density.n_parameters() == 3 * (2 + 3 * 2 + 3 * 1 + WIDTH[density.parent[3]] * 3)
    turned = tree().parameters()  # categories in another order
    for name in ("probabilities", "conditionals"):
        turned[name] = [None if own is None else own[..., ::-1] for own in turned[name]]
    turned["conditionals"] = [None if own is None else own[:, ::-1] for own in turned["conditionals"]]
    turned["unknown_conditionals"] = [None if own is None else own[:, ::-1] for own in turned["unknown_conditionals"]]
    turned["categories"] = [own[::-1] for own in turned["categories"]]
    np.testing.assert_allclose(TreeDensity.from_parameters(**turned).log_likelihood(X), density.log_likelihood(X))


def test_the_statistic_knows_the_log_likelihood_of_complete_rows():
    X, y = rows()
    stats, density = PairStats.of(Batch.of(X, y)), tree()
    own = density.log_likelihood(X)[np.arange(len(X)), y]
    assert density.log_likelihood_of(stats) == pytest.approx(own.sum(), rel=1e-12)
    with pytest.raises(DataError, match="sum log_likelihood"):
        density.log_likelihood_of(PairStats.of(Batch.of(np.vstack([X.astype(object), [[0, None, 0, 0]]]), [*y, 0])))


def test_cells_are_filled_by_what_is_most_probable():
    """Of all ways to complete a row, and all classes."""
    density, X = tree(), holes(GRID, 1, 0.6)
    whole, prior = np.exp(density.log_likelihood(GRID)), np.array([0.2, 0.3, 0.5])
    filled = density.write(density.impute(density.read(as_table(X)), np.log(prior)))
    for x, found in zip(X, filled, strict=True):
        alike = np.all(
            [[cell is None or cell == own for cell, own in zip(x, row, strict=True)] for row in GRID], axis=1
        )
        for j in np.flatnonzero([cell is None for cell in x]):
            chances = [whole[alike & (GRID[:, j] == v)].sum(axis=0) @ prior for v in range(WIDTH[j])]
            assert found[j] == np.argmax(chances)


def test_draws_have_the_probabilities_of_the_tree():
    density, rng, n = tree(), np.random.default_rng(0), 40_000
    whole = np.exp(density.log_likelihood(GRID))
    places = np.ravel_multi_index(GRID.T, WIDTH)
    given_b = np.array([[None, 1, None, None]] * n, object)
    for drawn, chances in (
        (density.sample(np.full(n, 1), rng), whole[:, 1]),
        (density.draw(density.read(as_table(given_b)), np.full(n, 1), rng), whole[:, 1] * (GRID[:, 1] == 1)),
    ):
        cells = density.write(drawn).astype(int)
        share = np.bincount(np.ravel_multi_index(cells.T, WIDTH), minlength=len(GRID))[places] / n
        np.testing.assert_allclose(share, chances / chances.sum(), atol=0.011)


@pytest.mark.parametrize("joint", [[(0, 3)], [(0, 3), (1, 2)]])
def test_pairs_that_are_named_are_joined(joint):
    X, y = rows()
    both = PairStats.of(Batch.of(X, y), joint)
    assert both.pairs.tolist() == [list(pair) for pair in joint]
    density = TreeDensity.estimate(both, joint=joint, grows=False)
    assert {(min(e[:2]), max(e[:2])) for e in density.edges()} == set(joint)
    grown = tree(joint=joint)
    assert len(grown.edges()) == 3
    assert set(joint) <= {(min(e[:2]), max(e[:2])) for e in grown.edges()}
    none = TreeDensity.estimate(PairStats.of(Batch.of(X, y)), grows=False)
    plain = CategoricalDensity.estimate(CategoryStats.of(Batch.of(X, y)))
    np.testing.assert_allclose(none.log_likelihood(holes(X)), plain.log_likelihood(holes(X)), rtol=1e-12)


def test_pairs_that_are_too_large_are_left_out_in_any_order(monkeypatch):
    monkeypatch.setattr(pairs, "CELLS", 6 * 3 * 9)  # nine cells of each pair and class
    monkeypatch.setattr(pairs, "LEAST", 0)
    X, y = rows()
    whole = PairStats.of(Batch.of(X, y))
    assert whole.left_out() == [(0, 3), (1, 3)]
    assert whole.count.size <= pairs.CELLS
    parts = [PairStats.of(Batch.of(X[i : i + 8], y[i : i + 8])) for i in range(0, 200, 8)]
    assert not parts[0].left_out()
    for order in (parts, parts[::-1]):
        total = order[0].plus(*order[1:])
        np.testing.assert_array_equal(total.pairs, whole.pairs)
        np.testing.assert_array_equal(total.count, whole.count)
    assert (total - parts[0]).left_out() == whole.left_out()
    with pytest.warns(
        ColumnWarning,
        match="not joined in the tree: 'a' and 'd', 'b' and 'd'; .* keep fewer columns, .* leave structure out",
    ):
        density = TreeDensity.estimate(whole, names="abcd")
    assert {tuple(sorted(e[:2])) for e in density.edges("abcd")} <= {("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")}


def test_named_pairs_have_room_of_their_own(monkeypatch):
    monkeypatch.setattr(pairs, "CELLS_OF_PAIR", 27)  # three categories of each of two columns in three classes
    X, y = rows()
    stats = PairStats.of(Batch.of(X, y), [(0, 1), (0, 3)])
    assert stats.pairs.tolist() == [[0, 1]]
    assert stats.counts([(0, 1), (0, 3)])  # as far as there is room
    assert not stats.counts([(1, 2)])
    with pytest.warns(ColumnWarning, match="table of both so that they .* tree: 'a' and 'd'; group rare categories$"):
        density = TreeDensity.estimate(stats, joint=[(0, 1), (0, 3)], grows=False, names="abcd")
    assert [edge[:2] for edge in density.edges()] == [(0, 1)]
    declared = stats.with_declared([np.arange(4), *(np.arange(n) for n in WIDTH[1:])])
    assert not len(declared.pairs)
    assert not declared.count.size


def test_pairs_that_only_one_of_two_statistics_counted_are_not_counted():
    batch = Batch.of(*rows())
    one, two, every = (PairStats.of(batch, asked) for asked in ([(0, 1)], [(0, 1), (0, 2)], None))
    for both in (one + two, two + one, one + every, every + two + one):
        assert both.pairs.tolist() == [[0, 1]]
        np.testing.assert_array_equal(both.of_pair(0, 1), both.weight.sum() / 200 * one.of_pair(0, 1))


def test_too_many_columns_are_joined_with_those_next_to_them(monkeypatch):
    """As many as there is room for, whichever rows come first."""
    rng, d = np.random.default_rng(0), 12
    X = np.repeat(rng.integers(0, 3, (90, d // 2)), 2, axis=1)
    X[:, 4] = np.arange(90) % 30  # too large for a table with any other
    y = rng.integers(0, 2, 90)
    monkeypatch.setattr(pairs, "CELLS", 20 * 18)  # of 66 pairs, most of which have 3 x 3 cells in 2 classes
    monkeypatch.setattr(pairs, "LEAST", 20)
    whole = PairStats.of(Batch.of(X, y))
    assert whole.count.size <= pairs.CELLS
    near = [(j, j + 1) for j in range(d - 1) if 4 not in (j, j + 1)]
    assert set(near) < set(map(tuple, whole.pairs.tolist())) <= {*near, *((j, j + 2) for j in range(d - 2))}
    parts = [PairStats.of(Batch.of(X[i : i + 10], y[i : i + 10])) for i in range(0, 90, 10)]
    assert any(len(part.pairs) > len(whole.pairs) for part in parts)
    for order in (parts, parts[::-1]):
        total = order[0].plus(*order[1:])
        np.testing.assert_array_equal(total.pairs, whole.pairs)
        np.testing.assert_array_equal(total.count, whole.count)
    with pytest.warns(ColumnWarning, match=r"or are too many, .* tree:( \d+ and \d+,?){5} and \d+ more; .* next to"):
        density = TreeDensity.estimate(whole)
    assert {(0, 1), (2, 3), (6, 7), (8, 9), (10, 11)} <= {tuple(sorted(edge[:2])) for edge in density.edges()}


def test_the_order_of_rows_does_not_matter():
    """Two columns that are the same tie, and weights that are added up in another order differ by rounding."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 5))
    X[:, 3] = X[:, 4] = X[:, 1]
    y, w = rng.integers(0, 2, 60), rng.random(60)
    expected = TreeDensity.estimate(PairStats.of(Batch.of(X, y, w))).parent
    for seed in range(8):
        order = np.random.default_rng(seed).permutation(60)
        found = TreeDensity.estimate(PairStats.of(Batch.of(X[order], y[order], w[order]))).parent
        np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore::suffice.errors.EmptyClassWarning")
@pytest.mark.parametrize(
    "X",
    {
        "one row": [["a", "b"]],
        "one column": [["a"], ["b"]],
        "a constant": [["a", "x"], ["b", "x"], ["b", "x"]],
        "a column without values": [["a", None], ["b", None]],
    }.values(),
)
def test_little_data(X):
    X = np.array(X, object)
    y = np.resize(["p", "q"], len(X))
    stats = PairStats.of(Batch.of(X, y)) + PairStats.zeros(["empty"], X.shape[1])
    density = TreeDensity.estimate(stats)
    assert not density.edges()
    plain = CategoricalDensity.estimate(stats.single)
    for some in (X, np.full_like(X, None), np.full_like(X, "strange")):
        np.testing.assert_allclose(density.log_likelihood(some), plain.log_likelihood(some))
        assert (density.indices(density.read(as_table(some))) != UNKNOWN).all()
    assert TreeDensity.from_parameters(**density.parameters()).log_likelihood(X)[:, 0] == pytest.approx(-np.inf)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"parents": [-1, 0, 3, 2]}, "circle"),
        ({"parents": [-1, 0, 1, 4]}, "must be 4 indices"),
        ({"conditionals": [None]}, "must have 4 entries"),
        ({"conditionals": [None, np.ones((3, 3, 3)), None, None]}, "sum to 3, not to 1"),
        ({"conditionals": [None, np.ones((3, 3)), None, None]}, "must have the shape"),
        ({"information": [1, 2]}, "must be 4 numbers"),
        ({"information": [1, 2, -1, 0]}, "must be 4 numbers that are not negative"),
    ],
)
def test_what_is_no_tree_is_refused(changed, message):
    with pytest.raises(DataError, match=message):
        TreeDensity.from_parameters(**tree().parameters() | changed)


def test_deep_trees_are_no_deep_recursion():
    n, d = 400, 60
    rng = np.random.default_rng(0)
    X = np.empty((n, d), int)
    X[:, 0] = rng.integers(0, 2, n)
    for i, j in pairwise(range(d)):
        X[:, j] = np.where(rng.random(n) < 0.9, X[:, i], 1 - X[:, i])
    density = TreeDensity.estimate(PairStats.of(Batch.of(X, np.zeros(n))))
    assert density.parent.tolist() == [-1, *range(d - 1)]
    ends = np.full((1, d), None, object)
    ends[0, 0] = ends[0, -1] = 1
    joint = np.exp(density.single.log_probability[0, 1])
    step = np.eye(2)
    for table in density.tables[1:]:
        step = step @ np.exp(table[0])
    np.testing.assert_allclose(np.exp(density.log_likelihood(ends)), joint * step[1, 1])
