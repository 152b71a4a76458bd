"""Checks of parameters that users give. The first axis is that of the classes; NaN stands for a class without rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, one_of
from .covariance import STRUCTURES, Structure, whitened

Array = NDArray[Any]

_SUM = 1e-6  # probabilities may differ from a sum of one by rounding in print
_SYMMETRY = 1e-8  # relative to the standard deviations


def numbers(name: str, values: Any) -> Array:
    """A copy as an array of floats, or an error."""
    try:
        return np.array(values, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be an array of numbers") from None


def class_table(name: str, values: Any, shape: tuple[int, ...] | None = None) -> tuple[Array, Array]:
    """A table (k, d), and which classes it has numbers for, (k,); one dimension (k,) is that of one feature."""
    table = numbers(name, values)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or not table.size:
        raise DataError(f"{name} must have the shape (n_classes, n_features), not {table.shape}")
    if shape is not None and table.shape != shape:
        raise DataError(f"{name} must have the shape (n_classes, n_features) = {shape}, not {table.shape}")
    given = np.asarray(~np.isnan(table).all(axis=1))
    refuse(name, given[:, None] & ~np.isfinite(table), table, "only finite numbers are allowed")
    return np.where(given[:, None], table, 0.0), given


def class_vector(name: str, values: Any, k: int, given: Array | bool = True) -> Array:
    """One finite number for each class, (k,), none negative; one number serves all classes. Zero where not given."""
    vector = numbers(name, values)
    if vector.shape not in ((), (k,)):
        raise DataError(f"{name} must be one number, or one for each of {k} classes, not of shape {vector.shape}")
    vector = np.where(given, vector, 0.0) * np.ones(k)
    refuse(name, ~(np.isfinite(vector) & (vector >= 0)), vector, "it must be finite and not negative")
    return vector


def probability_table(name: str, values: Any, shape: tuple[int, ...] | None = None) -> tuple[Array, Array]:
    """As `class_table`, of numbers from 0 to 1."""
    table, given = class_table(name, values, shape)
    refuse(name, (table < 0) | (table > 1), table, "probabilities must be from 0 to 1")
    return table, given


def distributions(name: str, values: Any, shape: tuple[int, ...] | None = None) -> tuple[Array, Array]:
    """As `probability_table`, where the probabilities of each class sum to one."""
    table, given = probability_table(name, values, shape)
    total = table.sum(axis=1)
    if (wrong := given & (np.abs(total - 1) > _SUM)).any():
        c = int(wrong.argmax())
        raise DataError(f"{name} of class {c} sum to {total[c]:g}, not to 1; divide them by their sum")
    return table / np.where(given, total, 1.0)[:, None], given


def positive_table(name: str, values: Any, shape: tuple[int, ...] | None = None) -> tuple[Array, Array]:
    """As `class_table`, of numbers above zero; one where a class is not given."""
    table, given = class_table(name, values, shape)
    table = np.where(given[:, None], table, 1.0)
    refuse(name, table <= 0, table, "it must be above zero")
    return table, given


def refuse(name: str, wrong: Array, values: Array, why: str) -> None:
    """Raise a DataError that names the first value that is wrong."""
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = ", ".join(map(str, index))
        raise DataError(f"{name}[{where}], of class {index[0]}, is {values[index]:g}; {why}")


def blank(values: Array, given: Array) -> Array:
    """The values, with NaN for the classes that are not given, (k,) bool."""
    return np.where(given.reshape(-1, *[1] * (values.ndim - 1)), values, np.nan)


def covariance_structure(
    name: str, shape: tuple[int, ...], k: int, d: int, structure: str | None, known: Collection[str] = STRUCTURES
) -> str:
    """The structure of covariances of some shape, for k classes and d features, among those that are known."""
    shapes = {
        "full": (k, d, d),
        "diag": (k, d),
        "spherical": (k,),
        "tied": (d, d),
        "tied_diag": (d,),
        "tied_spherical": (),
    }
    if structure is not None:
        wanted = shapes[one_of("structure", structure, known)]
        if shape != wanted:
            raise DataError(f"{name} of structure {structure!r} must have the shape {wanted}, not {shape}")
        return structure
    fitting = [kind for kind in known if shapes[kind] == shape]
    if not fitting:
        choice = ", ".join(f"{shapes[kind]} ({kind})" for kind in known)
        raise DataError(f"{name} of shape {shape} do not fit {k} classes and {d} features; use one of {choice}")
    if len(fitting) > 1 and d > 1:
        choice = " or ".join(map(repr, fitting))
        raise DataError(f"{name} of shape {shape} may be {choice}; give structure= to say which")
    return fitting[0]


def given_covariances(
    covariances: Any, k: int, d: int, structure: str | None, given: Array
) -> tuple[Structure, Array, Array, Array]:
    """Structure, covariance, whitening and log-determinant as a Gaussian density keeps them."""
    values = numbers("covariances", covariances)
    kind = STRUCTURES[covariance_structure("covariances", values.shape, k, d, structure)]
    values = values[None] if kind.tied else values
    if kind.shape == "spherical":
        values = np.repeat(values[:, None], d, axis=1)
    owners = np.array([True]) if kind.tied else given
    neutral = np.eye(d) if kind.shape == "full" else np.ones(d)
    values = np.where(owners.reshape(-1, *[1] * neutral.ndim), values, neutral)
    for g, value in enumerate(values):
        owner = "the covariance of all classes" if kind.tied else f"the covariance of class {g}"
        diagonal = np.diag(value) if kind.shape == "full" else value
        if not np.isfinite(value).all():
            raise DataError(f"{owner} holds NaN or infinity")
        if (diagonal <= 0).any():
            raise DataError(f"{owner} has the variance {diagonal.min():g}; variances must be above zero")
        unit = np.sqrt(diagonal)
        if kind.shape == "full" and (np.abs(value - value.T) > _SYMMETRY * np.outer(unit, unit)).any():
            raise DataError(f"{owner} is not symmetric")
    if kind.shape != "full":
        return kind, values, 1.0 / np.sqrt(values), np.log(values).sum(axis=1)
    values = (values + values.swapaxes(1, 2)) / 2
    whitening, log_det = np.empty_like(values), np.empty(len(values))
    for g, value in enumerate(values):
        try:
            whitening[g], log_det[g] = whitened(value)
        except np.linalg.LinAlgError:
            owner = "all classes" if kind.tied else f"class {g}"
            raise DataError(f"the covariance of {owner} is not positive definite") from None
    return kind, values, whitening, log_det


def check_weights(weights: Array, d: int) -> None:
    """Refuse weights of columns that are not d numbers of at least zero."""
    if weights.shape != (d,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise DataError(f"weights must be {d} finite numbers that are not negative, one for each column")


def times(log_probability: Array, weights: Array) -> Array:
    """Return log-probabilities (k, m) times weights (m,); what weighs nothing says nothing, also where it is -inf."""
    with np.errstate(invalid="ignore"):
        return np.where(weights == 0, 0.0, log_probability * weights)
