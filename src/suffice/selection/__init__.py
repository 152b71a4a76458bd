"""Choose among models: folds, the one-pass search and the automatic choice."""

from .automatic import fit
from .scorers import scorer
from .search import OnePassSearchCV

__all__ = ["OnePassSearchCV", "fit", "scorer"]
