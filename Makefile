# Every target works from a fresh clone with only Python (3.11 or later) and make present: each
# installs what it needs into .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-long check bench clean

demo: $(VENV)/.core
	$(BIN)/python -m averagefair.demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -m 'not long'

test-long: $(VENV)/.test
	$(BIN)/python -m pytest -m long

check: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/foundation.py
	$(BIN)/python benchmarks/column_generation.py
	$(BIN)/python benchmarks/audit_scale.py

clean:
	rm -rf $(VENV)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "averagefair needs Python 3.11 or later; name one with: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@

$(VENV)/.check: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[check]'
	@touch $@
