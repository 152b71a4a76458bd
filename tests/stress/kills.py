"""Kill fits that keep a checkpoint at random moments: resumed, they must end with the same model, bit for bit.

Usage: python -m tests.stress.kills [--kills 200] [--seed 0]
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from suffice import GaussianClassifier, files
from tests.stress.interrupts import small_pieces, statistics, write_rows


def fit(folder: Path, checkpoint: Path | None, threads: int) -> Any:
    with small_pieces():
        return GaussianClassifier("full", n_jobs=threads).fit(
            files(str(folder / "*.parquet"), checkpoint=checkpoint), "y"
        )


def run(kills: int, seed: int = 0) -> tuple[int, int]:
    """How many fits were killed, and how many runs came to their end with the right model."""
    rng, killed, done = random.Random(seed), 0, 0
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checkpoint = folder / "at" / "checkpoint"
        checkpoint.parent.mkdir()
        write_rows(folder)
        expected = statistics(fit(folder, None, 2))
        start = time.perf_counter()
        for threads in (1, 2):
            fit(folder, None, threads)
        takes = time.perf_counter() - start
        while killed < kills:
            checkpoint.unlink(missing_ok=True)
            child = None
            while child is None or child.exitcode != 0:
                child = context.Process(target=fit, args=(folder, checkpoint, rng.choice([1, 2, 8])))
                child.start()
                child.join(rng.uniform(0.0, 3 * takes))
                if child.exitcode is None:
                    child.kill()
                    child.join()
                    killed += 1
                assert child.exitcode in (0, -9), f"a resumed fit failed with {child.exitcode}"
            assert statistics(fit(folder, checkpoint, 2)) == expected, "a resumed fit counted rows twice or not at all"
            assert [path.name for path in checkpoint.parent.iterdir()] == ["checkpoint"], (
                "a killed fit left a file behind"
            )
            done += 1
    return killed, done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    wanted = parser.parse_args()
    killed, done = run(wanted.kills, wanted.seed)
    print(f"{killed} fits killed, {done} runs resumed to their end, all with the same model")


if __name__ == "__main__":
    sys.exit(main())
