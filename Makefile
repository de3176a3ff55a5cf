# Every target sets itself up: only Python 3.11 or later and make are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A worker per core with a thread each: with two each they wait for one another, and take a fifth longer.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal

.PHONY: demo test test-all check docs format options benchmarks clean

demo: $(VENV)/ready  ## train on built-in letters, score on new alphabets, write runs/demo/report.html
	$(BIN)/pseudoshot demo --out runs/demo

test: $(VENV)/ready check docs  ## what CI runs: style, types, pages, and every test but the slow ones; names the slowest
	$(PYTEST) --durations 60

test-all: $(VENV)/ready check docs  ## the slow tests too
	$(PYTEST) -m ""

check: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/ready  ## the pages, site/docs/index.html; a warning, such as of a broken link, is an error
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -c docs -d site/.doctrees . site

format: $(VENV)/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

options: $(VENV)/ready  ## the typed options of `train` and docs/settings.md, from the settings models
	$(BIN)/python -m pseudoshot.settings > docs/settings.md

benchmarks: $(VENV)/ready  ## this project against the plain way, ratios measured in one run
	for file in benchmarks/*.py; do $(BIN)/python $$file || exit 1; done

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@
