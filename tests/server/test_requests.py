"""Requests over HTTP: answers equal those of the library, and what is wrong is refused with the name of the field."""

import contextlib
import json
import math
import signal
import socket
import sys
import threading
import time
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from click.testing import CliRunner

import suffice
from suffice.cli import app, main
from suffice.server.answers import Job, answers
from suffice.server.bodies import asked_of_bulk
from suffice.server.bulk import scored_csv
from suffice.server.documents import row_schema
from suffice.server.errors import RefusedError
from suffice.server.limits import Limits
from suffice.server.models import load

from .conftest import serving, tickets

pytestmark = pytest.mark.xdist_group("server")

ARROW, CSV = "application/vnd.apache.arrow.stream", "text/csv"
UNFINISHED = (
    b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"
)


def row_of(table, i, model):
    return {name: table[name][i].as_py() for name in model.names}


def streamed(table, **options):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, **options) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("name", ["birds", "sexes", "logistic"])
def test_answers_are_those_of_the_library(server, model_folder, penguins, name):
    model = suffice.load_model(model_folder / f"{name}.safetensors")
    table = penguins.drop_null().take(list(range(0, 300, 23)))
    classes = [str(label) for label in model.classes]
    prior = dict(zip(classes, np.linspace(1, 2, len(classes)) / np.linspace(1, 2, len(classes)).sum(), strict=True))
    cost = {classes[0]: [0.0, *[3.0] * (len(classes) - 1)], "ask": [0.5] * len(classes)}
    asked = {"rows": table.select(model.names).to_pylist(), "prior": prior, "cost": cost}
    status, answer = server.post(f"/models/{name}/predict", asked)
    assert status == 200
    found, rows = answer["predictions"], table.select(model.names)
    assert [each["decision"] for each in found] == model.predict(rows, prior, cost).tolist()
    proba = model.predict_proba(rows, prior)
    np.testing.assert_allclose([[each["posterior"][c] for c in classes] for each in found], proba, rtol=1e-12)
    for c in classes[1:]:
        expected = model.llr(rows, classes[0], c)
        np.testing.assert_allclose([each["llr"][c] for each in found], expected, rtol=1e-9, atol=1e-9)
    if model.density.has_likelihoods:
        likelihoods = [[each["log_likelihood"][c] for c in classes] for each in found]
        np.testing.assert_allclose(likelihoods, model.log_likelihood(rows), rtol=1e-12)
    else:
        assert "log_likelihood" not in found[0]


def test_text_dates_and_numbers_as_text_are_read_as_in_tables(server, model_folder):
    model, table = suffice.load_model(model_folder / "tickets.safetensors"), tickets().drop_columns(["team"])
    kinds = {column["name"]: column["kind"] for column in server.get("/models/tickets")[1]["columns"]}
    assert kinds == {"comment": "text", "opened": "date", "at": "duration", "amount": "numeral", "hours": "number"}
    status, answer = server.post("/models/tickets/predict", {"rows": table.to_pylist(), "explain": True})
    assert status == 200
    found = [each["posterior"]["support"] for each in answer["predictions"]]
    np.testing.assert_allclose(found, model.predict_proba(table)[:, 1], rtol=1e-12)
    nothing = dict.fromkeys(table.column_names)
    _, times = server.post("/models/tickets/predict", {"rows": [{**nothing, "at": at} for at in ("16:30", 59_400)]})
    assert times["predictions"][0] == times["predictions"][1]
    assert times["predictions"][0]["posterior"]["support"] > 0.8
    status, answer = server.post("/models/tickets/predict", {"rows": [nothing]})
    assert (status, answer["predictions"][0]["posterior"]["support"]) == (200, pytest.approx(model.prior[1]))
    wrong = {
        "comment": (3, "3 is not text"),
        "opened": ("yesterday", "'yesterday' is not a date as text, such as 2026-03-31"),
        "at": (
            "noon",
            "'noon' is not a duration or a time of the day as text, such as '13:05', or a number of seconds",
        ),
        "amount": ("abc", "'abc' is not a number, or text that says one"),
        "hours": ("five", "'five' is not a number, or text that says one"),
    }
    for column, (value, message) in wrong.items():
        status, told = server.post("/models/tickets/predict", {"rows": [nothing, {**nothing, column: value}]})
        assert (status, told["field"], told["error"]) == (422, f"rows[1].{column}", f"{message}, nor null")


def test_evidence_is_that_of_the_library(server, model_folder, penguins):
    model = suffice.load_model(model_folder / "birds.safetensors")
    rows = [row_of(penguins, i, model) for i in (0, 3, 200)]  # some values of the second one are missing
    table = pa.Table.from_pylist(rows)
    _, every = server.post("/models/birds/predict", {"rows": rows, "explain": True})
    _, pair = server.post("/models/birds/predict", {"rows": rows, "explain": ["Gentoo", "Chinstrap"]})
    for answer, pairs in ((every, [("Adelie", "Chinstrap"), ("Adelie", "Gentoo")]), (pair, [("Gentoo", "Chinstrap")])):
        for i, (a, b) in enumerate(pairs):
            expected = model.explain(table, a, b)
            for each, shares in zip(answer["predictions"], expected, strict=True):
                assert (each["evidence"][i]["over"], each["evidence"][i]["class"]) == (a, b)
                np.testing.assert_allclose(list(each["evidence"][i]["shares"].values()), shares, rtol=1e-12)


def test_infinite_ratios_are_valid_json(server):
    status, _, body = server.send("POST", "/models/cats/predict", {"rows": [{"color": "white"}, {"color": "black"}]})
    refuse = {"parse_constant": lambda text: pytest.fail(f"{text} is not JSON")}
    white, black = json.loads(body, **refuse)["predictions"]
    assert status == 200
    assert (white["decision"], white["llr"], white["posterior"]["True"]) == (True, {"True": "Infinity"}, 1.0)
    assert float(black["llr"]["True"]) == -math.inf


def test_bulk_answers_are_those_of_the_library(server, model_folder, penguins):
    model = suffice.load_model(model_folder / "birds.safetensors")
    query = "?prior=uniform&outputs=decision,posterior"
    status, _, body = server.send("POST", f"/models/birds/predict{query}", streamed(penguins), ARROW)
    scored = pa.ipc.open_stream(body).read_all()
    assert status == 200
    assert scored.column_names == ["decision", *(f"posterior_{c}" for c in model.classes)]
    assert scored["decision"].to_pylist() == model.predict(penguins, "uniform").tolist()
    posterior = np.column_stack([scored[name].to_numpy() for name in scored.column_names[1:]])
    np.testing.assert_allclose(posterior, model.predict_proba(penguins, "uniform"), rtol=1e-12)

    sink = pa.BufferOutputStream()
    pa.csv.write_csv(penguins, sink)
    status, _, text = server.send("POST", "/models/birds/predict", sink.getvalue().to_pybytes(), CSV)
    scored = pa.csv.read_csv(pa.py_buffer(text))
    assert status == 200
    assert scored.select(penguins.column_names).equals(penguins)  # the columns of the file come first
    assert scored["decision"].to_pylist() == model.predict(penguins).tolist()
    again, _, told = server.send("POST", "/models/birds/predict", text, CSV)  # its results would be replaced
    assert (again, "columns named like the results: 'decision'" in told.decode()) == (422, True)


def test_columns_without_names_are_x0_and_so_on(server, model_folder):
    status, told = server.get("/models/unnamed")
    assert (status, [column["name"] for column in told["columns"]]) == (200, ["x0", "x1", "x2", "x3"])
    status, answer = server.post("/models/unnamed/predict", {"rows": [{"x0": 39.0, "x1": 18.7, "x2": 181, "x3": 3750}]})
    model = suffice.load_model(model_folder / "unnamed.safetensors")
    assert (status, answer["predictions"][0]["decision"]) == (200, model.predict([[39.0, 18.7, 181, 3750]]).item())


GOOD = {
    "island": "Dream",
    "bill_length_mm": 39.1,
    "bill_depth_mm": 18.7,
    "flipper_length_mm": 181,
    "body_mass_g": 3750,
    "sex": None,
    "year": 2007,
}
BAD = {  # the body, the status and the field that is named
    "empty": ("", 400, None),
    "no JSON": ('{"rows": [', 400, None),
    "NaN": ('{"rows": [{"bill_length_mm": NaN}]}', 400, None),
    "infinity": ('{"rows": [{"bill_length_mm": -Infinity}]}', 400, None),
    "not UTF-8": (b'{"rows": [{"island": "\xff"}]}', 400, None),
    "lone surrogate": ('{"rows": [{"island": "\\ud800"}]}', 400, None),
    "deep": ("[" * 100_000, 400, None),
    "no object": ([1], 422, None),
    "no rows": ({}, 422, "rows"),
    "empty rows": ({"rows": []}, 422, "rows"),
    "rows of text": ({"rows": "x"}, 422, "rows"),
    "row of text": ({"rows": [GOOD, "x"]}, 422, "rows[1]"),
    "unknown field": ({"rows": [GOOD], "priors": [1]}, 422, "priors"),
    "unknown column": ({"rows": [{**GOOD, "bil": 3}]}, 422, "rows[0].bil"),
    "lacking column": ({"rows": [{k: v for k, v in GOOD.items() if k != "year"}]}, 422, "rows[0].year"),
    "text for a number": ({"rows": [GOOD, {**GOOD, "body_mass_g": "heavy"}]}, 422, "rows[1].body_mass_g"),
    "Boolean for a number": ({"rows": [{**GOOD, "body_mass_g": True}]}, 422, "rows[0].body_mass_g"),
    "list for a category": ({"rows": [{**GOOD, "island": ["Dream"]}]}, 422, "rows[0].island"),
    "overflow": (json.dumps({"rows": [GOOD]}).replace("3750", "1e999"), None, None),
    "huge integer": ({"rows": [{**GOOD, "body_mass_g": 10**400}]}, 422, "rows[0].body_mass_g"),
    "prior of text": ({"rows": [GOOD], "prior": "flat"}, 422, "prior"),
    "prior of a wrong class": ({"rows": [GOOD], "prior": {"Adelie": 0.5, "Emu": 0.5}}, 422, "prior"),
    "prior that is too short": ({"rows": [GOOD], "prior": [0.5, 0.5]}, 422, "prior"),
    "prior that does not sum to one": ({"rows": [GOOD], "prior": [1, 1, 1]}, 422, "prior"),
    "prior with text": ({"rows": [GOOD], "prior": [1, 0, "x"]}, 422, "prior[2]"),
    "cost of text": ({"rows": [GOOD], "cost": "x"}, 422, "cost"),
    "cost that is no matrix": ({"rows": [GOOD], "cost": [[0, 1], [1, 0]]}, 422, "cost"),
    "cost with text": ({"rows": [GOOD], "cost": [[0, 1, 1], [1, 0, None], [1, 1, 0]]}, 422, "cost[1][2]"),
    "explain of text": ({"rows": [GOOD], "explain": "yes"}, 422, "explain"),
    "explain of one class": ({"rows": [GOOD], "explain": ["Adelie", "Adelie"]}, 422, "explain"),
    "unknown output": ({"rows": [GOOD], "outputs": ["love"]}, 422, "outputs"),
    "too many rows": ({"rows": [GOOD] * 10_001}, 413, "rows"),
    "many columns": ({"rows": [dict.fromkeys(map(str, range(1_000_000)), 1)]}, 422, "rows[0].0"),
    "large": (b" " * (17 << 20), 413, "body"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_requests_are_refused_with_the_field(birds, case):
    body, expected, field = BAD[case]
    status, told = birds.post("/predict", body)
    if expected is None:  # a number beyond the largest double
        assert status in (400, 422)
    else:
        assert (status, told["field"]) == (expected, field)
    assert told["error"]
    assert len(told["error"]) < 600
    assert birds.post("/predict", {"rows": [GOOD]})[0] == 200


def test_parameters_of_bulk_requests_are_those_of_the_command_line(tmp_path):
    suffice.GaussianClassifier("diag").fit([[1.0], [2], [3], [5]], ["female", "male"] * 2).save(tmp_path / "m")
    served = load(tmp_path / "m")
    for query, prior, cost in (
        ({"prior": "male=0.5"}, {"male": 0.5}, None),
        ({"prior": "0.3,0.7"}, [0.3, 0.7], None),
        ({"prior": '{"male": 0.5}'}, {"male": 0.5}, None),
        ({"cost": "miss=10,false-alarm=1"}, None, [[0.0, 10.0], [1.0, 0.0]]),
        ({"prior": "female=.1", "cost": "miss=10"}, {"female": 0.1}, [[0.0, 1.0], [10.0, 0.0]]),
        ({"cost": "[[0, 1], [2, 0]]"}, None, [[0, 1], [2, 0]]),
    ):
        assert asked_of_bulk(query, served) == (prior, cost, None)
    for query, field, message in (
        ({"priors": "uniform"}, "priors", "priors is not known; the parameters are prior, cost, outputs"),
        ({"prior": "male:0.5"}, "prior", "give uniform, numbers such as 0.7,0.3, classes such as a=0.7,b=0.3, or JSON"),
        ({"prior": "mle=0.5"}, "prior", "did you mean 'male'"),
        ({"cost": "miss=many"}, "cost", "or, for two classes, miss=5,false-alarm=1"),
        ({"cost": "mis=5"}, "cost[mis]", '{"miss": 5, "false-alarm": 1}'),
    ):
        with pytest.raises(RefusedError) as refused:
            asked_of_bulk(query, served)
        assert (refused.value.status, refused.value.field) == (422, field)
        assert message in refused.value.message


def test_what_a_file_may_hold_json_may_hold(tmp_path):
    n, rng = 60, np.random.default_rng(0)
    label = np.array(["churn", "stay"])[np.arange(n) % 2]
    rows = {"id": [f"c{i}" for i in range(n)], "none": [None] * n, "late": np.where(rng.random(n) < 0.5, "yes", "no")}
    rows |= {"paid": rng.random(n) < 0.5, "age": rng.normal(size=n), "label": label}
    pa.csv.write_csv(pa.table(rows), tmp_path / "rows.csv")
    with pytest.warns(suffice.errors.ColumnWarning):
        CliRunner().invoke(
            app, ["fit", f"{tmp_path}/rows.csv", "-t", "label", "--model", "mixed", "-o", f"{tmp_path}/m"]
        )
    served = load(tmp_path / "m")

    def answer(prior=None, **row):
        body = json.dumps({"rows": [{"late": "yes", "paid": 1, "age": 1.5} | row], "prior": prior})
        return answers([Job(body.encode(), served)], Limits())[0]

    same = [{}, {"late": True}, {"late": "YES"}, {"late": 1}, {"paid": "true"}, {"age": "1.5"}, {"age": " 1.50 "}]
    same += [{"id": "c7", "none": [], "label": "stay"}]  # columns that the training data had
    found = [answer(**row) for row in same]
    assert found == found[:1] * len(same)
    assert answer({"churn": 0.1}) == answer([0.1, 0.9]) != found[0]
    for row, message in (
        ({"agee": 1}, "the model has no column 'agee'; did you mean 'age'?"),
        ({"late": "maybe"}, "'maybe' is not 'no' or 'yes', true or false, nor null"),
        ({"prior": {"chrn": 0.1}}, "'chrn' is not a class; the classes are 'churn', 'stay'; did you mean 'churn'?"),
    ):
        assert answer(**row).message == message
    assert row_schema(served)["properties"].keys() == {"late", "paid", "age", "id", "none", "label"}
    body = b"late,paid,age\nyes,true,1\nno,false,old\n"
    with pytest.raises(RefusedError, match=r"column 'age' must .* \('old'\), first in row 1, counted from 0; leave"):
        scored_csv(body, served, (None, None, None), Limits())


def compressed(penguins):
    return streamed(penguins, options=pa.ipc.IpcWriteOptions(compression="zstd"))


BAD_BULK = {
    "no Arrow": (lambda table: b"x" * 1000, ARROW, 400),
    "cut off": (lambda table: streamed(table)[:-400], ARROW, 400),
    "compressed": (compressed, ARROW, 415),
    "many rows of nothing": (lambda table: streamed(pa.table({"a": pa.nulls(1 << 24)})), ARROW, 413),
    "other columns": (lambda table: streamed(table.select(["island"])), ARROW, 422),
    "no columns": (lambda table: streamed(pa.table({})), ARROW, 422),
    "words for numbers": (
        lambda table: streamed(table.set_column(2, "bill_length_mm", pa.array(["x"] * len(table)))),
        ARROW,
        422,
    ),
    "a word for a number": (
        lambda table: ",".join(GOOD).encode() + b"\nDream,39.1,18.7,181,3750,,2007\nDream,39.1,18.7,181,x,,2007\n",
        CSV,
        422,
    ),
    "no rows": (lambda table: streamed(table.slice(0, 0)), ARROW, 422),
    "empty": (lambda table: b"", CSV, 422),
    "binary": (lambda table: bytes(range(256)) * 4, CSV, 422),
    "other columns in CSV": (lambda table: b"a,b\n1,2\n", CSV, 422),
    "an unknown type": (lambda table: b"<x/>", "text/xml", 415),
}


@pytest.mark.parametrize("case", BAD_BULK)
def test_bad_bulk_requests_are_refused(birds, penguins, case):
    make, kind, expected = BAD_BULK[case]
    status, _, body = birds.send("POST", "/predict", make(penguins), kind)
    told = json.loads(body)
    assert (status, bool(told["error"])) == (expected, True), told
    assert "/tmp" not in told["error"]
    assert birds.post("/predict", {"rows": [GOOD]})[0] == 200


def test_damaged_streams_never_break_the_server(birds, penguins):
    rng, whole = np.random.default_rng(0), bytearray(streamed(penguins.slice(0, 20)))
    for _ in range(150):
        body = bytearray(whole)
        for at in rng.integers(len(body), size=rng.integers(1, 8)):
            body[at] = rng.integers(256)
        status, _, _ = birds.send("POST", "/predict", bytes(body), ARROW)
        assert status in (200, 400, 413, 415, 422)
    assert birds.get("/health")[1]["status"] == "ok"


@pytest.mark.parametrize(
    "path",
    [
        "/models/..%2f..%2fetc%2fpasswd",
        "/models/../../etc/passwd",
        "/models/%00",
        "/models/birds%2f",
        "/page/..%2fapp.py",
    ],
)
def test_names_are_no_paths(server, path):
    status, _, body = server.send("GET", path)
    assert (status, bool(json.loads(body)["error"])) == (404, True)


def test_several_models_have_no_default(server):
    assert server.get("/model")[0] == 404
    assert server.post("/predict", {"rows": [GOOD]})[0] == 404
    assert server.get("/models")[1]["models"] == ["birds", "cats", "logistic", "sexes", "tickets", "unnamed"]


def test_logistic_models_are_not_explained(server, model_folder, penguins):
    model = suffice.load_model(model_folder / "logistic.safetensors")
    status, told = server.post("/models/logistic/predict", {"rows": [row_of(penguins, 0, model)], "explain": True})
    assert (status, told["field"]) == (422, "explain")


def test_slow_clients_and_disconnects_do_not_matter(model_folder):
    with serving(model_folder / "birds.safetensors", "--timeout", "1", "--max-body", "1") as running:
        endless = socket.create_connection(("127.0.0.1", running.port))
        endless.sendall(UNFINISHED.replace(b"Content-Length: 900", b"Transfer-Encoding: chunked")[:-1])
        with contextlib.suppress(ConnectionError):  # at the latest when the answer was sent
            for _ in range(1000):
                endless.sendall(b"10000\r\n" + b" " * (1 << 16) + b"\r\n")
            pytest.fail("64 MB were read")
        endless.close()
        slow = socket.create_connection(("127.0.0.1", running.port))
        slow.sendall(UNFINISHED)
        gone = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(20)]
        for each in gone:
            each.sendall(UNFINISHED)
            each.close()
        assert running.post("/predict", {"rows": [GOOD]})[0] == 200
        slow.settimeout(20)
        assert b" 408 " in slow.recv(4096)
        slow.close()
        assert running.post("/predict", {"rows": [GOOD]})[0] == 200


def test_a_token_is_asked_for(model_folder):
    with serving(model_folder / "birds.safetensors", token="secret") as running:
        assert running.get("/health")[0] == 200
        assert running.send("GET", "/")[0] == 200
        status, _, page = running.send("GET", "/docs")  # which anybody may read, but not what the columns are
        assert (status, b"island" in page) == (200, False)
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret"}):
            for path in ("/model", "/metrics", "/openapi.json"):
                status, own, _ = running.send("GET", path, headers=headers)
                assert (status, own["www-authenticate"]) == (401, "Bearer")
            assert running.post("/predict", {"rows": [GOOD]}, **headers)[0] == 401
        assert running.post("/predict", {"rows": [GOOD]}, Authorization="Bearer secret")[0] == 200


def test_pages_of_others_cannot_call_the_server_by_their_name(birds):
    status, told = birds.get("/model", Host="evil.example")
    assert (status, told["field"]) == (421, "Host")


def test_more_requests_than_allowed_are_refused(model_folder):
    with serving(model_folder / "birds.safetensors", "--max-requests", "4", "--timeout", "5") as running:
        held = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(4)]
        for each in held:
            each.sendall(UNFINISHED)
        deadline = time.monotonic() + 4
        while (status := running.post("/predict", {"rows": [GOOD]})[0]) != 429 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert status == 429
        for each in held:
            each.close()
        while running.post("/predict", {"rows": [GOOD]})[0] != 200:
            assert time.monotonic() < deadline + 10
            time.sleep(0.05)


def test_shutdown_finishes_what_was_accepted(model_folder, penguins):
    with serving(model_folder / "birds.safetensors") as running:
        connection, many = running.connect(), pa.concat_tables([penguins] * 600)
        body = streamed(many)
        connection.putrequest("POST", "/predict")
        connection.putheader("Content-Type", ARROW)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        connection.send(body)
        time.sleep(0.1)
        running.process.send_signal(signal.SIGTERM)
        answer = connection.getresponse()
        assert answer.status == 200
        assert len(pa.ipc.open_stream(answer.read()).read_all()) == len(many)
        connection.close()
        assert running.process.wait(30) == 0


def test_many_threads_get_their_own_answers(birds, model_folder, penguins):
    """Small requests are scored together: each must have the answer to its own row."""
    model = suffice.load_model(model_folder / "birds.safetensors")
    expected = model.predict_proba(penguins)[:, 1]
    wrong = []

    def send(start):
        connection = birds.connect()
        for i in range(start, len(penguins), 16):
            rows = [row_of(penguins, i, model)]
            body = json.dumps({"rows": rows}) if i % 7 else json.dumps({"rows": [{**rows[0], "year": [1]}]})
            connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            found = json.loads(answer.read())
            if answer.status == 422 and i % 7 == 0:
                continue
            if abs(found["predictions"][0]["posterior"]["Chinstrap"] - expected[i]) > 1e-12:
                wrong.append(i)
        connection.close()

    threads = [threading.Thread(target=send, args=(start,)) for start in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_models_are_reloaded_when_files_change(tmp_path, penguins):
    columns = ["bill_length_mm", "body_mass_g", "species"]
    first = suffice.GaussianClassifier("diag").fit(penguins.select(columns), "species")
    first.save(tmp_path / "m.safetensors")
    with serving(tmp_path) as running:

        def until(condition):
            deadline = time.monotonic() + 20
            while not condition():
                assert time.monotonic() < deadline
                time.sleep(0.05)

        assert [c["name"] for c in running.get("/model")[1]["columns"]] == columns[:2]
        suffice.GaussianClassifier("diag").fit(penguins.select(columns[1:]), "species").save(tmp_path / "m.safetensors")
        until(lambda: len(running.get("/model")[1]["columns"]) == 1)
        (tmp_path / "m.safetensors").write_bytes(b"broken")
        until(lambda: running.get("/health")[1]["status"] == "degraded")
        told = running.get("/health")[1]
        assert set(told["problems"]) == {"m"}
        assert running.post("/predict", {"rows": [{"body_mass_g": 4000}]})[0] == 200  # the model before stays
        first.save(tmp_path / "m.safetensors")
        first.save(tmp_path / "n.safetensors")
        until(lambda: running.get("/models")[1]["models"] == ["m", "n"])
        until(lambda: running.get("/health")[1]["status"] == "ok")
        (tmp_path / "n.safetensors").unlink()
        until(lambda: running.get("/models")[1]["models"] == ["m"])


def test_a_page_describes_all_requests(birds):
    status, headers, page = birds.send("GET", "/docs")
    assert (status, headers["content-type"].partition(";")[0]) == (200, "text/html")
    document = birds.get("/openapi.json")[1]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert f"{method.upper()} {path}<" in page.decode()
            assert operation["summary"] in page.decode()
    for column in GOOD:
        assert column in page.decode()


def test_metrics_count_requests(birds):
    birds.post("/predict", {"rows": [GOOD]})
    birds.send("GET", "/models/nothing")
    status, headers, body = birds.send("GET", "/metrics")
    text = body.decode()
    assert (status, headers["content-type"].partition(";")[0]) == (200, "text/plain")
    assert 'suffice_requests_total{route="/predict",status="200"}' in text
    assert 'suffice_requests_total{route="/models/{name}",status="404"}' in text
    assert "suffice_models 1.0" in text


def test_the_process_has_neither_scikit_learn_nor_pandas(model_folder, penguins):
    script = "import sys\nfrom suffice.cli import main\ntry:\n    main()\nexcept SystemExit:\n    print(*sys.modules)"
    with serving(model_folder / "birds.safetensors", script=script) as running:
        assert (
            running.post("/predict", {"rows": [GOOD], "explain": True, "cost": [[0, 1, 1], [1, 0, 1], [1, 1, 0]]})[0]
            == 200
        )
        assert running.send("POST", "/predict", streamed(penguins), ARROW)[0] == 200
        assert running.send("POST", "/predict", b"island,bill_length_mm\nDream,3\n", CSV)[0] == 422
        running.process.send_signal(signal.SIGTERM)
        loaded = set(running.process.stdout.read().split())
    assert "suffice.server.app" in loaded
    assert not loaded & {"sklearn", "pandas", "polars", "scipy.stats", "scipy.optimize", "matplotlib"}


def test_requests_do_not_wait_for_a_look_at_all_libraries(model_folder):
    script = "import gc\nfrom suffice.cli import main\ntry:\n    main()\nfinally:\n    print(gc.get_freeze_count())"
    with serving(model_folder / "birds.safetensors", script=script) as running:
        assert running.post("/predict", {"rows": [GOOD]})[0] == 200
        running.process.send_signal(signal.SIGTERM)
        assert int(running.process.stdout.read()) > 50_000


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: path / "nothing", "there is no file or folder"),
        (lambda path: path, "has no model to serve"),
        (lambda path: (path / "x.safetensors").write_bytes(b"x") and path / "x.safetensors", "x.safetensors"),
    ],
)
def test_what_is_no_model_is_told_in_one_line(tmp_path, monkeypatch, capsys, make, told):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main sets its own
    monkeypatch.setattr(sys, "argv", ["suffice", "serve", str(make(tmp_path)), "--port", "0"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    printed = capsys.readouterr().err
    assert told in printed
    assert len(printed.splitlines()) == 1
