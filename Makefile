# Everything runs in a virtual environment that make creates. PYTHON sets the interpreter, MNIST the folder of the images
# for make mnist.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
LOWEST := $(VENV)-lowest
MNIST ?= $(wildcard ../shared/mnist)
unexport PYTHONDONTWRITEBYTECODE  # or every process of the tests would compile the package again
SOURCES := pyproject.toml CMakeLists.txt $(wildcard native/*)

.PHONY: demo test test-peers chromium coverage test-lowest bench stress fuzz sanitize mnist lint docs clean

demo: $(VENV)/demo.stamp
	$(BIN)/suffice demo --out build/demo --force
	@echo "Here, suffice is $(abspath $(BIN))/suffice"

test: $(VENV)/dev.stamp chromium
	$(BIN)/python -m pytest -n auto

# scikit-learn's own tests of the classes whose names suffice.sklearn has, with ours in their place; PEERS names modules of
# tests, such as sklearn.tests.test_naive_bayes.
test-peers: $(VENV)/dev.stamp
	$(BIN)/python -m tests.peers -n auto $(PEERS)

# The tests of the page need a browser: that of the system, which is installed on Debian and Ubuntu where we may.
chromium:
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null \
		|| { command -v apt-get > /dev/null && test "$$(id -u)" = 0 && apt-get update --quiet > /dev/null \
			&& apt-get install --yes --quiet chromium > /dev/null; } \
		|| echo "The tests of the page need Chromium. Install it with the package manager of your system."

# Which lines and branches the tests reach; tracing them makes the tests take twice as long.
coverage: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n auto --cov --cov-report=term

# Tests with the oldest versions that pyproject.toml allows, in a separate environment. Two checks of scikit-learn 1.6
# are left out: one subtracts from integers in place, the other runs on models that do not support sparse matrices. So are
# comparisons with results, types and parameters that scikit-learn itself has changed since: of its discriminant analyses,
# and of GaussianNB on float32.
CHANGED := Discriminant and (attributes_and_results or types_of or no_counterpart or grid_search_gives or without_prior)
test-lowest: $(LOWEST)/test.stamp
	$(LOWEST)/bin/python -m pytest -n auto tests/estimators tests/selection/test_search.py tests/selection/test_folds.py \
		tests/selection/test_fold_statistics.py tests/kernels tests/laws tests/tables tests/test_cli.py tests/test_em.py \
		tests/test_sklearn_names.py -k "not check_positive_only_tag_during_fit \
		and not check_sample_weight_equivalence_on_sparse_data and not ($(CHANGED)) \
		and not (GaussianNB and types_of) and not changed_by_hand"

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks

# Interrupts and kills at random moments, random programs for every estimator, and damaged model files; INTERRUPTS,
# KILLS, PROGRAMS and FILES say how many; SECONDS ends `make fuzz` earlier.
INTERRUPTS ?= 10000
PROGRAMS ?= 1000
KILLS ?= 200
FILES ?= 1000000
SECONDS ?= inf
stress: $(VENV)/dev.stamp
	$(BIN)/python -m tests.stress.interrupts --interrupts $(INTERRUPTS)
	$(BIN)/python -m tests.stress.kills --kills $(KILLS)
	SUFFICE_MACHINES=$(PROGRAMS) $(BIN)/python -m pytest -n auto tests/laws/test_learning.py

fuzz: $(VENV)/dev.stamp
	$(BIN)/python -m tests.stress.modelfiles --files $(FILES) --seconds $(SECONDS)

# The native kernels under AddressSanitizer with UndefinedBehaviorSanitizer, and under ThreadSanitizer: builds of their
# own in build/, with gcc on Linux. Compiling takes minutes.
sanitize: $(VENV)/dev.stamp
	$(BIN)/python -m tests.sanitize address
	$(BIN)/python -m tests.sanitize thread

mnist: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.mnist $(if $(MNIST),--path $(MNIST))

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/check_docstrings.py
	@! grep -rnE --exclude-dir=_build "^(<<<<<<<|>>>>>>>) " *.md *.toml Makefile docs src tests benchmarks native  # left by a merge

docs: $(VENV)/docs.stamp
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

clean:
	rm -rf $(VENV) $(LOWEST) build docs/_build

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# The package is installed in editable mode, and again when the native code or the dependencies change.
$(VENV)/demo.stamp: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --editable ".[sql,serve]"
	touch $@

$(VENV)/dev.stamp: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ $(VENV)/demo.stamp

$(VENV)/docs.stamp: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

$(LOWEST)/test.stamp: $(SOURCES)
	$(PYTHON) -m venv $(LOWEST)
	sed -nE '/^dependencies/,/^]/s/^ *"(numpy|scipy|scikit-learn|pyarrow)>=([0-9.]+)".*/\1==\2.*/p' pyproject.toml \
		> $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/constraints.txt --editable ".[lowest]"
	touch $@
