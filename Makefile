# Two commands do everything: `make run` and `make test`. Both set up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: run test test-thorough lint format docs gallery clean

run: $(STAMP)
	$(BIN)/dynamis demo

# three workers for two cores, as one often waits for a browser or a compiler; threads of BLAS would
# only be in the way; what a file of tests shares is made once, and tests/conftest.py says which
# files begin; examples, commands and workers import the same files, so their bytecode is kept
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

test: $(STAMP)
	$(PYTEST) -m "not thorough" $(PYTEST_ARGS)

# what `make test` leaves out: the same formulas on larger robots, the same code in more combinations
test-thorough: $(STAMP)
	$(PYTEST) -m thorough $(PYTEST_ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# the site, into build/site
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# what the pages show: pictures, outputs of examples, notebooks and guides
gallery: $(STAMP)
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/overview.py
	$(BIN)/python docs/gallery.py
	$(BIN)/python docs/blocks.py docs/guides/*.md docs/es/*.md

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) build dist src/*.egg-info
