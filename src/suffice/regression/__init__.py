"""Logistic regression: of arrays of numbers, and of whole tables."""

from .design import Design as Design
from .encoding import Encoding as Encoding
from .model import EXPANSIONS as EXPANSIONS
from .model import LogisticModel as LogisticModel
from .model import expand as expand
from .path import HeldOutFit as HeldOutFit
from .path import LogisticPath as LogisticPath
from .problem import LogisticProblem as LogisticProblem
