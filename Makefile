# One task runner. `make demo` and `make test` do all the set-up on a fresh machine with Rust, Python 3.11 and a C compiler.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST := $(shell find crates -name '*.rs' -o -name 'Cargo.toml') Cargo.toml Cargo.lock
KERNEL_PYTHON := crates/bindings/python-kernel/Cargo.toml
# Dates in archives, so that equal sources make equal bytes. Always the same in `build` and `dist`: ring is compiled anew
# where it differs.
EPOCH = $(shell $(PYTHON) -c 'import datetime, sys; print(round(datetime.datetime.fromisoformat(sys.argv[1] + "T00Z").timestamp()))' "$$(sed -n 's/^date-released: "\(.*\)"/\1/p' CITATION.cff)")
# The kernel's datapath is compiled where what it takes is installed; asked when it is needed, since `make system` installs.
HAS_DATAPATH := command -v clang >/dev/null && pkg-config --exists libelf zlib 2>/dev/null
# Lists of plug-ins declare their modules by a macro, where cargo fmt does not look for them.
PLUGINS := $(wildcard crates/algorithms/src/*/*/*.rs crates/algorithms/src/*/*.rs crates/algorithms/src/*.rs crates/network/src/*/*.rs crates/traffic/src/*/*.rs crates/scenario/src/*/*.rs)

.PHONY: help system build dev dist epoch demo test fuzz faults check check-results fmt bench bench-instructions bench-peers stacks hosts interop linux docs site playground clean

help:
	@echo 'make build        environment and everything compiled; then $(BIN)/cwndlab runs'
	@echo 'make dev          the same for work on the code: the engine alone, compiled fast and less optimised; seconds after a change'
	@echo 'make system       what tests and optional parts take from the system; as root on Debian it is installed'
	@echo 'make dist         wheel, source distribution and lists of components in dist/'
	@echo 'make demo         CUBIC with HyStart and with CCM-SS, Reno, HighSpeed, BIC and Compound on one path'
	@echo 'make test         all tests'
	@echo 'make fuzz         COUNT random extreme scenarios from SEED on (300 from 1), every invariant checked'
	@echo 'make faults       what the suites and the audit find of the seeded faults in tests/faults/; ONLY=NAME: this one'
	@echo 'make check        formatting, lints, types, documentation; stale generated parts of docs/ and README.md'
	@echo 'make check-results  names kept results and universes in results/ of an earlier behaviour'
	@echo 'make fmt          formats everything'
	@echo 'make bench        the engine: S1-S4, growth with flows and windows, memory; what a sweep adds; stepped runs; the emulator, the kernel, the server'
	@echo 'make bench-instructions  what a packet costs by stage, counted by callgrind; UPDATE=1 writes it to benches/ and docs/'
	@echo 'make bench-peers  the same beside ns-2 and ns-3 (from Debian), with ratios'
	@echo 'make stacks       audits of other QUIC stacks and of this kernel over the emulator; compiles them first (tools/stacks/README.md)'
	@echo 'make hosts        other stacks as programs that the simulator hosts, in build/stacks/bin (docs/host.md)'
	@echo 'make interop      the workloads of applications beside programs of Debian and PyPI over the emulator, which it installs (docs/interop.md)'
	@echo 'make linux        the Linux kernel as a host of the simulator, from its sources; SOURCE=ARCHIVE: these (docs/linux.md)'
	@echo 'make docs         makes the generated parts of docs/ and README.md anew; ONLY=WORD: those of this name or page'
	@echo 'make site         the documentation as pages with search, in build/site; they open without a network'
	@echo 'make playground   the engine in a page, in build/playground; it opens without a server; takes Node.js and a Rust for WebAssembly'

# What the engine and the commands of the base install take, in the versions of the lock: a fifth of all packages.
$(VENV)/.base: requirements/lock.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'make: Python 3.11 or later is needed; name it: make PYTHON=python3.11 build' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo 'make: Python has no ensurepip; on Debian: apt-get install python3-venv' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], "maturin", sep="\n")' > $(VENV)/base.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements/lock.txt --requirement $(VENV)/base.txt
	@touch $@

$(VENV)/.ready: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements/lock.txt
	@touch $@

# The engine alone, which `cwndlab` runs with.
$(VENV)/.engine: $(VENV)/.base $(RUST)
	SOURCE_DATE_EPOCH=$(EPOCH) PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --locked --quiet
	@rm -f $(VENV)/.first
	@touch $@

# The first engine on a fresh machine, by the profile `demo` of Cargo.toml, which compiles in three quarters of the time.
$(VENV)/.first: $(VENV)/.base $(RUST)
	PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --profile demo --locked --quiet
	@touch $@

$(VENV)/.built: $(VENV)/.ready $(VENV)/.engine
	cargo build --release --locked --quiet --package cwndlab-bench
	install -m 755 target/release/cwndlab-bench $(BIN)/cwndlab-bench
	@touch $@

# What `cwndlab run` needs and nothing else, by the profile `quick` of Cargo.toml. `make build` makes its engine anew
# afterwards.
dev: $(VENV)/.ready
	PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --profile quick --locked --quiet
	@rm -f $(VENV)/.first $(VENV)/.engine $(VENV)/.built

# Never fails: what cannot be had is named, and skipped.
system:
	@tools/system.sh

$(VENV)/.kernel: $(VENV)/.built $(shell find crates/kernel/bpf crates/bindings/python-kernel crates/bindings/python-classes -type f)
	@if $(HAS_DATAPATH); then \
		VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --locked --quiet --manifest-path $(KERNEL_PYTHON) && touch $@; \
	else \
		echo 'make: cwndlab kernel is left out: it takes clang, pkg-config, libelf and zlib; on Debian: apt-get install clang pkg-config libelf-dev zlib1g-dev'; \
	fi

build: $(VENV)/.built $(VENV)/.kernel

# Tags of the wheel follow from the libraries of this machine; .github/workflows/release.yml builds for older ones.
dist: build
	rm -rf dist
	SOURCE_DATE_EPOCH=$(EPOCH) $(BIN)/maturin build --release --locked --quiet --out dist
	SOURCE_DATE_EPOCH=$(EPOCH) $(BIN)/maturin sdist --out dist
	SOURCE_DATE_EPOCH=$(EPOCH) $(BIN)/python tools/sbom.py dist
	@ls -l dist

epoch:
	@echo $(EPOCH)

demo: $(VENV)/$(if $(wildcard $(VENV)/.engine),.engine,.first)
	$(BIN)/cwndlab demo --out build/demo

# A limit for a slow machine under load: cargo names a test that runs for more than a minute, and this ends one that hangs.
RUST_LIMIT := $(shell command -v timeout >/dev/null && echo timeout --kill-after=30 3600)
RUST_TESTS = cargo test --locked --workspace --exclude cwndlab-python --exclude cwndlab-kernel-python $$($(HAS_DATAPATH) && echo --features cwndlab-kernel/datapath)
# Tests of Rust that were skipped, with their reasons: tests/skips.py judges them as those of Python.
export CWNDLAB_SKIPPED_TESTS := $(CURDIR)/build/skipped-tests.txt
# Options of pytest, such as PYTEST=--allowed-skips=tests/allowed-skips.toml.
PYTEST ?=

test: system build
	$(RUST_TESTS) --no-run
	@mkdir -p build && rm -f $(CWNDLAB_SKIPPED_TESTS)
	$(RUST_LIMIT) $(RUST_TESTS)
	cargo build --quiet --locked --profile test --package cwndlab-quic --example transfer
	@# Three processes for two cores: one of them waits for emulated paths most of its time (tests/conftest.py).
	$(BIN)/python -m pytest -q -n 3 $(PYTEST)

COUNT ?= 300
SEED ?= 1
# In the profile of the tests: arithmetic is checked for overflow.
fuzz:
	cargo run --locked --quiet --profile test --package cwndlab-simulator --example fuzz -- $(COUNT) $(SEED)

# An hour or two; each fault is built apart in build/faults, and its row is written at once. Then `make docs ONLY=faults`.
faults: build
	$(BIN)/python tools/measure_faults.py $(if $(ONLY),--only $(ONLY))

check: build
	cargo fmt --all --check
	rustfmt --edition 2021 --check $(PLUGINS)
	cargo clippy --locked --workspace --all-targets $$($(HAS_DATAPATH) && echo --features cwndlab-kernel-python/datapath) -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --document-private-items --quiet
	$(BIN)/ruff check python tests tools benches
	$(BIN)/ruff format --check python tests tools benches
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest cwndlab._engine
	$(BIN)/python tools/check_arrows.py
	$(BIN)/python tools/check_structure.py
	$(BIN)/python tools/refresh_docs.py --check
	$(BIN)/cwndlab reproduce --all --results results --check
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/release.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/pip-licenses > /dev/null
	@if command -v cargo-deny >/dev/null; then cargo deny check; else echo 'cargo-deny is not installed: licences of dependencies are not checked'; fi

check-results: build
	$(BIN)/cwndlab reproduce --all --results results --check

fmt: $(VENV)/.ready
	cargo fmt --all
	rustfmt --edition 2021 $(PLUGINS)
	$(BIN)/ruff check --fix python tests tools benches || true
	$(BIN)/ruff format python tests tools benches

bench: build
	$(BIN)/python benches/engine.py
	$(BIN)/python benches/sweep.py
	$(BIN)/python benches/gym.py
	$(BIN)/python benches/devices.py
	$(BIN)/python benches/emulator.py
	$(BIN)/python benches/kernel.py
	$(BIN)/python benches/serve.py

# The counts are the same on each run. UPDATE=1 writes benches/instructions.toml and its block in docs/performance.md anew.
bench-instructions: build
	$(BIN)/python benches/instructions.py $(if $(UPDATE),--update)

bench-peers: build
	$(BIN)/python benches/peers.py

# ONLY=quiche or ONLY=quiche/cubic: these stacks. The versions are those of tools/stacks/runs.toml.
stacks: build
	cargo build --release --locked --manifest-path tools/stacks/Cargo.toml --target-dir build/stacks/target
	test -x build/stacks/venv/bin/python || $(PYTHON) -m venv build/stacks/venv
	build/stacks/venv/bin/python -m pip install --quiet --disable-pip-version-check aioquic==1.7.2
	$(BIN)/python tools/stacks/run.py --programs build/stacks/target/release --python build/stacks/venv/bin/python --only '$(ONLY)'

# Stacks that `cwndlab host` runs; a quarter of an hour, most of it for BoringSSL, and kept. Tests that need one are skipped
# without it. ONLY='quinn aioquic': these stacks.
hosts:
	tools/stacks/hosted/build.sh $(PYTHON) $(ONLY)

# A quarter of an hour, and no part of the tests. ONLY=coap, ONLY=loss or ONLY=service: these parts.
interop: build
	tools/interop/install.sh $(PYTHON) build/interop/venv
	PYTHONPATH=tools $(BIN)/python -m interop.run --only '$(ONLY)'
	$(BIN)/python tools/refresh_docs.py interop

# Optional, and no part of the tests; some minutes. SOURCE: the archive of another kernel.
linux:
	tools/virtual_linux/build.sh build/virtual-linux $(SOURCE)
	mkdir -p build/stacks/bin
	printf '#!/bin/sh\nexec python3 "$(CURDIR)/tools/virtual_linux/hosted/cwndlab-stack-linux" "$(CURDIR)/build/virtual-linux/linux"\n' > build/stacks/bin/cwndlab-stack-linux
	chmod 755 build/stacks/bin/cwndlab-stack-linux

# ONLY='bench README': these parts.
docs: build
	$(BIN)/python tools/refresh_docs.py $(ONLY)

# The pages of the reproductions come from the kept results; nothing is run for them.
site: build
	rm -rf build/reproductions
	$(BIN)/cwndlab reproduce --all --results results --kept --out build/reproductions/reproductions
	cargo doc --locked --quiet --no-deps --package cwndlab-control --package cwndlab-units --target-dir build/rustdoc
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet --doctree-dir build/site-doctrees docs build/site
	@echo "pages: build/site/index.html"

# The engine as WebAssembly, and a page around it. No other target takes it; `make site` shows it where it is.
PLAYGROUND := build/playground
playground: build
	@command -v npm >/dev/null || { echo 'make: the playground takes Node.js 20 or later with npm; on Debian: apt-get install nodejs npm' >&2; exit 1; }
	tools/wasm_toolchain.sh $(PLAYGROUND)-engine
	$(BIN)/python tools/playground_data.py $(PLAYGROUND)-data
	cd playground && npm ci --silent --no-fund --no-audit
	cd playground && node build.mjs ../$(PLAYGROUND)-engine ../$(PLAYGROUND)-data ../$(PLAYGROUND)
	cd playground && npx tsc
	@echo "page: $(PLAYGROUND)/index.html"

clean:
	rm -rf build dist out target $(VENV)
