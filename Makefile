# All tools live in .venv, which the first target that needs it makes. Asked of the machine:
# Python >= 3.11 with venv, make, and a C compiler. Name another Python by `make PYTHON=... test`.

PYTHON ?=
PYTEST_ARGS ?= -n 2
BENCH_ARGS ?=
FUZZ_ARGS ?=
STRESS_ARGS ?= --seconds 600
RIVALS_ARGS ?=

# Relative, so that the path of the checkout may hold spaces.
VENV := .venv
PY := $(VENV)/bin/python
RUN := $(VENV)/.run-installed
DEV := $(VENV)/.dev-installed
PEERS := .venv-peers
LAYERS := tracer codegen runtime templates

# pip compiles the modules of what it installs, but not of an editable install.
COMPILED := @$(PY) -m compileall -q src $(LAYERS)

unexport PYTHONPATH PYTHONHOME
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# An editable install holds absolute paths: one that was moved or copied is made anew.
ifneq "$(shell cat $(VENV)/.checkout 2>/dev/null)" "$(CURDIR)"
MOVED := moved
endif

.DEFAULT_GOAL := help
.PHONY: help venv demo test check types format golden bench rivals fuzz stress dist clean moved

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

venv: $(DEV) ## make .venv with gradc and all development tools

demo: $(RUN) ## train a small model on digits (installs no development tools)
	$(PY) examples/digits.py

test: check ## all checks, then all tests
	$(PY) -P -m pytest -q $(PYTEST_ARGS)

check: types ## lint, format, types, layering, packaging
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	MYPYPATH=benchmarks $(PY) -m mypy -p rivals -m building
	$(PY) -P -m pytest -q tests/test_layering.py tests/test_packages.py

types: $(DEV) ## lay build/types/gradc: the installed layout as links into the tree, for type checkers
	@rm -rf build/types && mkdir -p build/types/gradc
	@for entry in src/gradc/*.py src/gradc/py.typed src/gradc/*/ $(LAYERS); do \
	  entry=$${entry%/}; \
	  if [ -e "$$entry" ]; then ln -s "../../../$$entry" build/types/gradc/; fi; \
	done

format: $(DEV) ## rewrite the tree as the linter and the formatter want it
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

golden: $(DEV) ## write tests/golden and the generated pages in docs anew; read the difference
	$(PY) -P -m pytest -q --renew-golden

bench: $(RUN) ## run the benchmarks (BENCH_ARGS=... are handed on)
	$(PY) benchmarks/run.py $(BENCH_ARGS)

rivals: $(RUN) ## compare speed with PyTorch, JAX and others (RIVALS_ARGS=... are handed on)
	PYTHONPATH=benchmarks $(PY) -P -m rivals $(RIVALS_ARGS)

fuzz: $(PEERS)/.installed ## compare random programs with PyTorch (FUZZ_ARGS=... are handed on)
	PYTHONPATH=tests $(PEERS)/bin/python -P -m peers $(FUZZ_ARGS)

stress: $(RUN) ## threads and forks for ten minutes (STRESS_ARGS=... are handed on)
	PYTHONPATH=tests $(PY) -P -m stress $(STRESS_ARGS)

dist: $(DEV) ## build sdist and wheel into dist/
	rm -rf dist
	$(PY) -m build

clean: ## remove what was built; .venv stays
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src $(LAYERS) tests examples benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# -- the environment ---------------------------------------------------------------------------

$(PY):
	@chosen=; old=; bare=; \
	for candidate in $(if $(PYTHON),"$(PYTHON)",python3 python3.14 python3.13 python3.12 python3.11); do \
	  "$$candidate" -c '' 2>/dev/null || continue; \
	  "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { old="$$old $$candidate"; continue; }; \
	  "$$candidate" -c 'import ensurepip, venv' 2>/dev/null || { bare="$$bare $$candidate"; continue; }; \
	  chosen=$$candidate; break; \
	done; \
	if [ -n "$$chosen" ]; then echo "making $(VENV) with $$chosen"; \
	  "$$chosen" -m venv --clear $(VENV) || { rm -rf $(VENV); exit 1; }; \
	elif [ -n "$$bare" ]; then \
	  echo "error:$$bare cannot make environments (no venv or ensurepip);" >&2; \
	  echo "on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; \
	else \
	  echo "error: no Python >= 3.11 found$${old:+ (too old:$$old)};" >&2; \
	  echo "install one, or name it: make PYTHON=/path/to/python3 ..." >&2; exit 1; \
	fi

$(RUN): pyproject.toml $(MOVED) | $(PY)
	$(PY) -m pip install --quiet --editable .
	$(COMPILED)
	@printf '%s\n' "$(CURDIR)" > $(VENV)/.checkout
	@touch $@

$(DEV): pyproject.toml $(MOVED) | $(PY)
	$(PY) -m pip install --quiet --editable '.[dev]'
	$(COMPILED)
	@printf '%s\n' "$(CURDIR)" > $(VENV)/.checkout
	@touch $(RUN) $@

# An environment of its own: PyTorch is large, and neither gradc nor its tests need it.
$(PEERS)/.installed: pyproject.toml $(MOVED) | $(PY)
	$(PY) -m venv --clear $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --editable '.[fuzz]'
	@touch $@
