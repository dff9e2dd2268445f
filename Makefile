# make setup     .venv/ with the package built in release mode; run by the others, does nothing twice
# make demo      the examples: correctness, a table, one plot in demo-out/
# make test      all Rust checks and all Python tests
# make bench     launch, compile and start-up times, and the examples against NumPy and torch, and with
#                REFERENCE=/path/to/python against the interpreter of the reference that is installed there
# make cpu-bench the CPU target beside the limits of this machine and other libraries, one table
# make gpu-test  the tests that need a GPU; says NOT RUN where there is none
# make gpu-bench Deuteron beside the installed reference on this machine's GPU; writes docs/gpu-results.md
# make wheels    what is released, in dist/: wheels for x86-64 and AArch64, and a shared LLVM in a wheel of its own
# make docs      the documentation as a site, in target/site, with the API of the Rust crate
# make clean     removes .venv/ and what the targets above wrote, but not target/

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := setup

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SOURCES := $(shell find crates python -name '*.rs' -o -name '*.py' -o -name 'Cargo.toml') Cargo.toml Cargo.lock pyproject.toml

.PHONY: setup demo test rust-test python-test gpu-test gpu-bench bench cpu-bench docs wheels clean

setup: $(VENV)/installed

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make setup PYTHON=/path/to/python3")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/tools: $(VENV)/created
	$(PIP) install 'maturin>=1.9,<2' numpy pytest pytest-xdist mypy
	touch $@

# torch alone, with the libraries that it cannot be imported without, and without the reference that it would bring.
# pip complains that the reference is missing: its words are shown where it fails, with the space that is left.
$(VENV)/torch: $(VENV)/tools tests/python/torch_requirements.py
	@echo "installing torch (about 1.5 minutes, 4.5 GB)"
	$(PIP) install --no-deps torch
	$(BIN)/python tests/python/torch_requirements.py > $(VENV)/torch-requirements.txt
	$(PIP) install -r $(VENV)/torch-requirements.txt 2> $(VENV)/torch-install.log || { cat $(VENV)/torch-install.log; df -h . >&2; exit 1; }
	touch $@

# An assembler for GPU code (47 MB), which Rust tests run.
$(VENV)/assembler: $(VENV)/created
	$(PIP) install nvidia-cuda-nvcc
	touch $@

# A browser (68 MB) in which tests open the pages that are made here.
$(VENV)/browser/chromium: tests/python/unpack_browser.mjs | $(VENV)/created
	mkdir -p $(VENV)/browser
	npm pack --silent --pack-destination $(VENV)/browser @sparticuz/chromium@147.0.0
	tar xzf $(VENV)/browser/sparticuz-chromium-147.0.0.tgz -C $(VENV)/browser
	node tests/python/unpack_browser.mjs $(VENV)/browser
	rm -r $(VENV)/browser/package $(VENV)/browser/*.tgz
	touch $@

# The package does not need torch, so the two are independent: a failed download does not cost a build.
$(VENV)/installed: $(VENV)/tools $(VENV)/torch $(VENV)/assembler $(SOURCES)
	$(BIN)/maturin build --release --quiet --interpreter $(BIN)/python --out $(VENV)/wheels
	$(PIP) install --force-reinstall --no-deps "$$(ls -t $(VENV)/wheels/deuteron-*.whl | head -1)"
	touch $@

demo: setup
	$(BIN)/python -m deuteron examples/demo.py

# torch is downloaded and unpacked while Rust is compiled and tested.
test: $(VENV)/tools $(VENV)/assembler
	$(MAKE) $(VENV)/torch & torch=$$!; trap 'kill $$torch 2> /dev/null || true' EXIT; $(MAKE) rust-test; wait $$torch
	$(MAKE) python-test

rust-test: $(VENV)/assembler
	cargo xtask ci

python-test: setup $(VENV)/browser/chromium
	$(BIN)/python -m pytest -n logical --maxprocesses 8

# A machine with a GPU may have the wheel and no Rust: then its own Python is used.
GPU_PYTHON ?= $(shell python3 -c 'import deuteron, torch' 2>/dev/null && echo python3 || echo $(BIN)/python)
gpu-test gpu-bench: $(if $(filter $(BIN)/python,$(GPU_PYTHON)),setup)

gpu-test:
	if command -v cargo > /dev/null; then cargo build --release --quiet -p deuteron --example softmax; fi
	$(GPU_PYTHON) -m pytest tests/gpu

gpu-bench:
	$(GPU_PYTHON) benches/gpu/run.py

bench: export REFERENCE := $(REFERENCE)
bench: setup
	$(BIN)/python -m deuteron benches/python/launch_and_compile.py
	$(BIN)/python -m deuteron benches/python/reference_interpreter.py
	$(BIN)/python -m deuteron examples/demo.py

cpu-bench: setup
	$(BIN)/python -m deuteron benches/cpu/run.py

wheels: $(VENV)/tools
	$(PIP) install ziglang
	$(BIN)/python packaging/wheels.py

# The program that makes the site: once, into a folder of its own.
$(VENV)/mdbook/bin/mdbook:
	cargo install mdbook --version 0.5.4 --locked --no-default-features --features search --root $(VENV)/mdbook

docs: $(VENV)/mdbook/bin/mdbook
	$(VENV)/mdbook/bin/mdbook build
	cargo doc --quiet --no-deps -p deuteron
	rm -rf target/site/api
	cp -r "$${CARGO_TARGET_DIR:-target}/doc" target/site/api

clean:
	rm -rf $(VENV) demo-out dist .pytest_cache
