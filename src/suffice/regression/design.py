"""The rows that logistic regression learns from, in the units in which slopes are penalised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..tables.features import Feature
from ..tables.table import Table
from .encoding import EncodedRows, Encoding
from .model import LogisticModel

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Design:
    """Training rows as features.

    Examples
    --------
    >>> from suffice.sources import as_table
    >>> table = as_table([["a", 1.0], ["b", 3.0], ["a", 3.0], ["a", None]])
    >>> Design.of(table, ["categorical", "gaussian"], np.ones(4)).rows.round(2)
    array([[-1.63,  0.  ,  1.  ,  0.  ],
           [ 0.82,  0.  ,  0.  ,  1.  ],
           [ 0.82,  0.  ,  1.  ,  0.  ],
           [ 0.  ,  1.  ,  1.  ,  0.  ]])
    """

    encoding: Encoding
    rows: Any  # (n, p), an array or compressed sparse rows: (features - center) / scale
    center: Array  # (p,)
    scale: Array  # (p,)

    @classmethod
    def of(
        cls,
        table: Table,
        families: Sequence[str],
        weight: Array,
        standardize: bool = True,
        derived: tuple[Feature, ...] = (),
        products: bool = False,
        centered: bool = True,
    ) -> Self:
        """Encode training rows.

        Parameters
        ----------
        table : Table
            The n rows.
        families : sequence of str
            The family of each column: "categorical" ones become one-hot, "drop" leaves a column out, and all others
            are numbers.
        weight : array of shape (n,)
            Row weights.
        standardize : bool
            Whether numbers are brought to mean 0 and variance 1, so that the penalty does not depend on their units.
        derived : tuple of Feature
            Derived columns, which replace the columns that they are derived from.
        products : bool
            Whether the products of every two standardised numbers are features, too.
        centered : bool
            Whether standardised numbers have mean 0, or are only divided by their standard deviation.

        Returns
        -------
        Design
            The rows, and how they came about.
        """
        encoding = Encoding.of(table, families, weight, derived, products)
        read = encoding.read(table)
        p, q = encoding.n_encoded, encoding.n_numbers
        center, scale = encoding.moments(read, weight) if standardize else (np.zeros(p), np.ones(p))
        if not centered:
            center = np.zeros(p)
        with np.errstate(over="ignore", invalid="ignore"):
            numbers = (read.numbers - center[:q]) / scale[:q] if standardize else read.numbers
        return cls(encoding, encoding.rows(EncodedRows(numbers, read.codes)), center, scale)

    def model(self, classes: Array, prior: Array, slope: Array, intercept: Array) -> LogisticModel:
        """Make the model of a solution.

        Parameters
        ----------
        classes, prior : arrays of shape (k,)
            The labels, and the prior of the training rows.
        slope, intercept : arrays of shape (outputs, p) and (outputs,)
            Of these rows; of two classes there may be one output, which is that of the second class.

        Returns
        -------
        LogisticModel
            In the units of the table.
        """
        if len(slope) < len(classes):
            slope, intercept = np.concatenate([0 * slope, slope]), np.concatenate([[0.0], intercept])
        constant = intercept - np.log(prior)
        return LogisticModel(classes, prior, self.center, slope / self.scale, constant, encoding=self.encoding)

    def start(self, model: LogisticModel) -> tuple[Array, Array]:
        """Return the slopes (k, p) and intercepts (k,) with which these rows get the scores of a model of other rows.

        Features that the model does not have get no slope. Products are of numbers in units of their own rows, so that
        their scores are about the same.
        """
        assert model.encoding is not None
        place = self.encoding.places(model.encoding)
        slope = np.where(place >= 0, model.slope[:, place], 0.0)
        center = np.where(place >= 0, model.center[place], 0.0)
        return slope * self.scale, model.constant + np.log(model.prior) + slope @ (self.center - center)
