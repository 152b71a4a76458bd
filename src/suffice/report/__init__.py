"""Reports: how good a model is on labelled rows, as one HTML file."""

from .writing import write_report

__all__ = ["write_report"]
