"""The automatic choice against classifiers of scikit-learn, on real tables: ``python -m benchmarks.tables``.

Everybody learns from the same four fifths of a table and is evaluated on the rest, five times, with one thread.
`benchmarks.peers` says how tables are prepared for the peers; `suffice.fit` gets them as they are. Where a contestant
cannot be fitted, the class frequencies of the training rows stand in for it. The results of the peers are kept, so that
only `suffice.fit` is run again. Constants of `suffice.fit` are chosen on half A of the tables; half B shows whether
they serve other tables as well.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
import time
import warnings
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import sklearn
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from scipy.stats import rankdata
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

import suffice
from suffice.errors import BaselineWarning

from . import peers
from .datasets import CACHE, TABLES
from .peers import BASELINE, PEERS

TASK = "real tables, automatic choice"
FOLDS = 5
LEAST = 1e-6  # the probability that a class is given at least, by everybody: no row costs more than 13.8 nats
SMALL = 2000  # rows; tables below are also summarised on their own
SAMPLES = 2000  # of tables, for intervals
OURS, FREQUENCIES = "suffice.fit", "class frequencies"
NAMES = (OURS, *PEERS)
SHORT = dict(zip(NAMES, ("ours", "LR", "HGB", "LDA", "QDA", "GNB"), strict=True))


@dataclass(frozen=True)
class Fold:
    """What a contestant did in one fold."""

    rows: int  # held out
    log_loss: float  # mean -log P(true class | x) of the held-out rows, in nats
    error: float
    cpu: float  # seconds of fitting, of all threads
    wall: float
    predicting: float  # seconds of CPU
    failure: str | None  # the message, if it could not be fitted
    warnings: tuple[str, ...]  # of fitting


@dataclass(frozen=True)
class Task:
    """A table, read with at most this many rows."""

    table: str
    limit: int | None

    @property
    def half(self) -> str:
        return "AB"[zlib.crc32(self.table.encode()) % 2]


@dataclass(frozen=True)
class Result:
    """What the contestants did on one table, fold by fold."""

    task: Task
    shape: tuple[int, int, int]  # rows, columns, classes
    folds: dict[str, list[Fold]]

    def mean(self, contestant: str, what: str) -> float:
        """The mean of a figure over the held-out rows."""
        folds = self.folds[contestant]
        return float(np.average([getattr(fold, what) for fold in folds], weights=[fold.rows for fold in folds]))

    def seconds(self, contestant: str) -> float:
        return sum(fold.cpu for fold in self.folds[contestant])

    @property
    def failures(self) -> list[str]:
        """The contestants that could not be fitted in some fold."""
        return [name for name, folds in self.folds.items() if any(fold.failure for fold in folds)]

    @property
    def is_worse_than_frequencies(self) -> bool:
        return OURS in self.folds and self.mean(OURS, "log_loss") > self.mean(FREQUENCIES, "log_loss")

    @property
    def has_warned(self) -> bool:
        """Whether `suffice.fit` said in some fold that it knows no more than the class frequencies."""
        return any(
            text.startswith(BaselineWarning.__name__) for fold in self.folds.get(OURS, ()) for text in fold.warnings
        )


def evaluated(contestant: str, frame: pd.DataFrame, target: str, train: np.ndarray, test: np.ndarray) -> Fold:
    """Fit a contestant to the training rows, and evaluate it on the others."""
    rows = frame.iloc[train]
    X, y, held_out = rows.drop(columns=target), rows[target], frame.iloc[test]
    start, wall, failure = time.process_time(), time.perf_counter(), None
    try:
        with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
            warnings.simplefilter("always")
            if contestant == OURS:
                model = suffice.fit(rows, target, n_jobs=1)
            else:
                model = clone(PEERS.get(contestant, BASELINE)).fit(X, y)
        fitted = time.process_time(), time.perf_counter()
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            posterior = model.predict_proba(held_out.drop(columns=target))
        if not np.isfinite(posterior).all():
            raise ValueError("some posterior probabilities are not finite")
    except Exception as error:  # whatever a contestant does, the others go on
        failure = f"{type(error).__name__}: {error}"[:500]
        fitted = time.process_time(), time.perf_counter()
        model = clone(BASELINE).fit(X, y)
        posterior = model.predict_proba(held_out.drop(columns=target))
    predicted = time.process_time()
    code = pd.Index(model.classes_).get_indexer(held_out[target])
    own = posterior[np.arange(len(code)), code]
    return Fold(
        rows=len(test),
        log_loss=float(-np.log(np.clip(own, LEAST, 1)).mean()),
        error=float((posterior.argmax(axis=1) != code).mean()),
        cpu=fitted[0] - start,
        wall=fitted[1] - wall,
        predicting=predicted - fitted[0],
        failure=failure,
        warnings=tuple(dict.fromkeys(f"{each.category.__name__}: {each.message}" for each in caught)),
    )


@lru_cache(maxsize=1)
def preparation() -> str:
    """A number that changes with the code of `benchmarks.peers`, and not with its comments."""
    tree = ast.parse(Path(peers.__file__).read_text(encoding="utf-8"))
    return str(zlib.crc32(ast.dump(ast.Module(tree.body[1:], [])).encode()))


def fingerprint(contestant: str, content: str) -> list[str]:
    """What the results of a peer depend on."""
    with config_context(print_changed_only=False):
        settings = re.sub(r" at 0x\w+", "", repr(PEERS.get(contestant, BASELINE)))
    return [sklearn.__version__, np.__version__, pd.__version__, content, preparation(), settings]


@lru_cache(maxsize=1)
def warm_up() -> None:
    """Import what is imported on first use, which is not part of anybody's time."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    for contestant in (FREQUENCIES, *NAMES):
        evaluated(
            contestant,
            X.assign(target=y, word=np.where(y > 0, "a", "b")),
            "target",
            *(np.arange(i, len(y), 2) for i in range(2)),
        )


def judged(task: Task, only: str, folds: int, label: str, anew: str | None) -> Result:
    """Evaluate the contestants on a table, or take what is kept of peers whose name does not match `anew`."""
    warm_up()
    frame, target = TABLES[task.table].load(task.limit), TABLES[task.table].target
    content = str(pd.util.hash_pandas_object(frame, index=False).sum())
    splits = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(frame, frame[target].astype(str)))
    found: dict[str, list[Fold]] = {}
    for contestant in (FREQUENCIES, *PEERS):
        known, depends = read(task, contestant), fingerprint(contestant, content)
        if known.get("depends") != depends or (anew and re.search(anew, contestant)):
            if only in ("ours", "none") and contestant != FREQUENCIES:
                continue
            known = {
                "depends": depends,
                "folds": [asdict(evaluated(contestant, frame, target, *each)) for each in splits],
            }
            write(task, contestant, known)
        found[contestant] = [Fold(**fold) for fold in known["folds"][:folds]]
    if only == "none":
        if own := read(task, label):
            found[OURS] = [Fold(**fold) for fold in own["folds"][:folds]]
    elif only != "peers":
        found[OURS] = [evaluated(OURS, frame, target, *each) for each in splits[:folds]]
        write(task, label, {"folds": [asdict(fold) for fold in found[OURS]]})
    return Result(task, (len(frame), frame.shape[1] - 1, frame[target].nunique()), found)


def kept(task: Task, contestant: str) -> Path:
    return CACHE / "results" / (f"{task.limit} rows" if task.limit else "all rows") / contestant / f"{task.table}.json"


def read(task: Task, contestant: str) -> dict[str, Any]:
    path = kept(task, contestant)
    return json.loads(path.read_text()) if path.exists() else {}


def write(task: Task, contestant: str, content: dict[str, Any]) -> None:
    path = kept(task, contestant)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(content))
    part.replace(path)


def run(
    names: Iterable[str],
    only: str = "all",
    limit: int | None = None,
    folds: int = FOLDS,
    jobs: int = -1,
    label: str = OURS,
    anew: str | None = None,
) -> list[Result]:
    """Evaluate the contestants on these tables, in the order of the tables."""
    tasks = [Task(name, limit) for name in names]
    for task in tasks:
        TABLES[task.table].read()  # downloads are for one process alone
    calls = (delayed(judged)(task, only, folds, label, anew) for task in tasks)
    work = Parallel(jobs, return_as="generator_unordered")(calls)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        results = list(progress.track(work, total=len(tasks), description="Comparing"))
    return sorted(results, key=lambda one: tasks.index(one.task))


@dataclass(frozen=True)
class Listing:
    """A table to print or to write."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def rich(self) -> Table:
        table = Table(title=self.title, title_justify="left")
        for i, name in enumerate(self.header):
            table.add_column(name, justify="right" if i else "left", no_wrap=True)
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        rule = ["---", *["---:"] * (len(self.header) - 1)]
        return "\n".join(
            ["", f"### {self.title}", "", *(f"| {' | '.join(row)} |" for row in (self.header, rule, *self.rows)), ""]
        )


def per_table(results: Sequence[Result], against: dict[str, float]) -> Listing:
    header = [
        "table",
        "half",
        "rows",
        "columns",
        "classes",
        *SHORT.values(),
        "freq.",
        *(f"{name} %" for name in SHORT.values()),
    ]
    header += ["ours s", "LR s", *(["before", "change"] if against else []), ""]
    rows = []
    for one in results:
        costs = {name: one.mean(name, "log_loss") for name in (*NAMES, FREQUENCIES) if name in one.folds}
        errors = {name: one.mean(name, "error") for name in NAMES if name in one.folds}
        row = [one.task.table, one.task.half, *map(str, one.shape)]
        row += [
            f"{costs[name]:.4f}{'†' * (name in one.failures)}" if name in costs else ""
            for name in (*NAMES, FREQUENCIES)
        ]
        row += [f"{100 * errors[name]:.2f}" if name in errors else "" for name in NAMES]
        row += [f"{one.seconds(name):.2f}" if name in one.folds else "" for name in NAMES[:2]]
        if against:
            before = against.get(one.task.table, np.nan)
            row += [f"{before:.4f}", f"{costs.get(OURS, np.nan) - before:+.4f}"]
        marks = ["worse than the class frequencies"] * one.is_worse_than_frequencies + ["warned"] * one.has_warned
        rows.append([*row, ", ".join(marks)])
    return Listing("Log loss in nats, error in %, and seconds of CPU to fit all folds", header, rows)


def summary(title: str, results: Sequence[Result]) -> Listing:
    """Compare the contestants over tables, with 95 % intervals of other tables."""
    draws = np.random.default_rng(0).integers(len(results), size=(SAMPLES, len(results)))
    costs, errors = (
        np.array([[one.mean(name, what) for name in NAMES] for one in results]) for what in ("log_loss", "error")
    )
    seconds = np.array([[one.seconds(name) for name in NAMES] for one in results]).sum(axis=0)
    header = [
        f"{len(results)} tables",
        "log loss",
        "more than ours",
        "rank",
        "ours wins : loses",
        "error %",
        "rank",
        "ours wins : loses",
    ]
    header += ["CPU s", "of LR's", "failed"]
    rows = []
    for i, name in enumerate(NAMES):
        own = i == 0
        rows.append(
            [
                name,
                f"{costs[:, i].mean():.4f}",
                "" if own else interval(costs[:, i] - costs[:, 0], draws, 4),
                interval(ranks(costs)[:, i], draws),
                "" if own else wins(costs[:, 0], costs[:, i]),
                f"{100 * errors[:, i].mean():.2f}",
                interval(ranks(errors)[:, i], draws),
                "" if own else wins(errors[:, 0], errors[:, i]),
                f"{seconds[i]:.1f}",
                f"{seconds[i] / seconds[NAMES.index('LogisticRegression')]:.2f}",
                str(sum(name in one.failures for one in results)),
            ]
        )
    return Listing(title, header, rows)


def ranks(values: np.ndarray) -> np.ndarray:
    """Of (tables, contestants): 1 is the best, and contestants that agree to nine digits share their ranks."""
    return rankdata(values.round(9), axis=1)


def wins(ours: np.ndarray, peer: np.ndarray) -> str:
    better, worse = (ours.round(9) < peer.round(9)).sum(), (ours.round(9) > peer.round(9)).sum()
    return f"{better} : {worse}"


def interval(values: np.ndarray, draws: np.ndarray, digits: int = 2) -> str:
    low, high = np.quantile(values[draws].mean(axis=1), [0.025, 0.975])
    return f"{values.mean():.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def remarks(results: Sequence[Result]) -> list[str]:
    """What the tables do not show: versions, failures, and whether anything is worse than knowing nothing."""
    worse = [one for one in results if one.is_worse_than_frequencies]
    folds = max(len(folds) for one in results for folds in one.folds.values())
    found = [
        f"suffice {suffice.__version__}, scikit-learn {sklearn.__version__}, NumPy {np.__version__}, pandas "
        f"{pd.__version__}; {folds} of {FOLDS} folds",
        f"tables where our model is worse than the class frequencies: {len(worse)}"
        + "".join(f"; {one.task.table}, {'with' if one.has_warned else 'WITHOUT'} a warning" for one in worse),
    ]
    for one in results:
        messages = {fold.failure for fold in one.folds.get(OURS, ()) if fold.failure}
        found += [f"{OURS} failed on {one.task.table}: {message}" for message in sorted(messages)]
    return found


def listings(results: Sequence[Result], against: dict[str, float]) -> list[Listing]:
    complete = [one for one in results if set(one.folds) >= set(NAMES)]
    groups = {
        "All tables": complete,
        "Half A, on which constants were chosen": [one for one in complete if one.task.half == "A"],
        "Half B": [one for one in complete if one.task.half == "B"],
        f"Tables of fewer than {SMALL} rows": [one for one in complete if one.shape[0] < SMALL],
        f"Tables of {SMALL} rows or more": [one for one in complete if one.shape[0] >= SMALL],
    }
    return [per_table(results, against), *(summary(title, some) for title, some in groups.items() if some)]


def write_page(path: Path, text: str) -> None:
    """Replace what stands between the marks of a page."""
    begin, end = "<!-- results -->", "<!-- end of results -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise click.ClickException(f"{path} has no place for results: a line {begin} and a line {end}")
    path.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def report() -> Table:
    """Evaluate everybody on every table, for `make bench`."""
    return summary(f"{TASK}, {FOLDS} folds of held-out rows", run(TABLES)).rich()


@click.command()
@click.option("--tables", "pattern", default="", help="A regular expression that selects tables by name.")
@click.option("--half", type=click.Choice(["A", "B"]), help="Only this half of the tables.")
@click.option(
    "--only",
    type=click.Choice(["all", "ours", "peers", "none"]),
    default="all",
    help="Who is run; others are taken from earlier runs.",
)
@click.option("--anew", help="A regular expression that selects peers to run again, such as to compare times.")
@click.option("--rows-limit", type=int, help="Draw this many rows of larger tables, for a quick look.")
@click.option(
    "--folds", type=click.IntRange(1, FOLDS), default=FOLDS, help="Evaluate only the first of the five folds."
)
@click.option("--jobs", type=int, default=1, help="The number of processes, which work on different tables.")
@click.option("--label", default=OURS, help="The name under which our results are kept.")
@click.option("--against", help="Compare our results with those kept under this label.")
@click.option(
    "--write", "page", type=click.Path(path_type=Path, exists=True), help="A Markdown page to write the results into."
)
def main(
    pattern: str,
    half: str | None,
    only: str,
    anew: str | None,
    rows_limit: int | None,
    folds: int,
    jobs: int,
    label: str,
    against: str | None,
    page: Path | None,
) -> None:
    """Compare suffice.fit with classifiers of scikit-learn on real tables."""
    names = [name for name in TABLES if re.search(pattern, name) and half in (None, Task(name, None).half)]
    before = {}
    for name in names if against else ():
        if known := read(task := Task(name, rows_limit), against):
            own = [Fold(**fold) for fold in known["folds"][:folds]]
            before[name] = Result(task, (0, 0, 0), {OURS: own}).mean(OURS, "log_loss")
    results = run(names, only, rows_limit, folds, jobs, label, anew)
    found = listings(results, before)
    console = Console(width=None if sys.stdout.isatty() else 260)
    for listing in found:
        console.print(listing.rich())
    for remark in remarks(results):
        console.print(remark, highlight=False)
    if page:
        write_page(
            page,
            "\n".join(
                [
                    *(listing.markdown() for listing in found[1:]),
                    *(f"- {text}" for text in remarks(results)),
                    found[0].markdown(),
                ]
            ),
        )


if __name__ == "__main__":
    main()
