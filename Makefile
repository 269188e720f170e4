# collabui: `make train` and `make test` do everything on a fresh machine; `make help` lists the rest.
SHELL := /bin/bash
SPEC ?= examples/quickstart.yaml
DATA ?= .collabui
GO ?= go
FUZZTIME ?= 20000x

# Python keeps compiled files outside of the checkout.
export PYTHONPYCACHEPREFIX ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/collabui/pycache

# The linters have their own module, which keeps their dependencies out of the product.
TOOL := $(GO) tool -modfile=tools/go.mod

# The packages with pools, gateways, leases and the player. The short form has those that start no browser and train
# nothing.
RACE_SHORT := ./internal/policy/gateway ./internal/policy/llm ./internal/policy/limits ./internal/httpd \
	./internal/method/agents ./internal/method/episode ./activities/...
RACE := $(RACE_SHORT) ./internal/policy/infer ./internal/policy/tinyserver ./trainer/external \
	./envadapters/androidworld ./envadapters/openenv ./envadapters/browser ./workflows

.PHONY: help train build bin/collabui test unit lint race race-short simulate mutants fuzz vuln integration
.PHONY: environments statistics datasets tools clients valkey accessibility python deploy-check tokens
.PHONY: test-llamafactory test-production production-small test-stack bench-llamafactory bench-vllm
.PHONY: bench chromium clean chaos recovery scale attack
.PHONY: histories

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 20

train: build chromium ## train the quickstart or SPEC=, or continue it, in the data folder .collabui or DATA=
	bin/collabui train $(SPEC) --data $(DATA)

build: bin/collabui bin/collabui-local ## build both binaries

# The go command knows best what is out of date, including embedded files.
bin/collabui:
	@mkdir -p bin
	$(GO) build -buildvcs=auto -o $@ ./cmd/collabui

# This module has some 250 dependencies, including a Temporal server, and its first build takes minutes.
bin/collabui-local: $(shell find deploy/local -name 'go.*' -o -name '*.go' -not -name '*_test.go')
	@mkdir -p bin
	@echo "building the local services (Temporal, S3, Redis); the first time takes several minutes"
	$(GO) build -C deploy/local -ldflags "-s -w" -o ../../bin/collabui-local .

chromium: ## install Chromium if it is missing
	@scripts/chromium.sh

# Tests that need packages and programs that others publish.
PACKAGES := environments statistics datasets tools clients valkey accessibility python deploy-check tokens

test: build chromium unit lint race-short fuzz $(PACKAGES) integration ## install what the tests need, run them all
	$(GO) test -C deploy/local ./...
	$(MAKE) mutants MUTANTS=4 BUDGET=60s

# The slowest packages start first, so that none of them runs alone at the end.
unit: chromium ## run the unit tests
	$(GO) test -timeout 30m ./workflows ./envadapters/webtasks ./trainer/llamafactory ./internal/care/verify ./...

lint: ## check formatting, run workflowcheck and linters, compile the command line for darwin
	@test -z "$$(gofmt -l .)" || { echo "gofmt these files:"; gofmt -l .; exit 1; }
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/collabui
	$(GO) tool workflowcheck ./workflows/...
	$(TOOL) golangci-lint run --allow-parallel-runners ./...

race: chromium ## run concurrent packages with the race detector
	@scripts/cc.sh
	$(GO) test -race $(RACE)

race-short: ## run the quickest of these packages with the race detector
	@scripts/cc.sh
	$(GO) test -race -short $(RACE_SHORT)

SCHEDULES ?= 10000
SEED ?= 1
simulate: ## play SCHEDULES (10000) runs, a month and a year of nights in one process, from SEED on
	GOGC=1600 $(GO) test -timeout 60m ./test/simulation -run 'TestSchedules|TestAMonth|TestAYear' -v \
		-args -month -nights 365 -schedules $(SCHEDULES) -seed $(SEED) | \
		grep -vE '^(=== |--- PASS)|^ *--- PASS'; exit $${PIPESTATUS[0]}

RUNS ?= 200
CELLS ?= 6
chaos: build ## play RUNS (200) runs on real processes that are killed, frozen and cut off, from SEED on
	$(GO) test -count=1 -timeout 60m -parallel $(CELLS) -tags integration ./test/chaos -v \
		-args -runs $(RUNS) -cells $(CELLS) -seed $(SEED) | grep -vE '^(=== |--- PASS)|^ *--- PASS'; exit $${PIPESTATUS[0]}

attack: build chromium ## play hostile pages, servers, models, specifications and accounts against a running training
	$(GO) test -count=1 -tags integration -v -run 'TestAttack$$' ./test/integration | \
		grep -vE '^ *(=== |--- PASS)'; exit $${PIPESTATUS[0]}

HISTORIES ?= workflows/testdata/unreleased
histories: build ## record the histories that this code's workflows write, in HISTORIES (half an hour)
	mkdir -p $(HISTORIES)
	rm -f $(HISTORIES)/*.json.gz
	COLLABUI_SAVE_HISTORIES=$(abspath $(HISTORIES)) $(GO) test -count=1 -timeout 90m -tags integration,histories \
		-run RecordHistories -v ./test/chaos

recovery: build chromium ## kill and freeze every component 20 times, measure recovery (an hour)
	$(GO) test -count=1 -timeout 120m -tags integration,recovery -parallel 2 -run Recovery -v ./test/integration

scale: build ## compare large epochs and long runs with small ones (an hour; nothing else may run)
	$(GO) test -count=1 -timeout 180m -tags integration -v ./test/scale

# Without MUTANTS, all mutants are played, and test/mutants/found.json records which test found each of them.
MUTANTS ?= 0
TURN ?= 0
BUDGET ?= 0
NAME ?=
mutants: ## plant bugs, and check that tests find each; MUTANTS=6 plays those whose TURN it is, NAME= those so named
	GOGC=400 $(GO) test -count=1 -timeout 180m -tags mutants ./test/mutants -v \
		-run 'TestEveryMutantIsFound/planted/$(NAME)' -args -some $(MUTANTS) -turn $(TURN) -budget $(BUDGET) | \
		grep -vE '^ *(=== |--- PASS)'; exit $${PIPESTATUS[0]}

fuzz: ## run every fuzz target for FUZZTIME (20000x means 20,000 inputs)
	@GO="$(GO)" FUZZTIME="$(FUZZTIME)" scripts/fuzz.sh

# This is not part of `make test`, because CI cannot reach https://vuln.go.dev. VULNDB names another database, such as a
# mirror in a folder (file:///…).
VULNDB ?= https://vuln.go.dev
vuln: ## look for known vulnerabilities (needs the internet)
	$(TOOL) govulncheck -db $(VULNDB) ./...
	$(TOOL) govulncheck -C deploy/local -db $(VULNDB) ./...

# The unit tests skip tests that need more than Go and Chromium: the official MiniWoB++ pages, and the AndroidWorld
# companion in Python. If this machine lacks them, they are skipped here, too, with a reason.
environments: chromium ## run the environments' tests that need foreign pages and Python
	export COLLABUI_MINIWOB="$$(scripts/miniwob.sh)" COLLABUI_PYTHON="$$(scripts/python.sh)"; \
	$(GO) test -count=1 -v -run 'Official|RealCompanion|PublishedFiles' ./envadapters/... | \
		grep -vE '^(=== |PASS|ok|\?)|no test files|no tests to run'; test $${PIPESTATUS[0]} = 0 && \
	if [ -n "$$COLLABUI_PYTHON" ]; then \
		cd deploy/androidworld/tests && "$$COLLABUI_PYTHON" -m unittest discover -q; \
	fi

# The unit tests skip these tests, which need other packages.
statistics: ## recompute figures of tables with statsmodels, scipy and evalconfidence, and compare
	export COLLABUI_STATS_PYTHON="$$(scripts/venv.sh stats)"; [ -z "$$COLLABUI_STATS_PYTHON" ] || \
		$(GO) test -count=1 -run OtherPackages ./internal/method/stats ./internal/records/experiments

datasets: ## load exports with the package datasets, and compare every row
	export COLLABUI_DATASETS_PYTHON="$$(scripts/venv.sh datasets)"; [ -z "$$COLLABUI_DATASETS_PYTHON" ] || \
		$(GO) test -count=1 -run DatasetsPackage ./cmd/collabui/results

# The unit tests skip tests that need the packages. If they cannot be installed, the tests are skipped here, too, with a
# reason.
tools: ## read the files of `export --as` and python/collabui_track.py with the tools that they are for
	export COLLABUI_TOOLS_PYTHON="$$(scripts/venv.sh tools)"; [ -z "$$COLLABUI_TOOLS_PYTHON" ] || \
		$(GO) test -count=1 -run OtherTools ./cmd/collabui/results

# The unit tests skip tests that need a Redis or Valkey server.
valkey: ## share limits over a real cluster and a real sentinel of Valkey
	export COLLABUI_VALKEY_PYTHON="$$(scripts/venv.sh valkey)"; [ -z "$$COLLABUI_VALKEY_PYTHON" ] || \
		$(GO) test -count=1 -run Real ./internal/policy/limits

# The integration tests skip tests that need the packages. If they cannot be installed, the tests are skipped here, too,
# with a reason.
clients: build chromium ## call `collabui infer` with OpenAI's packages for Python and JavaScript
	export COLLABUI_CLIENTS_PYTHON="$$(scripts/venv.sh clients)" COLLABUI_CLIENTS_NODE="$$(scripts/node.sh clients)"; \
		$(GO) test -count=1 -tags integration -run OfficialClients ./test/integration

# SmolLM2's tokenizer is in a package of 93 MB.
tokens: ## look for control tokens in prompts and training rows with real tokenizers
	export COLLABUI_TOKENS_PYTHON="$$(scripts/venv.sh tokens)"; [ -z "$$COLLABUI_TOKENS_PYTHON" ] || \
		$(GO) test -count=1 -tags integration ./test/tokens

accessibility: chromium ## check report, viewer and the pages of webtasks with axe-core
	export COLLABUI_AXE_NODE="$$(scripts/node.sh axe)"; $(GO) test -count=1 -run Axe ./internal/view ./envadapters/webtasks

# The unit tests skip tests that need Python packages: the published server and client of OpenEnv, and python/.
python: bin/collabui chromium ## test the Python package, and the protocol against the published OpenEnv package
	export COLLABUI_OPENENV_PYTHON="$$(scripts/venv.sh openenv)" COLLABUI_WHEEL_PYTHON="$$(scripts/venv.sh wheel)"; \
	export COLLABUI_BROWSERGYM_PYTHON="$$(scripts/venv.sh browsergym)"; \
	[ -z "$$COLLABUI_OPENENV_PYTHON" ] || { \
		$(GO) test -count=1 -run 'Published|Python' ./envadapters/openenv ./cmd/collabui/environments/scaffold && \
		cd python && "$$COLLABUI_OPENENV_PYTHON" -m mypy --cache-dir /dev/null collabui_env collabui_track.py tests && \
		"$$COLLABUI_OPENENV_PYTHON" -m unittest discover -q -t . -s tests; }

# The unit tests check deploy/ against the code; this also reads it with the tools that deploy it. Checks whose tools
# cannot be installed are skipped, with a reason.
deploy-check: bin/collabui ## render the chart, read the compose file, check both against schemas and the code
	export COLLABUI_HELM="$$(scripts/gotool.sh helm)" COLLABUI_COMPOSE="$$(scripts/gotool.sh compose)" \
		COLLABUI_KEDA="$$(scripts/gotool.sh keda)" COLLABUI_MONITORING="$$(scripts/gotool.sh monitoring)" \
		COLLABUI_DEPLOY_PYTHON="$$(scripts/venv.sh deploy)" COLLABUI_SBOM="$$(scripts/gotool.sh sbom)"; \
		$(GO) test -count=1 ./test/deploy

# The runs of these tests wait for lost machines and restarts more than they compute, so more of them run than there are
# cores.
integration: build chromium ## run the tests with real services and processes, and kill them
	COLLABUI_OPENENV_PYTHON="$$(scripts/venv.sh openenv)" COLLABUI_PROMETHEUS="$$(scripts/prometheus.sh)" \
		$(GO) test -count=1 -parallel 5 -timeout 40m -tags integration ./test/integration/...
	$(GO) test -count=1 -tags integration -run Faults ./workflows
	$(GO) test -count=1 -parallel 4 -tags integration ./test/chaos -args -runs 12 -cells 4

test-llamafactory: chromium ## test the real LLaMA-Factory, TRL and PEFT on the CPU (half an hour, installs several GB)
	program="$$(scripts/llamafactory.sh)" && python="$$(scripts/trl.sh)" && \
		COLLABUI_LLAMAFACTORY="$$program" COLLABUI_TRL_PYTHON="$$python" \
		$(GO) test -count=1 -v -timeout 40m -run Real ./trainer ./cmd/collabui/results

test-production: build chromium ## test the production row: real vLLM, SGLang, LLaMA-Factory (half an hour, several GB)
	vllm="$$(scripts/vllm.sh)" && sglang="$$(scripts/sglang.sh)" && program="$$(scripts/llamafactory.sh)" && \
		export COLLABUI_VLLM="$$vllm" COLLABUI_SGLANG="$$sglang" COLLABUI_LLAMAFACTORY="$$program" && \
		$(GO) test -count=1 -v -timeout 40m -run Real ./internal/policy/gateway ./activities/training && \
		$(GO) test -count=1 -v -timeout 90m -tags integration -run 'TheProductionRow|TheModelThatSees' ./test/integration

production-small: build chromium ## train a small model by real programs on the CPU (two hours, several GB)
	scripts/production_small.sh

# COLLABUI_PICTURES=DIR takes pictures of the viewer and of the Temporal UI.
test-stack: build chromium ## test deploy/compose's programs without containers (half an hour, mostly builds)
	export COLLABUI_STACK="$$(scripts/stack.sh)" COLLABUI_PROMETHEUS="$$(scripts/prometheus.sh)"; \
		$(GO) test -count=1 -v -timeout 60m -tags integration -run TheStackByHand ./test/integration

# COLLABUI_BENCH_MODEL=DIR and COLLABUI_BENCH_DEVICES=1 run this on a GPU.
bench-llamafactory: ## measure an update against the bare command
	program="$$(scripts/llamafactory.sh)" && COLLABUI_LLAMAFACTORY="$$program" \
		$(GO) test -count=1 -v -timeout 60m -run NONE -bench Bare -benchtime 3x ./trainer

# The same variables run this on a GPU, with COLLABUI_VLLM naming a vLLM for GPUs.
bench-vllm: ## measure the gateway against vLLM alone
	vllm="$$(scripts/vllm.sh)" && program="$$(scripts/llamafactory.sh)" && \
		COLLABUI_VLLM="$$vllm" COLLABUI_LLAMAFACTORY="$$program" \
		$(GO) test -count=1 -v -timeout 60m -run NONE -bench ThroughTheGateway -benchtime 1x \
		./internal/policy/gateway

bench: build chromium ## measure ratios (some minutes)
	@scripts/chromedriver.sh
	$(GO) test -count=1 -timeout 60m -tags integration -run NONE -bench . -benchtime 1x ./test/bench ./activities/roles ./internal/policy/tinylm
	COLLABUI_MINIWOB="$$(scripts/miniwob.sh)" COLLABUI_MINIWOB_PYTHON="$$(scripts/venv.sh miniwob)" \
		$(GO) test -count=1 -timeout 10m -run NONE -benchtime 20x -bench OfficialPages ./envadapters/miniwob

clean: ## delete the built programs; runs stay
	rm -rf bin
