"""What a model knows of the columns that it was learnt from, beside its statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..schema import Schema
from ..tables.features import Feature


@dataclass(frozen=True)
class ColumnNotes:
    """Why columns are learnt as they are, and what they held; it is saved with the model.

    Parameters
    ----------
    reasons : dict of str to str
        Why columns have their families, by name.
    left_out : dict of str to str
        Why columns of the training data were left out, by name.
    whole : frozenset of str
        The columns that held whole numbers, or days without a time, in the training data.
    takes_infinity : bool
        Whether infinite numbers are missing values, as in the automatic choice.
    """

    reasons: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()
    takes_infinity: bool = False

    @classmethod
    def of(cls, schema: Schema, left_out: Mapping[str, str] | None = None, takes_infinity: bool = False) -> ColumnNotes:
        """Return what a schema tells of its columns."""
        reasons = dict(zip(schema.names, schema.reasons, strict=True))
        return cls(reasons, dict(left_out or {}), schema.whole, takes_infinity)

    def schema(self, names: tuple[str, ...], families: tuple[str, ...], features: tuple[Feature, ...] = ()) -> Schema:
        """Return the schema of columns whose families a model has learnt."""
        reasons = tuple(self.reasons.get(name, "as learnt") for name in names)
        return Schema(names, families, reasons, features, whole=self.whole, others=self.left_out)

    def without(self, left_out: Mapping[str, str]) -> ColumnNotes:
        """Return the same with more columns that were left out."""
        return replace(self, left_out=dict(self.left_out) | dict(left_out))

    def to_header(self) -> dict[str, Any]:
        """Return them as values for JSON."""
        return {
            "reasons": dict(self.reasons),
            "left_out": dict(self.left_out),
            "whole": sorted(self.whole),
            "takes_infinity": self.takes_infinity,
        }

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> ColumnNotes:
        """Return what `to_header` described."""
        reasons, left_out = dict(header["reasons"]), dict(header["left_out"])
        whole = frozenset(header["whole"])
        if not all(isinstance(text, str) for text in (*reasons.values(), *left_out.values(), *whole)):
            raise ValueError("what it says of its columns is not text")
        return cls(reasons, left_out, whole, bool(header.get("takes_infinity", False)))  # which older files lack
