"""Where an agent is found, and the place it works in: a home of its own, nothing of the user's, no network.

FOLDLINE_AGENTS names a folder whose `node_modules/.bin` has the programs (`make agents` makes one); else PATH is asked.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

OUTPUT = 4_000
"""Claude Code asks for 64,000 tokens of output, which a small window does not have."""
SECONDS = 240


def found(name: str) -> str:
    """The program, or the test is skipped."""
    folder = os.environ.get("FOLDLINE_AGENTS")
    path = shutil.which(name, path=f"{folder}/node_modules/.bin") if folder else shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not here; `make agents` installs it")
    return path


@dataclass(frozen=True)
class Ran:
    """What became of a command. `counts` is how often the proxy did what."""

    code: int
    out: str
    err: str

    @property
    def counts(self) -> dict[str, int]:
        return _counts(self.err)


@dataclass(frozen=True)
class Behind:
    """A proxy that runs: its address, without a version, and its log."""

    url: str
    log: Path

    @property
    def counts(self) -> dict[str, int]:
        return _counts(self.log.read_text())


def _counts(log: str) -> dict[str, int]:
    lines = [json.loads(line) for line in log.splitlines() if line.startswith('{"time"')]
    actions = [line.get("action", "") for line in lines if line.get("event") == "request"]
    return {action: actions.count(action) for action in actions}


@dataclass(frozen=True)
class Desk:
    """A folder with a home and a work folder in it."""

    root: Path

    def environment(self, program: str, url: str, **more: str) -> dict[str, str]:
        """Only what is named here: no key and no setting of whoever runs the tests."""
        path = os.pathsep.join((str(Path(program).parent), str(Path(sys.executable).parent), os.environ["PATH"]))
        return {
            "HOME": str(self.root),
            "PATH": path,
            "TERM": "dumb",
            "FOLDLINE_HOME": str(self.root / "data"),
            "ANTHROPIC_API_KEY": "of-claude",
            "CODEX_API_KEY": "of-codex",
            "ANTHROPIC_BASE_URL": url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(OUTPUT),
            "DISABLE_AUTOUPDATER": "1",
            "PI_OFFLINE": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            **more,
        }

    def put(self, path: str, value: object) -> None:
        """A file of settings in the home."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(json.dumps(value))

    def ruled(self, rule: str) -> None:
        """The project has a rule of its own, in the files that agents read."""
        for name in ("CLAUDE.md", "AGENTS.md"):
            (self.root / "work").mkdir(exist_ok=True)
            (self.root / "work" / name).write_text(f"# House rules\n\n{rule}\n")

    def configured(self, url: str) -> None:
        """The providers that `foldline run` knows, at the address of ours."""
        config = self.root / ".config" / "foldline" / "proxy.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        known = {"anthropic": "anthropic", "openai": "openai-responses"}
        tables = (f'[upstreams.{name}]\nurl = "{url}"\ndialect = "{said}"\n' for name, said in known.items())
        config.write_text("".join(tables))

    async def proxied(self, url: str, window: int, *command: str) -> Ran:
        """`foldline run -- command`, as the README has it."""
        self.configured(url)
        words = ("foldline", "run", "--window", str(window), "--verbose", "--", Path(command[0]).name, *command[1:])
        return await self.ran(words, self.environment(command[0], "http://127.0.0.1:9"))

    @asynccontextmanager
    async def behind(self, url: str, dialect: str, window: int) -> AsyncIterator[Behind]:
        """A `foldline proxy` in front of that provider, for agents that read their address from a file."""
        options = ("--upstream", url, "--dialect", dialect, "--window", str(window), "--verbose")
        env = {**self.environment(sys.executable, url), "FOLDLINE_TOKEN": "for-the-tests-of-agents"}
        program = shutil.which("foldline", path=env["PATH"])
        assert program is not None
        with (self.root / "proxy.log").open("w") as log:
            pipe = asyncio.subprocess.PIPE
            child = await asyncio.create_subprocess_exec(program, "proxy", *options, env=env, stdout=pipe, stderr=log)
            try:
                assert child.stdout is not None
                told = (await asyncio.wait_for(child.stdout.readline(), SECONDS)).decode()
                yield Behind(told.partition("=")[2].strip().removesuffix("/v1"), self.root / "proxy.log")
            finally:
                child.terminate()
                await child.wait()

    async def ran(self, words: tuple[str, ...], env: dict[str, str]) -> Ran:
        work = self.root / "work"
        work.mkdir(exist_ok=True)
        program = shutil.which(words[0], path=env["PATH"])
        assert program is not None
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            program, *words[1:], cwd=work, env=env, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
        try:
            out, err = await asyncio.wait_for(child.communicate(), SECONDS)
        except TimeoutError:
            child.kill()
            raise
        return Ran(child.returncode or 0, out.decode(), err.decode())

    async def folded(self, agent: str, window: int, path: Path, *options: str) -> Path:
        """The transcript as `foldline compact` writes it, in a file of its own that `foldline validate` passes."""
        to, env = self.root / f"small{path.suffix}", self.environment(found(agent), "")
        words = ("foldline", "compact", str(path), "-o", str(to), "--force", "--window", str(window), *options)
        assert (await self.ran(words, env)).code == 0
        assert (await self.ran(("foldline", "validate", str(to)), env)).code == 0
        return to
