"""A model at work: rows to scores, decisions, evaluations and files."""

from .loading import load_model
from .model import Model

__all__ = ["Model", "load_model"]
