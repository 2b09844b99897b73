"""A provider that sets a coding agent to work: each answer calls its shell, and the shell prints much.

Messages, Chat Completions and Responses, always as streams. Every request is judged by the validators, measured by a
count of the provider's own, and refused above the window. A request for a summary gets one; a compaction gets a sealed
one. What answers look like is in answers.py.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import zstandard
from aiohttp import web
from tests.agents import answers
from tests.agents.answers import Calls
from tests.proxy.provider import begin, dialect_of, refusal, size

from foldline.validators import check

LINES = 3_400
"""What a call prints is just short of the 30,000 characters above which Claude Code writes it to a file instead."""
PRINTED = LINES * 8 // 4
"""Tokens of it, as this provider counts."""
WIDE = 1_360
"""So many longer lines are about as much: pi and opencode cut what a call prints at 2,000 lines."""
DONE = "All done."
_THREADS = ("thread-id", "x-claude-code-agent-id", "x-session-id")
"""The headers in which Codex, Claude Code and opencode name the conversation."""
ASKED = ("Do NOT call any tools", "You are a context summarization a")
"""How agents ask for a summary: Claude Code at the end, pi and opencode in the system prompt."""
SUMMARY = "<analysis>None.</analysis>\n<summary>Counting goes on. {rule}</summary>"
SEALED = "sealed-by-the-provider"
Script = Callable[[str, int], Calls | None]
"""What the n-th call of a thread is, if not the usual one."""


@dataclass(frozen=True)
class Got:
    """A request as it arrived. `thread` is the agent's own name for the conversation."""

    path: str
    thread: str
    tokens: int
    headers: dict[str, str] = field(repr=False)
    body: Any = field(repr=False)

    @property
    def text(self) -> str:
        return json.dumps(self.body, ensure_ascii=False)


class Work:
    """Runs on the loopback."""

    def __init__(self, window: int, calls: int, script: Script = lambda _, __: None, rule: str = "") -> None:
        self.window, self.calls, self.script, self.rule = window, calls, script, rule
        self.got: list[Got] = []
        self.counted: list[Got] = []
        self.violations: list[str] = []
        self.refused = self.summaries = self.compactions = self.sockets = 0
        self.made: Counter[str] = Counter()
        self.port = 0

    async def __aenter__(self) -> Work:
        app = web.Application(client_max_size=1 << 30, handler_args={"max_field_size": 1 << 16})
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, shutdown_timeout=0.2, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if "upgrade" in request.headers:
            self.sockets += 1
            return web.Response(status=426)
        dialect, data = dialect_of(request.path), await request.read()
        if dialect is None or request.method != "POST":
            return web.json_response({"error": {"type": "not_found_error", "message": "nothing here"}}, status=404)
        if request.headers.get("content-encoding") == "zstd":
            data = zstandard.ZstdDecompressor().stream_reader(data).read()
        body = json.loads(data)
        headers = {key.lower(): value for key, value in request.headers.items()}
        thread = next((headers[name] for name in _THREADS if name in headers), "main")
        got = Got(request.path, thread, size(body), headers, body)
        self.violations += [f"request {len(self.got)}: {violation}" for violation in check(body, dialect)]
        if request.path.endswith("count_tokens"):
            self.counted.append(got)
            return web.json_response({"input_tokens": got.tokens})
        self.got.append(got)
        if got.tokens > self.window:
            self.refused += 1
            return web.json_response(refusal(dialect, got.tokens, self.window), status=400)
        return await _streamed(request, dialect, self._answer(dialect, got))

    def _answer(self, dialect: str, got: Got) -> list[dict[str, Any]]:
        text, calls = self._said(got)
        model = got.body["model"]
        if dialect == "anthropic":
            return answers.message_events(answers.message(model, got.tokens, text, calls))
        if dialect == "openai-chat":
            return answers.chat_chunks(model, got.tokens, text, calls)
        compacts = got.body["input"][-1].get("type") == "compaction_trigger"
        self.compactions += compacts
        items = [answers.sealed(SEALED)] if compacts else answers.items(text, calls)
        return answers.response_events(answers.response(model, got.tokens, items))

    def _said(self, got: Got) -> tuple[str, Calls]:
        if any(words in _ends(got.body) for words in ASKED):
            self.summaries += 1
            return SUMMARY.format(rule=self.rule), ()
        shell = next((shell for name, shell in _SHELLS.items() if name in _tools(got.body)), None)
        calls = self._next(got, shell) if shell else ()
        return "" if calls else DONE, calls

    def _next(self, got: Got, usual: Callable[[str, int], Calls]) -> Calls:
        if self.made[got.thread] >= self.calls:
            return ()
        self.made[got.thread] = number = self.made[got.thread] + 1
        return self.script(got.thread, number) or usual(got.thread, number)


def _ends(body: Any) -> str:
    """What a request begins and ends with: its instructions and its last message."""
    said = body.get("messages") or body.get("input")
    return json.dumps([body.get("system"), body.get("instructions"), said[0], said[-1]])


def _tools(body: Any) -> set[str]:
    """The names of a request's tools; Codex has a list of its own for them."""
    tools = [tool.get("function", tool) for tool in body.get("tools") or ()]
    listed = any(item.get("type") == "additional_tools" for item in body.get("input") or ())
    return {tool.get("name") for tool in tools} | ({"exec"} if listed else set())


def _counted(thread: str, number: int, wide: bool = False) -> str:
    """The command of a call. pi and opencode cut what is printed at 2,000 lines, so theirs are longer."""
    lines = f"-f {number:03}%017.0f 1 {WIDE}" if wide else f"-f {number:03}%04.0f 1 {LINES}"
    return f"echo call {number} of {thread}; seq {lines}"


def _bash(thread: str, number: int) -> Calls:
    """With a reason, so that old calls are something to fold too."""
    why = " ".join(f"reason {number}.{place}" for place in range(150))
    return (("bash", {"command": f": '{why}'; {_counted(thread, number, wide=True)}", "description": "count"}),)


def _claude(thread: str, number: int) -> Calls:
    return (("Bash", {"command": _counted(thread, number)}),)


def _exec(thread: str, number: int) -> Calls:
    """Codex's tool takes a script that calls the shell."""
    options = json.dumps({"cmd": _counted(thread, number), "max_output_tokens": 9_000})
    script = f'// @exec: {{"max_output_tokens": 9000}}\ntext((await tools.exec_command({options})).output);'
    return (("exec", script),)


_SHELLS = {"Bash": _claude, "exec": _exec, "bash": _bash}
"""The tool that is an agent's shell, and how it is called."""


async def _streamed(request: web.Request, dialect: str, events: list[dict[str, Any]]) -> web.StreamResponse:
    response = await begin(request)
    for event in events:
        named = "" if dialect == "openai-chat" else f"event: {event['type']}\n"
        await response.write(f"{named}data: {json.dumps(event)}\n\n".encode())
    if dialect == "openai-chat":
        await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response
