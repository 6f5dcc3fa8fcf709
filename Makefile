# Set-up and the everyday commands.  Needs Python 3.11+, pip and make; everything else goes into .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest

.PHONY: demo test test-all lint bench bench-sampler bench-tabulate bench-residuals lock clean

demo: $(VENV)/.runtime
	$(BIN)/hush demo --out .demo

test: $(VENV)/.dev
	$(PYTEST) -n 2 --dist loadscope

test-all: $(VENV)/.dev
	$(PYTEST) -m "slow or not slow"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

bench: bench-sampler bench-tabulate bench-residuals

bench-sampler: $(VENV)/.dev
	$(BIN)/python bench/sampler.py

bench-tabulate: $(VENV)/.dev
	$(BIN)/python bench/tabulate.py

bench-residuals: $(VENV)/.dev
	$(BIN)/python bench/residuals.py

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: requirements.lock pyproject.toml | $(VENV)/bin/pip
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.runtime
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	touch $@

# Resolve the dependencies of pyproject.toml again, for every supported Python and platform.
lock:
	$(BIN)/pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--extra build pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--extra build --extra dev --constraint requirements.lock pyproject.toml -o requirements-dev.lock

clean:
	rm -rf .demo bench/out .pytest_cache .ruff_cache build
