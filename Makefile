# Everything here sets itself up in .venv: Python 3.11+, git and make are enough.

PYTHON ?= python3
# The build of torch that demo and tests use; regress itself takes any from 2.6 on.
TORCH ?= torch==2.13.0

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup demo test test-gpu lint format bench bench-reference goldens calibration clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

setup: $(READY)  ## Install regress, torch and the tools into .venv

$(READY): pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is older than 3.11; name a newer one: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/pip install --quiet '$(TORCH)'
	$(BIN)/pip install --quiet --editable '.[run]' --group test --group lint
	$(PYTHON) -m venv $(VENV)/schemas
	$(VENV)/schemas/bin/pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)/schemas/bin/pip install --quiet --group schemas
	@touch $@

demo: $(READY)  ## Find a planted slowdown in a real training step, on two CPU ranks
	REGRESS=$(CURDIR)/$(BIN)/regress demo/run.sh demo-out

test: $(READY)  ## Run all tests
	$(BIN)/pytest

test-gpu: $(READY)  ## Run the tests that need a GPU, under 6 minutes; skipped where there is none
	$(BIN)/pytest tests/gpu -m gpu

lint: $(READY)  ## Check style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)  ## Lay the code out as `make lint` wants it
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

goldens: $(READY)  ## Write the texts that report tests compare with anew; read the diff
	$(BIN)/pytest tests/report --update-goldens

bench: $(READY)  ## Measure regress itself, beside the stored reference; shows, and never fails on time
	$(BIN)/pytest benchmarks/harness --benchmark-quiet --quiet

bench-reference: $(READY)  ## The same, and make it the reference; on a quiet machine, read the diff
	$(BIN)/pytest benchmarks/harness --benchmark-quiet --quiet --update-reference

calibration: $(READY)  ## Print every table of docs/method.md; about an hour on two cores
	$(BIN)/python -m tests.stats.simulation
	$(BIN)/python -m tests.stats.launches
	$(BIN)/python -m tests.stats.history

clean:  ## Remove all that was made here
	rm -rf $(VENV) demo-out dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
