"""Processes of joblib while threads work, and too little memory, in processes of their own: a crash is an exit code."""

import subprocess
import sys


def run(*command):
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", *command], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


JOBLIB = """
import threading
import numpy as np
from joblib import Parallel, delayed
import suffice

rng = np.random.default_rng(0)
y = rng.integers(0, 3, 20_000)
X = rng.normal(size=(20_000, 12)) + y[:, None]
stop = threading.Event()

def work():
    while not stop.wait(0.001):  # or the processes would hardly get a processor to start on
        suffice.GaussianClassifier(n_jobs=2).fit(X, y)

thread = threading.Thread(target=work)
thread.start()
try:
    fits = Parallel(2, backend="loky")(delayed(suffice.GaussianClassifier(n_jobs=2).fit)(X, y) for _ in range(2))
finally:
    stop.set()
    thread.join()
expected = suffice.GaussianClassifier().fit(X, y).predict(X)
assert all((fit.predict(X) == expected).all() for fit in fits)
"""


def test_processes_of_joblib_fit_during_a_fit():
    run("-c", JOBLIB)


MEMORY = """
import resource, sys
import numpy as np
from scipy.sparse import csr_array
import suffice
from suffice import kernels

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 200)
X = rng.normal(size=(200, 3)) + y[:, None]


def zeros(*shape):  # that take no memory
    return np.broadcast_to(0, shape)


calls = {
    "scatter": lambda m: m.fit(zeros(4000, 20_000), np.arange(4000) % 2),
    "sums": lambda m: m.fit(csr_array(([1.0], [0], [0, 1, 1]), shape=(2, 800_000_000)), [0, 1]),
    "scores": lambda m: m.predict_proba(zeros(400_000_000, 3)),
    "classes": lambda m: m.predict(zeros(400_000_000, 3)),
}
models = {name: suffice.GaussianClassifier("diag" if name == "sums" else "full", n_jobs=2).fit(X, y) for name in calls}
expected = {name: model.predict_proba(X) for name, model in models.items()}
parts = np.zeros(1 << 21), np.zeros((1 << 21, 24)), np.zeros((1 << 21, 24))

used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (600 << 20), resource.RLIM_INFINITY))
for name, model in models.items():
    try:
        calls[name](model)
    except MemoryError:
        pass
    else:
        sys.exit(f"{name}: found memory that is not there")
    assert (model.predict_proba(X) == expected[name]).all(), f"{name}: the model has changed"
    assert model.statistics_.weight.sum() == 200
    assert (model.fit(X, y).predict_proba(X) == expected[name]).all()

# Native code that has no room for sums of its own, of as many classes and columns.
if kernels.native:
    try:
        kernels.native._native.diag_moments(np.zeros((1, 24)), np.zeros(1, np.int32), None, *parts)
    except MemoryError:
        pass
    else:
        sys.exit("the native code found memory that is not there")
    assert kernels.active.diag_moments(np.ones((1, 2)), np.zeros(1, np.int32), None, 1)[1].tolist() == [[1.0, 1.0]]
"""


def test_too_little_memory_is_a_memory_error():
    run("-c", MEMORY)
