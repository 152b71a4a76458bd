"""Model files of other people: refused, or served with answers that are valid JSON."""

import json
import random

import numpy as np
import pytest

from suffice.errors import ModelFileError
from suffice.server.answers import Job, answers
from suffice.server.errors import RefusedError
from suffice.server.limits import Limits
from suffice.server.models import load
from tests.stress.modelfiles import Fuzzer, forge

VALUES = {
    "number": 1.0,
    "boolean": True,
    "category": "x",
    "date": "2026-11-17",
    "numeral": "1",
    "duration": "13:05",
    "text": "a few words",
}


def not_json(constant):
    raise ValueError(f"{constant} is not JSON")


@pytest.mark.filterwarnings("ignore")
def test_forged_files_are_refused_or_answer_in_json(tmp_path):
    fuzzer, path, answered = Fuzzer(tmp_path), tmp_path / "m.safetensors", 0
    for seed in range(150):
        rng = random.Random(seed)
        path.write_bytes(forge(rng, fuzzer.originals[rng.choice(list(fuzzer.originals))]))
        with np.errstate(all="ignore"):
            try:
                served = load(path)
            except ModelFileError:
                continue
            json.loads(served.info_json, parse_constant=not_json)
            row = {name: VALUES[column.kind] for name, column in served.columns.items() if column.is_read}
            for more in ({}, {"prior": "uniform", "explain": True}):
                body = json.dumps({"rows": [row, dict.fromkeys(row)], **more}).encode()
                (answer,) = answers([Job(body, served)], Limits())
                if not isinstance(answer, RefusedError):
                    found = json.loads(answer, parse_constant=not_json)["predictions"]
                    assert all(0 <= p <= 1 for each in found for p in each["posterior"].values())
                    answered += 1
    assert answered > 20
