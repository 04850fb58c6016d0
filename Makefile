# dev starts everything, test runs all tests, lint all checks; see README.md.

GO      ?= go
TOOLS   := $(CURDIR)/.tools
GOLANGCI_VERSION      := v2.15.0
WORKFLOWCHECK_VERSION := v0.6.0
GOLANGCI      := $(TOOLS)/$(GOLANGCI_VERSION)/golangci-lint
WORKFLOWCHECK := $(TOOLS)/$(WORKFLOWCHECK_VERSION)/workflowcheck

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

# Packages that link the embedded Temporal server: a build with the race
# detector costs them nine minutes, so they are tested without it.
SERVER_PACKAGES := deerflow/cmd/deerflow|deerflow/internal/daemon|deerflow/internal/devserver|deerflow/internal/testkit/temporald|deerflow/test

.PHONY: dev build test unit race e2e soak histories lint bench clean tools help

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

dev: build ## build, then start Temporal, its Web UI, the worker and the API in one process
	./bin/deerflow dev

build: ## build bin/deerflow
	@if [ ! -x bin/deerflow ]; then echo "Building bin/deerflow; the first build compiles Temporal and takes some minutes."; fi
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/deerflow ./cmd/deerflow

test: race e2e ## run all tests

race: ## unit tests under the race detector (packages that do not link the server)
	$(GO) test -race -shuffle=on -count=1 $$($(GO) list ./... | grep -vE '^($(SERVER_PACKAGES))')
	$(GO) test -race -count=1 -tags failpoints ./internal/failpoint

e2e: ## tests of the embedded server and end-to-end tests through the real binary
	$(GO) build -o bin/deerflow-test ./cmd/deerflow
	$(GO) build -tags failpoints -o bin/deerflow-test-failpoints ./cmd/deerflow
	DEERFLOW_TEST_BINARY=$(CURDIR)/bin/deerflow-test DEERFLOW_TEST_FAILPOINTS_BINARY=$(CURDIR)/bin/deerflow-test-failpoints $(GO) test -count=1 -timeout 20m $$($(GO) list ./... | grep -E '^($(SERVER_PACKAGES))' | grep -v test/bench)

soak: ## crash soak and long outages; takes half an hour
	$(GO) build -o bin/deerflow-test ./cmd/deerflow
	DEERFLOW_SOAK=1 DEERFLOW_TEST_BINARY=$(CURDIR)/bin/deerflow-test $(GO) test -count=1 -p 1 -timeout 90m -v -run 'TestSoak' ./test/soak
	DEERFLOW_SOAK=1 DEERFLOW_TEST_BINARY=$(CURDIR)/bin/deerflow-test $(GO) test -count=1 -p 1 -timeout 90m ./test/limits

histories: ## record what is not there yet: histories for test/replay, a database for test/change
	$(GO) build -o bin/deerflow-test ./cmd/deerflow
	DEERFLOW_RECORD_HISTORIES=test/replay/testdata DEERFLOW_TEST_BINARY=$(CURDIR)/bin/deerflow-test \
		$(GO) test -count=1 -timeout 10m -run 'TestHistoriesReplay|TestConversionReplays|TestDataOfEveryVersion' ./test/change

lint: tools ## golangci-lint with the layer rules, and the workflow determinism checker
	$(GOLANGCI) run ./...
	$(GOLANGCI) run --build-tags failpoints ./internal/failpoint ./worker
	$(WORKFLOWCHECK) -config workflowcheck.config.yaml ./workflows/...

bench: build ## measure, each figure beside its bar
	DEERFLOW_TEST_BINARY=$(CURDIR)/bin/deerflow $(GO) test ./test/bench -run TestBench -count=1 -v -timeout 20m

tools: $(GOLANGCI) $(WORKFLOWCHECK)

# Each in a folder of its version, so that another version is another target.
$(GOLANGCI):
	@echo "Installing golangci-lint $(GOLANGCI_VERSION) into .tools"
	GOBIN=$(@D) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

$(WORKFLOWCHECK):
	@echo "Installing workflowcheck $(WORKFLOWCHECK_VERSION) into .tools"
	GOBIN=$(@D) $(GO) install go.temporal.io/sdk/contrib/tools/workflowcheck@$(WORKFLOWCHECK_VERSION)

clean: ## remove built files
	rm -rf bin
