# collabui: `make train` and `make test` do everything on a fresh machine; `make help` lists the rest.
SHELL := /bin/bash
SPEC ?= examples/quickstart.yaml
DATA ?= .collabui
GO ?= go

.PHONY: help train build test unit integration environments test-llamafactory bench-llamafactory lint bench chromium clean
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

train: build chromium ## set up, then run or go on with the main job on embedded defaults (SPEC=, DATA=)
	bin/collabui train $(SPEC) --data $(DATA)

build: bin/collabui bin/collabui-local ## build both binaries

bin/collabui: $(shell find . \( -name '*.go' -o -name '*.s' \) -not -path './deploy/*' -not -name '*_test.go') $(shell find envadapters/webtasks/pages examples -type f) go.mod go.sum
	@mkdir -p bin
	$(GO) build -o $@ ./cmd/collabui

# Some 250 modules with a Temporal server: the first build takes minutes, so that it stands in a module of its own.
bin/collabui-local: $(shell find deploy/local -name '*.go' -not -name '*_test.go') deploy/local/go.mod deploy/local/go.sum
	@mkdir -p bin
	@echo "building the local services (Temporal, S3, Redis); the first time takes several minutes"
	$(GO) build -C deploy/local -ldflags "-s -w" -o ../../bin/collabui-local .

chromium: ## install Chromium when it is missing
	@scripts/chromium.sh

test: build chromium unit lint environments integration ## install what the tests need and run all of them
	$(GO) test -C deploy/local ./...

unit: chromium ## unit tests
	$(GO) test ./...

# What the unit tests skip, for it needs more than Go and Chromium: the official MiniWoB++ pages, and the AndroidWorld companion in Python. What cannot be had here is skipped with a reason.
environments: chromium ## the environments' tests that need foreign pages and Python
	export COLLABUI_MINIWOB="$$(scripts/miniwob.sh)" COLLABUI_PYTHON="$$(scripts/python.sh)"; \
	$(GO) test -count=1 -v -run 'Official|RealCompanion|PublishedFiles' ./envadapters/... | grep -vE '^(=== |PASS|ok|\?)|no test files|no tests to run' ; test $${PIPESTATUS[0]} = 0 && \
	if [ -n "$$COLLABUI_PYTHON" ]; then cd deploy/androidworld/tests && PYTHONDONTWRITEBYTECODE=1 "$$COLLABUI_PYTHON" -m unittest discover -q; fi

# The runs of these tests wait for lost machines and restarts more than they compute: more of them than cores.
integration: build chromium ## real services and processes, with kills
	$(GO) test -count=1 -parallel 5 -timeout 40m -tags integration ./test/...
	$(GO) test -count=1 -tags integration -run Faults ./workflows

test-llamafactory: chromium ## the real LLaMA-Factory on the CPU, killed and resumed; installs it (several GB, once) and takes some ten minutes
	program="$$(scripts/llamafactory.sh)" && COLLABUI_LLAMAFACTORY="$$program" $(GO) test -count=1 -v -timeout 40m -run Real ./trainer

bench-llamafactory: ## an update against the bare command, side by side; COLLABUI_BENCH_MODEL=DIR COLLABUI_BENCH_DEVICES=1 on a GPU
	program="$$(scripts/llamafactory.sh)" && COLLABUI_LLAMAFACTORY="$$program" $(GO) test -count=1 -v -timeout 60m -run NONE -bench Bare -benchtime 3x ./trainer

lint: ## formatting, vet, workflow determinism, who may import whom
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt these files:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags integration ./test/... ./workflows
	$(GO) tool workflowcheck ./workflows/...
	@scripts/imports.sh

bench: build chromium ## ratios measured side by side; takes some ten minutes
	@scripts/chromedriver.sh
	COLLABUI_MINIWOB="$$(scripts/miniwob.sh)" $(GO) test -count=1 -timeout 60m -tags integration -run NONE -bench . -benchtime 1x ./test/bench/... ./activities
	$(GO) test -count=1 -timeout 10m -run NONE -benchtime 20x -bench 'Observation|Step' ./envadapters/webtasks ./envadapters/miniwob ./envadapters/openenv

clean: ## delete what was built; runs stay
	rm -rf bin
