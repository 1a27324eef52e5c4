# Everything that a person or the CI runs. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
TOOLS := $(TARGET)/tools
DENY := $(TOOLS)/bin/cargo-deny
DENY_VERSION := 0.20.2

.PHONY: help demo test check bench validate reproduce doc docs tools fmt-check clippy deny docs-check

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-12s %s\n", $$1, $$2 }'

demo: ## Write 25 times its capacity to a 448 GiB drive; table on stdout, record in results/demo.json
	$(CARGO) build --release --locked -p wafer-cli
	mkdir -p results
	$(TARGET)/release/wafer run configs/experiments/warp-one-stream.toml --json results/demo.json --table

test: tools check ## Everything that has to pass: make check, then all tests (installs fio if missing)
	$(CARGO) test --locked --workspace

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

validate: ## The table of errors against measured curves in docs/validation.md; 10 minutes, 10 GiB of memory
	$(CARGO) run --release --locked -q -p wafer-cli -- validate --markdown docs/validation.md

reproduce: ## Published figures beside ours: docs/reproduce.md, and results/reproduce; under 20 minutes
	$(CARGO) run --release --locked -q -p wafer-cli -- reproduce --sensitivity --out results/reproduce --markdown docs/reproduce.md

bench: ## How fast the device is beside what memory allows, to results/device-speed.md; 5 minutes, 16 GiB
	$(CARGO) run --release --locked -p wafer-workload --example stream_speed
	mkdir -p results
	$(CARGO) bench --locked -p wafer-lab --bench device -- --write $(CURDIR)/results/device-speed.md

tools: tools-rust ## Install what the tests need: fio, rustfmt, clippy
	scripts/need-fio

.PHONY: tools-rust
tools-rust:
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy
