# Every target does its own set-up in a local virtual environment: uv where it is there, else venv and pip.
.PHONY: demo test test-cuda test-vulkan test-sanitizers check-all bench lint clean

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTHON := $(shell for python in python3.13 python3.12 python3.11 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$python; break; }; done)

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: gpudiy needs Python 3.11 or later on the PATH" >&2; exit 2; }
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python "$(PYTHON)" $(VENV) && \
		uv pip install --quiet --python $(BIN)/python -e '.[dev,all]'; \
	else \
		$(PYTHON) -m venv $(VENV) && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,all]'; \
	fi
	@touch $@

demo: $(READY)
	@docs/demo.sh

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest -m 'not heavy and not cuda and not vulkan'

# The CUDA device on a machine without a GPU: PyCUDA from source on a stand-in for NVIDIA's driver (docs/cuda.md).
test-cuda: $(READY)
	$(BIN)/python tests/cuda/set_up.py $(VENV)/standin
	$(BIN)/pytest -m cuda tests/cuda

# The Vulkan device on a machine without a GPU: Mesa's lavapipe, which root gets by apt-get; elsewhere tests are skipped.
test-vulkan: $(READY)
	$(BIN)/python tests/vulkan/set_up.py
	$(BIN)/pytest -n0 -m vulkan -rs tests/vulkan

# The same tests, and the host harness alone, under AddressSanitizer and under ThreadSanitizer (docs/cuda.md).
test-sanitizers: $(READY)
	$(BIN)/python tests/cuda/sanitize.py $(VENV)/standin

# The tools of CUDA 12, so that sm_50 to sm_72 stay proved; where they cannot be installed, their tests are skipped.
CUDA12 := $(VENV)/.cuda12

$(CUDA12): $(READY)
	@if command -v uv >/dev/null 2>&1; then \
		uv pip install --quiet --python $(BIN)/python -e '.[cuda12]'; \
	else \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[cuda12]'; \
	fi && touch $@ || echo "make: no tools of CUDA 12: sm_50 to sm_72 are not checked" >&2

check-all: $(READY) $(CUDA12)
	$(BIN)/pytest -m heavy -rs

bench: $(READY)
	$(BIN)/python bench/litmus.py
	$(BIN)/python bench/diy.py
	$(BIN)/python bench/models.py
	$(BIN)/python bench/model_files.py
	$(BIN)/python bench/logs.py
	$(BIN)/python bench/run.py
	$(BIN)/python bench/build.py
	$(BIN)/python bench/locks.py
	$(BIN)/python bench/simulated.py
	$(BIN)/python bench/campaign.py

clean:
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
