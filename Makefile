# Forwards to CMake; `make help` lists the targets.
.DEFAULT_GOAL := all
.PHONY: all setup demo test check asan ubsan tsan debug bench fuzz lint sweep install clean help
MAKEFLAGS += --no-print-directory
B := build/release
J ?= $(shell nproc)
SECONDS ?= 30

all: setup ## build the library and the program (build/release)
	@cmake --preset release > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build $(B) -j $(J)

setup: ## install what is missing (Debian packages)
	@sh scripts/setup.sh

demo: all ## fill masks and embed sentences with the shipped model
	@$(B)/roformer demo

test: all ## the whole test suite; at its end, what was left out and why
	@ctest --test-dir $(B) -j $(J) --output-on-failure; code=$$?; sh tools/skipped.sh $(B) && exit $$code

check: all ## floors, headers, symbols, mirrors
	@ctest --test-dir $(B) -j $(J) --output-on-failure -R '^check/'

asan ubsan tsan debug: setup ## the suite under a sanitizer, or with debug checks
	@cmake --preset $@ > build/configure-$@.log 2>&1 || { cat build/configure-$@.log; exit 1; }
	@cmake --build build/$@ -j $(J)
	@ctest --preset $@ -j $(J); code=$$?; sh tools/skipped.sh build/$@ && exit $$code

bench: all ## every benchmark, into results/
	@sh bench/run.sh $(B)

fuzz: setup ## every fuzz harness for SECONDS each (30)
	@sh scripts/setup.sh fuzz
	@cmake --preset fuzz > build/configure-fuzz.log 2>&1 || { cat build/configure-fuzz.log; exit 1; }
	@cmake --build build/fuzz -j $(J)
	@sh tools/fuzz.sh build/fuzz $(SECONDS)

lint: ## gcc -fanalyzer, cppcheck and clang-tidy over src/, as far as they are installed
	@sh tools/lint.sh

sweep: all ## long robustness sweep: kill -9, going back, two runs in one folder, failing system calls and allocations
	@sh tools/kill_sweep.sh $(B)

install: all ## install below PREFIX (/usr/local)
	@cmake --install $(B) --prefix $(or $(PREFIX),/usr/local)

clean: ## remove everything that was built
	@rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z ]+:.*## / {printf "  make %-24s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
