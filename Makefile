# Everything that a checkout can do. `make` alone lists it.

GO     ?= go
TOOL   := $(GO) tool -modfile=tools/go.mod
KILLS  ?= 1000
SEED   ?=
ROUNDS ?= 20

.DEFAULT_GOAL := help
.PHONY: help build demo demo20 test mutants race lint fmt race20 soak soak-queue soak-mesh histories philosophers shop bench fuzz spec sim clean

help: ## list these targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the command line: bin/pawl
	$(GO) build -o bin/pawl ./cmd/pawl

demo: ## the airline: 20,000 flights, 20 times kill -9, and a verdict; DURABILITY=replicated: on three hosts
	$(GO) run ./examples/flights/cmd/airline $(if $(DURABILITY),--durability $(DURABILITY)) $(if $(SEED),--seed $(SEED))

demo20: ## the demo for 20 seeds in both durabilities (about 25 minutes)
	$(GO) build -o bin/airline ./examples/flights/cmd/airline
	@for d in process disk; do for s in $$(seq 1 20); do \
		bin/airline --seed $$s --durability $$d >bin/airline.out 2>&1 || { cat bin/airline.out; exit 1; }; \
		echo "$$d, seed $$s: $$(tail -n 1 bin/airline.out)"; \
	done; done

test: ## vet, build and all tests; needs Go, and node, npm and python3 for the tests of other languages
	$(GO) vet ./...
	$(GO) build ./...
	$(GO) test -timeout 15m ./...
	$(MAKE) mutants

mutants: ## the faults built into the runtime on purpose: the check of traces, and the simulation, catch each
	$(GO) test -count=1 -tags mutants ./engine/local ./internal/sim/program ./pawltest -run 'TestMutants|TestScenes|TestFaultsOfPawl'

race: ## all tests with the race detector; needs a C compiler
	$(GO) test -race -timeout 20m ./...

lint: ## golangci-lint, built from the module proxy the first time (about 2 minutes)
	$(TOOL) golangci-lint run --allow-serial-runners ./...

fmt: ## format the tree as the linter wants it
	$(TOOL) golangci-lint fmt ./...

race20: ## all tests with the race detector, ROUNDS=20 times in a row
	@for i in $$(seq 1 $(ROUNDS)); do echo "round $$i of $(ROUNDS)"; \
		$(GO) test -race -count=1 -timeout 20m ./... || exit 1; done

soak: ## KILLS=1000 times kill -9 over bank, counter and flights; nothing lost, nothing doubled
	$(GO) run ./examples/soak --kills $(KILLS) $(if $(SEED),--seed $(SEED))

soak-queue: ## KILLS=1000 times kill -9 over three hosts that copy a queue, the network failing; nothing lost, all the same
	$(GO) build -o bin/queuesoak ./queue/replica/soak/cmd/queuesoak
	bin/queuesoak --kills $(KILLS) $(if $(SEED),--seed $(SEED))

soak-mesh: ## MESSAGES=10000000 between two nodes whose connections are killed at random: none twice, none late
	$(GO) run ./mesh/soak --messages $(or $(MESSAGES),10000000) $(if $(SEED),--seed $(SEED))

histories: ## what CLIENTS=8 are told over KILLS=1000 times kill -9 is linearizable
	$(GO) run ./examples/histories --kills $(KILLS) $(if $(CLIENTS),--clients $(CLIENTS)) $(if $(SEED),--seed $(SEED))

philosophers: ## five of them, in JavaScript, MEALS=100 each, with KILLS=20 times kill -9, and a verdict; needs node and npm
	$(GO) run ./examples/philosophers/cmd/philosophers $(if $(MEALS),--meals $(MEALS)) $(if $(filter file,$(origin KILLS)),,--kills $(KILLS)) $(if $(SEED),--seed $(SEED))

shop: ## a front in JavaScript, orders in Go, payments in Python: ORDERS=400 with KILLS=20 times kill -9, and a verdict; needs node and python3
	$(GO) run ./examples/shop/cmd/shop $(if $(ORDERS),--orders $(ORDERS)) $(if $(filter file,$(origin KILLS)),,--kills $(KILLS)) $(if $(SEED),--seed $(SEED))

sim: ## 10,000 random programs with failures, on virtual time and a simulated disk; SEED=42 tells of one program
	$(GO) test ./internal/sim/program -count=1 -timeout 60m -v -run 'TestPrograms$$' $(if $(SEED),-seed $(SEED),-programs 10000)

bench: build ## the durable counter, both durabilities, beside a bare probe; and beside DBOS Transact
	bin/pawl bench call --clients 1 --durability process
	bin/pawl bench call --clients 64 --keys 1000 --durability process
	bin/pawl bench call --clients 1 --durability disk
	bin/pawl bench call --clients 64 --keys 1000 --durability disk
	cd bench/dbos && $(GO) run . --beside $(CURDIR)/bin/pawl --rounds 3 --clients 1
	cd bench/dbos && $(GO) run . --beside $(CURDIR)/bin/pawl --rounds 3 --clients 64 --keys 1000

fuzz: ## every fuzz target, FUZZTIME=10s each
	@for p in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
			echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(or $(FUZZTIME),10s) $$p || exit 1; \
		done; done

spec: ## the semantics: every path of the small programs, with failures; the mutants; 300 random programs
	$(GO) run ./spec/explore -all
	$(GO) run ./spec/explore -random 300 -max-states 3000 $(if $(SEED),-seed $(SEED))

clean: ## remove what runs and builds leave in the tree
	rm -rf bin data
