# The commands for developers. `make help` lists them.

PYTHON  ?= python3
WORKERS ?= 4
SECONDS ?= 600
SEED    ?= 1
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
PYTEST  := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup java chromium demo test test-all chaos fuzz check bench screenshots clean
MAKEFLAGS += --no-print-directory
# Without bytecode, each of the thousands of commands that the tests start would compile itself again.
unexport PYTHONDONTWRITEBYTECODE

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## create .venv and install everything (Python 3.11 or newer; PYTHON=… chooses one)
	@:

# Installs again only when the requirements have changed.
$(STAMP): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "Command '$(PYTHON)' not found. Install Python 3.11 or newer, or choose one: make setup PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "DataFlow needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Choose another: make setup PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' has no module venv. Install it (Debian, Ubuntu: apt-get install python3-venv), then: make setup"; exit 1; }
	@echo "Setting up $(VENV) with $$($(PYTHON) -V) …"
	@test -x $(BIN)/python && $(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[dev,postgres,spark,connect,web]' --constraint constraints.txt
	@$(BIN)/python -m compileall -q src  # where bytecode cannot be written later, every start would compile again
	@$(MAKE) java
	@$(MAKE) chromium
	@touch $@
	@echo "Ready. Next: make demo, or: source $(BIN)/activate"

# Only pipelines need Java. It is installed if that needs neither a password nor a confirmation.
APT_GET := DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=1 -o Acquire::http::Timeout=30
java:
	@found=$$("$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p'); \
	test "$${found:-0}" -ge 17 && exit; \
	echo "Pipelines run on Spark, which needs Java 17 or newer. No such Java was found."; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	  for package in openjdk-17-jre-headless openjdk-21-jre-headless; do \
	    echo "Installing $$package …"; \
	    { $(APT_GET) install -y --no-install-recommends $$package \
	      || { $(APT_GET) update && $(APT_GET) install -y --no-install-recommends $$package; }; } >/dev/null 2>&1 && exit; \
	  done; \
	fi; \
	echo "Everything else works without it. To install it (Debian, Ubuntu): apt-get install openjdk-17-jre-headless"

# Only the tests of the page need a browser.
chromium:
	@command -v chromium >/dev/null 2>&1 && exit; \
	echo "The tests of the page drive Chromium. It was not found."; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	  echo "Installing chromium …"; \
	  { $(APT_GET) install -y --no-install-recommends chromium \
	    || { $(APT_GET) update && $(APT_GET) install -y --no-install-recommends chromium; }; } >/dev/null 2>&1 && exit; \
	fi; \
	echo "All other tests run without it. To install it (Debian): apt-get install chromium"

demo: setup ## 100 chunks, a kill -9, nothing lost; with Java, pipelines too (about a minute)
	@$(BIN)/python examples/demo.py

PARALLEL := -n $(WORKERS) --dist loadscope --no-loadscope-reorder

test: setup ## run the daily tests (WORKERS=0 uses one process, T=… selects some)
	@$(PYTEST) -m "not chaos and not full" $(PARALLEL) $(T)

test-all: setup ## run all tests except chaos
	@$(PYTEST) -m "not chaos" $(PARALLEL) $(T)

chaos: setup ## kill, restart and race for minutes (SECONDS=60 SEED=… for the storms over workers)
	@CHAOS_SECONDS=$(if $(filter command line environment,$(origin SECONDS)),$(SECONDS)) \
	  CHAOS_SEED=$(if $(filter command line environment,$(origin SEED)),$(SEED)) $(PYTEST) -m chaos --timeout 600 $(T)

fuzz: setup ## compare random queries on PostgreSQL and Spark (SECONDS=600 SEED=1)
	@$(BIN)/python -m tests.pipelines.sql.fuzz $(SECONDS) $(SEED)

check: setup ## run what CI runs: lint, format, types, imports, all tests except chaos
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet . || { echo "Not formatted. Run: $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo
	@$(MAKE) test-all

bench: setup ## measure and print JSON lines (ARGS="drain --size 1000" selects a measurement)
	@$(BIN)/python -m benchmarks $(ARGS)

screenshots: setup ## make the images of the docs again, in docs/images
	@DATAFLOW_SCREENSHOTS=1 $(PYTEST) tests/web/test_screenshots.py

clean: ## remove .venv and every cache
	@rm -rf $(VENV) demo-project build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
