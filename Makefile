# Every target works from a fresh clone with only Python (3.11 or later) and make present: each
# installs what it needs into .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Several processes at once: then each is faster with one thread for its matrix products.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
# The tests run on PyTorch too. A build for the processor alone is enough; name another with
# make TORCH='torch==...' test, or TORCH= to leave it out (its tests then say that they are skipped).
TORCH ?= torch==2.13.0
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
# Debian's package $2 where there is no command $1.
apt = @command -v $1 > /dev/null || { $(AS_ROOT) apt-get update --quiet --quiet && \
	$(AS_ROOT) apt-get install --yes --quiet --quiet --no-install-recommends $2 > /dev/null; }

# Communities and Crime where a copy lies beside the repository; else AVERAGEFAIR_DATA, else UCI.
COMMUNITIES := $(wildcard ../shared/datasets/communities.csv)

.PHONY: demo test test-readme test-browser screenshots experiments test-long docs dist check audit-dependencies bench bench-scale bench-oracles clean

demo: $(VENV)/.core
	$(BIN)/averagefair demo

test: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m pytest -m 'not long and not browser' -n auto --dist worksteal

# What the pages tell a reader to type: the README in a fresh clone of the last commit, with only what it
# installs itself, then the other pages here.
PAGES := $(wildcard docs/*.md docs/*/*.md)
test-readme: $(VENV)/.test $(VENV)/.docs
	$(call apt,git,git)
	$(ONE_THREAD) $(BIN)/python tests/snippets.py --clone README.md $(PAGES)

# The reports in a real browser: Debian's chromium, installed where it is missing.
test-browser: $(VENV)/.browser
	$(call apt,chromium,chromium)
	$(ONE_THREAD) $(BIN)/python -m pytest -m browser -n auto --maxprocesses 4 --dist worksteal

screenshots: $(VENV)/.browser
	$(BIN)/python docs/screenshots.py

# All experiments in full, then docs/experiments.md from their tables.
experiments: $(VENV)/.core
	$(if $(COMMUNITIES),AVERAGEFAIR_DATA=$(COMMUNITIES)) $(BIN)/averagefair reproduce communities
	$(BIN)/averagefair reproduce synthetic --large
	$(BIN)/python docs/experiments.py results

# What is tried at length, then docs/reliability.md from what came of it.
test-long: $(VENV)/.test
	AVERAGEFAIR_RECORD=results/reliability $(BIN)/python -m pytest -m 'not long' tests/test_hostile_names.py
	AVERAGEFAIR_RECORD=results/reliability $(BIN)/python -m pytest -m long
	$(ONE_THREAD) AVERAGEFAIR_RECORD=results/reliability \
		$(BIN)/python -m pytest -m properties --hypothesis-profile=nightly tests
	$(BIN)/python docs/reliability.py results/reliability

# The pages, offline, every warning an error; examples are run on the way, links and pictures looked at
# afterwards. Open docs/_build/html/index.html.
docs: $(VENV)/.docs
	$(ONE_THREAD) $(BIN)/sphinx-build --jobs auto --builder html --fail-on-warning --keep-going docs docs/_build/html
	$(BIN)/python -m pytest --noconftest tests/test_built_pages.py

# Wheel and source archive in dist/: the wheel is built from the archive, installed in
# a clean environment, and tried from there, by a program and by the type checker.
dist: $(VENV)/.check
	rm -rf dist build/clean
	$(BIN)/python -m build --quiet
	$(PYTHON) -m venv build/clean
	build/clean/bin/python -m pip install --quiet "$$(echo dist/*.whl)[all]"
	build/clean/bin/python tests/smoke.py
	cp tests/typing/a_users_program.py build/clean/
	cd build/clean && ../../$(BIN)/mypy --strict --config-file= --python-executable bin/python a_users_program.py
	ls -l dist

check: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --strict tests/typing
	$(BIN)/lint-imports

# Known vulnerabilities of what the library needs, in the releases that pip would install now, by
# the advisories that PyPI serves. Fails too where those cannot be had: nothing is called clean unseen.
audit-dependencies: $(VENV)/.audit
	mkdir -p results
	$(BIN)/python -m pip install --quiet --dry-run --ignore-installed --report results/needed.json '.[cli,dask]'
	$(BIN)/python -c 'import json; found = json.load(open("results/needed.json"))["install"]; \
		print(*sorted("{name}=={version}".format(**one["metadata"]) for one in found \
		if one["metadata"]["name"] != "averagefair"), sep="\n")' > results/needed.txt
	$(BIN)/pip-audit --strict --disable-pip --no-deps --requirement results/needed.txt

# How near to the floor of the machine; the GPU's part where there is one (PyTorch with Triton).
# What they print goes into docs/performance.md.
bench-scale: $(VENV)/.test
	mkdir -p results/bench
	$(BIN)/python benchmarks/scale.py | tee results/bench/scale.txt
	$(BIN)/python benchmarks/weighted_oracle.py 1 | tee results/bench/weighted_oracle.txt
	@if $(BIN)/python -c 'import sys, torch, triton; sys.exit(not torch.cuda.is_available())' 2> /dev/null; \
		then $(BIN)/python benchmarks/gpu.py | tee results/bench/gpu.txt; \
		else echo 'No GPU here: benchmarks/gpu.py was left out.'; fi
	$(BIN)/python docs/performance.py results/bench

# Which oracle: what answers cost, what fits reach and what carries over (35 minutes on two cores);
# some parts alone with PARTS='costs speed'. What it prints goes into docs/oracles.md.
PARTS ?=
bench-oracles: $(VENV)/.test
	$(if $(COMMUNITIES),AVERAGEFAIR_DATA=$(COMMUNITIES)) $(BIN)/python benchmarks/oracles.py $(PARTS) --record results/bench
	$(BIN)/python docs/oracles.py results/bench

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/foundation.py
	$(BIN)/python benchmarks/column_generation.py
	$(BIN)/python benchmarks/audit_scale.py

clean:
	rm -rf $(VENV)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "averagefair needs Python 3.11 or later; name one with: make PYTHON=python3.12 ...")'
	@$(PYTHON) -c 'import ensurepip' 2> /dev/null || $(AS_ROOT) apt-get update --quiet --quiet
	@$(PYTHON) -c 'import ensurepip' 2> /dev/null || \
		$(AS_ROOT) apt-get install --yes --quiet --quiet --no-install-recommends python3-venv > /dev/null
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[cli]'
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(if $(TORCH),$(BIN)/python -m pip install --quiet '$(TORCH)')
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@

$(VENV)/.browser: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[browser]'
	@touch $@

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@

$(VENV)/.audit: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[secure]'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

$(VENV)/.check: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[check]'
	@touch $@
