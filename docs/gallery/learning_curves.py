"""Learning curves of a tied Gaussian model and of logistic regression, with the Gaussian assumption true and false.

Both models have linear log odds; they differ in how they learn them. The plot shows the excess log loss on new rows, in
nats: that of the model minus that of the true log odds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import GaussianClassifier, LogisticClassifier

Array = NDArray[Any]
Draw = Callable[[int, np.random.Generator], tuple[Array, Array, Array]]

D = 10
SIZES = (30, 60, 120, 250, 500, 1000, 2000, 4000, 8000, 16_000)
MODELS = {"tied Gaussian": GaussianClassifier("tied"), "logistic regression": LogisticClassifier(C=100)}


def gaussian(n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Draw rows of two Gaussian classes with one covariance, their classes, and the true log odds."""
    y = np.arange(n) % 2
    X = rng.standard_normal((n, D)) + np.where(y[:, None], 0.35, -0.35)
    return X, y, 0.7 * X.sum(axis=1)


def skewed(n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Draw rows of a skewed distribution with heavy tails, and classes whose log odds are still linear."""
    X = rng.lognormal(sigma=1.0, size=(n, D))
    log_odds = (X * np.where(np.arange(D) % 2, 0.8, -0.8)).sum(axis=1)
    y = (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(int)
    y[:2] = 0, 1  # both classes occur, even with few rows
    return X, y, log_odds


def excess(model: Any, draw: Draw, n: int, rng: np.random.Generator) -> float:
    """Return the log loss of a model of n rows on new rows, minus that of the true log odds, in nats."""
    X, y, _ = draw(n, rng)
    new, truth, log_odds = draw(20_000, rng)
    posterior = model.fit(X, y).predict_log_proba(new)
    return float((_log_loss(posterior[:, 1] - posterior[:, 0], truth) - _log_loss(log_odds, truth)).mean())


def _log_loss(log_odds: Array, truth: Array) -> Array:
    return np.asarray(np.logaddexp(0.0, np.where(truth, -log_odds, log_odds)))


def curves(draw: Draw, sizes: tuple[int, ...] = SIZES, runs: int = 25) -> dict[str, Array]:
    """Return the excess of each model, (sizes, runs); both learn from the same rows."""
    return {
        name: np.array([[excess(model, draw, n, np.random.default_rng(run)) for run in range(runs)] for n in sizes])
        for name, model in MODELS.items()
    }


def figure() -> Any:
    import matplotlib.pyplot as plt

    panels = {"The assumption holds: Gaussian classes": gaussian, "It does not: skewed, heavy-tailed columns": skewed}
    fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
    for ax, (title, draw) in zip(axes, panels.items(), strict=True):
        for (name, costs), colour, mark in zip(curves(draw).items(), ("#0072B2", "#D55E00"), ("o", "s"), strict=True):
            low, middle, high = np.quantile(costs, [0.25, 0.5, 0.75], axis=1)
            ax.plot(SIZES, middle, marker=mark, color=colour, label=name)
            ax.fill_between(SIZES, low, high, color=colour, alpha=0.2, linewidth=0)
        ax.set(title=title, xscale="log", yscale="log", xlabel="training rows")
    axes[0].set_ylabel("excess log loss on new rows (nats)")
    axes[0].legend(frameon=False)
    return fig


if __name__ == "__main__":
    figure()
