"""A provider that sets a coding agent to work: each answer calls its shell, and the shell prints much.

Messages and Responses, always as streams. Every request is judged by the validators, measured by a count of the
provider's own, and refused above the window. A request for a summary gets one; a compaction gets a sealed one.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import zstandard
from aiohttp import web
from tests.proxy.provider import begin, dialect_of, refusal, size

from foldline.validators import check

LINES = 3_400
"""What a call prints is just short of the 30,000 characters above which Claude Code writes it to a file instead."""
PRINTED = LINES * 8 // 4
"""Tokens of it, as this provider counts."""
DONE = "All done."
SUMMARY = "<analysis>None.</analysis>\n<summary>Counting goes on. {rule}</summary>"
SEALED = "sealed-by-the-provider"
Calls = tuple[tuple[str, Any], ...]
"""Name and input of each; a text is the input of a tool that takes free text."""
Script = Callable[[str, int], Calls | None]
"""What the n-th call of a thread is, if not the usual one."""
_numbers = itertools.count(1)


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
        thread = headers.get("thread-id") or headers.get("x-claude-code-agent-id") or "main"
        got = Got(request.path, thread, size(body), headers, body)
        self.violations += [f"request {len(self.got)}: {violation}" for violation in check(body, dialect)]
        if request.path.endswith("count_tokens"):
            self.counted.append(got)
            return web.json_response({"input_tokens": got.tokens})
        self.got.append(got)
        if got.tokens > self.window:
            self.refused += 1
            return web.json_response(refusal(dialect, got.tokens, self.window), status=400)
        whole = self._messages(got) if dialect == "anthropic" else self._responses(got)
        return await _streamed(request, _message_events(whole) if dialect == "anthropic" else _response_events(whole))

    def _next(self, got: Got, usual: Callable[[str], Calls]) -> Calls:
        if self.made[got.thread] >= self.calls:
            return ()
        self.made[got.thread] = number = self.made[got.thread] + 1
        told = f"echo call {number} of {got.thread}; seq -f {number:03}%04.0f 1 {LINES}"
        return self.script(got.thread, number) or usual(told)

    def _messages(self, got: Got) -> dict[str, Any]:
        asked = json.dumps(got.body["messages"][-1])
        if "Do NOT call any tools" in asked:
            self.summaries += 1
            return _message(got, SUMMARY.format(rule=self.rule), ())
        names = {tool.get("name") for tool in got.body.get("tools") or ()}
        calls = self._next(got, lambda told: (("Bash", {"command": told}),)) if "Bash" in names else ()
        return _message(got, "" if calls else DONE, calls)

    def _responses(self, got: Got) -> dict[str, Any]:
        items = got.body["input"]
        if items[-1].get("type") == "compaction_trigger":
            self.compactions += 1
            item = {"type": "compaction", "id": f"cmp_{next(_numbers)}", "encrypted_content": SEALED}
            return _response(got, [item])
        tools = any(item.get("type") == "additional_tools" for item in items)
        calls = self._next(got, _exec) if tools else ()
        return _response(got, _items("" if calls else DONE, calls))


def _exec(told: str) -> Calls:
    """Codex's tool takes a script that calls the shell."""
    options = json.dumps({"cmd": told, "max_output_tokens": 9_000})
    script = f'// @exec: {{"max_output_tokens": 9000}}\ntext((await tools.exec_command({options})).output);'
    return (("exec", script),)


def _message(got: Got, text: str, calls: Calls) -> dict[str, Any]:
    """With thinking before the calls, as the models do it."""
    thought = [{"type": "thinking", "thinking": "One more.", "signature": "c2lnbmVk"}] if calls else []
    said = [{"type": "text", "text": text}] if text else []
    uses = [{"type": "tool_use", "id": f"toolu_{next(_numbers):020}", "name": name, "input": i} for name, i in calls]
    return {
        "id": f"msg_{next(_numbers):020}",  # Claude Code joins messages of one id
        "type": "message",
        "role": "assistant",
        "model": got.body["model"],
        "content": thought + said + uses,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": got.tokens, "output_tokens": 30},
    }


def _items(text: str, calls: Calls) -> list[dict[str, Any]]:
    thought = {"type": "reasoning", "id": f"rs_{next(_numbers)}", "summary": [], "encrypted_content": "sealed"}
    content = [{"type": "output_text", "text": text, "annotations": []}]
    said = {"type": "message", "id": f"msg_{next(_numbers)}", "status": "completed", "role": "assistant"}
    return ([thought] if calls else []) + ([{**said, "content": content}] if text else []) + [*map(_call, calls)]


def _call(call: tuple[str, Any]) -> dict[str, Any]:
    """A dot in the name parts it from its namespace."""
    (name, told), number = call, next(_numbers)
    space, _, name = name.rpartition(".")
    common = {"status": "completed", "call_id": f"call_{number}", "name": name}
    if isinstance(told, str):
        return {"type": "custom_tool_call", "id": f"ctc_{number}", **common, "input": told}
    call_of = {"namespace": space} if space else {}
    return {"type": "function_call", "id": f"fc_{number}", **common, **call_of, "arguments": json.dumps(told)}


def _response(got: Got, items: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {"input_tokens": got.tokens, "output_tokens": 30, "total_tokens": got.tokens + 30}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {"id": f"resp_{next(_numbers)}", "object": "response", "created_at": 0, "model": got.body["model"]}
    return {**whole, "status": "completed", "error": None, "output": items, "usage": {**usage, **details}}


def _message_events(whole: dict[str, Any]) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for index, block in enumerate(whole["content"]):
        start, deltas = _pieces(block)
        said.append({"type": "content_block_start", "index": index, "content_block": start})
        said += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        said.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    return [*said, {"type": "message_delta", "delta": delta, "usage": whole["usage"]}, {"type": "message_stop"}]


def _pieces(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if block["type"] == "thinking":
        thought = {"type": "thinking_delta", "thinking": block["thinking"]}
        return {**block, "thinking": "", "signature": ""}, [
            thought,
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]


def _response_events(whole: dict[str, Any]) -> list[dict[str, Any]]:
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    said: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(whole["output"]):
        said += [
            {"type": f"response.output_item.{what}", "output_index": index, "item": item} for what in ("added", "done")
        ]
    return [*said, {"type": "response.completed", "response": whole}]


async def _streamed(request: web.Request, events: list[dict[str, Any]]) -> web.StreamResponse:
    response = await begin(request)
    for event in events:
        await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
    await response.write_eof()
    return response
