# The whole interface to the project. `make` alone lists it.
.DEFAULT_GOAL := help
.PHONY: help setup build test test-fast test-slow mutants demo cluster bench fmt lint tidy wheel asan tsan clean
MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc)
PYTHON := .venv/bin/python

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

setup: ## install what is missing (Debian packages, .venv)
	@tools/setup

build: setup ## build the programs and the Python module
	@tools/build release all

test: setup ## everything that proves the project
	@tools/setup-test
	@tools/build release all tests
	@tools/run-tests "not slow"

test-fast: setup ## C++ tests and one smoke test of each surface, in a minute or so
	@tools/setup-test
	@tools/build release all tests
	@tools/run-tests fast

test-slow: setup ## the long runs of the same tests
	@tools/setup-test
	@tools/build release all tests
	@tools/run-tests slow

mutants: setup ## put small bugs in, one at a time, and see which test notices (hours)
	@tools/setup-test
	@FOREBAY_TOOLS=$${FOREBAY_TOOLS:-$${XDG_CACHE_HOME:-$$HOME/.cache}/forebay-dev/tools} \
	  $(PYTHON) tools/mutants $(MUTANTS)

demo: build ## make a sample table, train on it, kill and resume
	@$(PYTHON) examples/demo.py

cluster: build ## one head, three nodes and an S3 server on this machine, until Ctrl-C
	@$(PYTHON) deploy/local-cluster

bench: build ## the speed figures, as ratios
	@tools/setup-bench
	@tools/build release all benches
	@bench/run

fmt: setup ## format all C++ files
	@git ls-files -co --exclude-standard '*.cc' '*.h' | xargs -r clang-format-16 -i

lint: ## clang-tidy over all C++ sources (slow)
	@tools/setup lint
	@tools/lint

tidy: setup ## layers, sizes, names, format
	@$(PYTHON) tools/tidy

wheel: build ## a wheel for other machines, in dist/
	@.venv/bin/python -m pip wheel -q --no-deps --no-build-isolation -w dist .
	@ls -1 dist/*.whl

asan: setup ## the C++ tests under AddressSanitizer and UBSan
	@tools/build asan tests
	@tools/sanitizers/run asan -j$(JOBS)

tsan: setup ## the C++ tests under ThreadSanitizer
	@tools/build tsan tests
	@tools/sanitizers/run tsan -j$(JOBS)

clean: ## remove what was built; .venv and caches stay
	rm -rf build bin dist python/forebay/_native*.so python/forebay/bin
