"""Runs the program: in this process, which is fast, or as a program of its own."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from foldline.cli.main import run


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch) -> Path:
    """Each test has an archive and an agenda of its own."""
    found = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("FOLDLINE_HOME", str(found))
    return found


@dataclass(frozen=True)
class Ran:
    code: int
    out: bytes
    err: str


@pytest.fixture
def foldline(capfdbinary, monkeypatch) -> Callable[..., Ran]:
    """One command line, run here."""

    def call(*arguments: object, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = run([str(argument) for argument in arguments])
        sys.stdout.flush()
        found = capfdbinary.readouterr()
        return Ran(code, found.out, found.err.decode())

    return call


@pytest.fixture
def program() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """One command line, run as users do."""

    def call(*arguments: object, **options) -> subprocess.CompletedProcess[bytes]:
        line = [sys.executable, "-m", "foldline.cli.main", *map(str, arguments)]
        return subprocess.run(line, capture_output=True, timeout=60, **options)

    return call
