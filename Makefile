# pglab: build, test, try. `make` alone lists the targets.

GO      ?= $(shell deploy/install.sh go)
MAJORS  := 14 15 16 17 18
SOURCES := $(shell find gateway internal sql -name '*.go' -o -name '*.sql') go.mod go.sum

.PHONY: help demo build stop deps deps/demo test lint fmt bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z\/]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: deps/demo build ## install what is missing, start the lab, compare Postgres 16, 17 and 18
	@deploy/demo.sh

stop: ## stop the lab that the demo started
	@bin/pglab stop

build: bin/pglab ## build bin/pglab

bin/pglab: $(SOURCES)
	@echo 'building bin/pglab (the first time this fetches modules and takes a minute or two)'
	@CGO_ENABLED=0 $(GO) build -o $@ ./gateway

deps/demo:
	@deploy/install.sh packages
	@deploy/install.sh postgres 16 17 18

deps: ## install what the tests need: Postgres 14 to 18 and pgbench of several majors
	@deploy/install.sh packages
	@deploy/install.sh postgres $(MAJORS)
	@deploy/install.sh pgbench 13 17 18

# The whole-program tests run a pglab that looks for data races, too. One package at a time: these tests start servers
# and measure them.
test: deps lint ## everything: unit, wire, engine, FDW of every major, process runtime, the example
	$(GO) build -race -o bin/pglab-race ./gateway
	$(GO) test -race -run '^$$' ./... >/dev/null
	PGLAB_BINARY=$(CURDIR)/bin/pglab-race $(GO) test -race -count=1 -p 1 -timeout 60m ./...

lint: ## formatting, vet, tidiness of go.mod, shell scripts
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run make fmt'; exit 1; }
	$(GO) vet ./...
	$(GO) mod tidy -diff
	@for script in deploy/*.sh examples/*.sh .ci/run; do bash -n $$script || exit 1; done

fmt: ## format the Go code
	gofmt -w .

bench: deps build ## the lab's own cost, as ratios within one run
	$(GO) test -count=1 -timeout 60m -run '^$$' -bench . ./internal/bench

clean: ## remove what make build made
	rm -rf bin
