"""Models of several families: the columns of a mixed table, and the components of mixtures."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from . import leave_one_out
from .category_choices import checked_categories, checked_pairs
from .densities import MixtureDensity, ProductDensity
from .densities.counts import is_for_each
from .errors import DataError, SingularWarning, as_parameter, remedy, warn
from .families import FAMILIES
from .projection import DiscriminantRecipe, PrincipalRecipe
from .recipe import Blocks, Choices, Features, Names, Recipe
from .stats import BundleStats, CollectBundle, ComponentStats
from .stats.bundle import Collector

_OF_BLOCKS = {
    "alpha": 1.0,
    "covariance": "diag",
    "unknown": "smooth",
    "shrinkage": None,
    "shrinkage_target": "variances",
    "variance_floor": 1e-9,
}
_NO_LOO = 'give a number, "oas" or "ledoit_wolf"'  # of components, for which no row can be left out


class Mixed(Recipe):
    """Blocks of columns that are independent given the class, each with a family from the table."""

    estimator = "MixedClassifier"
    classifies = True
    instead_of_loo = "fit a GaussianClassifier to the numbers and pass its shrinkage_"
    floor_by = "within"  # which variance of a Gaussian column the variance floor is relative to
    defaults: Choices = MappingProxyType(
        {
            **_OF_BLOCKS,
            "degenerate": "pooled",
            "ddof": 0,
            "structure": None,
            "joint": None,
            "categories": None,
            "tokens": None,
        }
    )

    def check_choices(self, choices: dict[str, Any]) -> None:
        if "joint" in choices:
            choices["joint"] = checked_pairs(choices["joint"])
            choices["categories"] = checked_categories(choices["categories"])
        if isinstance(choices["shrinkage"], str) and choices["shrinkage"] == "loo":
            raise DataError(f'{self.estimator} has no shrinkage="loo"; {self.instead_of_loo}')
        if is_for_each(choices["alpha"]):
            raise DataError(
                f"alpha must be one number for a {self.estimator}, whose columns of all families share it; "
                "BernoulliClassifier, CategoricalClassifier, MultinomialClassifier and PoissonClassifier take one for "
                "each column"
            )
        for family in FAMILIES.values():
            family.chosen(choices)

    def collector(self, choices: Choices, blocks: Blocks | None = None, features: Features = ()) -> Collector:
        assert blocks is not None
        for name in ("joint", "categories"):
            if choices.get(name) and not any(name in FAMILIES[block].defaults for block in blocks):
                raise DataError(f"{name}={choices[name]!r} needs columns of categories, and there are none")
        collectors = {
            name: (columns, FAMILIES[name].in_table(FAMILIES[name].for_block(choices, columns)))
            for name, columns in blocks.items()
        }
        return CollectBundle(collectors, features)

    def adopted(self, statistics: Any, choices: Choices) -> BundleStats:
        parts, bundle = {}, BundleStats.expected(statistics, "a mixed model")
        for name, part in bundle.parts.items():
            if name not in FAMILIES or not FAMILIES[name].is_held_by(part):
                raise DataError(f"a block of {name!r} columns cannot be estimated from {part!r}")
            own = FAMILIES[name].for_block(choices, bundle.columns[name])
            parts[name] = FAMILIES[name].converted(part, own)
        return replace(bundle, parts=parts)

    def check_fit(self, statistics: BundleStats, choices: Choices, names: Names = None) -> None:
        for name, (own, of_block) in _blocks(statistics, choices, names).items():
            FAMILIES[name].check_fit(statistics.parts[name], own, of_block)

    def estimate(self, statistics: BundleStats, choices: Choices, names: Names = None) -> ProductDensity:
        names = names or tuple(f"x{j}" for j in range(statistics.n_features))
        choices, start = {**choices, "floor_by": self.floor_by}, choices.get("start")
        families = {
            name: partial(
                FAMILIES[name].estimate,
                choices=own | ({} if start is None else {"start": start.parts[name]}),
                names=of_block,
            )
            for name, (own, of_block) in _blocks(statistics, choices, names).items()
        }
        return ProductDensity.estimate(statistics, families, names)

    def leave_one_out(
        self, statistics: BundleStats, density: ProductDensity, choices: Choices
    ) -> leave_one_out.LeaveOneOut:
        parts = {
            name: FAMILIES[name].leave_one_out(
                part, density.parts[name], FAMILIES[name].for_block(choices, statistics.columns[name])
            )
            for name, part in statistics.parts.items()
        }
        return leave_one_out.ProductLeaveOneOut(parts, statistics.columns, statistics.features)


def _blocks(
    statistics: BundleStats, choices: Choices, names: Names
) -> dict[str, tuple[dict[str, Any], tuple[str, ...]]]:
    """The parameters and the columns of each family."""
    names = names or tuple(f"x{j}" for j in range(statistics.n_features))
    every = (*names, *(feature.name for feature in statistics.features))
    return {
        name: (FAMILIES[name].for_block(choices, columns), tuple(every[j] for j in columns))
        for name, columns in statistics.columns.items()
    }


MIXED = Mixed()


class Clusters(Mixed):
    """The same for the components of a mixture, whose numbers mean nothing to another mixture."""

    estimator = "MixtureModel"
    instead_of_loo = _NO_LOO
    adds = subtracts = False
    defaults: Choices = MappingProxyType(_OF_BLOCKS)
    floor_by = "total"  # which stays the same from step to step

    def estimate(self, statistics: BundleStats, choices: Choices, names: Names = None) -> ProductDensity:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            density = super().estimate(statistics, choices, names)
        singular = [each for each in caught if issubclass(each.category, SingularWarning)]
        for each in caught:
            if each not in singular:
                warn(each.message)
        if singular:  # it speaks of classes, which components are not
            warn(
                "some components have almost no variance in some direction, and a variance floor was applied; use "
                f"fewer components, {as_parameter('pseudo_rows', 1)} or "
                f"{remedy('shrinkage', as_parameter('shrinkage', 0.5))}, or remove columns that are constant "
                "or follow from others",
                SingularWarning,
            )
        return density


CLUSTERS = Clusters()


class Components(Mixed):
    """A mixture for each class, of components that are products of families."""

    estimator = "MixtureClassifier"
    instead_of_loo = _NO_LOO
    defaults: Choices = MappingProxyType(_OF_BLOCKS)
    subtracts = False  # which component had a row is not known any more

    def adopted(self, statistics: Any, choices: Choices) -> Any:
        known = ComponentStats.expected(statistics, "a mixture for each class")
        return replace(known, parts=super().adopted(known.parts, choices))

    def check_fit(self, statistics: Any, choices: Choices, names: Names = None) -> None:
        super().check_fit(statistics.parts, choices, names)

    def estimate(self, statistics: Any, choices: Choices, names: Names = None) -> Any:
        return MixtureDensity.estimate(statistics, partial(CLUSTERS.estimate, choices=choices, names=names))


COMPONENTS = Components()

# How the estimators of model files are made, by name.
RECIPES: dict[str, Recipe] = {
    **{family.estimator: family for family in FAMILIES.values() if family.estimator is not None},
    **{recipe.estimator: recipe for recipe in (MIXED, COMPONENTS, CLUSTERS)},
    "PCA": PrincipalRecipe(),
    "LDA": DiscriminantRecipe(),
}
