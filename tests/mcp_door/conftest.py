"""An archive with something in it, and `foldline mcp` over it as users start it: a program of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from foldline import Archive
from foldline.testing import Session

KEY = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


@dataclass(frozen=True)
class House:
    """A project, an archive with a session of it, and how to start the program for them."""

    root: Path
    archive: Path
    message: str
    session: str

    @property
    def line(self) -> list[str]:
        return [
            *(sys.executable, "-m", "foldline.cli.main", "mcp"),
            *("--root", str(self.root), "--archive", str(self.archive)),
        ]


@dataclass(frozen=True)
class Served:
    """A server that runs: its address without a path, and its token."""

    address: str
    token: str

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@pytest.fixture(scope="package")
def house(tmp_path_factory) -> House:
    root = tmp_path_factory.mktemp("project")
    (root / "CLAUDE.md").write_text("# Rules\nBe brief.\n")
    path = tmp_path_factory.mktemp("store") / "archive.db"
    session = Session().user(f"the parser loses commas; my key is {KEY}")
    session.tools(("Read", '{"file_path": "src/parser.py"}', "def parse(): ...\n" * 2_000))
    archive = Archive(path)
    conversation = session.conversation()
    name = archive.append(conversation, project=str(root))
    archive.append(Session().user("another project's commas").conversation(), project="/elsewhere")
    archive.close()
    return House(root, path, conversation.messages[0].identity[:16], name)


@pytest.fixture(scope="package")
def served(house):
    """`foldline mcp --http`, on a free port."""
    environment = {name: value for name, value in os.environ.items() if name != "FOLDLINE_MCP_TOKEN"}
    line = [*house.line, "--http", "--port", "0"]
    with subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment) as process:
        said = "".join(process.stderr.readline().decode() for _ in range(3))
        try:
            yield Served(re.search(r"http://127\.0\.0\.1:\d+", said)[0], re.search(r"Bearer (\S+)", said)[1])
        finally:
            process.terminate()
            process.wait(20)
