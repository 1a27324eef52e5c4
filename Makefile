# Everything that a person or the CI runs. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

CARGO ?= cargo
WHEEL_PROFILE ?= release
TARGET := $(or $(CARGO_TARGET_DIR),target)
TOOLS := $(TARGET)/tools
PYTHON ?= python3
VENV := $(abspath $(TARGET))/venv
WHEELS := $(abspath $(TARGET))/wheels
DENY := $(TOOLS)/bin/cargo-deny
DENY_VERSION := 0.20.2

.PHONY: help demo test check bench validate reproduce doc docs tools interop mount-load serve-bench serve-soak live-bench fmt-check clippy deny docs-check

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-12s %s\n", $$1, $$2 }'

demo: ## Write 25 times its capacity to a 448 GiB drive; table on stdout, record in results/demo.json
	$(CARGO) build --release --locked -p wafer-cli
	mkdir -p results
	$(TARGET)/release/wafer run configs/experiments/warp-one-stream.toml --json results/demo.json --table

test: tools check ## Everything that has to pass: make check, then all tests (installs fio if missing)
	$(CARGO) test --locked --workspace
	scripts/web-test
	$(MAKE) --no-print-directory python WHEEL_PROFILE=dev
	$(MAKE) --no-print-directory interop

interop: ## `wafer serve` with a Linux guest in QEMU, nvme-cli, fio, file systems, tshark; 4 minutes (installs QEMU)
	tests/interop/need-peers
	$(CARGO) test --locked --workspace --test measure --no-run
	tests/interop/run $(TARGET)/debug/wafer $(TARGET)/interop

mount-load: ## `wafer mount` under ext4, XFS, Btrfs, swap and a Linux guest in QEMU; 6 minutes, root (installs QEMU)
	scripts/need-fuse
	tests/interop/need-peers
	$(CARGO) build --release --locked -p wafer-cli
	$(CARGO) test --release --locked -p wafer-cli --test mount
	tests/mount/run $(TARGET)/release/wafer $(TARGET)/interop

serve-bench: ## How fast `wafer serve` is beside nbdkit, to target/serve-speed.md; 3 minutes
	tests/interop/need-peers
	$(CARGO) build --release --locked -p wafer-cli -p wafer-host
	mkdir -p results
	scripts/serve-bench $(TARGET)/release/wafer $(TARGET)/release/wafer-load | tee $(TARGET)/serve-speed.md

serve-soak: ## 100 million page writes through sockets: nothing lost, nothing leaked; results/serve-soak.md; 5 minutes
	$(CARGO) build --release --locked -p wafer-cli -p wafer-host
	mkdir -p results
	scripts/serve-soak $(TARGET)/release/wafer $(TARGET)/release/wafer-load >$(TARGET)/serve-soak.md || \
		{ cat $(TARGET)/serve-soak.md; exit 1; }
	cp $(TARGET)/serve-soak.md results/serve-soak.md

live-bench: ## What three viewers cost a drive under full load; results/live-cost.md; 4 minutes
	$(CARGO) build --release --locked -p wafer-cli -p wafer-host
	mkdir -p results
	scripts/live-bench $(TARGET)/release/wafer $(TARGET)/release/wafer-load | tee results/live-cost.md

check: fmt-check clippy doc docs-check deny ## Format, lints, documentation, generated pages, dependencies

fmt-check: | tools-rust
	$(CARGO) fmt --all --check

clippy: | tools-rust
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

doc: ## The libraries' documentation, in target/doc
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

docs: ## Write the generated page docs/configuration.md
	$(CARGO) run --locked -q -p wafer-lab --example configuration_reference docs/configuration.md

docs-check: ## Is docs/configuration.md what the code says?
	$(CARGO) test --locked --workspace --test configuration_reference

deny: $(DENY) ## Licences, sources and bans of dependencies; advisories where their database is reachable
	$(DENY) --locked check bans licenses sources
	@if $(DENY) --locked fetch db; then \
		$(DENY) --locked --offline check advisories; \
	else \
		echo "make deny: advisories NOT checked: the RustSec database is not reachable from here" >&2; \
	fi

# Unoptimised: compiles in half the time, and reading a lock file takes no more than a second.
$(DENY):
	$(CARGO) install --locked --debug --version $(DENY_VERSION) --root $(TOOLS) \
		--config profile.dev.debug=false cargo-deny

.PHONY: python python-install python-docs figures
python: python-install python-docs ## The Python package: wheel, its tests, notebooks and site, in target/venv
	$(VENV)/bin/python python/tests/clean_install.py $(WHEELS)/wafer-*.whl $(abspath $(TARGET))/clean-venv
	$(VENV)/bin/python -m pytest python/tests

# The wheel as a stranger gets it, in an environment of its own with what it declares and nothing else.
# `make test` builds it with the profile of the other tests, which spares minutes.
python-install: $(VENV)/.made
	rm -rf $(WHEELS)
	$(VENV)/bin/maturin build --quiet --profile $(WHEEL_PROFILE) --locked --out $(WHEELS)
	$(VENV)/bin/pip install --quiet --no-deps --force-reinstall $(WHEELS)/wafer-*.whl
	$(VENV)/bin/pip install --quiet "$$(echo $(WHEELS)/wafer-*.whl)[dev]"

$(VENV)/.made: scripts/need-python
	scripts/need-python $(PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet 'maturin>=1.7,<2'
	touch $@

python-docs: ## The site of the Python package, in target/site
	$(VENV)/bin/python -m sphinx -W -q -b html docs/python $(abspath $(TARGET))/site

# Records are kept in results/figures: made again, it draws from what is there.
figures: python-install ## Every figure of the studies, PDF and PNG, in figures/; 20 minutes for the records
	test -e results/figures/reproduce.json || $(VENV)/bin/wafer reproduce --out results/figures
	$(VENV)/bin/python -m wafer.figures results/figures --out figures

validate: ## The table of errors against measured curves in docs/validation.md; 10 minutes, 10 GiB of memory
	$(CARGO) run --release --locked -q -p wafer-cli -- validate --markdown docs/validation.md

reproduce: ## Published figures beside ours: docs/reproduce.md, and results/reproduce; under 20 minutes
	$(CARGO) run --release --locked -q -p wafer-cli -- reproduce --sensitivity --out results/reproduce --markdown docs/reproduce.md

bench: ## How fast the device and trace readers are beside what memory allows, to results/*-speed.md; 5 minutes, 16 GiB
	$(CARGO) run --release --locked -p wafer-workload --example stream_speed
	mkdir -p results
	$(CARGO) run --release --locked -p wafer-workload --example trace_speed $(CURDIR)/results/trace-speed.md
	$(CARGO) bench --locked -p wafer-lab --bench device -- --write $(CURDIR)/results/device-speed.md

.PHONY: web-test
web-test: ## The web pages in Chromium (installs it, Node and promtool if missing); part of make test
	scripts/web-test

tools: tools-rust ## Install what the tests need: fio, rustfmt, clippy
	scripts/need-fio
	scripts/need-fuse

.PHONY: tools-rust
tools-rust:
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy
