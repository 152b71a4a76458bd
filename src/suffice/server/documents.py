"""What the server says in OpenAPI: the bodies of requests and answers."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Annotated, Any

from pydantic import BaseModel, Field, WithJsonSchema

from ..export.outputs import OUTPUTS
from .bodies import FIELDS, WANTED
from .models import Served

_INFINITE = "A number; JSON has no infinity, so that an infinite one is the text Infinity or -Infinity."
_NUMBER_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": "number"}, {"type": "string", "enum": ["Infinity", "-Infinity"]}],
    "description": _INFINITE,
}
Number = Annotated[float | str, WithJsonSchema(_NUMBER_SCHEMA)]
Label = str | int | float | bool | None

ARROW, CSV = "application/vnd.apache.arrow.stream", "text/csv"


class Error(BaseModel):
    """Why a request was refused."""

    error: str
    field: str | None = Field(description="The field of the request that is wrong, such as rows[2].age.")


class Health(BaseModel):
    """Whether the server works."""

    status: str = Field(description="ok, or degraded where a model file could not be loaded; the model before stays.")
    models: int
    problems: dict[str, str] = Field(description="Model files that could not be loaded, and why.")
    version: str


class ColumnInfo(BaseModel):
    """A column of a model."""

    name: str
    kind: str = Field(description=f"One of {', '.join(WANTED)}.")
    family: str | None
    required: bool = Field(description="Whether rows must have it; null is a missing value.")
    categories: list[str | int | float | bool]
    low: float | None = Field(description="Of a usual range of numbers, or of seconds.")
    typical: float | str | None = Field(description="A usual number, or a usual date as text.")
    high: float | None
    whole: bool = Field(description="Whether the training rows had whole numbers, or days without a time.")


class ClassInfo(BaseModel):
    """A class of a model."""

    name: str = Field(description="As in answers.")
    label: Label
    prior: float | None = Field(description="Used unless a request gives a prior.")


class ModelInfo(BaseModel):
    """A model."""

    name: str
    kind: str = Field(description="The estimator that has learnt it.")
    classes: list[ClassInfo]
    columns: list[ColumnInfo]
    generative: bool = Field(description="Whether it gives log-likelihoods, and explains them by columns.")
    provenance: dict[str, Any] = Field(
        description="The version that wrote the file, its bytes, the weights of the classes, the calibration, and how "
        "the model was chosen."
    )


class ModelList(BaseModel):
    """The models of a folder."""

    models: list[str]
    problems: dict[str, str]


class Evidence(BaseModel):
    """A log-likelihood ratio, column by column."""

    class_: str = Field(alias="class")
    over: str
    shares: dict[str, Number]


class Prediction(BaseModel):
    """What is said of a row."""

    decision: Label = Field(default=None, description="At the least expected cost.")
    posterior: dict[str, float] | None = Field(default=None, description="P(class | row), by class.")
    llr: dict[str, Number] | None = Field(
        default=None, description="log p(row | class) - log p(row | first class), of all classes but the first."
    )
    log_likelihood: dict[str, Number] | None = Field(default=None, description="log p(row | class), by class.")
    evidence: list[Evidence] | None = None


class Predictions(BaseModel):
    """Predictions for the rows of a request, in their order."""

    model: str
    classes: list[str]
    predictions: list[Prediction]


def request_body() -> dict[str, Any]:
    """The bodies that ask for predictions."""
    number = {"type": "number"}
    by_class = {"type": "object", "additionalProperties": number}
    matrix = {"type": "array", "items": {"type": "array", "items": number}}
    by_decision = {"type": "object", "additionalProperties": {"anyOf": [matrix["items"], by_class]}}
    cell = {"anyOf": [{"type": kind} for kind in ("string", "number", "boolean", "null")]}
    properties = {
        "rows": {
            "type": "array",
            "minItems": 1,
            "description": "Objects from columns to values; null is a missing value.",
            "items": {"type": "object", "additionalProperties": cell},
        },
        "prior": {
            "anyOf": [{"enum": ["uniform"]}, {"type": "array", "items": number}, by_class, number, {"type": "null"}],
            "description": "Class probabilities where the model is used; that of the second of two classes.",
        },
        "cost": {
            "anyOf": [matrix, by_decision, by_class, {"type": "null"}],
            "description": "cost[i][j] of deciding i when the true class is j, or an object from decisions to rows; "
            "for two classes also an object with miss and false-alarm.",
        },
        "explain": {
            "anyOf": [
                {"type": "boolean"},
                {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "string"}},
                {"type": "null"},
            ],
            "description": "Add the share of each column in the llr: of all classes over the first, or of the second "
            "of two classes over the first of them.",
        },
        "outputs": {
            "anyOf": [
                {"type": "array", "minItems": 1, "items": {"enum": list(OUTPUTS)}},
                {"type": "null"},
            ],
            "description": "The results to return; null returns all.",
        },
    }
    assert tuple(properties) == FIELDS
    body = {"type": "object", "required": ["rows"], "properties": properties, "additionalProperties": False}
    binary = {"schema": {"type": "string", "format": "binary"}}
    return {"required": True, "content": {"application/json": {"schema": body}, ARROW: binary, CSV: binary}}


def row_schema(served: Served) -> dict[str, Any]:
    """The rows of a model."""
    number: dict[str, Any] = {"type": "number"}
    kinds: dict[str, list[dict[str, Any]]] = {
        "number": [number, {"type": "string"}],
        "boolean": [{"type": "boolean"}, {"enum": [0, 1]}, {"type": "string"}],
        "category": [{"type": "string"}, number, {"type": "boolean"}],
        "date": [{"type": "string"}],
        "numeral": [{"type": "string"}, number],
        "duration": [{"type": "string"}, number],
        "text": [{"type": "string"}],
    }
    properties: dict[str, Any] = {}
    for name, column in served.columns.items():
        properties[name] = {"anyOf": [*kinds[column.kind], {"type": "null"}]}
        if column.categories:
            properties[name]["examples"] = list(column.categories[:10])
    properties |= {name: {"description": "Ignored."} for name in sorted(served.ignored)}
    required = sorted(served.required)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def described(document: Mapping[str, Any], served: Mapping[str, Served], with_token: bool) -> dict[str, Any]:
    """OpenAPI of the models that are there now: their names, and the columns and classes if there is one alone."""
    own: dict[str, Any] = deepcopy(dict(document))
    paths = own["paths"]
    for path, how in (("/models/{name}", "get"), ("/models/{name}/predict", "post")):
        name = next(each for each in paths[path][how]["parameters"] if each["in"] == "path")
        name["schema"] = {"type": "string", "enum": sorted(served)}
    if len(served) == 1:
        (only,) = served.values()
        for path in ("/predict", "/models/{name}/predict"):
            fields = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
            fields["rows"]["items"] = row_schema(only)
            fields["explain"]["anyOf"][1]["items"] = {"type": "string", "enum": only.class_names}
    if with_token:
        own["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
        own["security"] = [{"bearer": []}]
        paths["/health"]["get"]["security"] = []
    return own
