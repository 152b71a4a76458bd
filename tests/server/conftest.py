import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from importlib import resources

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import suffice

START = "from suffice.cli import main; main()"
JSON = "application/json"


@dataclass
class Running:
    """A server process of its own."""

    port: int
    process: subprocess.Popen

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def connect(self, timeout=60):
        return HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def send(self, method, path, body=None, kind=JSON, headers=None):
        """Status, headers and body of the answer."""
        connection = self.connect()
        try:
            if body is not None and not isinstance(body, bytes | str):
                body = json.dumps(body)
            own = {} if body is None else {"Content-Type": kind}
            connection.request(method, path, body, own | (headers or {}))
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def get(self, path, **headers):
        status, _, body = self.send("GET", path, headers=headers)
        return status, json.loads(body)

    def post(self, path, body, **headers):
        status, _, answer = self.send("POST", path, body, headers=headers)
        return status, json.loads(answer)


@contextmanager
def serving(path, *options, token=None, script=START):
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"} | ({} if token is None else {"SUFFICE_TOKEN": token})
    command = [sys.executable, "-c", script, "serve", str(path), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        line = process.stdout.readline()
        assert line.startswith("Serving"), process.stderr.read()
        running = Running(int(line.split("http://")[1].split()[0].rpartition(":")[2]), process)
        yield running
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture(scope="session")
def penguins():
    return pa.csv.read_csv(str(resources.files("suffice") / "data/penguins.csv"))


def tickets():
    """A table with text, dates, times of the day, and numbers as text."""
    rng = np.random.default_rng(0)
    words = np.array([["invoice", "refund", "card"], ["crash", "login", "screen"]])
    team = np.arange(80) % 2
    texts = [" ".join([*rng.choice(words[t], 4), "please", f"n{i % 31}"]) for i, t in enumerate(team)]
    return pa.table(
        {
            "comment": texts,
            "opened": [f"2026-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(80)],
            "at": [f"{8 + i % 7 + 2 * team[i]}:{i % 60:02}" for i in range(80)],
            "amount": [f"{1000 + 37 * i:,}.50" for i in rng.permutation(80)],
            "hours": rng.normal(5 + team),
            "team": np.array(["billing", "support"])[team].tolist(),
        }
    )


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory, penguins):
    """Models of several kinds."""
    folder = tmp_path_factory.mktemp("models")
    numbers = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    whole = penguins.drop_null()
    suffice.MixedClassifier().fit(penguins, "species").save(folder / "birds.safetensors")
    suffice.GaussianClassifier("tied").fit(whole.select([*numbers, "sex"]), "sex").save(folder / "sexes.safetensors")
    table = whole.drop_columns(["year"])
    suffice.LogisticClassifier().fit(table, "species").save(folder / "logistic.safetensors")
    X = whole.select(numbers).to_pandas().to_numpy()
    suffice.GaussianClassifier().fit(X, whole["species"].to_numpy(zero_copy_only=False)).save(
        folder / "unnamed.safetensors"
    )
    suffice.MixedClassifier().fit(tickets(), "team").save(folder / "tickets.safetensors")
    colors = pa.table({"color": ["black", "black", "white"] * 4, "label": [False, False, True] * 4})
    suffice.CategoricalClassifier(alpha=0).fit(colors, "label").save(folder / "cats.safetensors")
    return folder


@pytest.fixture(scope="session")
def server(model_folder):
    """A server of all models."""
    with serving(model_folder) as running:
        yield running


@pytest.fixture(scope="session")
def birds(model_folder):
    """A server of one model."""
    with serving(model_folder / "birds.safetensors") as running:
        yield running
