# Needs Python >= 3.10 with pip and venv, nothing else. Another interpreter: make test PYTHON=python3.12
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INPUTS := pyproject.toml constraints.txt
TESTING := pytest pytest-xdist hypothesis pygls
CACHES := .ruff_cache .mypy_cache .pytest_cache .import_linter_cache .hypothesis

.DEFAULT_GOAL := help
.PHONY: help demo test tests lint docs site dist wheel equal fuzz truth truth-report predictors clean

help:
	@echo "make demo   install into $(VENV) with torch, check examples/, and verify one on a simulated accelerator"
	@echo "make test   install with tools and torch, then lint, types, import contracts and tests"
	@echo "make fuzz   generated programs through check, fix and the simulated accelerator: SECONDS=60 [SEED=1]"
	@echo "make lint   ruff, mypy --strict and the import contracts alone"
	@echo "make docs   write docs/rules/ from the rule files, and the pictures of docs/"
	@echo "make site   build the documentation strictly, into build/site/"
	@echo "make dist   build what is uploaded, check it, and try it in an empty environment: [TAG=v0.1.0]"
	@echo "make wheel  a wheel for this machine with the analysis compiled (mypyc), held against Python's: [TREE=...]"
	@echo "make equal  TREE=...: whether both front ends (ast, LibCST) read these trees the same, and find the same in them"
	@echo "make truth  run PACKAGES=\"...\" of benchmarks/truth/workloads on the simulated accelerator, and write their tables"
	@echo "make truth-report   hold these tables against what check says, and write benchmarks/results/truth.md"
	@echo "make predictors   measure on these tables how often each predictor of frequency was right"
	@echo "make clean  remove $(VENV) and caches"

$(BIN)/python:
	@echo "==> virtual environment in $(VENV), from $(PYTHON)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	    || { echo "transferlint needs Python 3.10 or later; name one: make PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -m venv $(VENV) \
	    || { rm -rf $(VENV); echo "no venv could be made; on Debian and Ubuntu: apt install python3-venv"; exit 2; }

$(VENV)/.base: $(INPUTS) | $(BIN)/python
	@echo "==> installing transferlint (editable)"
	@$(PIP) install --quiet --editable . --constraint constraints.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	@echo "==> installing the development tools"
	@$(PIP) install --quiet --editable '.[dev]' --constraint constraints.txt
	@touch $@

# Without torch the tests that need it are skipped, and say so; the next run tries again.
$(VENV)/.torch: $(VENV)/.base
	@echo "==> installing torch (the largest download; with PIP_EXTRA_INDEX_URL of torch's CPU builds a smaller one)"
	@if $(PIP) install --quiet --editable '.[verify]' --constraint constraints.txt; then touch $@; \
	else echo "==> torch could not be installed here: what needs it will be skipped"; fi

# Where no accelerator can be had, simulated or not, verify says why in a line, and exits 2.
demo: $(VENV)/.torch
	@echo "==> transferlint check examples/    (findings are the point of it: exit code 1 is expected)"
	@$(BIN)/transferlint check examples/ || [ $$? -eq 1 ]
	@echo
	@echo "==> transferlint verify --root examples examples/sequences.py --device cuda"
	@$(BIN)/transferlint verify --root examples examples/sequences.py --device cuda || [ $$? -eq 2 ]

lint: $(VENV)/.dev
	@echo "==> ruff"
	@$(BIN)/ruff check .
	@echo "==> mypy --strict"
	@$(BIN)/mypy --strict
	@echo "==> import contracts"
	@$(BIN)/lint-imports

# mypy keeps one processor busy for about a minute, and the tests leave some idle.
test: $(VENV)/.dev $(VENV)/.torch
	@$(MAKE) --no-print-directory --jobs 2 lint tests

tests: $(VENV)/.dev $(VENV)/.torch
	@echo "==> pytest"
	@$(BIN)/python -m compileall -q transferlint rules runtime_check  # once, for all processes that tests start
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist worksteal -q

equal: $(VENV)/.base
	@$(BIN)/python benchmarks/equal.py $(or $(TREE),examples tests/fixtures)
fuzz: $(VENV)/.dev $(VENV)/.torch
	@PYTHONPATH=.:tests $(BIN)/python -m fuzz --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED)) $(if $(ROUND),--round $(ROUND))

docs: $(VENV)/.base
	@echo "==> docs/rules/, from the rule files"
	@$(BIN)/python docs/generate.py
	@echo "==> docs/pictures/, from what is printed"
	@$(BIN)/python docs/pictures.py

site: $(VENV)/.dev
	@echo "==> build/site/"
	@$(BIN)/zensical build --clean --strict

# The wheel is installed as users do it, with what it asks for and nothing else, and checks a file with a mistake.
dist: $(VENV)/.dev
	@if [ -n "$(TAG)" ]; then $(BIN)/python docs/release.py check "$(TAG)"; fi
	@rm -rf dist build/empty
	@$(BIN)/python -m build --quiet
	@$(BIN)/python -m twine check --strict dist/*
	@echo "==> the wheel in an empty environment"
	@$(PYTHON) -m venv build/empty
	@build/empty/bin/python -m pip --disable-pip-version-check install --quiet dist/*.whl
	@build/empty/bin/python -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is not None)'
	@cd build && empty/bin/transferlint check ../examples/train.py --isolated --no-cache --output-format concise > empty/said; \
	    [ $$? -eq 1 ] && grep --quiet ' TL101 ' empty/said
	@ls -l dist

# With mypyc and a C compiler, in some ten minutes. The release makes its own (.github/workflows/release.yml).
wheel: $(VENV)/.base
	@rm -rf build/compiled build/wheels build/empty-compiled
	@$(BIN)/python wheels/compiled.py build/compiled
	@echo "==> compiling"
	@$(PIP) wheel --quiet --no-deps --wheel-dir build/wheels build/compiled
	@$(PYTHON) -m venv build/empty-compiled
	@build/empty-compiled/bin/python -m pip --disable-pip-version-check install --quiet build/wheels/*.whl $(TESTING)
	@cd build && empty-compiled/bin/python -c 'import sys, transferlint.flow.lattice.values as one; sys.exit(one.__file__.endswith(".py"))'
	@echo "==> pytest tests/engine tests/flow"
	@cd build && empty-compiled/bin/pytest -n auto --dist worksteal -q -p no:cacheprovider ../tests/engine ../tests/flow
	@echo "==> the same findings as Python's"
	@$(BIN)/python wheels/same.py $(BIN)/python build/empty-compiled/bin/python examples tests/fixtures benchmarks $(TREE)
	@ls -l build/wheels

# Each package is installed into an environment of its own below TRUTH_ENV (several GB with torch), by Python 3.12.
truth: $(VENV)/.base
	@$(BIN)/python benchmarks/truth/mill.py $(PACKAGES)

truth-report: $(VENV)/.base
	@$(BIN)/python benchmarks/truth/report.py $(PACKAGES)

predictors: $(VENV)/.torch
	@$(BIN)/python benchmarks/truth/predictors.py
	@$(BIN)/python benchmarks/truth/shares.py

clean:
	rm -rf $(VENV) $(CACHES) build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
