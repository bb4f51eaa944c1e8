# `make demo` and `make test` set up all they need, without root.

VENV := .venv
BIN := $(VENV)/bin
PLUGIN := python/flashpager/_recorders/flashpager-qemu.so
AGENT := python/flashpager/_recorders/flashpager-java.jar
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
# An activated environment or an installed tool must not get in our way.
unexport PYTHONPATH PYTHONHOME CONDA_PREFIX

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates parts -name '*.rs' -o -name '*.toml')
DEMO_TRACE := examples/traces/card-firmware.trace

.PHONY: build demo test test-c test-rust test-python lint format bench clean

build: $(BIN)/.built $(PLUGIN) $(AGENT)

demo: build
	$(BIN)/flashpager explore $(DEMO_TRACE) --part 'K9F*,TC58B*,W25N*' \
	    --ram 2K --max-fault 50us --checked-ecc --policy lru,clock,sieve --limit 5
	$(BIN)/flashpager attribute $(DEMO_TRACE) --board examples/boards/smartcard.toml --limit 8
	$(BIN)/flashpager estimate --board examples/boards/sam9263.toml
	$(BIN)/flashpager explore examples/traces/java/sensors.trace \
	    --board examples/boards/micaz.toml --limit 4
	$(BIN)/flashpager swap bench --ram 4M --medium nand:4M --chunk 256K --random-pages 64
	$(BIN)/flashpager report $(DEMO_TRACE) --board examples/boards/smartcard.toml \
	    -o report.html --plots plots

test: build test-c test-rust test-python

test-c:
	$(MAKE) --no-print-directory -C runtime test sanitize cross

test-rust:
	cargo test --workspace --locked $(CARGO_FLAGS)

test-python: build
	$(BIN)/python -m pytest -n auto

lint: build
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked $(CARGO_FLAGS) -- -D warnings
	$(BIN)/ruff format --check python tests benches examples
	$(BIN)/ruff check python tests benches examples
	$(BIN)/mypy

format: build
	cargo fmt --all
	$(BIN)/ruff format python tests benches examples
	$(BIN)/ruff check --fix python tests benches examples

bench: build
	$(BIN)/python benches/recording.py
	$(BIN)/python benches/java.py
	$(BIN)/python benches/sweep.py
	$(BIN)/python benches/swap.py
	cargo bench -p flashpager --bench replay --bench explore --bench swap --locked

clean:
	rm -rf $(VENV) build runtime/build target report.html plots $(PLUGIN) $(AGENT:.jar=*.jar) recorders/java/target examples/java/*/target

$(BIN)/python:
	@command -v cargo >/dev/null || { echo "make: cargo not found; install Rust (rustup)" >&2; exit 2; }
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "make: Python 3.11 or newer is needed" >&2; exit 2; }
	@python3 -m venv $(VENV) \
	    || { rm -rf $(VENV); echo "make: no venv module; apt install python3-venv" >&2; exit 2; }

$(BIN)/maturin: | $(BIN)/python
	$(BIN)/python -m pip install --quiet 'maturin>=1.8,<2'

# Builds the engine and installs it, what it needs and what its tests need.
$(BIN)/.built: $(RUST_SOURCES) pyproject.toml | $(BIN)/maturin
	$(BIN)/maturin develop --release --locked --extras dev
	@touch $@

$(PLUGIN): recorders/qemu/recorder.c recorders/qemu/qemu_plugin_api.h
	$(MAKE) --no-print-directory -C recorders/qemu OUTPUT=$(CURDIR)/$@

# A machine without a JDK or Maven, or that cannot reach what Maven fetches, goes without the
# Java recorder, unless all tools are promised.
$(AGENT): recorders/java/pom.xml $(shell find recorders/java/src/main)
	@rm -f $(AGENT:.jar=*.jar)
	@if mvn --quiet --batch-mode -f recorders/java/pom.xml clean package \
	        && mkdir -p $(dir $@) && cp recorders/java/target/flashpager-java*.jar $(dir $@); then \
	    :; \
	elif [ -n "$$FLASHPAGER_REQUIRE_TOOLS" ]; then \
	    echo "make: the Java recorder cannot be built" >&2; exit 2; \
	else \
	    echo "make: the Java recorder is left out: it wants a JDK (17 or newer) and Maven" \
	        "(Debian: apt install openjdk-17-jdk-headless maven)" >&2; \
	fi
