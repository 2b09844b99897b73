"""A model on the loopback, asked in the way the command line asks any: an address, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from callers.providers import chat
from callers.server import Say, Server, serving
from foldline.testing import SUMMARY

NAME = "openai-compatible:test"
WRITES = Say(body=chat(SUMMARY))
REFUSES = Say(401, {"error": {"message": "Incorrect API key provided: sk-proj-nobody-should-see-this-key-at-all"}})
HANGS = replace(WRITES, wait=30.0)


@pytest.fixture
def model() -> Iterator[Server]:
    with serving() as server:
        server.says(WRITES)
        yield server


def asks(server: Server) -> tuple[str, ...]:
    """The options that have this server asked."""
    return ("--model", NAME, "--base-url", f"{server.url}/v1")
