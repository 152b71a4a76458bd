"""An application: a prior and a cost, and what they make of scores that know neither."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import decisions
from ..errors import ImpossibleWarning, remedy, warn

Array = NDArray[Any]


class Application:
    """Decides by scores, on any number of threads, and counts the rows that no class can explain.

    Parameters
    ----------
    prior : (k,)
    cost : as of `predict`
    may_be_impossible : whether a row may have probability zero under every class
    prior_alone : whether nothing but the prior can decide
    """

    def __init__(self, classes: Array, prior: Array, cost: Any, may_be_impossible: bool, prior_alone: bool) -> None:
        self.log_prior = decisions.log(prior)
        self.actions: Array = classes  # what can be decided
        self.costs: Array | None = None
        if cost is not None:
            self.actions, self.costs = decisions.as_cost(cost, classes)
        self._may_be_impossible, self._prior_alone = may_be_impossible, prior_alone
        self._impossible_rows: list[int] = []  # of each batch: threads may append to a list at the same time

    @property
    def takes_the_best(self) -> bool:
        """Whether the greatest of the scores and the log prior decides, and nothing else has to be looked at."""
        return self.costs is None and not (self._may_be_impossible or self._prior_alone)

    def log_posterior(self, log_joint: Array) -> Array:
        """log P(class | x) from log p(x | class) + log P(class), (n, k), in place."""
        if self._may_be_impossible:
            self._impossible_rows.append(int(np.isneginf(log_joint).all(axis=1).sum()))
        return decisions.log_posterior(log_joint, self.log_prior)

    def decide(self, log_posterior: Array) -> Array:
        """The indices (n,) of the decisions among the actions."""
        return decisions.cheapest(log_posterior if self.costs is None else np.exp(log_posterior), self.costs)

    def warn(self) -> None:
        """Warn of rows that have probability zero under every class, unless nothing but the prior could decide."""
        if (count := sum(self._impossible_rows)) and not self._prior_alone:
            rows = "1 row has" if count == 1 else f"{count} rows have"
            warn(
                f"{rows} probability zero under every class, so that the prior alone decides; check for values that a "
                f"family cannot have, or use {remedy('alpha', '--set alpha')} > 0 where categories or counts are new",
                ImpossibleWarning,
            )
