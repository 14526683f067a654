# Every target does its own set-up: all it needs is make and Python 3.11 or newer.
# `make PYTHON=python3.13 test` takes another interpreter; `make clean` throws the environment away.

PYTHON ?= python3
WORKERS ?= 2
SCALE ?= 1
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help conform test lint bench faults record matrix wgpu mutants clean

help:
	@echo "make conform   run the cases against the reference: the clause table"
	@echo "make test      every test, with branch coverage"
	@echo "make lint      format, lint, types, import order"
	@echo "make bench     speed and memory beside their peers (installs PyTorch: several GB on Linux)"
	@echo "make faults    every fault of a save and a read, and fuzzing: about 11 minutes (SCALE=0.1 fuzzes less)"
	@echo "make mutants   mutants of the reference, judged by the cases alone: about 20 minutes; build/mutants.md"
	@echo "make matrix    every subject that can run here, and who reads whose files: build/matrix/matrix.html"
	@echo "make wgpu      real Burn on several executing devices (needs cargo and OpenGL; a build of a quarter of an hour or more)"
	@echo "make record    ask real Burn again and write its answers into the cases (needs cargo)"

conform: $(VENV)/.core
	$(BIN)/refimpl conform

test: $(VENV)/.test
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report=term

lint: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --quiet tests/docs tests/typing

bench: $(VENV)/.bench
	$(BIN)/python -m tests.bench

# With atheris the fuzzers are guided by coverage; where it has no wheel, mutations are drawn at random.
faults: $(VENV)/.test
	@$(PIP) install --constraint constraints.txt --editable ".[faults]" || \
		echo "atheris cannot be installed here: mutations are drawn at random"
	$(BIN)/python -m tests.faults --scale $(SCALE)

record: $(VENV)/.test
	$(BIN)/python -m refimpl.conformance.record

mutants: $(VENV)/.test
	@mkdir -p build
	$(BIN)/python -m tests.mutants --workers $(WORKERS) --report build/mutants.md

# Real Burn and burn-store need cargo, PyTorch is there after `make bench`; what is missing is left out.
matrix: $(VENV)/.core
	$(BIN)/python -m tests.matrix

# OpenGL without a graphics card: `apt-get install libegl1 libgl1-mesa-dri` on Debian.
wgpu: $(VENV)/.core
	cargo build --release --manifest-path tests/adapters/burn-wgpu/Cargo.toml
	$(BIN)/refimpl conform --expectations spec/expectations/burn_wgpu.toml \
		--subject "cmd:$(or $(CARGO_TARGET_DIR),tests/adapters/burn-wgpu/target)/release/burn-wgpu-adapter"

clean:
	rm -rf $(VENV)

# A stamp is newer than what it was installed from; an installed extra holds the core too.
$(VENV)/.core: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable ".[test,lint]"
	@touch $(VENV)/.core $@

$(VENV)/.bench: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable ".[bench]"
	@touch $(VENV)/.core $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "refimpl needs Python 3.11 or newer: make PYTHON=python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
