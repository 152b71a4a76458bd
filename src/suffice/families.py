"""The table of families: all that the rest of the library knows about each of them.

To add a family, write its density in `densities/` and add a row to `FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from . import family_reasons, leave_one_out
from .category_choices import checked_categories, checked_pairs, depends, in_block, with_declared
from .densities import (
    BernoulliDensity,
    CategoricalDensity,
    ComplementDensity,
    Density,
    ExponentialDensity,
    GammaDensity,
    GammaPoissonDensity,
    GaussianDensity,
    GeometricDensity,
    InverseGaussianDensity,
    LogNormalDensity,
    MultinomialDensity,
    NegativeBinomialDensity,
    PoissonDensity,
    PolyaDensity,
    SparseCountDensity,
    StudentDensity,
    TextDensity,
    TreeDensity,
)
from .densities.categorical import POLICIES, pseudo_counts
from .densities.counts import check_alphas, of_columns, one_alpha
from .densities.predictive import check_predictive
from .densities.transformed import TransformedDensity
from .errors import DataError, as_parameter, one_of
from .gaussian_choices import check_gaussian, layout_of, learns_from_missing
from .recipe import Blocks, Choices, Features, Names, Recipe
from .stats import (
    CategoryStats,
    CollectBooleans,
    CollectCategories,
    CollectCounts,
    CollectGaussian,
    CollectGaussianBlock,
    CollectHistogram,
    CollectMoments,
    CollectPairs,
    CollectTransformed,
    CollectWords,
    CountStats,
    MomentStats,
    PairStats,
    PatternStats,
    TransformedStats,
    WordStats,
)
from .stats.bundle import Collector
from .stats.pairs import named_pairs
from .tables.summary import ColumnSummary
from .tables.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class Family(Recipe):
    """One row of the table."""

    name: str  # in `families=`, in files and on the command line
    estimator: str | None = None  # the classifier of this family alone; None: MixedClassifier is the way to it
    needs: str  # the statistic that it is estimated from, for messages
    is_held_by: Callable[[Any], bool]  # whether a statistic is one of these
    collect: Callable[[Choices], Collector]
    collect_in_table: Callable[[Choices], Collector] | None = None  # beside other families, if different
    estimated: Callable[[Any, Choices, Names], Density]
    held_out: Callable[[Any, Any, Choices], leave_one_out.LeaveOneOut]
    defaults: Choices = field(default_factory=dict)  # its parameters, and what they are where nobody chose them
    check: Callable[[dict[str, Any]], object] = lambda _: None  # raises where parameters make no sense
    fits: Callable[[Any, Choices, Names], object] = lambda *_: None  # raises where they are for other columns
    by_moments: Callable[[MomentStats], Density] | None = None  # the method of moments, where it is another estimate
    converted: Callable[[Any, Choices], Any] = lambda statistics, _: statistics  # to the layout that is needed
    infer: Callable[[ColumnSummary], str | None] = lambda _: None  # why a column should have this family
    merges_columns: bool = False
    classifies: bool = True
    has_mean: bool = True  # whether the mean of a column is a value that it can have
    keeps_text: bool = False  # whether text is learnt as it is, rather than read as numbers
    takes_weights: bool = False  # whether the automatic choice tries weights of columns
    more_general: str = "categorical"  # the family for a column whose other rows do not fit

    def check_choices(self, choices: dict[str, Any]) -> None:
        self.check(choices)

    def collector(self, choices: Choices, blocks: Blocks | None = None, features: Features = ()) -> Collector:  # noqa: ARG002
        return self.collect(choices)

    def in_table(self, choices: Choices) -> Collector:
        """The collector for some columns of a table of several families."""
        return (self.collect_in_table or self.collect)(choices)

    def for_block(self, choices: Choices, columns: tuple[int, ...]) -> dict[str, Any]:
        """The parameters for some columns of a table: what names columns by index does so within the block."""
        own = dict(choices)
        if "joint" in self.defaults and own.get("joint"):
            own["joint"] = tuple((in_block(a, columns), in_block(b, columns)) for a, b in own["joint"])
        if "categories" in self.defaults and isinstance(given := own.get("categories"), tuple):
            own["categories"] = tuple(given[j] if j < len(given) else None for j in columns)
        return own

    def adopted(self, statistics: Any, choices: Choices) -> Any:
        if not self.is_held_by(statistics):
            raise DataError(f"a {self.name} model needs {self.needs}, not {statistics!r}")
        return self.converted(statistics, choices)

    def check_fit(self, statistics: Any, choices: Choices, names: Names = None) -> None:
        self.fits(statistics, choices, names)

    def estimate(self, statistics: Any, choices: Choices, names: Names = None) -> Density:
        return self.estimated(statistics, choices, names)

    def leave_one_out(self, statistics: Any, density: Any, choices: Choices) -> leave_one_out.LeaveOneOut:
        return self.held_out(statistics, density, choices)


def no_closed_form(what: str) -> DataError:
    """An error that says how to get held-out scores all the same."""
    return DataError(
        f"leave_one_out has no closed form for {what}; fit once for each row with scikit-learn's "
        "cross_val_predict(clf, X, y, cv=LeaveOneOut())"
    )


# Gaussian columns.


def _gaussian(statistics: Any, choices: Choices, names: Names) -> GaussianDensity | StudentDensity:
    covariance, floor = choices["covariance"], choices["variance_floor"]
    if choices.get("predictive"):
        if statistics.has_missing:
            raise DataError(
                f"{as_parameter('predictive', True)} cannot learn from rows with missing values; use "
                f"{as_parameter('predictive', False)}, or impute them first"
            )
        return StudentDensity.estimate(statistics, covariance, floor=floor, names=names)
    more = ("floor_by", "start", "lenient", "shrinkage_target")
    on_the_way = {name: choices[name] for name in more if name in choices}
    on_the_way["degenerate"] = choices.get("degenerate", "floor")  # components of mixtures have no such choice
    density = GaussianDensity.estimate(statistics, covariance, choices["shrinkage"], floor, names, **on_the_way)
    return density.unbiased(statistics) if choices.get("ddof") else density


def _gaussian_held_out(statistics: Any, density: Any, choices: Choices) -> leave_one_out.LeaveOneOut:
    shrinkage = choices["shrinkage"]
    if statistics.has_missing and statistics.layout != "diag":
        raise no_closed_form(f"covariance={choices['covariance']!r} and rows with missing values")
    if choices.get("predictive"):
        raise no_closed_form("predictive models")
    if isinstance(shrinkage, str):
        raise no_closed_form(f"shrinkage={shrinkage!r}")
    rest = (choices[name] for name in ("variance_floor", "shrinkage_target", "degenerate", "ddof"))
    return leave_one_out.GaussianLeaveOneOut(statistics, density, float(shrinkage or 0.0), *rest)


# Columns of counts.


def _check_alpha(family: str, choices: dict[str, Any]) -> None:
    choices["alpha"] = one_alpha(choices["alpha"], f"the family {family!r}")


def _check_alphas(choices: dict[str, Any]) -> None:
    choices["alpha"] = check_alphas(choices["alpha"])


def _holds_counts(presence: bool, statistics: Any) -> bool:
    return isinstance(statistics, CountStats) and statistics.presence == presence


def _holds_words(presence: bool, statistics: Any) -> bool:
    return isinstance(statistics, WordStats) and statistics.presence == presence


def _holds_occurrences(presence: bool, statistics: Any) -> bool:
    return _holds_counts(presence, statistics) or _holds_words(presence, statistics)


def _has_alphas(statistics: Any, choices: Choices, _: Names) -> None:
    """Raise an error where there are pseudo-counts for other columns."""
    if isinstance(statistics, WordStats):
        one_alpha(choices["alpha"], "text")
    elif statistics.is_sparse:
        one_alpha(choices["alpha"], "so many classes and features")
    else:
        of_columns(choices["alpha"], statistics.n_features)


def _bernoulli(statistics: Any, choices: Choices, _: Names) -> Density:
    if _holds_words(True, statistics):
        return _text(statistics, choices, _)
    density = SparseCountDensity if statistics.is_sparse else BernoulliDensity
    return density.estimate(statistics, choices["alpha"])


def _poisson(statistics: CountStats, choices: Choices, _: Names) -> Density:
    if statistics.is_sparse:
        raise DataError("a Poisson model keeps a rate for every class and feature: these are too many")
    density = GammaPoissonDensity if choices.get("predictive") else PoissonDensity
    return density.estimate(statistics, choices["alpha"])


def _check_multinomial(choices: dict[str, Any]) -> None:
    _check_words(choices)
    if choices["complement"] not in (False, True, "normalized"):
        raise DataError(f'complement={choices["complement"]!r} is not known; give False, True or "normalized"')
    if choices["complement"] and choices["predictive"]:
        raise DataError("complement weights have no predictive; choose one of the two")
    if choices["predictive"]:
        check_predictive(choices["alpha"])


def _check_poisson(choices: dict[str, Any]) -> None:
    _check_alphas(choices)
    if choices["predictive"]:
        check_predictive(choices["alpha"])


def _multinomial(statistics: Any, choices: Choices, _: Names) -> Density:
    if _holds_words(False, statistics):
        return _text(statistics, choices, _)
    alpha, complement, predictive = choices["alpha"], choices.get("complement"), choices.get("predictive")
    if statistics.is_sparse:
        if complement or predictive:
            raise DataError("complement and predictive models keep a table of all classes and features: too many here")
        return SparseCountDensity.estimate(statistics, alpha)
    if complement:
        return ComplementDensity.estimate(statistics, alpha, normalize=complement == "normalized")
    return (PolyaDensity if predictive else MultinomialDensity).estimate(statistics, alpha)


def _poisson_held_out(statistics: CountStats, density: Any, choices: Choices) -> leave_one_out.LeaveOneOut:
    kind = leave_one_out.GammaPoissonLeaveOneOut if choices.get("predictive") else leave_one_out.PoissonLeaveOneOut
    return kind(statistics, density, choices["alpha"])


def _bernoulli_held_out(statistics: Any, density: Any, choices: Choices) -> leave_one_out.LeaveOneOut:
    if _holds_words(True, statistics):
        return _text_held_out(statistics, density, choices)
    return leave_one_out.BernoulliLeaveOneOut(statistics, density, choices["alpha"])


def _multinomial_held_out(statistics: Any, density: Any, choices: Choices) -> leave_one_out.LeaveOneOut:
    if _holds_words(False, statistics):
        return _text_held_out(statistics, density, choices)
    if choices.get("complement"):
        raise DataError("complement weights are not probabilities: leave_one_out is not defined")
    kind = leave_one_out.PolyaLeaveOneOut if choices.get("predictive") else leave_one_out.MultinomialLeaveOneOut
    return kind(statistics, density, choices["alpha"])


# Columns of text.


def _tokens(choices: Choices) -> Tokens:
    return Tokens.of(choices.get("tokens"))


def _check_words(choices: dict[str, Any]) -> None:
    _check_alphas(choices)
    choices["tokens"] = _tokens(choices)


def _text(statistics: WordStats, choices: Choices, _: Names) -> TextDensity:
    how = choices.get("complement", False), choices.get("predictive", False)
    return TextDensity.estimate(statistics, one_alpha(choices["alpha"], "text"), _tokens(choices), *how)


def _text_held_out(statistics: Any, density: Any, choices: Choices) -> leave_one_out.LeaveOneOut:  # noqa: ARG001
    raise no_closed_form("text, whose vocabulary depends on every row")


# Columns of categories.


def _check_categorical(choices: dict[str, Any]) -> None:
    choices["alpha"] = check_alphas(choices["alpha"], of_one=check_alphas)
    one_of("unknown", choices["unknown"], POLICIES)
    if choices["structure"] not in (None, "tree"):
        raise DataError(f'structure={choices["structure"]!r} is not known; give None or "tree"')
    choices["joint"] = checked_pairs(choices["joint"])
    choices["categories"] = checked_categories(choices["categories"])


def _collect_categories(choices: Choices) -> Collector:
    if not depends(choices):
        return CollectCategories()
    return CollectPairs(None if choices["structure"] else choices["joint"])


def _converted_categories(statistics: Any, choices: Choices) -> Any:
    if not depends(choices):
        return statistics.single
    joint = named_pairs(choices["joint"], statistics.names, statistics.n_features)
    if not (isinstance(statistics, PairStats) and statistics.counts(None if choices["structure"] else joint)):
        raise DataError(f"dependence between columns needs PairStats that counted them together, not {statistics!r}")
    return statistics


def _has_categories(statistics: Any, choices: Choices, names: Names) -> None:
    """Raise an error where there are pseudo-counts or categories for other columns."""
    statistics, alpha = with_declared(statistics, choices, names)
    pseudo_counts(alpha, statistics.single)


def _categorical(statistics: Any, choices: Choices, names: Names) -> Density:
    statistics, alpha = with_declared(statistics, choices, names)
    if not depends(choices):
        return CategoricalDensity.estimate(statistics, alpha, choices["unknown"])
    joint = named_pairs(choices["joint"], names or statistics.names, statistics.n_features)
    grows = choices["structure"] is not None
    return TreeDensity.estimate(statistics, alpha, choices["unknown"], joint, grows, names)


def _categorical_held_out(statistics: Any, density: Any, choices: Choices) -> leave_one_out.LeaveOneOut:
    statistics, alpha = with_declared(statistics, choices)
    if not depends(choices):
        return leave_one_out.CategoricalLeaveOneOut(statistics, density, alpha)
    joint = named_pairs(choices["joint"], statistics.names, statistics.n_features)
    grows = choices["structure"] is not None
    return leave_one_out.TreeLeaveOneOut(statistics, density, alpha, tuple(joint), grows)


# Columns of which some moments are enough, and columns of which it takes the histogram.


def _of_moments(density: type[TransformedDensity], defaults: Choices = MappingProxyType({})) -> Family:
    """The row of a family that is estimated from moments of x, log x or 1 / x."""
    return Family(
        name=density.family,
        needs=f"TransformedStats of {' and '.join(density.transforms)}",
        is_held_by=lambda s: isinstance(s, TransformedStats) and s.transforms == density.transforms,
        collect=lambda _: CollectTransformed(density.transforms, density.support, density.family),
        estimated=lambda s, c, names: density.estimate(s, c.get("alpha", 0.0), names),
        held_out=lambda s, fitted, c: leave_one_out.TransformedLeaveOneOut(s, fitted, c.get("alpha", 0.0)),
        by_moments=getattr(density, "from_moments", None),
        defaults=defaults,
        check=partial(_check_alpha, density.family) if "alpha" in defaults else lambda _: None,
    )


def _holds_counts_of_values(statistics: Any) -> bool:
    values = [v for v in statistics.categories if len(v)] if isinstance(statistics, CategoryStats) else [np.array("")]
    return all(v.dtype.kind == "i" and v[0] >= 0 for v in values)


# The order is that of inference: the first family that has a reason gets the column.
FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family(
            name="bernoulli",
            estimator="BernoulliClassifier",
            needs="CountStats or WordStats of presence",
            is_held_by=partial(_holds_occurrences, True),
            collect=lambda c: CollectCounts(presence=True, tokens=_tokens(c).counting),
            collect_in_table=lambda _: CollectBooleans(),
            estimated=_bernoulli,
            held_out=_bernoulli_held_out,
            defaults={"alpha": 1.0, "tokens": None},
            check=_check_words,
            fits=_has_alphas,
            merges_columns=True,
            has_mean=False,
            takes_weights=True,
            infer=family_reasons.why_bernoulli,
        ),
        Family(
            name="text",
            needs="WordStats of sums",
            is_held_by=partial(_holds_words, False),
            collect=lambda c: CollectWords(_tokens(c).counting),
            estimated=_text,
            held_out=_text_held_out,
            defaults={"alpha": 1.0, "tokens": None},
            check=_check_words,
            merges_columns=True,
            has_mean=False,
            keeps_text=True,
            takes_weights=True,
            infer=family_reasons.why_text,
        ),
        Family(
            name="categorical",
            estimator="CategoricalClassifier",
            needs="CategoryStats",
            is_held_by=lambda s: isinstance(s, CategoryStats | PairStats),
            collect=_collect_categories,
            estimated=_categorical,
            held_out=_categorical_held_out,
            defaults={"alpha": 1.0, "unknown": "smooth", "structure": None, "joint": None, "categories": None},
            check=_check_categorical,
            fits=_has_categories,
            converted=_converted_categories,
            merges_columns=True,
            has_mean=False,
            keeps_text=True,
            takes_weights=True,
            infer=family_reasons.why_categorical,
        ),
        Family(
            name="poisson",
            estimator="PoissonClassifier",
            needs="CountStats of sums",
            is_held_by=partial(_holds_counts, False),
            collect=lambda _: CollectCounts(),
            estimated=_poisson,
            held_out=_poisson_held_out,
            defaults={"alpha": 1.0, "predictive": False},
            check=_check_poisson,
            fits=_has_alphas,
            merges_columns=True,
            more_general="gaussian",
            infer=family_reasons.why_poisson,
        ),
        Family(
            name="multinomial",
            estimator="MultinomialClassifier",
            needs="CountStats or WordStats of sums",
            is_held_by=partial(_holds_occurrences, False),
            collect=lambda c: CollectCounts(tokens=_tokens(c).counting),
            estimated=_multinomial,
            held_out=_multinomial_held_out,
            defaults={"alpha": 1.0, "complement": False, "predictive": False, "tokens": None},
            check=_check_multinomial,
            fits=_has_alphas,
            merges_columns=True,
            more_general="gaussian",
        ),
        Family(
            name="gaussian",
            estimator="GaussianClassifier",
            needs="MomentStats",
            is_held_by=lambda s: isinstance(s, MomentStats | PatternStats),
            collect=lambda c: (CollectGaussian if learns_from_missing(c) else CollectMoments)(layout_of(c)),
            collect_in_table=lambda c: CollectGaussianBlock(layout_of(c)),
            estimated=_gaussian,
            held_out=_gaussian_held_out,
            defaults={
                "covariance": "full",
                "shrinkage": None,
                "shrinkage_target": "variances",
                "predictive": False,
                "variance_floor": 1e-9,
                "degenerate": "pooled",
                "missing": "ignore",
                "ddof": 0,
            },
            check=check_gaussian,
            converted=lambda s, c: s.to_layout(layout_of(c)),
            infer=family_reasons.why_gaussian,
        ),
        _of_moments(ExponentialDensity),
        _of_moments(GammaDensity),
        _of_moments(LogNormalDensity),
        _of_moments(InverseGaussianDensity),
        _of_moments(GeometricDensity, {"alpha": 1.0}),
        Family(
            name="negative_binomial",
            needs="CategoryStats of counts",
            is_held_by=_holds_counts_of_values,
            collect=lambda _: CollectHistogram("negative_binomial"),
            estimated=lambda s, c, _: NegativeBinomialDensity.estimate(s, c["alpha"]),
            held_out=lambda s, density, c: leave_one_out.NegativeBinomialLeaveOneOut(s, density, c["alpha"]),
            by_moments=NegativeBinomialDensity.from_moments,
            defaults={"alpha": 1.0},
            check=partial(_check_alpha, "negative_binomial"),
            merges_columns=True,
        ),
    )
}


def family_of(estimator: str) -> str | None:
    """Return the family that a classifier has for all columns, by the name of its class."""
    return next((name for name, family in FAMILIES.items() if family.estimator == estimator), None)
