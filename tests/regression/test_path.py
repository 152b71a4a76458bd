"""Held-out scores of logistic regression, against refits without the rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.preprocessing import StandardScaler

from suffice.regression import Design, LogisticPath, newton
from suffice.regression.problem import dense
from suffice.sources import as_table


def log_losses(logits, code):
    logits = logits - logits.max(axis=1, keepdims=True)
    return np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(code)), code]


def standardised(load, n=None):
    X, y = load(return_X_y=True)
    kept = np.random.default_rng(0).permutation(len(y))[:n]
    return StandardScaler().fit_transform(X[kept]), y[kept]


def peer(X, y, penalty, weight=None):
    model = LogisticRegression(C=1 / penalty, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    return model.fit(X, y, sample_weight=weight)


def logits_of(model, X):
    z = model.decision_function(X)
    return np.column_stack([np.zeros(len(X)), z]) if z.ndim == 1 else z


def held_out_path(X, y, weight, k, penalties, folds=None):
    path = LogisticPath(X, y, weight, k, folds=folds)
    return [path.held_out(penalty) for penalty in penalties]


@pytest.mark.parametrize("penalty", [10.0, 1.0])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_one_row_left_out_is_a_refit_without_it(load, penalty):
    X, y = standardised(load, 120)
    (fit,) = held_out_path(X, y, np.ones(len(y)), y.max() + 1, [penalty])
    refits = [
        logits_of(peer(X[kept], y[kept], penalty), X[[i]])[0] for i, kept in enumerate(~np.eye(len(y), dtype=bool))
    ]
    expected = log_losses(np.array(refits), y)
    assert log_losses(fit.held_out, y).mean() == pytest.approx(expected.mean(), rel=0.02)
    np.testing.assert_allclose(log_losses(fit.held_out, y), expected, atol=0.2)


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_fits_are_scikit_learns_in_the_order_asked_for(load):
    X, y = standardised(load)
    weight = np.random.default_rng(1).random(len(y))
    penalties = [0.1, 10.0, 1.0]
    fits = held_out_path(X, y, weight, y.max() + 1, penalties)
    assert [fit.penalty for fit in fits] == penalties
    for fit in fits:
        theirs = peer(X, y, fit.penalty, weight)
        np.testing.assert_allclose(fit.slope, theirs.coef_ - theirs.coef_.mean(axis=0) * (y.max() > 1), atol=5e-3)


def test_a_rough_fit_is_refined(monkeypatch):
    X, y = standardised(load_wine)
    monkeypatch.setattr("suffice.regression.newton.CHEAP", 0)
    expected = peer(X, y, 0.1).coef_
    path = LogisticPath(X, y, np.ones(len(y)), 3, roughly=True)
    away = [np.abs(fit(0.1)[0] - expected).max() for fit in (path.fit, path.refined)]
    assert away[1] < 0.02
    assert away[1] < 0.5 * away[0]


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_folds_are_refits_to_the_others(load):
    X, y = standardised(load)
    folds = np.arange(len(y)) % 4
    (fit,) = held_out_path(X, y, np.ones(len(y)), y.max() + 1, [1.0], folds=folds)
    for fold in range(4):
        own = folds == fold
        expected = log_losses(logits_of(peer(X[~own], y[~own], 1.0), X[own]), y[own])
        np.testing.assert_allclose(log_losses(fit.held_out[own], y[own]), expected, atol=0.03)


def test_folds_of_few_rows_have_not_seen_what_they_score(rng):
    """A fit that started from the one to all rows, and ended near it, would decide most of them correctly."""
    y, X = rng.integers(5, size=100), rng.normal(size=(100, 150))
    path = LogisticPath(X, y, np.ones(100), 5, roughly=True)
    assert path.folds is not None
    for penalty in (1.0, 0.1):
        peer = LogisticRegression(C=1 / penalty, tol=1e-8, max_iter=5000)
        logits = cross_val_predict(peer, X, y, cv=PredefinedSplit(path.folds), method="decision_function")
        own, theirs = log_losses(path.held_out(penalty).held_out, y), log_losses(logits, y)
        np.testing.assert_allclose(own, theirs, atol=0.2)
        assert own.mean() == pytest.approx(theirs.mean(), rel=0.02)


@pytest.mark.parametrize("small", [("CHEAP",), ("UNKNOWNS", "OF_TWO"), ("BLOCK", "UNKNOWNS", "OF_TWO")])
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_every_way_to_the_optimum(load, small, monkeypatch):
    X, y = standardised(load)
    folds = np.arange(len(y)) % 4
    arguments = (X, y, np.ones(len(y)), y.max() + 1, [10.0, 1.0])
    expected, expected_alone = held_out_path(*arguments, folds=folds), held_out_path(*arguments)
    for name in small:
        monkeypatch.setattr(newton, name, 3)
    for ours, theirs in zip(held_out_path(*arguments, folds=folds), expected, strict=True):
        np.testing.assert_allclose(ours.slope, theirs.slope, atol=0.01)
        np.testing.assert_allclose(log_losses(ours.held_out, y), log_losses(theirs.held_out, y), atol=0.02)
    for ours, theirs in zip(held_out_path(*arguments), expected_alone, strict=True):
        losses = [log_losses(fit.held_out, y).mean() for fit in (ours, theirs)]
        assert losses[0] == pytest.approx(losses[1], rel=0.1)  # of five folds, if there are too many unknowns


@pytest.mark.parametrize("k", [2, 3])
def test_many_sparse_rows(k, monkeypatch, rng):
    """The last column is rare, and the leverages of most rows come from random directions."""
    n = 6000
    y = rng.integers(k, size=n)
    numbers, rare = rng.normal(size=(n, 4)) + 0.7 * np.eye(k, 4)[y], np.arange(n) % 1500 == 7
    X = np.column_stack([numbers, rng.random(n) < 0.3, rare])
    exact = held_out_path(X, y, np.ones(n), k, [1.0, 0.1])
    monkeypatch.setattr(newton, "CHEAP", 0)
    for ours, theirs in zip(held_out_path(sparse.csr_array(X), y, np.ones(n), k, [1.0, 0.1]), exact, strict=True):
        np.testing.assert_allclose(ours.slope, theirs.slope, atol=0.01)
        sampled, all_rows = (log_losses(fit.held_out, y) for fit in (ours, theirs))
        assert sampled.mean() == pytest.approx(all_rows.mean(), rel=1e-4)
        np.testing.assert_allclose(sampled, all_rows, atol=0.05)


def test_more_columns_than_rows(rng):
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 200)) + np.eye(3)[y] @ rng.normal(size=(3, 200)) * 0.3
    dense = held_out_path(X, y, np.ones(60), 3, [10.0, 1.0])
    for fit, alike in zip(dense, held_out_path(sparse.csr_array(X), y, np.ones(60), 3, [10.0, 1.0]), strict=True):
        theirs = peer(X, y, fit.penalty).coef_
        np.testing.assert_allclose(fit.slope, theirs - theirs.mean(axis=0), atol=1e-3)
        np.testing.assert_allclose(fit.held_out, alike.held_out, atol=1e-6)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("p", [5, 400])
@pytest.mark.parametrize("folded", [False, True])
def test_random_labels_are_not_predicted(k, p, folded, rng):
    """No row has a part in its own score: what is held out is no better than the class frequencies."""
    losses, n = [], 240
    for _ in range(5):
        X, y = rng.normal(size=(n, p)), rng.permutation(np.arange(n) % k)
        folds = np.arange(n) % 5 if folded else None
        fits = held_out_path(X, y, np.ones(n), k, [1e4, 100.0, 1.0, 0.01], folds=folds)
        losses.append([log_losses(fit.held_out, y).mean() for fit in fits])
    assert (np.mean(losses, axis=0) > np.log(k) - 0.005).all()


def test_a_weight_counts_as_copies_that_are_left_out_together(rng):
    X, y = standardised(load_iris)
    copies = rng.integers(1, 4, len(y))
    weighted = held_out_path(X, y, copies.astype(float), 3, [1.0])[0]
    rows = np.repeat(np.arange(len(y)), copies)
    repeated = held_out_path(X[rows], y[rows], np.ones(len(rows)), 3, [1.0], folds=rows)[0]
    np.testing.assert_allclose(weighted.slope, repeated.slope, atol=1e-3)
    np.testing.assert_allclose(
        log_losses(weighted.held_out[rows], y[rows]), log_losses(repeated.held_out, y[rows]), atol=0.02
    )


def test_some_folds_alone(rng):
    X, y = rng.normal(size=(200, 5)), rng.integers(2, size=200)
    path = LogisticPath(X, y, np.ones(200), 2, folds=np.arange(200) % 5)
    some = path.held_out(1.0, [1, 3]).held_out.copy()
    every = path.held_out(1.0).held_out
    own = np.isin(path.folds, [1, 3])
    np.testing.assert_array_equal(some[own], every[own])
    assert np.isnan(some[~own]).all()
    assert np.isfinite(every).all()


@pytest.mark.parametrize("products", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_fits_start_from_a_model_of_other_rows(k, products, rng):
    """The same scores for the same rows, in other units, with marks and categories that the model does not have."""
    n = 400
    words, numbers = rng.choice(["a", "b", "c", "d"], n), rng.normal(3.0, 2.0, (n, 2))
    words[:5], y = "rare", rng.integers(k, size=n)
    numbers[:3, 1] = np.nan
    table = as_table(np.column_stack([words.astype(object), numbers]))
    families, few, rows = ["categorical", "gaussian", "gaussian"], slice(100, 200), slice(100, n)
    some = Design.of(table[few], families, np.ones(100), products=products)
    slope, intercept = LogisticPath(some.rows, y[few], np.ones(100), k).fit(1.0)
    model = some.model(np.arange(k), np.full(k, 1 / k), slope, intercept)
    design = Design.of(table, families, np.ones(n), products=products)
    start = design.start(model)
    expected = np.empty((n - 100, k))
    model.score(model.read(table[rows]), np.log(model.prior), all=expected, relative=True)
    if not products:
        np.testing.assert_allclose((dense(design.rows) @ start[0].T + start[1])[rows], expected, atol=1e-8)
    cold, warm = (LogisticPath(design.rows, y, np.ones(n), k).fit(1.0, one)[0] for one in (None, start))
    np.testing.assert_allclose(warm, cold, atol=0.02)


def test_rows_and_columns_in_any_order(rng):
    X, y = standardised(load_wine)
    rows, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
    one = held_out_path(X, y, np.ones(len(y)), 3, [1.0])[0]
    two = held_out_path(X[rows][:, columns], y[rows], np.ones(len(y)), 3, [1.0])[0]
    np.testing.assert_allclose(two.slope, one.slope[:, columns], atol=1e-8)
    np.testing.assert_allclose(two.held_out, one.held_out[rows], atol=1e-6)


def test_a_constant_column_has_no_slope():
    X, y = standardised(load_wine)
    with_one = held_out_path(np.column_stack([X, np.zeros(len(y))]), y, np.ones(len(y)), 3, [1.0])[0]
    np.testing.assert_allclose(with_one.slope[:, -1], 0.0, atol=1e-12)
    np.testing.assert_allclose(with_one.held_out, held_out_path(X, y, np.ones(len(y)), 3, [1.0])[0].held_out, atol=1e-8)
