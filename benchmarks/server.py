"""The server under load, side by side with an endpoint of it that does nothing: `python -m benchmarks.server`.

It needs wrk, from the packages of the system. All traffic stays on this machine.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.csv
from rich.console import Console
from rich.table import Table

import suffice

CONNECTIONS, PORT, ROUNDS = 64, 8765, 3
JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
# The same server, with one more endpoint that reads nothing and says nothing.
SERVER = """
import sys
from fastapi import FastAPI
from suffice.server import running
add_routes = running.create_app.__globals__["_Server"].add_routes
def with_empty(self, app, with_token):
    add_routes(self, app, with_token)
    @app.post("/empty")
    async def empty():
        return {}
running.create_app.__globals__["_Server"].add_routes = with_empty
running.run(sys.argv[1], "127.0.0.1", int(sys.argv[2]), running.Limits(), None)
"""
LUA = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local file = io.open("{body}", "r")
wrk.body = file:read("*a")
done = function(summary, latency, requests)
  io.write(string.format("RESULT %f %f %f %d,%d,%d,%d\\n", summary.requests / (summary.duration / 1e6),
    latency:percentile(50), latency:percentile(99),
    summary.errors.status, summary.errors.connect, summary.errors.read, summary.errors.timeout))
end
"""


@dataclass(frozen=True)
class Load:
    """What wrk has measured."""

    per_second: float
    median: float  # ms
    p99: float  # ms
    errors: tuple[int, ...]  # of status, connecting and reading, and answers after more than two seconds
    cpu: float  # time of the server's threads for one request, in µs: other programs disturb it less


@contextmanager
def server(path: Path) -> Iterator[tuple[int, float]]:
    """A server; its process id, and the seconds until it answered."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", SERVER, str(path), str(PORT)], stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                if request("GET", "/health")[0] == 200:
                    break
            except OSError:
                if process.poll() is not None:
                    raise SystemExit("the server does not start") from None
                time.sleep(0.01)
        yield process.pid, time.perf_counter() - start
    finally:
        process.terminate()
        process.wait(30)


def request(method: str, path: str, body: Any = None, kind: str = JSON) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=120)
    try:
        connection.request(method, path, body, {"Content-Type": kind} if body is not None else {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def wrk(pid: int, path: str, body: str, seconds: float, folder: Path) -> Load:
    (folder / "body.json").write_text(body)
    (folder / "post.lua").write_text(LUA.format(body=folder / "body.json"))
    command = [
        "wrk",
        "-t1",
        f"-c{CONNECTIONS}",
        f"-d{max(1, round(seconds))}s",
        "--latency",
        "-s",
        str(folder / "post.lua"),
    ]
    before = cpu_seconds(pid)
    output = subprocess.run([*command, f"http://127.0.0.1:{PORT}{path}"], capture_output=True, text=True, check=True)
    found = re.search(r"RESULT (\S+) (\S+) (\S+) (\S+)", output.stdout)
    assert found, output.stdout + output.stderr
    rate, median, p99, errors = found.groups()
    spent = 1e6 * (cpu_seconds(pid) - before) / max(float(rate) * max(1, round(seconds)), 1.0)
    return Load(float(rate), float(median) / 1e3, float(p99) / 1e3, tuple(map(int, errors.split(","))), spent)


def cpu_seconds(pid: int) -> float:
    """Seconds that the processors have worked for a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    """The memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def models(folder: Path) -> dict[str, tuple[Path, str, Any]]:
    """Models, with the body of a request for one row, and a table of many."""
    penguins = pa.csv.read_csv(str(resources.files("suffice") / "data/penguins.csv"))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 10))
    table = pa.table({f"x{j}": X[:, j] for j in range(10)})
    y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0, "yes", "no")
    found = {}
    for name, model, rows in (
        ("mixed, 7 columns", suffice.MixedClassifier().fit(penguins, "species"), penguins.drop_columns(["species"])),
        ("Gaussian, 10 columns", suffice.GaussianClassifier().fit(table.slice(0, 10_000), y[:10_000]), table),
    ):
        path = folder / f"{name.split(',')[0]}.safetensors"
        model.save(path)
        found[name] = path, json.dumps({"rows": rows.slice(0, 1).to_pylist()}), rows
    return found


def bulk(path: Path, table: Any) -> tuple[float, float]:
    """Seconds of a bulk request, and of the same in this process."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    body, model = sink.getvalue().to_pybytes(), suffice.load_model(path)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        status, answer = request("POST", "/predict?outputs=decision,posterior", body, ARROW)
        middle = time.perf_counter()
        assert status == 200, answer[:300]
        proba, _ = model.predict_proba(table), model.predict(table)
        times.append((middle - start, time.perf_counter() - middle))
        scored = pa.ipc.open_stream(answer).read_all()
        np.testing.assert_allclose(scored["posterior_yes"].to_numpy(), proba[:, 1], rtol=1e-12)
    return min(one for one, _ in times), min(two for _, two in times)


def mixed_traffic(pid: int, body: str, seconds: float) -> tuple[dict[int, int], float]:
    """Good and bad requests on several threads: how many of each status, and the growth of memory in MB."""
    row = json.loads(body)["rows"][0]
    bad = ["{", "[]", '{"rows": []}', '{"rows": [{"nothing": 1}]}', body[:-1], '{"rows": [{"x0": NaN}]}', "x" * 100_000]
    good = [body, json.dumps({"rows": [row] * 200}), json.dumps({"rows": [row], "explain": True, "prior": "uniform"})]
    counts: dict[int, int] = {}
    lock, end = threading.Lock(), time.perf_counter() + seconds

    def send() -> None:
        rng = np.random.default_rng(threading.get_ident())
        while time.perf_counter() < end:
            which = good if rng.random() < 0.7 else bad
            path = "/predict" if rng.random() < 0.95 else "/models/..%2f..%2fetc/predict"
            status, _ = request("POST", path, which[rng.integers(len(which))])
            with lock:
                counts[status] = counts.get(status, 0) + 1

    for _ in range(50):  # what is loaded once is not growth
        request("POST", "/predict", good[0])
        request("POST", "/predict", good[1])
    before = resident(pid)
    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts, resident(pid) - before


@click.command()
@click.option("--seconds", default=5.0, show_default=True, help="Of each measurement.")
@click.option("--traffic", default=20.0, show_default=True, help="Seconds of mixed good and bad requests.")
def main(seconds: float, traffic: float) -> None:
    """Measure the server."""
    if shutil.which("wrk") is None:
        raise SystemExit("this needs wrk: apt-get install wrk")
    table = Table(title=f"{CONNECTIONS} connections, load {os.getloadavg()[0]:.1f} before")
    columns = ("model", "ready s", "empty /s", "predict /s", "share", "empty µs", "predict µs")
    for name in (*columns, "median ms", "p99 / median", "of empty", "errors"):
        table.add_column(name, justify="left" if name == "model" else "right")
    told = []
    with tempfile.TemporaryDirectory() as home:
        for name, (path, body, rows) in models(Path(home)).items():
            with server(path) as (pid, ready):
                # The two take turns, and the best of each counts: what is left when nothing else disturbs.
                rounds = [
                    [wrk(pid, path, body, seconds, Path(home)) for path in ("/empty", "/predict")]
                    for _ in range(ROUNDS)
                ]
                empty, own = (max(loads, key=lambda load: load.per_second) for loads in zip(*rounds, strict=True))
                cpu = [min(load.cpu for load in loads) for loads in zip(*rounds, strict=True)]
                table.add_row(
                    name,
                    f"{ready:.2f}",
                    f"{empty.per_second:.0f}",
                    f"{own.per_second:.0f}",
                    f"{100 * own.per_second / empty.per_second:.0f} %",
                    f"{cpu[0]:.0f}",
                    f"{cpu[1]:.0f}",
                    f"{own.median:.1f}",
                    f"{own.p99 / own.median:.1f}",
                    f"{empty.p99 / empty.median:.1f}",
                    " ".join(map(str, np.sum([load.errors for loads in rounds for load in loads], axis=0))),
                )
                if len(rows) > 100_000:
                    served, direct = bulk(path, rows)
                    told.append(
                        f"{len(rows)} rows by Arrow: {served:.2f} s, predict and predict_proba here: {direct:.2f} s, "
                        f"ratio {served / direct:.2f}"
                    )
                else:
                    counts, growth = mixed_traffic(pid, body, traffic)
                    told.append(f"{traffic:g} s of mixed traffic: {counts}, memory grew by {growth:.1f} MB")
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(table)
    console.print("µs: time of processors for a request; errors: wrong status, not connected, not read, later than 2 s")
    for line in told:
        console.print(line)


if __name__ == "__main__":
    main()
