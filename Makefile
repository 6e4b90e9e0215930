# Everything a checkout needs: each target sets up what it uses, once.
# Needs Python 3.11 or newer, make and a package index.

PYTHON ?= python3
UV ?= uv
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
RUNTIME := $(VENV)/.installed-runtime
DEVELOPMENT := $(VENV)/.installed-development
# a start is a quarter of a second faster, also where PYTHONDONTWRITEBYTECODE is set
COMPILE := $(BIN)/python -m compileall -q mockkube storage cel
# who has the development environment has the other, too: nothing is installed twice
INSTALLED := $(if $(wildcard $(DEVELOPMENT)),$(DEVELOPMENT),$(RUNTIME))

.PHONY: help up test lint fmt bench fuzz oracle lock clean
.DELETE_ON_ERROR:

help:
	@echo "make up      start a control plane in the foreground; flags in ARGS='--nodes 3'"
	@echo "make test    run the tests; a choice of them in ARGS='tests/unit/cli'"
	@echo "make lint    check style, types and which room imports which"
	@echo "make fmt     format and mend what can be mended"
	@echo "make bench   measure requests, scheduling and many nodes, and print the figures"
	@echo "make fuzz    send a million random requests: no 500, no hang; fewer with ARGS='--requests 100000'"
	@echo "make oracle  compare with recorded answers of the real one, where they are at hand"
	@echo "make lock    renew the lock files (needs uv)"
	@echo "make clean   remove what make has made, .venv included"

up: $(INSTALLED)
	@exec $(BIN)/mockkube up $(ARGS)

test: $(DEVELOPMENT)
	$(BIN)/python -m pytest $(ARGS)

lint: $(DEVELOPMENT)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(DEVELOPMENT)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(DEVELOPMENT)
	$(BIN)/python tests/bench/run.py $(ARGS)
	$(BIN)/python tests/bench/scheduling.py --nodes 1000
	$(BIN)/python tests/bench/scale.py 1000 2000

fuzz: $(DEVELOPMENT)
	$(BIN)/python tests/fuzz/run.py $(ARGS)

oracle: $(DEVELOPMENT)
	.ci/oracle $(ARGS)

lock:
	@command -v $(UV) >/dev/null || { echo "make lock needs uv: install it, or give one with make UV=/path/to/uv" >&2; exit 1; }
	$(UV) pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --upgrade \
	  --extra postgresql --output-file requirements.lock pyproject.toml
	$(UV) pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --upgrade \
	  --extra postgresql --group dev --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find mockkube storage cel tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUNTIME): requirements.lock pyproject.toml | $(BIN)/python
	$(PIP) install --no-deps -r requirements.lock
	$(PIP) install --no-deps --editable .
	$(COMPILE)
	@touch $@

$(DEVELOPMENT): requirements-dev.lock pyproject.toml | $(BIN)/python
	$(PIP) install --no-deps -r requirements-dev.lock
	$(PIP) install --no-deps --editable .
	$(COMPILE)
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "mockkube needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || echo missing):" \
	    "give one with make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "'$(PYTHON) -m venv' failed: install the venv module of that Python (Debian: python3-venv)" >&2; exit 1; }
