"""Pictures of ratios, decisions, densities and reductions, as Displays in the manner of scikit-learn.

A Display holds what it shows. ``from_estimator`` and ``from_predictions`` compute and plot; ``plot(ax=None)`` plots
again, and leaves `ax_` and `figure_`. Figures are shown, saved and closed by the caller. Only this needs matplotlib:
``pip install suffice[plot]``.
"""

from .bayes_error import BayesErrorDisplay
from .components import ProjectionDisplay, ScreeDisplay
from .confusion import ConfusionDisplay
from .cross_entropy import CrossEntropyDisplay
from .density import DensityDisplay
from .detection import DetDisplay, RocDisplay
from .evidence import EvidenceDisplay
from .regions import DecisionRegionsDisplay, PosteriorMapDisplay
from .scatter import ScatterDisplay
from .tippett import TippettDisplay

__all__ = [
    "BayesErrorDisplay",
    "ConfusionDisplay",
    "CrossEntropyDisplay",
    "DecisionRegionsDisplay",
    "DensityDisplay",
    "DetDisplay",
    "EvidenceDisplay",
    "PosteriorMapDisplay",
    "ProjectionDisplay",
    "RocDisplay",
    "ScatterDisplay",
    "ScreeDisplay",
    "TippettDisplay",
]
