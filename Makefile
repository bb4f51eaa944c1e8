# Everything is set up here, without root:
#
#   make            builds everything into .venv and target/
#   make demo       builds, replays a recorded program, writes report.html
#   make test       C, Rust and Python tests; ends with what was left out, and why
#   make lint       rustfmt, clippy, ruff, typos, mypy
#   make format     lets them mend what they can
#   make bench      recording and replay rates (docs/performance.md)
#   make soak       what takes long: more cases, more seeds, fuzzing; SOAK_SECONDS a fuzz target,
#                   SOAK_PROGRAMS an architecture, SOAK_CUTS the log, SOAK_KILLS machines
#   make dist       wheels and a source distribution in dist/
#   make test-dist  installs them elsewhere and tests that, as an ordinary user
#   make clean
#
# test-c, test-rust and test-python are the parts of `make test`.

VENV := .venv
BIN := $(VENV)/bin
AGENT := python/flashpager/_recorders/flashpager-java.jar
OUTLINER := python/flashpager/_recorders/flashpager-outliner.jar
CORES := $(shell nproc 2>/dev/null || echo 2)
# Some tests wait: for a lock, for a timeout, for a machine to boot.
TEST_WORKERS := $(shell expr $(CORES) + 1)
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
# An activated environment or an installed tool must not get in our way.
unexport PYTHONPATH PYTHONHOME CONDA_PREFIX

# One profile, so that the engine and what it needs are compiled once for all: for the binding,
# its tests and the benches.
CARGO_FLAGS := --release --locked
# The store in C is compiled in, and the recorders in C are built beside.
RUST_SOURCES := Cargo.toml Cargo.lock docs/part.schema.json $(shell find crates parts boards cores runtime/medium \
    runtime/compress runtime/swap runtime/pager runtime/third_party recorders/qemu recorders/step \
    recorders/stream -name '*.rs' -o -name '*.toml' -o -name '*.[ch]')
# Of x86-64 alone.
PAGED := $(if $(filter x86_64,$(shell uname -m)),$(wildcard runtime/pager/linux/*.c))
# simavr's driver is built where its headers are.
RECORDERS := $(wildcard recorders/qemu/*.c recorders/step/*.c \
    $(if $(wildcard /usr/include/simavr/sim_avr.h),recorders/simavr/*.c))
DEMO_TRACE := examples/traces/card-firmware.trace
# The tests in C and in Rust that are run; the default is all of them.
C_TARGETS := test sanitize cross
RUST_TESTS :=
SOAK_SECONDS := 120
SOAK_PROGRAMS := 300
SOAK_CUTS := 10000000
SOAK_KILLS := 50

.PHONY: build demo dist test test-c test-rust test-python test-dist lint lint-native lint-python
.PHONY: format bench clean
.PHONY: soak soak-c soak-rust soak-torture soak-mutants soak-python soak-paged soak-step soak-kills soak-kernels soak-debug soak-reach soak-fuzz

# The engine, the Python packages and the programs in Java are built at the same time. What wants
# them depends on `build`, so that a `make -j` builds none twice.
build:
	@$(MAKE) --no-print-directory -j4 $(BIN)/.built $(BIN)/.papers $(AGENT) $(OUTLINER) \
	    $(if $(wildcard /usr/include/simavr/sim_avr.h),$(SIMAVR_DRIVER))

demo: build
	$(BIN)/flashpager explore $(DEMO_TRACE) --part 'K9F*,TC58B*,W25N*' \
	    --ram 2K --max-fault 50us --checked-ecc --policy lru,clock,sieve --limit 5
	$(BIN)/flashpager attribute $(DEMO_TRACE) --board smartcard --limit 8
	$(BIN)/flashpager estimate --board sam9263
	$(BIN)/flashpager explore examples/traces/java/sensors.trace \
	    --board micaz --limit 4
	$(BIN)/flashpager swap bench --ram 4M --medium nand:4M --chunk 256K --random-pages 64
	$(BIN)/flashpager report $(DEMO_TRACE) --board smartcard \
	    -o report.html --plots plots
	@echo
	@echo "Open report.html, the last answer as a page. Then, with a program of your own:"
	@echo "  $(BIN)/flashpager firmware.elf     what its flash costs, and what to do about it"
	@echo "  docs/start.md                      the same as a story, from firmware to a part"
	@echo "  $(BIN)/flashpager --help           all commands; each has examples in its --help"

test: build $(BIN)/.dev
	@MAKE="$(MAKE)" $(BIN)/python -m tests.stages test-c test-rust test-python

test-c:
	$(MAKE) --no-print-directory -C runtime -j$(CORES) --output-sync=target $(C_TARGETS)

test-rust:
	cargo test --workspace --exclude flashpager-benches --no-fail-fast $(CARGO_FLAGS) -- $(RUST_TESTS)

test-python: build $(BIN)/.dev
	$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist worksteal --durations 30

lint: build $(BIN)/.dev
	@$(MAKE) --no-print-directory -j2 --output-sync=recurse lint-native lint-python

lint-native:
	@for source in $(RECORDERS) $(PAGED); do \
	    $(CC) -O2 -std=c11 -Wall -Wextra -Werror -pedantic -c -o /dev/null $$source || exit; \
	done
	cargo fmt --all --check
	cargo clippy --workspace --all-targets $(CARGO_FLAGS) -- -D warnings

lint-python:
	$(BIN)/ruff format --check python papers tests benches examples runtime
	$(BIN)/ruff check python papers tests benches examples runtime
	$(BIN)/typos
	$(BIN)/mypy
	$(BIN)/stubtest flashpager._engine --allowlist tests/stubtest-allowlist.txt

format: build $(BIN)/.dev
	cargo fmt --all
	$(BIN)/ruff format python papers tests benches examples runtime
	$(BIN)/ruff check --fix python papers tests benches examples runtime

bench: build $(BIN)/.dev
	$(BIN)/python benches/recording.py
	$(BIN)/python benches/java.py
	$(BIN)/python benches/sweep.py
	$(BIN)/python benches/xip.py
	$(BIN)/python benches/swap.py
	$(BIN)/python benches/log.py
	$(BIN)/python benches/pager.py
	$(BIN)/python benches/page.py 16
	$(BIN)/python benches/bytecode.py -o build/bytecode.svg
	cargo bench --bench replay --bench explore --bench swap --locked

# Both hold the built jars: who installs them needs no JDK. Without debug information the engine
# is a third of its size. The wheel is built of the source distribution, as its users build it, with
# these tools alone within reach. Cargo knows the files of a package by their place in it, so it takes
# from `target` what was compiled of the same files; where one is missing, it compiles, and fails.
DIST_TOOLS := cargo rustc cc gcc as ld ar
dist: build
	@test -e $(AGENT) && test -e $(OUTLINER) \
	    || { echo "make: a distribution is not made without what Maven builds" >&2; exit 2; }
	@rm -rf dist build/dist-tools
	$(BIN)/maturin sdist --out dist
	@mkdir -p build/dist-tools && ln -s "$$(command -v sh)" build/dist-tools/sh
	@# Launchers, as a toolchain acts by the name under which it is started.
	@for tool in $(DIST_TOOLS); do \
	    printf '#!/bin/sh\nexec "%s" "$$@"\n' "$$(command -v $$tool)" >build/dist-tools/$$tool || exit; \
	    chmod +x build/dist-tools/$$tool; \
	done
	PATH="$(CURDIR)/build/dist-tools" CARGO_TARGET_DIR="$(CURDIR)/target" \
	    MATURIN_PEP517_ARGS="--compatibility pypi" \
	    $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist dist/flashpager-*.tar.gz
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist ./papers

test-dist: build $(BIN)/.dev dist
	FLASHPAGER_DIST=$(CURDIR)/dist $(BIN)/python -m pytest tests/dist

soak: soak-c soak-rust soak-torture soak-mutants soak-python soak-paged soak-step soak-kills soak-kernels soak-debug soak-reach soak-fuzz

soak-c:
	$(MAKE) --no-print-directory -C runtime -j$(CORES) soak

# With all checks of arithmetic, and those of the standard library.
soak-rust:
	PROPTEST_CASES=4096 CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true cargo test --workspace $(CARGO_FLAGS) \
	    --config profile.release.package.flashpager-layout.overflow-checks=true \
	    --config profile.release.package.flashpager-replay.overflow-checks=true

# The swap log and the pager's slots lose their power; a failure says which seed repeats it.
SLOTS_TESTS := pager_slots_cut_anywhere pager_slots_cut_at_each pager_slots_nor_cut_anywhere \
    pager_slots_nor_cut_at_each pager_slots_tags_cut_anywhere
soak-torture:
	FLASHPAGER_TEST_ROUNDS=$$(($(SOAK_CUTS) / 800000 + 1)) \
	    $(MAKE) --no-print-directory -C runtime -j$(CORES) test TESTS="$(SLOTS_TESTS)"
	cargo run -p flashpager-swap --example torture $(CARGO_FLAGS) -- \
	    --seed 1000000 --cuts $(SOAK_CUTS) --threads $(CORES)

# Errors made in the log and in the pager on purpose; one that is not found is an error.
soak-mutants: build $(BIN)/.dev
	$(BIN)/python runtime/tests/mutants.py
	$(BIN)/python runtime/tests/pager_mutants.py

# Programs drawn by seed, recorded; a failure says which seed repeats it.
soak-python: build $(BIN)/.dev
	FLASHPAGER_TEST_ROUNDS=$(SOAK_PROGRAMS) $(BIN)/python -m pytest -n $(CORES) \
	    tests/process/test_generated.py tests/process/test_outline.py

# Native code behind an MMU: all programs, policies and sizes.
soak-paged: build $(BIN)/.dev
	FLASHPAGER_TEST_ROUNDS=1000 $(BIN)/python -m pytest -n $(CORES) \
	    tests/process/test_verify_paged.py

# On a kernel of the other architecture; CONTRIBUTING.md says how to get one.
soak-step: build $(BIN)/.dev
	$(BIN)/python -m pytest -rs tests/process/test_step_aarch64.py

# Machines with a kernel that swap to a log, killed; a failure says which seed repeats it.
soak-kills: build $(BIN)/.dev
	@if [ -z "$$FLASHPAGER_KERNEL" ]; then \
	    echo "soak-kills: left out, no kernel (runtime/linux/vm/packages DIR, FLASHPAGER_KERNEL=DIR)"; \
	    exit 0; \
	fi; \
	$(BIN)/python -m tests.process.killed_vms $(SOAK_KILLS)

# The swap module with each later kernel in $FLASHPAGER_KERNELS, folders with spaces between them.
soak-kernels: build $(BIN)/.dev
	@for kernel in $$FLASHPAGER_KERNELS; do \
	    FLASHPAGER_NEW_KERNEL=$$kernel $(BIN)/python -m pytest -q \
	        tests/process/test_swap_module.py -k newer || exit; \
	done

# Machines with a kernel that looks for errors of the swap module: KASAN, lockdep, UBSan, kmemleak.
soak-debug: build $(BIN)/.dev
	@if [ -z "$$FLASHPAGER_DEBUG_KERNEL" ]; then \
	    echo "soak-debug: left out, no kernel (runtime/linux/vm/debug-kernel DIR," \
	        "FLASHPAGER_DEBUG_KERNEL=DIR)"; \
	    exit 0; \
	fi; \
	$(BIN)/python -m tests.process.debugged_vms

# `reach` on programs whose flash is inaccessible while a function in RAM runs, with all compilers and
# levels. AArch64 is not followed: its programs are run only.
soak-reach: build $(BIN)/.dev
	$(BIN)/python -m tests.reach.oracle --target thumb1 thumb2 arm rv32 rv64 --jobs $(CORES)
	$(BIN)/python -m tests.reach.oracle --target aarch64 --truth --jobs $(CORES)

# The sanitizer on a stable compiler; fuzz/README.md says what to do with a finding.
soak-fuzz:
	@if ! cargo fuzz --version >/dev/null 2>&1; then \
	    echo "soak-fuzz: left out, no cargo-fuzz (cargo install cargo-fuzz --locked)"; \
	    exit 0; \
	fi; \
	cd fuzz && export RUSTC_BOOTSTRAP=1 && for target in fuzz_targets/*.rs; do \
	    name=$$(basename $$target .rs); \
	    mkdir -p corpus/$$name; \
	    cargo fuzz run $$name corpus/$$name seeds/$$name -- \
	        -max_total_time=$(SOAK_SECONDS) -rss_limit_mb=2048 -timeout=10 || exit; \
	done

clean:
	rm -rf $(VENV) build runtime/build target dist report.html plots python/flashpager/_recorders python/flashpager/examples python/flashpager/runtime recorders/java/target outliner/target examples/java/*/target

$(BIN)/python:
	@command -v cargo >/dev/null || { echo "make: cargo not found; install Rust (rustup)" >&2; exit 2; }
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "make: Python 3.11 or newer is needed" >&2; exit 2; }
	@python3 -m venv $(VENV) \
	    || { rm -rf $(VENV); echo "make: no venv module; apt install python3-venv" >&2; exit 2; }

# A program in Python that prints a list of packages, one a line.
packages = import tomllib; \
    project = tomllib.load(open("pyproject.toml", "rb"))["project"]; print(*$(1), sep="\n")

$(BIN)/maturin: | $(BIN)/python
	$(BIN)/python -m pip install --quiet 'maturin>=1.12,<2'

# The engine, beside the Python sources.
$(BIN)/.engine: $(RUST_SOURCES) pyproject.toml | $(BIN)/maturin
	$(BIN)/maturin develop $(CARGO_FLAGS) --skip-install
	@touch $@

# The driver of simavr is built with the engine where simavr's headers are. Here it is built where
# they are installed later, or its sources change: that compiles nothing in Rust.
SIMAVR_DRIVER := python/flashpager/_recorders/flashpager-simavr
$(SIMAVR_DRIVER): $(wildcard recorders/simavr/*.[ch] recorders/stream/*.h) | $(BIN)/.engine
	$(CC) -O2 -std=c11 -o $@ $(filter %.c,$^) -ldl

# The packages that flashpager needs. Not beside the installation of Maturin: Pip takes no turns.
$(BIN)/.packages: pyproject.toml | $(BIN)/maturin
	$(BIN)/python -c '$(call packages,project["dependencies"])' \
	    | xargs -d '\n' $(BIN)/python -m pip install --quiet
	@touch $@

# Installs the engine, which is built by now, and the command.
$(BIN)/.built: $(BIN)/.engine $(BIN)/.packages
	$(BIN)/maturin develop $(CARGO_FLAGS) --quiet
	@touch $@

# Installs what tests, linters and benches need beside.
$(BIN)/.dev: pyproject.toml | build
	$(BIN)/python -c '$(call packages,project["optional-dependencies"]["dev"])' \
	    | xargs -d '\n' $(BIN)/python -m pip install --quiet
	@touch $@

# The reproduction of papers, which `flashpager reproduce` finds where it is installed.
$(BIN)/.papers: papers/pyproject.toml Cargo.toml | $(BIN)/.built
	$(BIN)/python -m pip install --quiet --no-deps --editable papers
	@touch $@

# A machine without a JDK or Maven, or that cannot reach what Maven fetches, goes without the
# programs in Java, unless all tools are promised. Takes what it is and the project's folder.
define maven
	@rm -f $(@:.jar=*.jar)
	@if mvn --quiet --batch-mode -f $(2)/pom.xml clean package \
	        && mkdir -p $(dir $@) && cp $(2)/target/flashpager-*.jar $(dir $@); then \
	    :; \
	elif [ -n "$$FLASHPAGER_REQUIRE_TOOLS" ]; then \
	    echo "make: the $(1) cannot be built" >&2; exit 2; \
	else \
	    echo "make: the $(1) is left out: it wants a JDK (17 or newer) and Maven" \
	        "(Debian: apt install openjdk-17-jdk-headless maven)" >&2; \
	fi
endef

$(AGENT): recorders/java/pom.xml $(shell find recorders/java/src/main)
	$(call maven,Java recorder,recorders/java)

# Behind the other one: two runs of Maven may spoil what they both download.
$(OUTLINER): outliner/pom.xml $(shell find outliner/src/main) | $(AGENT)
	$(call maven,outliner for Java,outliner)
