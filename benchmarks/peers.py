"""The peers of `suffice.fit` in `benchmarks.tables`: classifiers of scikit-learn, with ordinary preparation.

Every peer has its default settings (LogisticRegression may take 1000 steps) behind the same preparation:

1. columns that are constant, or without any value, are dropped;
2. text becomes numbers where nine of ten values are numbers after "$", "," and "%" are removed, and days since 1970
   where nine of ten values are dates; other text is a category, and is dropped if more than half of its values differ;
3. missing numbers become the median, missing categories a category of their own;
4. numbers are scaled to mean 0 and variance 1, and categories become indicators, the 50 most frequent of each column.

HistGradientBoostingClassifier needs neither 3 nor 4: it gets missing numbers as they are, and categories as categories
(the 250 most frequent of each column). LDA, QDA and GaussianNB get one indicator less per column.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

MOST = 0.9  # of the values of a text column, which must be numbers or dates to make it one
DISTINCT = 0.5  # of the values of a text column; with more, it is dropped
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d ?[A-Za-z]{3,9} \d|[A-Za-z]{3,9} \d{1,2},? \d{4}")


def as_numbers(text: pd.Series) -> pd.Series:
    return pd.to_numeric(text.astype(str).str.replace(r"[$,%\s]", "", regex=True), errors="coerce")


def as_days(text: pd.Series) -> pd.Series:
    """Days since 1970, and missing values where the text is no date."""
    if not text.dropna().astype(str).head(100).str.contains(_DATE).mean() > MOST:
        return pd.Series(np.nan, text.index)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of dates without a common format
        dates = pd.to_datetime(text.astype(str), errors="coerce", utc=True)
    return (dates - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(days=1)


def as_they_are(numbers: pd.Series) -> pd.Series:
    return numbers.astype(float)


def as_categories(text: pd.Series, kept: pd.Index) -> pd.Series:
    words = text.astype(str)
    return words.where(text.notna() & words.isin(kept)).astype(pd.CategoricalDtype(kept))


class Columns(TransformerMixin, BaseEstimator):
    """The first two steps of the preparation. A category that is not known is a missing value."""

    def __init__(self, most: int = 50):
        self.most = most

    def fit(self, X: pd.DataFrame, y: Any = None) -> Columns:  # noqa: ARG002
        self.uses_ = {name: use for name in X.columns if (use := self._use(X[name]))}
        return self

    def _use(self, column: pd.Series) -> Callable[[pd.Series], pd.Series] | None:
        known = column.dropna()
        if known.nunique() < 2:
            return None
        if pd.api.types.is_numeric_dtype(column):  # also Booleans
            return as_they_are
        for convert in (as_numbers, as_days):
            if convert(known).notna().mean() >= MOST:
                return convert
        count = known.astype(str).value_counts()
        if len(count) > DISTINCT * len(known):
            return None
        return partial(as_categories, kept=count.index[: self.most])

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({name: use(X[name]) for name, use in self.uses_.items()}, index=X.index)


def indicators(model: ClassifierMixin, **options: Any) -> Pipeline:
    """A model behind the whole preparation; options are those of the OneHotEncoder."""
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"), OneHotEncoder(handle_unknown="ignore", **options)
    )
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    prepared = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, make_column_selector(dtype_include="category")),
    )
    return make_pipeline(Columns(), prepared, model)


PEERS = {
    "LogisticRegression": indicators(LogisticRegression(max_iter=1000)),
    "HistGradientBoosting": make_pipeline(Columns(most=250), HistGradientBoostingClassifier(random_state=0)),
    "LDA": indicators(LinearDiscriminantAnalysis(), drop="first", sparse_output=False),
    "QDA": indicators(QuadraticDiscriminantAnalysis(), drop="first", sparse_output=False),
    "GaussianNB": indicators(GaussianNB(), drop="first", sparse_output=False),
}
BASELINE = DummyClassifier(strategy="prior")  # the class frequencies
