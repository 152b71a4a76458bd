"""Answers to requests: scores of their rows, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from pydantic_core import to_json

from ..errors import SufficeError
from ..export.outputs import plain_labels
from ..scoring.calibrated import SHARE
from ..scoring.results import Results
from .bodies import Asked, as_table, asked
from .errors import RefusedError
from .limits import Limits
from .models import Served

Array = NDArray[Any]


@dataclass(frozen=True)
class Job:
    """A body that asks a model for predictions."""

    body: bytes
    served: Served


def answers(jobs: Sequence[Job], limits: Limits) -> list[bytes | RefusedError]:
    """Answer requests that came at the same time; rows of the same model are scored together."""
    found: list[bytes | RefusedError | None] = [None] * len(jobs)
    plain: dict[int, list[int]] = {}  # requests for nothing special, by their model
    wanted: dict[int, Asked] = {}
    for i, job in enumerate(jobs):
        try:
            wanted[i] = asked(job.body, job.served, limits)
        except RefusedError as error:
            found[i] = error
            continue
        if wanted[i].is_plain:
            plain.setdefault(id(job.served), []).append(i)
        else:
            found[i] = _answered(wanted[i], job.served, limits)
    for own in plain.values():
        served = jobs[own[0]].served
        if len(own) > 1:
            rows = [row for i in own for row in wanted[i].rows]
            try:
                written = iter(_predictions(Asked(rows), served))
            except SufficeError:  # one of them has a row that cannot be scored
                pass
            else:
                for i in own:
                    found[i] = _as_json([next(written) for _ in wanted[i].rows], served)
                continue
        for i in own:
            found[i] = _answered(wanted[i], served, limits)
    return found  # type: ignore[return-value]  # none is left out


def _answered(wanted: Asked, served: Served, limits: Limits) -> bytes | RefusedError:
    try:
        predictions = _predictions(wanted, served)
        if wanted.explain:
            for prediction, evidence in zip(predictions, _evidence(wanted, served, limits), strict=True):
                prediction["evidence"] = evidence
        return _as_json(predictions, served)
    except RefusedError as error:
        return error
    except SufficeError as error:
        return RefusedError(422, str(error), _blamed(wanted, str(error)))


def _blamed(wanted: Asked, message: str) -> str:
    """The field that an error of the library is about."""
    return next((name for name in ("prior", "cost") if getattr(wanted, name) is not None and name in message), "rows")


def _predictions(wanted: Asked, served: Served) -> list[dict[str, Any]]:
    results = Results(served.model, wanted.prior, wanted.cost, wanted.outputs)
    found, names = results.of_table(as_table(wanted.rows, served)), served.class_names
    columns: dict[str, list[Any]] = {}
    for output, values in found.items():
        if output == "decision":
            labels = served.class_labels if wanted.cost is None else plain_labels(results.case.actions)
            columns[output] = [labels[i] for i in values.tolist()]
        else:
            keys = names[1:] if output == "llr" else names
            columns[output] = [dict(zip(keys, row, strict=True)) for row in values.tolist()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _evidence(wanted: Asked, served: Served, limits: Limits) -> list[list[dict[str, Any]]]:
    """For each row and ratio the share of each column."""
    own, names = served.model.classes.tolist(), served.class_names
    pairs = [(0, c) for c in range(1, len(own))]
    if isinstance(wanted.explain, tuple):
        pairs = [(own.index(wanted.explain[0]), own.index(wanted.explain[1]))]
    if len(wanted.rows) * len(pairs) * len(served.columns) > limits.shares:
        raise RefusedError(413, f"that is more than {limits.shares} shares; explain fewer rows at a time", "explain")
    table = as_table(wanted.rows, served)
    found: list[list[dict[str, Any]]] = [[] for _ in wanted.rows]
    calibration = served.model.calibration
    for a, b in pairs:
        offset = {} if calibration is None else {SHARE: calibration.share(a, b)}
        for ratios, shares in zip(found, served.model.explain(table, own[a], own[b]).tolist(), strict=True):
            named = {name: share for (name, c), share in zip(served.columns.items(), shares, strict=True) if c.is_read}
            ratios.append({"class": names[b], "over": names[a], "shares": named | offset})
    return found


def _as_json(predictions: list[dict[str, Any]], served: Served) -> bytes:
    answer = {"model": served.name, "classes": served.class_names, "predictions": predictions}
    return to_json(answer, inf_nan_mode="strings", serialize_unknown=False)
