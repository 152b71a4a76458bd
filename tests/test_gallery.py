"""The pages of the gallery say what is true."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

PAGES = Path(__file__).parents[1] / "docs" / "gallery"


@pytest.fixture(scope="module")
def learning_curves():
    spec = importlib.util.spec_from_file_location("learning_curves", PAGES / "learning_curves.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_true_assumption_saves_rows(learning_curves):
    costs = learning_curves.curves(learning_curves.gaussian, sizes=(30, 250), runs=8)
    generative, discriminative = (np.median(costs[name], axis=1) for name in costs)
    assert generative[0] < discriminative[0] / 2
    assert generative[1] < discriminative[1]


def test_a_false_assumption_costs_for_good(learning_curves):
    costs = learning_curves.curves(learning_curves.skewed, sizes=(30, 1000, 4000), runs=5)
    generative, discriminative = (np.median(costs[name], axis=1) for name in costs)
    assert generative[0] < discriminative[0]
    assert discriminative[2] < discriminative[1] < generative[1] / 3
    assert generative[2] > generative[1] / 2


def test_the_log_odds_of_the_page_are_true(learning_curves):
    """Among rows with about the same log odds, as many are of the second class as these odds say."""
    for draw in (learning_curves.gaussian, learning_curves.skewed):
        _, y, log_odds = draw(200_000, np.random.default_rng(0))
        for odds in (-1.0, 0.0, 1.5):
            near = np.abs(log_odds - odds) < 0.1
            assert y[near].mean() == pytest.approx(1 / (1 + np.exp(-odds)), abs=0.03)
