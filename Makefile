# The one front door: people and continuous integration call the same targets. `make` alone lists them.
#
# Promises: `make demo` and `make test` work on a fresh clone with Python >= 3.10, cargo and Java 17; what is set up once is
# remembered by stamp files in .venv, so a warm run installs nothing; an outer CARGO_TARGET_DIR or PYTHON is honoured.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN := .venv/Scripts
else
PYTHON ?= python3
BIN := .venv/bin
endif
CARGO ?= cargo
PY := $(BIN)/python
export PYTHON CARGO
# maturin finds the environment by this name, also when another one is active in the calling shell.
export VIRTUAL_ENV := $(CURDIR)/.venv

# Arguments for the runners: make test-rust CARGO_TEST="-p tailrace-trace", make test-python PYTEST="-k readme",
# make bench BENCH="--only churn".
# The benchmarks have no tests; leaving them out keeps the features of shared dependencies, and so their build, as the extension has them.
CARGO_TEST ?= --workspace --exclude tailrace-benches
PYTEST ?= -n auto
MINUTES ?= 10
BENCH ?=
# The random tests append here how many steps they took; at the end of `make test` the sum is shown and judged.
STEPS := $(CURDIR)/.random-steps
export TAILRACE_STEPS TAILRACE_STEPS_AT_LEAST

RUST_SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -name '*.rs' -o -name Cargo.toml)
BUILD_REQUIREMENTS := requirements/build.txt requirements/constraints.txt
PYTHON_TREES := $(wildcard python tests/python examples benches)
PIP_INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check -c requirements/constraints.txt

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: require .venv/extension-dev ## set up everything, build, and run a small live pipeline
	$(PY) -m tailrace demo

.PHONY: test
test: require ## set up everything and run all tests, Rust and Python
	@rm -f $(STEPS)
	$(MAKE) --no-print-directory test-rust TAILRACE_STEPS=$(STEPS)
	$(MAKE) --no-print-directory test-python TAILRACE_STEPS=$(STEPS) TAILRACE_STEPS_AT_LEAST=100000

.PHONY: test-rust
test-rust: | require ## the Rust tests alone (laws, oracles, tidy)
	$(CARGO) test $(CARGO_TEST)

.PHONY: test-python
test-python: .venv/dev .venv/extension-dev ## the Python tests alone (oracles against DuckDB, types, documents, the bench harness)
	$(PY) -m pytest tests/python benches/tests $(PYTEST)

.PHONY: lint
lint: .venv/dev .venv/extension-dev ## formatting, clippy, ruff, mypy, pyright, stubtest; changes nothing
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(PY) -m ruff check $(PYTHON_TREES)
	$(PY) -m ruff format --check $(PYTHON_TREES)
	$(PY) -m mypy
	$(PY) -m pyright
	$(PY) -m mypy.stubtest tailrace._tailrace

.PHONY: format
format: .venv/dev ## rewrite Rust and Python sources in the house format
	$(CARGO) fmt --all
	$(PY) -m ruff check --fix $(PYTHON_TREES)
	$(PY) -m ruff format $(PYTHON_TREES)

.PHONY: bench
bench: .venv/peers .venv/extension-release ## speed and memory: criterion, then the Python harness (release build)
	$(CARGO) bench --workspace
	cd benches && $(CURDIR)/$(PY) -m harness $(BENCH)

.PHONY: soak
soak: .venv/dev .venv/extension-dev ## random programs and changes for MINUTES=10, new seeds in every round
	PYTHON=$(PY) MINUTES=$(MINUTES) scripts/soak

.PHONY: doc
doc: ## the Rust reference, with broken links as errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

.PHONY: wheel
wheel: require .venv/build ## a release wheel in dist/ for Python 3.10 and newer
	$(PY) -m maturin build --release --out dist

.PHONY: clean
clean: ## remove the virtual environment, the built extension and Rust build output
	$(CARGO) clean
	rm -rf .venv dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .random-steps
	rm -f python/tailrace/*.so python/tailrace/*.pyd

.PHONY: require
require:
	@scripts/require python cargo java

# Stamps. Each names a state of the environment; its prerequisites are what would make that state stale.

.venv/created: | require
	$(PYTHON) -m venv --clear .venv
	@touch $@

.venv/build: .venv/created $(BUILD_REQUIREMENTS)
	$(PIP_INSTALL) -r requirements/build.txt
	@touch $@

.venv/dev: .venv/build requirements/dev.txt
	$(PIP_INSTALL) -r requirements/dev.txt
	@touch $@

.venv/peers: .venv/dev requirements/peers.txt
	$(PIP_INSTALL) -r requirements/peers.txt
	@touch $@

# Both builds land in python/tailrace, so that making the one forgets the other.
.venv/extension-dev: .venv/build $(RUST_SOURCES)
	PIP_QUIET=1 $(PY) -m maturin develop
	@rm -f .venv/extension-release
	@touch $@

.venv/extension-release: .venv/build $(RUST_SOURCES)
	PIP_QUIET=1 $(PY) -m maturin develop --release
	@rm -f .venv/extension-dev
	@touch $@
