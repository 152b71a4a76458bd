"""A model at work: rows to scores, decisions, evaluations and files."""

from .evaluation import Evaluation
from .loading import load_model
from .model import Model

__all__ = ["Evaluation", "Model", "load_model"]
