"""The kernels behind the metrics against plain definitions: scores apart, and together again in steps."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from suffice import kernels

pytestmark = pytest.mark.usefixtures("kernel")


@pytest.mark.parametrize("stride", [1, 3, -2])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_scores_are_split(stride, share):
    rng = np.random.default_rng(0)
    score = rng.normal(size=700)[::stride]
    target = (rng.random(700) < share)[::stride]
    targets, others = kernels.active.split_scores(score, target)
    assert sorted(targets) == sorted(s for s, t in zip(score, target, strict=True) if t)
    assert sorted(others) == sorted(s for s, t in zip(score, target, strict=True) if not t)


def plain_steps(target, other):
    """Pool neighbours whose shares do not rise, in any order, until all shares do."""
    values = sorted({*target.tolist(), *other.tolist()})
    steps = [(int((target == v).sum()), int((other == v).sum())) for v in values]
    place = 0
    while place + 1 < len(steps):
        (t0, o0), (t1, o1) = steps[place : place + 2]
        if Fraction(t0, t0 + o0) >= Fraction(t1, t1 + o1):
            steps[place : place + 2] = [(t0 + t1, o0 + o1)]
            place = max(place - 1, 0)
        else:
            place += 1
    return [t for t, _ in steps], [o for _, o in steps]


def assert_pooled(target, other):
    targets, others = kernels.active.pool_violators(target, other)
    assert (targets.tolist(), others.tolist()) == plain_steps(target, other)


SCORES = st.integers(-8, 8).map(float) | st.sampled_from([-np.inf, np.inf, -0.0]) | st.floats(-9, 9)
LISTS = hnp.arrays(np.float64, st.integers(1, 40), elements=SCORES).map(np.sort)


@given(LISTS, LISTS)
def test_any_scores_are_pooled(target, other):
    assert_pooled(target, other)


@pytest.mark.parametrize("digits", [0, 1, 9])
@pytest.mark.parametrize(("n_targets", "n_others"), [(2500, 2600), (1, 3000), (3000, 7)])
@pytest.mark.parametrize("shift", [-9.0, 0.0, 1.0, 9.0])
def test_many_scores_are_pooled(digits, n_targets, n_others, shift):
    rng = np.random.default_rng(1)
    assert_pooled(
        np.sort(np.round(rng.normal(size=n_targets) + shift, digits)),
        np.sort(np.round(rng.normal(size=n_others), digits)),
    )
