# `make demo` and `make test` do all the set-up themselves; nothing is done twice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := $(BIN)/python -m pytest -q -n logical --dist loadfile --no-loadscope-reorder
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup demo test test-slow check docs bench clean

help:  ## Show this help
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

setup: $(READY)  ## Create .venv and install c3clust with pinned dependencies

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "c3clust needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -e '.[dev]'
	touch $@

demo: setup  ## Cluster scikit-learn's digits and compare k-means, CC, C3 and the default
	$(BIN)/c3clust demo

test: setup  ## Run the tests
	$(PYTEST)

test-slow: setup  ## Run the slow tests too
	$(PYTEST) -m ""

check: setup  ## Format, lint, types, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(PYTEST)

docs: setup  ## Build the documentation into site/, with warnings as errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: setup  ## Run the speed benchmarks
	$(BIN)/python -m benchmarks

clean:  ## Remove the environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache dist build site
