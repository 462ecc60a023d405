# Everything a newcomer needs; each target does its own set-up in .venv.
#   make demo    see it work (no key, no network beyond installing)
#   make test    run the tests, but for the slowest two in a hundred
#   make test-all  run all of them, as CI does
#   make check   lint, types, architecture
#   make test-faults  the long form: hundreds of kills, races and damaged files
#   make test-ray     trajectories on Ray, in an environment of its own
#   make test-model   drive a real model on this machine (brings 1.1 GB once)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MODEL_VENV := .venv-model

.PHONY: demo test test-all test-faults test-ray test-model check bench bench-peers fmt lock clean

demo: $(VENV)/.base
	@$(BIN)/midfold demo

test: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist loadfile -m "not slow"

test-all: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist loadfile

# The same tests of faults that `make test-all` runs a few rounds of, and those that only make sense at length.
test-faults: $(VENV)/.dev
	MIDFOLD_FAULT_ROUNDS=200 $(BIN)/pytest -n 2 --dist loadfile tests/faults tests/store tests/contract \
		tests/offload tests/trajectories tests/cli/test_terminal.py tests/redact tests/gateway/test_tenants.py

# Ray is large, so it gets an environment of its own.
test-ray: $(VENV)/.dev
	test -x .venv-ray/bin/python || $(PYTHON) -m venv .venv-ray
	.venv-ray/bin/python -m pip install --quiet --disable-pip-version-check \
		-e '.[ray,zstd,models]' pytest pytest-timeout hypothesis
	.venv-ray/bin/python -m pytest tests/trajectories/test_ray.py

# A real model on this machine: 1.1 GB is brought once, into the user's cache.
test-model: $(VENV)/.dev $(MODEL_VENV)/.server
	@model=$$($(MODEL_VENV)/bin/python scripts/fetch_model.py) || exit 1; \
	said=$$(mktemp); \
	nice -n 10 $(MODEL_VENV)/bin/python scripts/serve_model.py "$$model" --context 4096 >"$$said" 2>&1 & server=$$!; \
	trap 'kill $$server 2>/dev/null; wait $$server; rm -f "$$said"' EXIT; \
	trap 'exit 130' INT TERM; \
	until grep -q '^ready ' "$$said"; do \
		kill -0 $$server 2>/dev/null || { cat "$$said" >&2; exit 1; }; sleep 0.5; done; \
	MIDFOLD_MODEL_URL=$$(sed -n 's/^ready //p' "$$said") nice -n 10 $(BIN)/pytest -m model tests/model

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# The peer pins old versions, so it gets an environment of its own.
bench-peers: $(VENV)/.dev
	test -x .venv-hermes/bin/python || $(PYTHON) -m venv .venv-hermes
	.venv-hermes/bin/python -m pip install --quiet --disable-pip-version-check hermes-agent==0.19.0
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m benchmarks.store

# Also writes docs/api.md and the reference parts of other pages anew.
fmt: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python scripts/write_api.py
	$(BIN)/python scripts/write_reference.py

# Rewrites the locks: hashes for every platform, no addresses.
lock:
	uv pip compile pyproject.toml --extra build --universal --python-version 3.11 \
		--no-header --no-annotate --generate-hashes --upgrade -q -o requirements.lock
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
		--no-header --no-annotate --generate-hashes --upgrade -q -o requirements-dev.lock

clean:
	rm -rf $(VENV) $(MODEL_VENV) .venv-ray dist build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "midfold needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: requirements.lock pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

$(MODEL_VENV)/.server:
	$(PYTHON) -m venv $(MODEL_VENV)
	$(MODEL_VENV)/bin/python -m pip install --quiet --disable-pip-version-check xllamacpp==2026.10.11549
	@touch $@
