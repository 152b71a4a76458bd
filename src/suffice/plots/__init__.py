"""Plots of log-likelihood ratios, decisions, densities, mixtures and projections: display classes like scikit-learn's.

``from_estimator`` and ``from_predictions`` compute and plot. The display keeps what it shows, so that ``plot(ax=None)``
can draw it again, and sets `ax_` and `figure_`. Showing, saving and closing figures is up to the caller. The plots need
matplotlib: ``pip install suffice[plot]``.
"""

from .bayes_error import BayesErrorDisplay
from .components import ProjectionDisplay, ScreeDisplay
from .confusion import ConfusionDisplay
from .cross_entropy import CrossEntropyDisplay
from .density import DensityDisplay
from .detection import DetDisplay, RocDisplay
from .evidence import EvidenceDisplay
from .fitting import CriteriaDisplay, HistoryDisplay
from .missing import MissingnessDisplay
from .regions import DecisionRegionsDisplay, PosteriorMapDisplay
from .scatter import ScatterDisplay
from .tippett import TippettDisplay
from .tree import TreeDisplay

__all__ = [
    "BayesErrorDisplay",
    "ConfusionDisplay",
    "CriteriaDisplay",
    "CrossEntropyDisplay",
    "DecisionRegionsDisplay",
    "DensityDisplay",
    "DetDisplay",
    "EvidenceDisplay",
    "HistoryDisplay",
    "MissingnessDisplay",
    "PosteriorMapDisplay",
    "ProjectionDisplay",
    "RocDisplay",
    "ScatterDisplay",
    "ScreeDisplay",
    "TippettDisplay",
    "TreeDisplay",
]
