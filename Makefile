# Everything runs in a virtual environment that make sets up by itself; PYTHON chooses the interpreter,
# MNIST the folder of the images of make mnist.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
MNIST ?= $(wildcard ../shared/mnist)
SOURCES := pyproject.toml CMakeLists.txt $(wildcard native/*)

.PHONY: demo test bench mnist lint docs clean

demo: $(VENV)/demo.stamp
	$(BIN)/suffice demo

test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n auto --cov --cov-report=term

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks

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
	rm -rf $(VENV) build docs/_build

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# The package is installed in place; a change of the native code or of the dependencies installs it again.
$(VENV)/demo.stamp: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --editable ".[sql]"
	touch $@

$(VENV)/dev.stamp: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ $(VENV)/demo.stamp

$(VENV)/docs.stamp: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@
