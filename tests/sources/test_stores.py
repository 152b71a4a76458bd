"""Files, models, scores and checkpoints in object stores: a server that speaks S3, and file systems of fsspec."""

import json
import socket
import threading
import urllib.request

import boto3
import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import suffice
from suffice import GaussianClassifier, MixedClassifier, files
from suffice.checkpoint import Checkpoint
from suffice.cli import app
from suffice.errors import CheckpointError, DataError, ModelFileError, SkippedWarning, UnreadableError
from suffice.server.models import models_at
from suffice.sources.files import blocks
from suffice.storage import Location, _secrets, locate, without_credentials
from tests.server.conftest import serving

N = 3000
SECRET = "tell+nobody/of=this"


@pytest.fixture(scope="module")
def address():
    """The address of a server that speaks S3."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"{host}:{port}"
    server.stop()


def tell(address, command, content):
    url, plain = f"http://{address}/moto-api/{command}", {"Content-Type": "text/plain"}
    urllib.request.urlopen(urllib.request.Request(url, content, plain)).close()


class Store:
    """A bucket, and the URLs of its objects."""

    def __init__(self, address, bucket="bucket"):
        self.address, self.bucket = address, bucket
        self.filesystem = pa.fs.S3FileSystem(
            endpoint_override=address, scheme="http", access_key="key", secret_key=SECRET, allow_bucket_creation=True
        )

    def url(self, path, address=None, user=""):
        return f"s3://{user}{self.bucket}/{path}?endpoint_override=http://{address or self.address}&scheme=http"

    def names(self):
        found = self.filesystem.get_file_info(pa.fs.FileSelector(self.bucket, recursive=True))
        return sorted(one.path.partition("/")[2] for one in found if one.is_file)


@pytest.fixture
def store(address, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    tell(address, "reset", b"")
    tell(address, "reset-auth", b"inf")  # requests that need no credentials
    made = Store(address)
    made.filesystem.create_dir(made.bucket)
    return made


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    label = np.arange(N) % 3 % 2
    return pa.table({"x": rng.normal(label), "z": rng.normal(size=N), "label": np.where(label, "b", "a")})


@pytest.fixture
def partitions(store, table):
    """Two partitions, and files that are no tables."""
    for year, part in ((2025, table[:1000]), (2026, table[1000:])):
        pq.write_table(part, f"bucket/d/year={year}/a b.parquet", filesystem=store.filesystem, row_group_size=250)
    for name in ("d/year=2026/_SUCCESS", "d/.hidden/a.parquet", "d/readme.md"):
        with store.filesystem.open_output_stream(f"bucket/{name}") as file:
            file.write(b"no table")
    return store


def fitted(X, **choices):
    return GaussianClassifier("diag", **choices).fit(X, "label")


def agrees(clf, expected, exact=False):
    for name, array in expected.statistics_.to_arrays().items():
        np.testing.assert_allclose(clf.statistics_.to_arrays()[name], array, rtol=0 if exact else 1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "path", ["d", "d/", "d/year=*", "d/**/*.parquet", "d/year=202?/a*.parquet", "d/*/a b.parquet", "d/*/a[ ]b.parquet"]
)
def test_directories_and_globs_with_partitions(partitions, table, path):
    clf = fitted(partitions.url(path))
    expected = fitted(table.append_column("year", pa.array(np.where(np.arange(N) < 1000, 2025, 2026))))
    assert clf.feature_names_in_.tolist() == ["x", "z", "year"]
    agrees(clf, expected)


def test_a_filter_reads_what_it_must(partitions, table):
    rows = files(partitions.url("d"), ["x", "z"], filter=[("year", "==", 2026), ("x", ">", 0)])
    agrees(fitted(rows), fitted(table[1000:].filter(pa.compute.field("x") > 0)))


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.csv.gz", "a.arrow"])
def test_every_format(store, table, name, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 20_000)  # several pieces
    path = f"bucket/{name}"
    if name == "a.parquet":
        pq.write_table(table, path, filesystem=store.filesystem)
    elif name == "a.arrow":
        with store.filesystem.open_output_stream(path) as file:
            pa.feather.write_feather(table, file)
    else:
        with store.filesystem.open_output_stream(path, compression="gzip" if name.endswith("gz") else None) as file:
            pa.csv.write_csv(table, file)
    clf, expected = fitted(store.url(name)), fitted(table)
    agrees(clf, expected)
    new = files([store.url(name)], ["x", "z"])
    np.testing.assert_allclose(clf.llr(new), expected.llr(table.select(["x", "z"])), rtol=1e-9, atol=1e-9)
    assert clf.evaluate(store.url(name), "label").to_dict() == clf.evaluate(table, "label").to_dict()


def test_models_and_scores(partitions, table):
    clf = fitted(table)
    clf.save(partitions.url("models/m.safetensors"))
    again = suffice.load(partitions.url("models/m.safetensors"))
    agrees(again, clf, exact=True)
    again.to_parquet(partitions.url("d"), partitions.url("out/scores.parquet"), outputs=["llr"])
    scores = pq.read_table("bucket/out/scores.parquet", filesystem=partitions.filesystem)
    np.testing.assert_array_equal(scores.columns[-1], clf.llr(table.select(["x", "z"])))
    with pytest.raises(DataError, match=r"s3://bucket/d/year=2025/a b\.parquet is one of the input files"):
        clf.to_parquet(partitions.url("d"), partitions.url("d/year=2025/a b.parquet"))


def test_a_write_that_fails_leaves_no_object(partitions, table):
    clf = fitted(table)
    before = partitions.names()
    with partitions.filesystem.open_output_stream("bucket/d/year=2027/b.parquet") as file:
        file.write(b"damaged")
    rows = files(partitions.url("d"), ["x", "z"], on_error="raise")
    with pytest.raises(UnreadableError, match=r"s3://bucket/d/year=2027/b\.parquet cannot be read"):
        clf.to_parquet(rows, partitions.url("out/scores.parquet"))
    odd = pa.table({"x": [1.0, np.inf], "z": [1.0, 1.0]})
    pq.write_table(odd, "bucket/e.parquet", filesystem=partitions.filesystem)
    with pytest.raises(DataError, match="contains infinity"):  # when the file to write is open
        clf.to_parquet(partitions.url("e.parquet"), partitions.url("out/scores.parquet"))
    assert partitions.names() == sorted([*before, "d/year=2027/b.parquet", "e.parquet"])


def test_an_interrupted_fit_is_resumed(partitions, table):
    class StopError(Exception):
        pass

    def stop(progress):
        if progress.rows >= 1000:
            raise StopError

    url = partitions.url("state.safetensors")
    with pytest.raises(StopError):
        fitted(files(partitions.url("d"), ["x", "z"], checkpoint=url, progress=stop), n_jobs=1)
    seen = []
    clf = fitted(files(partitions.url("d"), ["x", "z"], checkpoint=url, progress=lambda p: seen.append(p.rows)))
    assert seen[0] > 1000
    agrees(clf, fitted(table))


def test_a_run_whose_checkpoint_another_run_takes_over_ends(store):
    url = store.url("taken.safetensors")

    def overtaken():
        with Checkpoint.open(url, {"of": "both"}) as first:
            with Checkpoint.open(url, {"of": "both"}) as second:
                second.advance(None, "a", 1)
            first.advance(None, "b", 1)

    with pytest.raises(CheckpointError, match=r"another run has taken over s3://bucket/taken\.safetensors"):
        overtaken()
    with Checkpoint.open(url, {"of": "both"}) as third:
        assert third.done == {"a": 1}


def test_what_is_missing_is_named(store, table):
    clf = fitted(table)
    elsewhere = Store(store.address, "nobody")
    for url in (store.url("no.parquet"), elsewhere.url("a.parquet")):
        with pytest.raises(FileNotFoundError, match=f"no file or directory with tables '{without_credentials(url)}'"):
            fitted(url)
    with pytest.raises(FileNotFoundError, match=r"no file matches 's3://bucket/d/\*\.csv'"):
        fitted(store.url("d/*.csv"))
    with pytest.raises(FileNotFoundError, match=r"there is no s3://bucket/m\.safetensors"):
        suffice.load(store.url("m.safetensors"))
    with pytest.raises(OSError, match=r"s3://nobody/m\.safetensors cannot be written: there is no bucket 'nobody'"):
        clf.save(elsewhere.url("m.safetensors"))


def test_credentials_stay_secret(partitions, table):
    """A server that looks at credentials refuses wrong ones, and no message repeats any."""
    clf = fitted(table)
    clf.save(partitions.url("m.safetensors"))
    tell(partitions.address, "reset-auth", b"0")
    quoted = urllib.request.quote(SECRET, safe="")
    user = f"key:{quoted}@"
    for work in (
        lambda: fitted(partitions.url("d", user=user)),
        lambda: fitted(files(partitions.url("d", user=user), checkpoint=partitions.url("c", user=user))),
        lambda: suffice.load(partitions.url("m.safetensors", user=user)),
        lambda: clf.save(partitions.url("n.safetensors", user=user)),
        lambda: fitted(partitions.url("d", user=user) + f"&unknown_option={quoted}"),
    ):
        with pytest.raises((DataError, OSError), match=r"s3://bucket/\S+ cannot be (read|written|opened)") as error:
            work()
        for message in (str(error.value), str(error.value.__cause__), repr(locate(partitions.url("d", user=user)))):
            assert SECRET not in message
            assert quoted not in message


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://AKIA:ab/SECRET@bucket/a.csv", "s3://bucket/a.csv"),
        ("s3://AKIA:12/SECRET@bucket/a@b.csv", "s3://b.csv"),
        ("s3://AKIA:SECRET@bucket/a:1@b.csv", "s3://bucket/a:1@b.csv"),
        ("https://SECRET@host/a.csv", "https://host/a.csv"),
        ("https://host:80/a@b.csv?SECRET", "https://host:80/a@b.csv"),
        ("https://host/a.csv?sig=a?SECRET&x=/SECRET", "https://host/a.csv"),
        ("zip://a.csv::https://user:SECRET@host/x.zip", "zip://a.csv::https://host/x.zip"),
        ("simplecache::s3://user:SECRET@bucket/a.csv", "simplecache::s3://bucket/a.csv"),
        ("abfs://account:SECRET@container/a.csv", "abfs://container/a.csv"),
        ("abfs://container@account.net/a.csv", "abfs://container@account.net/a.csv"),
    ],
)
def test_no_message_shows_a_secret_of_a_url(url, shown):
    assert without_credentials(url) == shown
    assert "SECRET" not in repr(files([url], checkpoint=url))
    assert "SECRET" not in Location("", None, "", _secrets(url)).without_secrets(f"cannot open {url}")


def test_an_invalid_list_of_paths_is_not_repeated():
    with pytest.raises(DataError, match="path= must be a path or a list of paths") as error:
        files(["s3://key:SECRET@bucket/a.csv", 1])
    assert "SECRET" not in str(error.value)


def signed(store, name):
    """A URL of http that holds the right to read an object in its query."""
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
    client = boto3.client("s3", endpoint_url=f"http://{store.address}", **keys)
    return client.generate_presigned_url("get_object", Params={"Bucket": store.bucket, "Key": name})


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_signed_urls(store, table, name, tmp_path):
    with store.filesystem.open_output_stream(f"bucket/{name}", compression="gzip" if "gz" in name else None) as file:
        pa.csv.write_csv(table, file)
    url, state, seen = signed(store, name), tmp_path / "state", []
    shown, _, query = url.partition("?")
    agrees(fitted(files(url, checkpoint=state, progress=lambda progress: seen.append(progress.file))), fitted(table))
    assert seen[-1] == shown
    assert query.encode() not in state.read_bytes()
    with pytest.raises(DataError, match=f"2 URLs of {shown} differ only in their query or credentials"):
        fitted([url, f"{url}&other=1"])
    with pytest.raises(FileNotFoundError, match=rf"no .*{shown}0") as error:
        fitted(url.replace("?", "0?"))
    assert query not in str(error.value)


def test_the_name_of_a_model_has_no_credentials(store, table):
    model = store.url("m.safetensors", user="key:SECRET@")
    fitted(table).to_model().save(model)
    with pytest.raises(ModelFileError, match=r"^s3://bucket/m\.safetensors holds a model without an estimator"):
        suffice.load(model)


def test_a_role_that_may_write_but_not_list(store, table):
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
    iam = boto3.client("iam", endpoint_url=f"http://{store.address}", **keys)
    iam.create_user(UserName="writer")
    rules = {"Effect": "Allow", "Action": ["s3:PutObject"], "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [rules]})
    iam.put_user_policy(UserName="writer", PolicyName="writes", PolicyDocument=document)
    key = iam.create_access_key(UserName="writer")["AccessKey"]
    tell(store.address, "reset-auth", b"0")
    user = f"{key['AccessKeyId']}:{urllib.request.quote(key['SecretAccessKey'], safe='')}@"
    fitted(table).save(store.url("m.safetensors", user=user))
    tell(store.address, "reset-auth", b"inf")
    assert store.names() == ["m.safetensors"]


class Cutting:
    """A proxy of a server, which cuts some answers off after so many bytes."""

    def __init__(self, address, after, times):
        self.address, self.after, self.times, self.cut = address, after, times, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def __str__(self):
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def _serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client):
        host, port = self.address.split(":")
        with client, socket.create_connection((host, int(port))) as server:
            threading.Thread(target=self._copy, args=(client, server), daemon=True).start()
            passed = 0
            while block := server.recv(1 << 14):
                passed += len(block)
                if passed > self.after and self.cut < self.times:
                    self.cut += 1
                    client.sendall(block[: len(block) // 2])
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(block)

    @staticmethod
    def _copy(source, target):
        try:
            while block := source.recv(1 << 14):
                target.sendall(block)
        except OSError:
            pass


def test_a_connection_that_drops_once_is_tried_again(partitions, table):
    with Cutting(partitions.address, 15_000, 1) as proxy:
        clf = fitted(files(partitions.url("d", str(proxy)), ["x", "z"]), n_jobs=1)
        assert proxy.cut == 1
    agrees(clf, fitted(table))


def test_a_connection_that_always_drops_is_an_error_that_names_the_file(store, table):
    large = pa.concat_tables([table] * 20)  # its end, where the columns are named, is read in whole
    pq.write_table(large, "bucket/a.parquet", filesystem=store.filesystem, use_dictionary=False)
    with Cutting(store.address, 400_000, 10**6) as proxy:
        patience = pa.fs.AwsStandardS3RetryStrategy(max_attempts=2)
        keys = {"access_key": "key", "secret_key": SECRET}
        system = pa.fs.S3FileSystem(endpoint_override=str(proxy), scheme="http", retry_strategy=patience, **keys)
        with pytest.raises(UnreadableError, match=r"^bucket/a\.parquet, row group 0: AWS Error NETWORK_CONNECTION"):
            fitted(files("bucket/a.parquet", ["x", "z"], filesystem=system), n_jobs=1)
        assert proxy.cut > 1


def test_the_model_of_a_store_is_served(store, table):
    fitted(table).save(store.url("birds.safetensors"))
    url = store.url("birds.safetensors", user=f"key:{urllib.request.quote(SECRET, safe='')}@")
    with serving(url) as running:
        assert running.get("/models")[1]["models"] == ["birds"]
        row = {"x": 1.0, "z": 0.0}
        posterior = running.post("/predict", {"rows": [row]})[1]["predictions"][0]["posterior"]
        assert posterior["b"] == pytest.approx(fitted(table).predict_proba(pa.Table.from_pylist([row]))[0, 1])
    store.filesystem.create_dir("bucket/folder")
    for name, message in (
        ("folder", "^s3://bucket/folder is a folder"),
        ("nothing", "^there is no s3://bucket/nothing$"),
    ):
        with pytest.raises(ModelFileError, match=message):
            models_at(store.url(name, user="key:tell@"))


def test_objects_that_cannot_be_read_are_left_out(partitions, table):
    with partitions.filesystem.open_output_stream("bucket/d/year=2024/a.parquet") as file:
        file.write(b"damaged")
    rows = files(partitions.url("d"), ["x", "z"], on_error="skip")
    with pytest.warns(SkippedWarning, match=r"1 part of the files .*s3://bucket/d/year=2024/a\.parquet"):
        agrees(fitted(rows), fitted(table))


def test_commands_take_urls(partitions, table):
    def run(*args):
        result = CliRunner().invoke(app, args)
        assert result.exit_code == 0, result.output
        return result.output

    data, model, scores = (partitions.url(path) for path in ("d", "m.safetensors", "scores.parquet"))
    shown = "s3://bucket/m.safetensors"
    assert f"Written to {shown}\n" in run("fit", data, "-t", "label", "--model", "gaussian", "-o", model)
    assert "error rate" in run("evaluate", model, data, "-t", "label")
    assert "3000 rows, written to s3://bucket/scores.parquet\n" in run("predict", model, data, "-o", scores)
    assert pq.read_table("bucket/scores.parquet", filesystem=partitions.filesystem).num_rows == N
    assert "GaussianClassifier" in run("inspect", model)
    assert f"Written to {shown}\n" in run("merge", model, model, "-o", model, "--force")
    agrees(suffice.load(model), GaussianClassifier().fit(data, "label").partial_fit(data, "label"))


def test_a_file_system_as_an_argument(partitions, table):
    inside = pa.fs.SubTreeFileSystem("bucket", partitions.filesystem)
    agrees(fitted(files("d/**/*.parquet", ["x", "z"], filesystem=inside)), fitted(table))
    with pytest.raises(DataError, match="filesystem='s3' must be a file system of pyarrow or fsspec"):
        fitted(files("d", filesystem="s3"))


@pytest.fixture
def memory():
    store = fsspec.filesystem("memory")
    yield store
    store.rm("/", recursive=True)


def test_urls_of_fsspec(memory, table):
    with memory.open("/d/a.csv", "wb") as file:
        pa.csv.write_csv(table, file)
    for rows in ("memory://d/a.csv", "memory://d", "memory://d/*.csv", files("/d/*.csv", filesystem=memory)):
        clf = fitted(rows)
        agrees(clf, fitted(table))
    clf.save("memory://models/m.safetensors")
    agrees(suffice.load("memory://models/m.safetensors"), clf, exact=True)
    clf.to_parquet("memory://d", "memory://out/scores.parquet", outputs=["decision"])
    with memory.open("/out/scores.parquet") as file:
        assert pq.read_table(file)["decision"].to_pylist() == clf.predict(table.select(["x", "z"])).tolist()
    state = "memory://state.safetensors"
    agrees(fitted(files("memory://d", checkpoint=state)), clf)
    assert memory.find("/") == ["/d/a.csv", "/models/m.safetensors", "/out/scores.parquet", "/state.safetensors"]


def test_a_file_that_is_named_twice_is_read_once(memory, table):
    with memory.open("/d/a.csv", "wb") as file:
        pa.csv.write_csv(table, file)
    seen = []
    rows = files(["memory://d/", "memory://d/a.csv", "memory:///d"], progress=lambda progress: seen.append(progress))
    agrees(fitted(rows), fitted(table))
    assert seen[-1].rows == N
    assert locate("memory://d/").identity == "memory://d"


def test_urls_of_this_machine(tmp_path, table):
    pq.write_table(table, tmp_path / "a b.parquet")
    clf = MixedClassifier().fit((tmp_path / "a b.parquet").as_uri(), "label")
    clf.save((tmp_path / "m.safetensors").as_uri())
    agrees(suffice.load(tmp_path / "m.safetensors"), clf, exact=True)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "s3://key:secret@bucket/a.csv?endpoint_override=x&no_option=token",
            r"^s3://bucket/a\.csv cannot be opened",
        ),
        ("odd+store://user:secret@host/a.csv", r"the URL scheme odd\+store:// is not known"),
        ("snowflake://user:secret@host/a.csv", "this is the URL of a database, not of a file"),
    ],
)
def test_urls_that_lead_nowhere(url, message):
    with pytest.raises(DataError, match=message) as error:
        fitted(url)
    assert "secret" not in str(error.value)
    assert "token" not in str(error.value)
