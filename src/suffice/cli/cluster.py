"""`suffice cluster`: find clusters in files or a database, without labels."""

from __future__ import annotations

import click

from ..lines import aligned
from . import options
from .data import Data, reads_data, telling
from .output import Output, writes


@click.command(epilog="Example: suffice cluster birds.csv -k 1-6 -o clusters.safetensors")
@click.option(
    "--components", "-k", default="1-8", show_default=True, help="The numbers of components to try: 3, 2,4,8 or 2-12."
)
@writes("The model file to write.", "clusters.safetensors")
@click.option(
    "--covariance",
    default="full",
    show_default=True,
    help="The covariance of columns of numbers: full, diag, tied, tied_diag, spherical or tied_spherical.",
)
@click.option(
    "--criterion",
    default="bic",
    show_default=True,
    help="The criterion for the number of components: bic, aic, icl or held_out.",
)
@click.option("--columns", help="The columns to use, separated by commas. Default: all.")
@click.option("--seed", default=0, show_default=True, help="The seed of the random starts.")
@click.option("--checkpoint", help="A file that saves the progress; the same command resumes an interrupted run.")
@options.families
@options.weight
@options.as_json
@reads_data
def cluster(
    data: Data,
    components: str,
    out: Output,
    covariance: str,
    criterion: str,
    columns: str | None,
    seed: int,
    checkpoint: str | None,
    families: tuple[str, ...],
    weight: str | None,
    as_json: bool,
) -> None:
    """Find clusters in rows without labels.

    Several numbers of components are tried, and the best one is kept. suffice predict then gives the cluster of each
    row.
    """
    from ..estimators import MixtureModel

    own = options.families_of(families)
    model = MixtureModel(_numbers(components), covariance, own, criterion=criterion, random_state=seed)
    with data.opened(options.names(columns), bar=False, checkpoint=checkpoint) as rows:
        out.check(rows)
        kept, _ = telling(rows, None, weight, own)
        model.fit(kept, sample_weight=weight)
    with out.file() as path:
        model.save(path)
    names = ("n_components", "log_likelihood", "n_parameters", criterion)
    if as_json:
        tried = {name: model.criteria_[name].tolist() for name in names}
        out.done("", {"n_components": model.n_components_, "weights": model.weights_.tolist(), "tried": tried})
        return
    rows_of = zip(*(model.criteria_[name].round(1).tolist() for name in names), strict=True)
    chosen = ["" if k != model.n_components_ else "chosen" for k in model.criteria_["n_components"]]
    table = aligned([(*names, ""), *((*map(str, row), mark) for row, mark in zip(rows_of, chosen, strict=True))])
    sizes = [(str(i), f"{share:.1%}") for i, share in enumerate(model.weights_)]
    out.done(f"{table}\n\n{aligned([('cluster', 'share'), *sizes])}\n")


def _numbers(text: str) -> list[int]:
    """Numbers of components from text.

    >>> _numbers("2-4,8")
    [2, 3, 4, 8]
    """
    try:
        ends = [(part if "-" in part else f"{part}-{part}").split("-") for part in text.split(",")]
        numbers = [k for first, last in ends for k in range(int(first), int(last) + 1)]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise options.UsageError(f"-k {text}: give numbers of components, as in 3, 2,4,8 or 2-12")
    return numbers
