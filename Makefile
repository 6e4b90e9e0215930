# Everything a checkout needs: each target sets up what it uses, once.
# Needs Python 3.11 or newer, make and a package index; uses uv to install when there is one.

PYTHON ?= python3
UV ?= uv
ARGS ?=
# processes that run tests: a number, or auto for one per core. One more than cores uses the time in which tests wait.
JOBS ?= $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")

# directory with the real etcd, kube-apiserver and kube-scheduler, to be measured beside
REAL ?=
BESIDE = $(if $(REAL),--real $(REAL))

VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python tools/install.py --uv $(UV)
RUNTIME := $(VENV)/.installed-runtime
DEVELOPMENT := $(VENV)/.installed-development
RELEASE := $(VENV)/.installed-release
# who has the development environment has the other, too: nothing is installed twice
INSTALLED := $(if $(wildcard $(DEVELOPMENT)),$(DEVELOPMENT),$(RUNTIME))
# A file's tests stay in one process, which makes their shared fixtures once. In the order of the folders long files
# come first, so no process ends long before the others.
PYTEST = $(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder

# Tests start hundreds of processes: each would compile again what it imports.
quick test test-all proof lint: export PYTHONDONTWRITEBYTECODE :=

.PHONY: help up ui quick test test-all proof perturb conformance-long lint fmt bench scale day stalls fuzz chaos chaos-cluster soak atlas oracle claims mutants explorations judge lock clean kinds types dist wheels
.DELETE_ON_ERROR:

help:
	@echo "make up        start a control plane in the foreground; flags in ARGS='--nodes 3'"
	@echo "make quick     run the quick tests: less than a minute, for the daily loop"
	@echo "make test      run the tests, one process more than cores (JOBS=N); a choice of them in ARGS='tests/unit/cli'"
	@echo "make test-all  run the slow tests, too: whole explorations, every kubectl; CI does"
	@echo "make proof     perturb every operator with a known bug, and its fixed version; find known races: a quarter of an hour"
	@echo "make perturb   perturb mockkube's own components, in all workloads or ARGS='conformance/perturb/rollout': ten minutes each"
	@echo "make conformance-long  run the claims that speak of thousands of nodes: minutes"
	@echo "make lint      check style, types and which package imports which"
	@echo "make fmt       format and fix what can be fixed"
	@echo "make bench     measure requests, scheduling and many nodes; REAL=DIR also the real programs in DIR"
	@echo "make scale     run up to 100,000 pods on 10,000 nodes, and print memory and time: half an hour"
	@echo "make day       simulate a day of 1,000 nodes in virtual time, twice: figures, and equal traces (ARGS='--hours 1')"
	@echo "make stalls    send hostile requests: how long do they hold the event loop? (ARGS='--search 500' looks for more)"
	@echo "make fuzz      send a million random requests: no 500, no hang; fewer with ARGS='--requests 100000'"
	@echo "make chaos     kill a cluster at work 1,000 times per engine, disks, clocks and connections fail: nothing is lost; ARGS='--rounds 100'"
	@echo "make chaos-cluster  kill each process of a replicated control plane while 10,000 pods are created; ARGS='--pods 300'"
	@echo "make soak      work for an hour: memory, tasks, handles and the store do not grow; ARGS='--minutes 10'"
	@echo "make atlas     turn every feature gate on for some components only, and renew docs/atlas/ (ARGS='--workers 1')"
	@echo "make oracle    compare with recorded answers of the real one, where they are at hand"
	@echo "make claims    run conformance/, renew docs/conformance.md and the numbers in README.md"
	@echo "make mutants   break the code in 90 places, one at a time: which scenarios and tests notice? (ARGS='--first')"
	@echo "make explorations  try all orders of all plans in conformance/plans: an hour or two"
	@echo "make judge     compare mockkube explore with an independent judge on 300 generated plans"
	@echo "make kinds     renew the index of kinds from their records in mockkube/api/kinds"
	@echo "make types     renew the types of Kubernetes releases in mockkube/api/data/published"
	@echo "make ui        build the page of a cluster from ui/ into mockkube/ui/assets (needs node)"
	@echo "make dist      build dist/: sdist and wheel, checked in a new environment with README's commands"
	@echo "make wheels    ask the package index for wheels of all packages, platforms and Pythons"
	@echo "make lock      renew the lock files (needs uv)"
	@echo "make clean     remove what make has made, .venv included"

up: $(INSTALLED)
	@exec $(BIN)/mockkube up $(ARGS)

quick: $(DEVELOPMENT)
	$(PYTEST) -m "not slow and not heavy" $(or $(ARGS),tests/unit tests/architecture)

test: $(DEVELOPMENT)
	$(PYTEST) -m "not slow" --durations 10 $(ARGS)

test-all: $(DEVELOPMENT)
	$(PYTEST) -m "not long" --durations 25 $(ARGS)

proof: $(DEVELOPMENT)
	$(PYTEST) -m long $(or $(ARGS),tests/perturb tests/interleavings)

perturb: $(INSTALLED)
	@failed=0; for workload in $(or $(ARGS),conformance/perturb/*); do \
		echo "$$workload"; \
		PATH="$(abspath $(BIN)):$$PATH" $(BIN)/mockkube perturb --workload $$workload --time 1800 --quiet || failed=1; \
	done; exit $$failed

conformance-long: $(INSTALLED)
	$(BIN)/mockkube test conformance-long --timeout 900 $(ARGS)

lint: $(DEVELOPMENT)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(DEVELOPMENT)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(DEVELOPMENT)
	$(BIN)/python tests/bench/run.py $(BESIDE) $(ARGS)
	$(BIN)/python tests/bench/scheduling.py --workload Basic --workload Preemption --api --rounds 3 $(BESIDE)
	$(BIN)/python tests/bench/scale.py 1000 2000
	@echo "all orders of KEP-5471:"
	@bash -c 'time $(BIN)/mockkube explore conformance/plans/kep-5471.yaml --quiet >/dev/null || test $$? -eq 1'

scale: $(DEVELOPMENT)
	$(BIN)/python tests/bench/memory.py --alone --nodes 10000 1000 10000 100000
	$(BIN)/python tests/bench/memory.py --nodes 10000 1000 10000 100000
	$(BIN)/python tests/bench/memory.py --virtual --nodes 10000 10000 100000

day: $(DEVELOPMENT)
	$(BIN)/python tests/bench/day.py $(ARGS)

stalls: $(DEVELOPMENT)
	$(BIN)/python tests/stalls/run.py $(ARGS)

fuzz: $(DEVELOPMENT)
	$(BIN)/python tests/fuzz/run.py $(ARGS)

chaos: $(DEVELOPMENT)
	$(BIN)/python tests/chaos/run.py $(ARGS)

chaos-cluster: $(DEVELOPMENT)
	$(BIN)/python tests/chaos/replicated.py $(ARGS)

soak: $(DEVELOPMENT)
	$(BIN)/python tests/soak/run.py $(ARGS)

oracle: $(DEVELOPMENT)
	.ci/oracle $(ARGS)

atlas: $(DEVELOPMENT)
	$(BIN)/mockkube atlas --all --out docs/atlas $(ARGS)

claims: $(DEVELOPMENT)
	$(BIN)/mockkube test conformance --summary docs/conformance.md
	$(BIN)/python tools/count_claims.py

mutants: $(DEVELOPMENT)
	$(BIN)/python tests/mutants/run.py $(ARGS)

explorations: $(DEVELOPMENT)
	$(BIN)/python -m pytest -q tests/scenario/test_explorations.py -m long $(ARGS)

judge: $(DEVELOPMENT)
	MOCKKUBE_EXPLORE_PLANS=300 $(BIN)/python -m pytest -q tests/scenario/test_explore_judge.py -n $(JOBS) $(ARGS)

kinds: $(DEVELOPMENT)
	$(BIN)/python -m mockkube.api.kinds.every_kind > kinds.json.new
	mv kinds.json.new mockkube/api/data/kinds.json

types: $(DEVELOPMENT)
	$(BIN)/python tools/published_types.py

ui: ui/node_modules/.package-lock.json
	cd ui && npm run --silent check && npm run --silent build

ui/node_modules/.package-lock.json: ui/package-lock.json
	@command -v npm >/dev/null || { echo "make ui needs node and npm: install Node.js 20 or newer" >&2; exit 1; }
	cd ui && npm ci --no-audit --no-fund

dist: $(RELEASE)
	$(BIN)/python tools/dist.py --uv $(UV)

wheels: $(DEVELOPMENT)
	$(BIN)/python tools/check_wheels.py $(ARGS)

lock:
	@command -v $(UV) >/dev/null || { echo "make lock needs uv: install it, or give one with make UV=/path/to/uv" >&2; exit 1; }
	$(UV) pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --upgrade \
	  --extra postgresql --output-file requirements.lock pyproject.toml
	$(UV) pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --upgrade \
	  --extra postgresql --group dev --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml
	$(UV) pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --upgrade \
	  --group release --constraint requirements-dev.lock --output-file requirements-release.lock
	sed -i.old "/sys_platform == 'win32'/d; /sys_platform == 'emscripten'/d" requirements*.lock
	rm -f requirements*.lock.old

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find mockkube storage cel tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUNTIME): requirements.lock pyproject.toml | $(BIN)/python
	@$(INSTALL) requirements.lock
	@touch $@

$(DEVELOPMENT): requirements-dev.lock pyproject.toml | $(BIN)/python
	@$(INSTALL) requirements-dev.lock
	@touch $@

$(RELEASE): requirements-release.lock $(DEVELOPMENT)
	@$(INSTALL) requirements-release.lock
	@touch $@

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "there is no '$(PYTHON)': mockkube needs Python 3.11 or newer; give one with make PYTHON=/path/to/python3" >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "'$(PYTHON)' is $$($(PYTHON) --version 2>&1), and mockkube needs Python 3.11 or newer:" \
	    "give one with make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Creating $(VENV) with $$($(PYTHON) --version)" >&2
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "'$(PYTHON) -m venv' failed: install the venv module of that Python (Debian: python3-venv)" >&2; exit 1; }
