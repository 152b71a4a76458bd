"""The parameters of Gaussian columns: which of them go together, and what they need of the rows."""

from __future__ import annotations

from numbers import Real
from typing import Any

from .densities.covariance import STRUCTURES
from .densities.degenerate import TREATMENTS
from .densities.shrinkage import TARGETS
from .errors import DataError, as_parameter, one_of
from .recipe import Choices


def check_gaussian(choices: dict[str, Any]) -> None:
    """Raise an error where the parameters make no sense."""
    covariance, shrinkage, floor = (choices[name] for name in ("covariance", "shrinkage", "variance_floor"))
    target = one_of("shrinkage_target", choices["shrinkage_target"], TARGETS)
    shape = STRUCTURES[one_of("covariance", covariance, STRUCTURES)].shape
    if isinstance(shrinkage, str):
        if shrinkage not in ("loo", "oas", "ledoit_wolf"):
            raise DataError(f'shrinkage={shrinkage!r} is not known; give a number, "loo", "oas" or "ledoit_wolf"')
        if shrinkage == "loo" and (shape == "spherical" or (covariance, target) == ("tied_diag", "variances")):
            raise DataError(f'shrinkage="loo" has no effect on covariance={covariance!r}; leave it out')
        if shrinkage != "loo" and shape != "full":
            raise DataError(
                f"shrinkage={shrinkage!r} needs {as_parameter('covariance', 'full', 'tied')}; give a number instead"
            )
    elif shrinkage is not None and not (isinstance(shrinkage, Real) and 0 <= float(shrinkage) <= 1):
        raise DataError(f"shrinkage={shrinkage!r} must be a number from 0 to 1")
    if not (isinstance(floor, Real) and 0 < float(floor) < 1):
        raise DataError(f"variance_floor={floor!r} must be a number between 0 and 1")
    one_of("degenerate", choices["degenerate"], TREATMENTS)
    one_of("missing", choices["missing"], ("ignore", "error"))
    if choices["predictive"] and shrinkage:
        raise DataError("predictive=True shrinks by its own prior; leave shrinkage out")
    if choices["ddof"] not in (0, 1) or isinstance(choices["ddof"], bool):
        raise DataError(f"ddof={choices['ddof']!r} must be 0, for the divisor n, or 1, for n - 1")
    if choices["ddof"] and (choices["predictive"] or shrinkage == "loo"):
        other = "predictive=True" if choices["predictive"] else 'shrinkage="loo"'
        raise DataError(f"{other} has no ddof=1; leave one of the two out")


def layout_of(choices: Choices) -> str:
    """The layout of moments that a covariance structure needs."""
    return STRUCTURES[choices["covariance"]].layout(choices["shrinkage"], choices["shrinkage_target"])


def learns_from_missing(choices: Choices) -> bool:
    """Return whether a Gaussian model with these parameters can learn from rows with missing values.

    Parameters
    ----------
    choices : mapping
        The parameters by name.

    Returns
    -------
    bool
        False where such rows raise an error.
    """
    unbiased = choices["ddof"] and choices["covariance"] in ("full", "tied")
    by_rows = choices["predictive"] or choices["shrinkage"] in ("loo", "ledoit_wolf")
    return not (choices["missing"] == "error" or by_rows or unbiased)
