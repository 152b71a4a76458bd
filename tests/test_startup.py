"""Commands start fast: they load what they need, and nothing else."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import suffice

NEVER = {"sklearn", "pandas", "polars", "scipy.stats", "scipy.optimize", "matplotlib", "dask", "pyspark", "joblib"}
SCRIPT = """
import json, sys
sys.argv = json.loads(sys.argv[1])
from suffice.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("LOADED", *sys.modules)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("startup")
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=60), "kind": rng.choice(["a", "b"], 60), "label": ["no", "yes"] * 30})
    pyarrow.csv.write_csv(table, where / "rows.csv")
    for name, model in {"mixed": suffice.MixedClassifier(), "gaussian": suffice.GaussianClassifier("tied")}.items():
        model.fit(table if name == "mixed" else table.drop_columns(["kind"]), "label")
        for path in (f"{name}.safetensors", f"copy-{name}.safetensors"):
            model.save(where / path)
    return where


COMMANDS = [
    "predict {model}.safetensors rows.csv",
    "predict {model}.safetensors rows.csv -o {model}.parquet",
    "evaluate {model}.safetensors rows.csv -t label",
    "inspect {model}.safetensors",
    "inspect {model}.safetensors --parameters",
    "merge {model}.safetensors {model}.safetensors -o twice-{model}.safetensors",
    "forget {model}.safetensors rows.csv -t label -o rest-{model}.safetensors",
    "sql {model}.safetensors rows",
    "report {model}.safetensors rows.csv -t label -o {model}.html",
    "sample {model}.safetensors -n 3",
    "impute {model}.safetensors rows.csv",
    "explain {model}.safetensors rows.csv",
    "outliers {model}.safetensors rows.csv",
    "compare rows.csv -t label -m {model}.safetensors -m copy-{model}.safetensors",
]


@pytest.mark.parametrize(
    ("command", "model"), [(each, ("mixed", "gaussian")[i % 2]) for i, each in enumerate(COMMANDS)]
)
def test_a_command_imports_neither_scikit_learn_nor_pandas(folder, command, model):
    argv = json.dumps(["suffice", *command.format(model=model).split()])
    done = subprocess.run([sys.executable, "-c", SCRIPT, argv], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    output, _, loaded = done.stdout.rpartition("LOADED")
    assert output.strip()
    assert sorted(NEVER & set(loaded.split())) == []
