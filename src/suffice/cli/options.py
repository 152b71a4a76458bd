"""Arguments and options that several commands share, and how to parse them."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..decisions import as_cost, as_prior, detection_cost
from ..errors import DataError, SufficeError, alike, listed
from ..storage import without_credentials
from ..tables.labels import label_named

_CLAIMED = "suffice.standard-input"


def received(path: str) -> str:
    """Return the path of a file that is given, or of one with what comes from the standard input."""
    if path != "-":
        return path
    claim_standard_input()
    directory = click.get_current_context().with_resource(tempfile.TemporaryDirectory())
    found = os.path.join(directory, "standard-input")
    with open(found, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return found


def claim_standard_input() -> None:
    """Raise an error if the command reads the standard input already."""
    meta = click.get_current_context().meta
    if meta.get(_CLAIMED):
        raise UsageError("- is the standard input, which can be read once; give a file in place of the other -")
    meta[_CLAIMED] = True


model = click.argument("model", callback=lambda _, __, path: received(path))
file = click.argument("file", callback=lambda _, __, path: received(path))
target = click.option("--target", "-t", required=True, help="The column with the labels.")
labels = click.option("--target", "-t", help="The column with the labels. Default: the one that suffice fit was given.")
skip_unlabelled = click.option(
    "--skip-unlabelled", is_flag=True, help="Leave out rows without a label instead of stopping."
)
weight = click.option("--weight", help="The column with row weights.")
PRIOR = (
    "Class probabilities: a=0.7,b=0.3, or 0.7,0.3 in the order of the classes, or uniform, or JSON; of two "
    "classes, one is enough, as in fraud=0.01. Default: "
)
prior = click.option(
    "--prior",
    help=f"{PRIOR}those of the model: the class frequencies of the training data, unless it was fitted with others.",
)
cost = click.option(
    "--cost",
    help="Costs of decisions, as JSON or a JSON file: a matrix with a row for each decision and a column for each "
    "true class, or an object from decisions to rows. For two classes also miss=100,false-alarm=1: the costs "
    "of missing the class to detect, and of a false alarm. The class to detect is the one that --prior names, or else "
    "the second one.",
)
keep = click.option(
    "--keep",
    help="Columns of the data to repeat in the output, separated by commas; '' repeats none. Default: all.",
)
outputs = click.option("--outputs", help="Some of decision,posterior,llr,log_likelihood. Default: all.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
lines = click.option("--json", "as_json", is_flag=True, help="Print JSON lines: an object for each row.")


families = click.option(
    "--families",
    multiple=True,
    help="Families of columns, as in amount=lognormal,zip=categorical,id=drop. Default: as their types suggest.",
)


class UsageError(DataError):
    """The options of a command are wrong."""


class StoppedError(SufficeError):
    """Ctrl-C was pressed; the message says what is left of the work."""


def names(text: str | None) -> list[str] | None:
    """Split names at commas that are not in quotes.

    >>> names('a, b, "c, d"')
    ['a', 'b', 'c, d']
    """
    if not text:
        return None if text is None else []
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True)) if name.strip()]


def pairs_of(texts: Iterable[str], option: str, example: str) -> dict[str, str]:
    """Return values by column, from name=value texts, each of which may hold several between commas.

    >>> pairs_of(["zip=string,n=int64"], "--type", "zip=string")
    {'zip': 'string', 'n': 'int64'}
    """
    found = {}
    for text in texts:
        for pair in text.split(","):
            name, equals, value = pair.rpartition("=")
            if not (name.strip() and equals and value.strip()):
                raise UsageError(f"{option} {text}: give a column and its {option[2:]}, as in {option} {example}")
            found[name.strip()] = value.strip()
    return found


def value_of(text: str) -> Any:
    """Parse the value of a parameter: a number, other JSON, or text.

    >>> value_of(".5"), value_of("null"), value_of("tied")
    (0.5, None, 'tied')
    """
    for parse in (json.loads, float):
        with suppress(ValueError):
            return parse(text)
    return text


def families_of(texts: tuple[str, ...]) -> Any:
    """Return families as estimators take them: one for all columns, or by column.

    >>> families_of(("amount=lognormal,zip=categorical", "id=drop"))
    {'amount': 'lognormal', 'zip': 'categorical', 'id': 'drop'}
    >>> families_of(("gaussian",)), families_of(())
    ('gaussian', 'auto')
    """
    if not texts:
        return "auto"
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    return pairs_of(texts, "--families", "amount=lognormal")


@dataclass(frozen=True)
class PriorAndCost:
    """The prior and the costs that a command is given, as `predict` takes them."""

    prior: Any
    cost: Any
    said: str | None = None  # what costs by name stand for


def application(prior: str | None, cost: str | None, classes: Any) -> PriorAndCost:
    """Parse `--prior` and `--cost`, and raise an error if they do not suit the classes, before rows are read.

    >>> import numpy as np
    >>> application("fraud=0.01", "miss=100,false-alarm=1", np.array(["fraud", "ok"])).cost
    [[0.0, 1.0], [100.0, 0.0]]
    """
    found = prior_of(prior, classes)
    as_prior(found, classes, classes)
    if cost is None or not _NAMED.match(cost):
        costs = cost_of(cost, classes)
        if costs is not None:
            as_cost(costs, classes)
        return PriorAndCost(found, costs)
    named = pairs_of([cost], "--cost", "miss=100,false-alarm=1")
    try:
        miss, alarm = float(named.pop("miss", 1)), float(named.pop("false-alarm", 1))
    except ValueError:
        raise UsageError(f"--cost {cost}: give numbers, as in miss=100,false-alarm=1") from None
    if named:
        raise UsageError(f"--cost {cost}: {next(iter(named))!r} is not known; give miss=100,false-alarm=1, or JSON")
    if len(classes) != 2:
        raise UsageError(f"--cost {cost}: misses and false alarms are of two classes, not of {len(classes)}; give JSON")
    only = _named_alone(prior, classes)
    target = 1 if only is None else only
    names = [str(label) for label in list(classes)]
    missed = f"{miss:g} for a row of {names[target]!r} that is taken for {names[1 - target]!r} (a miss)"
    return PriorAndCost(
        found, detection_cost(miss, alarm, target), f"{missed}, {alarm:g} for the opposite (a false alarm)"
    )


_NAMED = re.compile(r"\s*[\w-]+\s*=")


def _named_alone(prior: str | None, classes: Any) -> int | None:
    """The index of the one class that a prior names, if it names one of two."""
    if prior is None or prior.lstrip().startswith(("{", "[")) or prior.count("=") != 1:
        return None
    labels = list(classes)
    label = label_named(prior.rpartition("=")[0].strip(), labels)
    return labels.index(label) if label in labels else None


def prior_of(text: str | None, classes: Any) -> Any:
    """Parse a prior for `predict`: a=0.7,b=0.3, numbers, JSON or "uniform"; of two classes, one is enough.

    >>> prior_of("0=0.7, 1=0.3", [0, 1])
    {0: 0.7, 1: 0.3}
    >>> prior_of("0.2,0.3,0.5", ["a", "b", "c"])
    [0.2, 0.3, 0.5]
    >>> prior_of("fraud=.25", ["fraud", "ok"]), prior_of("true=.25", [False, True])
    ({'fraud': 0.25}, {True: 0.25})
    """
    if text is None or text == "uniform":
        return text
    if text.lstrip().startswith(("{", "[")):
        return _labelled(_json(text, "--prior", '{"a": 0.7, "b": 0.3}'), classes)
    try:
        if "=" not in text:
            numbers = [float(part) for part in text.split(",")]
            return numbers if len(numbers) > 1 else numbers[0]
        pairs = [pair.rpartition("=") for pair in text.split(",")]
        return _labelled({name.strip(): float(value) for name, _, value in pairs}, classes)
    except ValueError:
        raise UsageError(
            f"--prior {text}: give a number for each class, as in a=0.7,b=0.3, or uniform; for labels that contain "
            """commas, give JSON such as '{"a": 0.7, "b,c": 0.3}'"""
        ) from None


def cost_of(text: str | None, classes: Any, option: str = "--cost") -> Any:
    """Parse costs for `predict`: JSON, or the name of a JSON file."""
    if text is None:
        return None
    try:
        content = text if text.lstrip().startswith(("{", "[")) else Path(text).read_text()
    except OSError as error:
        raise UsageError(
            f"--cost {text}: there is no such file ({error.strerror}); give JSON such as [[0, 1], [5, 0]], a file with "
            "it, or for two classes miss=5,false-alarm=1"
        ) from None
    found = _labelled(_json(content, option, "[[0, 1], [5, 0]]"), classes)
    if isinstance(found, dict):
        return {decision: _labelled(row, classes) for decision, row in found.items()}
    return found


def class_of(text: str | None, classes: Any) -> Any:
    """Return the class whose text is given.

    >>> class_of("1", [0, 1])
    1
    """
    if text is None:
        return None
    labels = list(classes)
    label = label_named(text, labels)
    if label not in labels:
        known = f"the classes are {listed(labels, 10)}{alike(text, map(str, labels))}"
        raise UsageError(f"there is no class {text!r}; {known}")
    return label


def target_of(target: str | None, model: Any, path: str) -> str:
    """Return the column with the labels: the one that is given, or else the one that the model has learnt from."""
    if target is None and model.target is None:
        raise UsageError(f"{without_credentials(path)} does not say which column holds the labels; name it with -t")
    return target if target is not None else str(model.target)


def _json(text: str, option: str, example: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{option}: {error}; give JSON such as {example}") from None


def _labelled(values: Any, classes: Any) -> Any:
    """Replace the keys of a dictionary by the classes whose text they are; leave other values as they are."""
    if not isinstance(values, dict):
        return values
    labels = list(classes)
    return {label_named(name, labels): value for name, value in values.items()}
