"""One real model for all tests of this folder."""

from __future__ import annotations

import select
import subprocess
import sys
from pathlib import Path

import pytest

START = 60
"""Seconds a loaded machine may take to load the weights."""


@pytest.fixture(scope="session")
def model_url():
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("serve.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        ready, _, _ = select.select([server.stdout], [], [], START)
        address = server.stdout.readline().strip() if ready else ""
        assert address.startswith("http://127.0.0.1:"), (
            "the model did not start: is xllamacpp installed? `make test` does it"
        )
        yield address
    finally:
        server.stdin.close()
        server.wait(10)
