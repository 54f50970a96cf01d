# Everything is installed into private environments inside the checkout, from PyPI alone:
#   .venv/          what `make lab`, `make demo`, `make test` and `make check` use
#   build/matrix/   one environment for each interpreter of `make test-matrix`
#   build/peer/     real jax, as the peer of `make bench`; nothing else ever sees it
#   build/libraries/  libraries written for jax, without it, for tests/libraries
#   build/suites/   real jax and the same libraries, to compare their own tests with
# Stamp files make a second run start at once; a changed pyproject.toml installs again.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# Options for JupyterLab, such as LAB_ARGS="--no-browser --port 9999".
LAB_ARGS ?=
# The folder that JupyterLab opens on, unless LAB_ARGS names one: it takes no second one.
LAB_ROOT = $(if $(findstring root_dir,$(LAB_ARGS))$(findstring notebook-dir,$(LAB_ARGS)),,--ServerApp.root_dir=demos)
# Options for pytest, such as PYTEST_ARGS="-k vmap".
PYTEST_ARGS ?=
# Test processes. Two suit the smallest machine that the suite must pass on.
JOBS ?= 2

# A run ends where a test ends its process: begun anew, pytest-xdist might wait for it for ever.
IN_PROCESSES := -n $(JOBS) --dist loadgroup --max-worker-restart 0
PYTEST := .venv/bin/pytest $(IN_PROCESSES)

VERSIONS := 3.14 3.13 3.12 3.11
PIP := -m pip install --quiet --disable-pip-version-check

# pyright need not ask a registry whether there is a newer one.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export JUPYTER_PLATFORM_DIRS := 1

# $(call python,3.12) is a working interpreter of that version that can make environments, or
# nothing. A name on PATH may be a shim that fails, so each candidate is tried.
is_python = import ensurepip, sys, venv; assert "%d.%d" % sys.version_info[:2] == "$(1)"
python = $(shell for p in python$(1) python3 python \
  $${PYENV_ROOT:-$$HOME/.pyenv}/versions/$(1).*/bin/python; do \
  $$p -c '$(is_python); print(sys.executable)' 2>/dev/null && break; done)

.PHONY: help lab lab-dev front screenshots journey demo save-demos workshop docs quick test test-all test-matrix check \
  format surface libraries suites bench fuzz scaling dist changelog chromium clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

.venv/bin/python:
	@python='$(firstword $(foreach v,$(VERSIONS),$(call python,$v)))'
	if [ -z "$$python" ]; then
	  echo 'jxkernel needs Python 3.11 to 3.14 with the venv module, and none was found.' >&2
	  exit 1
	fi
	echo "Making .venv with $$python"
	"$$python" -m venv --clear .venv

# An editable installation copies the built lab extension, so a new build installs again.
.venv/.demo: .venv/bin/python pyproject.toml labextension/dist/stamp.json
	$< $(PIP) --editable '.[demo]'
	touch $@

# Run unchanged on top of jxkernel by the tests. Its metadata asks for jax, which must not be there.
PROGRAMS := 'optax>=0.2.5'

.venv/.dev: .venv/bin/python pyproject.toml labextension/dist/stamp.json
	$< $(PIP) --editable '.[demo,dev]'
	$< $(PIP) --no-deps $(PROGRAMS)
	touch $@ .venv/.demo

lab: .venv/.demo ## open JupyterLab on demos/ and print its address
	@# Jupyter refuses to run as root unless told so; in a container there is no other user.
	.venv/bin/jupyter lab $(LAB_ROOT) $$([ "$$(id -u)" != 0 ] || echo --allow-root) $(LAB_ARGS)

# Node and npm are needed from here to `lab-dev`, by those who change the lab extension alone.
labextension/node_modules/.installed: labextension/package-lock.json labextension/package.json
	@command -v npm > /dev/null || { echo 'The lab extension is built with node 20 and npm.' >&2; exit 1; }
	cd labextension && npm ci
	touch node_modules/.installed

BUILDER := ../.venv/bin/jupyter-builder

front: .venv/.dev labextension/node_modules/.installed ## build the lab extension from its sources
	.venv/bin/python -m tools.typescript_protocol
	cd labextension
	rm -rf dist lib *.tsbuildinfo
	node_modules/.bin/tsc
	node_modules/.bin/tsc -p test
	$(BUILDER) build .
	cp install.json dist/jxkernel
	cd .. && .venv/bin/python -m tools.labextension_stamp
	.venv/bin/python -m tools.sbom

lab-dev: .venv/.dev labextension/node_modules/.installed ## the same, built anew as its sources change
	@trap 'kill 0' EXIT
	(cd labextension
	node_modules/.bin/tsc --watch --preserveWatchOutput &
	$(BUILDER) watch --development=True .) &
	.venv/bin/jupyter lab --LabApp.extra_labextensions_path=labextension/dist $(LAB_ROOT) \
	  $$([ "$$(id -u)" != 0 ] || echo --allow-root) $(LAB_ARGS)

screenshots: .venv/.dev chromium ## take the pictures of docs/images/ in light and dark
	.venv/bin/python -m tests.front.screenshots

journey: .venv/.dev chromium ## record docs/journey.md, a first hour, with its pictures
	.venv/bin/python -m tests.front.journey

demo: .venv/.demo ## run demos/*.ipynb headless into build/demos/*.html
	rm -rf build/demos
	.venv/bin/jupyter nbconvert --to html --execute --output-dir build/demos \
	  --ExecutePreprocessor.store_widget_state=False demos/*.ipynb

save-demos: .venv/.dev ## run demos/*.ipynb and save their outputs in them, as text
	.venv/bin/python -m tools.demos

workshop: .venv/.dev ## write the notebooks of demos/workshop/ from their sources, in each language
	.venv/bin/python -m tools.workshop

.venv/.docs: .venv/.dev
	.venv/bin/python $(PIP) --editable '.[docs]'
	touch $@

docs: .venv/.docs ## the book: docs/, the reference and executed notebooks, to build/book/html
	.venv/bin/python -m tools.book

dist: .venv/.dev ## wheel and source distribution: the same bytes twice, tried on every Python found
	.venv/bin/python -m tools.dist $(foreach v,$(VERSIONS),$(call python,$v))

changelog: .venv/.dev ## gather changelog.d/ into CHANGELOG.md, and remove the fragments
	.venv/bin/python $(PIP) --editable '.[release]'
	.venv/bin/towncrier build --yes --version "$$(.venv/bin/hatchling version)"

check: .venv/.dev ## formatting, linting, types, layers and the fast tests about the code itself
	@.venv/bin/ruff format --check --quiet || { .venv/bin/ruff format --diff --quiet; exit 1; }
	.venv/bin/ruff check --quiet
	.venv/bin/pyright --pythonpath .venv/bin/python
	$(PYTEST) tests/meta -m 'not slow'

# What is asked at each edit: the layers that all else stands on, the table of primitives
# in its common dtypes, the compositions that once failed, and one notebook in a real kernel.
QUICK := tests/core tests/tree tests/dtypes tests/events tests/sharding tests/transforms \
  tests/lowering tests/hlo tests/runtime tests/compile tests/higher_order/test_scan.py \
  tests/compose/test_regressions.py tests/meta/test_sources.py tests/meta/test_layers.py \
  tests/table tests/jupyter/test_kernel.py::test_a_cell_sends_one_bundle_and_its_result

quick: .venv/.dev ## in two minutes: changed files, the lower layers, a slice of the rest
	@changed=$$(git diff --name-only --diff-filter=d HEAD -- '*.py'
	  git ls-files --others --exclude-standard -- '*.py')
	.venv/bin/ruff format --check --quiet || { .venv/bin/ruff format --diff --quiet; exit 1; }
	.venv/bin/ruff check --quiet
	package=$$(grep '^jxkernel/' <<< "$$changed" || true)
	if [ -n "$$package" ]; then .venv/bin/pyright --pythonpath .venv/bin/python $$package; fi
	$(PYTEST) -m 'not slow' $(QUICK)

chromium: ## the browser of tests/front, where it is missing and may be installed
	@command -v chromium chromium-browser google-chrome > /dev/null && exit
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium > /dev/null; } \
	    || echo 'Chromium could not be installed: tests/front will be skipped.' >&2
	fi

# Libraries written for JAX, as they are on PyPI, and no jax: the alias stands for it. Not all of
# them have files for the newest interpreter.
build/libraries/.fast: pyproject.toml tests/libraries/fast.txt .venv/.dev
	@rm -rf $(@D)
	$(firstword $(foreach v,3.13 3.12 3.11 3.14,$(call python,$v))) -m venv $(@D)
	jaxlib=$$(.venv/bin/python -c 'import jaxlib.version; print(jaxlib.version.__version__)')
	$(@D)/bin/python $(PIP) --editable . "jaxlib==$$jaxlib"
	$(@D)/bin/python $(PIP) --no-deps --requirement tests/libraries/fast.txt
	touch $@

build/libraries/.all: build/libraries/.fast tests/libraries/all.txt
	$(@D)/bin/python $(PIP) --no-deps --requirement tests/libraries/all.txt
	touch $@

libraries: build/libraries/.all ## programs of libraries over the alias, to docs/libraries.md
	.venv/bin/python -m tools.libraries

# The libraries are those of build/libraries, so both sides run the same files.
site_packages := -c 'import site; print(site.getsitepackages()[0])'

build/suites/.installed: build/libraries/.all tests/libraries/suites.txt
	@rm -rf $(@D)
	build/libraries/bin/python $(PIP) --no-deps --requirement tests/libraries/suites.txt
	build/libraries/bin/python -m venv $(@D)
	jaxlib=$$(build/libraries/bin/python -c 'import jaxlib.version; print(jaxlib.version.__version__)')
	$(@D)/bin/python $(PIP) jax "jaxlib==$$jaxlib"
	build/libraries/bin/python $(site_packages) > "$$($(@D)/bin/python $(site_packages))/libraries.pth"
	touch $@

# Names of libraries; all of the table where it is empty.
SUITES ?=

suites: build/suites/.installed .venv/.dev ## the libraries' own tests over the alias, to docs/suites.md
	.venv/bin/python -m tools.suites $(SUITES)

# What is asked of the code itself leaves time to fetch what the tests need.
.PHONY: check-and-fetch
check-and-fetch: .venv/.dev
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target check chromium build/libraries/.fast

test: check-and-fetch ## everything that a change must pass; .ci/run is exactly this
	$(PYTEST) --ignore=tests/meta -m 'not slow' $(PYTEST_ARGS)

test-all: check chromium .venv/.docs build/libraries/.all ## the same and the slow tests, with nothing compiled before
	JXKERNEL_TEST_CACHE= $(PYTEST) $(PYTEST_ARGS)

# The oldest jaxlib goes with the oldest Python; the others take the newest.
build/matrix/%/.installed: pyproject.toml
	@rm -rf $(@D)
	$(call python,$*) -m venv $(@D)
	$(@D)/bin/python $(PIP) --editable '.[demo,test]' $(if $(filter 3.11,$*),jaxlib==0.10.2)
	$(@D)/bin/python $(PIP) --no-deps $(PROGRAMS)
	touch $@

.PHONY: $(addprefix test-matrix-,$(VERSIONS))
$(addprefix test-matrix-,$(VERSIONS)): test-matrix-%: build/matrix/%/.installed
	build/matrix/$*/bin/python -m pytest -m 'not slow' $(IN_PROCESSES) $(PYTEST_ARGS)

test-matrix: ## the tests on every interpreter found, the oldest jaxlib included
	@for version in $(foreach v,$(VERSIONS),$(if $(call python,$v),$v)); do
	  echo "== Python $$version"
	  $(MAKE) --no-print-directory "test-matrix-$$version"
	done

format: .venv/.dev ## write what `make check` asks of formatting and import order
	.venv/bin/ruff check --fix-only --quiet
	.venv/bin/ruff format --quiet

surface: .venv/.dev ## record today's public names as the intended ones, and write the pages of the API and of mistakes
	.venv/bin/python -m tools.public_surface
	.venv/bin/python -m tools.mistakes

build/peer/.installed: .venv/.demo
	@rm -rf $(@D)
	.venv/bin/python -m venv $(@D)
	jaxlib=$$(.venv/bin/python -c 'import jaxlib.version; print(jaxlib.version.__version__)')
	$(@D)/bin/python $(PIP) jax "jaxlib==$$jaxlib"
	touch $@

bench: build/peer/.installed ## ratios to real jax, written to docs/benchmarks.md
	.venv/bin/python -m benchmarks --peer build/peer/bin/python

# What random programs follow from, and for how many minutes they are run.
SEED ?= 1
MINUTES ?= 5

fuzz: build/peer/.installed .venv/.dev ## random programs against real jax, to docs/correctness.md
	.venv/bin/python -m tests.campaign --peer build/peer/bin/python --seed $(SEED) --minutes $(MINUTES)

scaling: .venv/.demo ## programs for 1 to 512 devices and groups of 2 to 16 processes, to docs/scaling.md
	.venv/bin/python -m benchmarks.scaling
	.venv/bin/python -m benchmarks.groups

clean: ## remove the environments and all that was built
	rm -rf .venv build
