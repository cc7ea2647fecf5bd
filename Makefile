# Two commands do everything on a machine that has Python 3.11 and make: `make demo` and `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   ?= .venv
BIN    := $(VENV)/bin
# No telemetry, and never a hidden Prefect server (docs/how-to/prefect.md).
export DO_NOT_TRACK := 1
export PREFECT_SERVER_ANALYTICS_ENABLED := false
# Whoever has switched compiled modules off pays for them in every process that a test starts: a minute and more.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup demo test lint types docs words release unit audit faults attack weeks memory papers sides kernels clean
help:            ## this list
	@grep -E '^[a-z]+: *.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

setup: $(VENV)/.ready  ## create .venv with every pinned dependency
$(VENV)/.ready: pyproject.toml constraints.txt
	@echo "Installing about 250 packages into $(VENV): one to five minutes, and nothing is printed meanwhile."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: setup      ## the whole way on bundled images, with a kill in the middle; leaves demo/report.html
	$(BIN)/cccount demo --directory demo

# Types, site and audit run beside the tests, which wait for servers and browsers a third of their time.
test: lint       ## everything that CI runs
	$(MAKE) --no-print-directory --jobs 2 types unit docs audit
lint: setup      ## ruff: rules and format; the order of imports between rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
types: setup     ## mypy, strict, over code and tests
	$(BIN)/mypy
# Two processes more than cores: tests wait for servers and browsers a third of their time. In the given order: xdist would by itself leave
# the files with the fewest tests for the end, and some of those take longest; here the short doctests come last.
AT_ONCE ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
unit: setup      ## every test, a file at a time in each process
	$(BIN)/pytest -n $(AT_ONCE) --dist loadfile --no-loadscope-reorder --durations 30

docs: setup      ## the site, from docs/ and the code, into site/; a dead link, a missing page or an address outside it is an error
	PYTHONPATH=. NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python -m handbook.offline site
release: setup   ## wheel and sdist in dist/, tried in an empty environment, with a list of all parts (sbom.cdx.json)
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m handbook.release dist
words:           ## every message, help text and word of the page in one file, to be read: words.txt
	$(BIN)/python -m tests.words > words.txt

audit: setup     ## known vulnerabilities of the pinned versions, where an advisory database can be reached
	infra/audit $(BIN)
faults: setup    ## the long form of the fault suite: 200 faults, about half an hour; writes docs/evidence/faults.md
	$(BIN)/python -m tests.faults --faults 200
attack: setup    ## the long form of the attacks on the review server, about five minutes alone on the machine; writes docs/evidence/attack.md
	$(BIN)/python -m tests.attack

weeks: setup     ## the long form of the campaign of two weeks in small: three people at their own pace, about ten minutes
	CCCOUNT_TWO_WEEKS=long $(BIN)/pytest tests/review/test_two_weeks.py

memory: setup    ## what every command takes, measured, beside what it says before it starts; about two minutes, alone on the machine
	CCCOUNT_TAKEN=long $(BIN)/pytest -n 0 tests/cccount_dist/test_taken.py

papers: setup    ## every command of docs/evidence/papers.md, then every benchmark of it: DATA=folder, FULL=1 for the long form; again: goes on
	CCCOUNT_PAPERS=1 CCCOUNT_PAPERS_DATA=$(abspath $(or $(DATA),data)) $(BIN)/pytest -n 0 tests/flows/test_paper_commands.py
	$(BIN)/python -m benchmarks.papers --data $(or $(DATA),data) $(if $(FULL),--full)

sides: setup     ## how often the number of animals behind their sides is in its interval: 600 made collections, about two minutes
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.sides 100

kernels:         ## forget compiled kernels: numba does not notice when a file that a kernel imports has changed
	find storage cccount_dist flows tests benchmarks -name '*.nb[ic]' -delete
clean: kernels   ## remove what was made here
	rm -rf $(VENV) demo site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
