"""A provider that says what it is told to, in four dialects, streaming or not, and remembers what it was sent.

Without a script it answers every good request with a short reply, and refuses what its window does not hold in the
words of its dialect. Every request is judged by the validators.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from foldline.validators import check

DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini")
SLOTS = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input", "gemini": "contents"}
PATHS = {
    "anthropic": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-test:generateContent",
}
Script = Callable[[web.Request, bytes], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Got:
    """A request as it arrived."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes = field(repr=False)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@contextmanager
def absent() -> Iterator[Provider]:
    """A provider that is not there. Its port is held, so that meanwhile nobody else gets it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        provider = Provider()
        provider.port = held.getsockname()[1]
        yield provider


class Provider:
    """Runs on the loopback. `scripts` are used up one by one; then it behaves by itself."""

    def __init__(self, window: int | None = None) -> None:
        self.window = window
        self.got: list[Got] = []
        self.scripts: list[Script] = []
        self.violations: list[str] = []
        self._runner: web.AppRunner | None = None
        self.port = 0

    async def __aenter__(self) -> Provider:
        app = web.Application(client_max_size=1 << 30, handler_args={"max_field_size": 1 << 16})
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, shutdown_timeout=0.2, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = {key.lower(): value for key, value in request.headers.items()}
        self.got.append(Got(request.method, *raw_parts(request), headers, body))
        if self.scripts:
            return await self.scripts.pop(0)(request, body)
        dialect = dialect_of(request.path)
        if dialect is None:
            return web.Response(body=body or b"nothing", headers={"x-path": request.path}, content_type="text/plain")
        return await self._answer(dialect, request, json.loads(body))

    async def _answer(self, dialect: str, request: web.Request, sent: Any) -> web.StreamResponse:
        asked = sent.get("generateContentRequest", sent)
        self.violations += [str(violation) for violation in check(asked[SLOTS[dialect]], dialect)]
        tokens = size(asked)
        if request.path.endswith(("count_tokens", ":countTokens")):
            return web.json_response({"totalTokens": tokens} if dialect == "gemini" else {"input_tokens": tokens})
        if self.window is not None and tokens > self.window:
            return web.json_response(refusal(dialect, tokens, self.window), status=400)
        if streaming(request, sent):
            return await stream(request, dialect, "fine", tokens)
        return web.json_response(reply(dialect, "fine", tokens))


def raw_parts(request: web.Request) -> tuple[str, str]:
    """Path and query as they were written."""
    path, _, query = request.raw_path.partition("?")
    return path, query


def dialect_of(path: str) -> str | None:
    if path.endswith(("/messages", "/count_tokens")):
        return "anthropic"
    if path.endswith("/chat/completions"):
        return "openai-chat"
    if path.endswith("/responses"):
        return "openai-responses"
    return "gemini" if path.endswith((":generateContent", ":streamGenerateContent", ":countTokens")) else None


def streaming(request: web.Request, sent: Any) -> bool:
    return sent.get("stream") is True or request.path.endswith(":streamGenerateContent")


def size(sent: Any) -> int:
    """Tokens as this provider counts them: a quarter of the characters."""
    return len(json.dumps(sent)) // 4


def reply(dialect: str, text: str, tokens: int) -> dict[str, Any]:
    """A whole answer."""
    if dialect == "anthropic":
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": tokens, "output_tokens": 3},
        }
    if dialect == "openai-chat":
        message = {"role": "assistant", "content": text}
        return {
            "id": "c",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": tokens, "completion_tokens": 3, "total_tokens": tokens + 3},
        }
    if dialect == "openai-responses":
        said = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [said]}
        usage = {"input_tokens": tokens, "output_tokens": 3, "total_tokens": tokens + 3}
        return {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage}
    content = {"role": "model", "parts": [{"text": text}]}
    usage = {"promptTokenCount": tokens, "candidatesTokenCount": 3, "totalTokenCount": tokens + 3}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}


def refusal(dialect: str, tokens: int, window: int) -> dict[str, Any]:
    """A prompt that is too large, in the provider's own words."""
    if dialect == "anthropic":
        said = f"prompt is too long: {tokens} tokens > {window} maximum"
        return {"type": "error", "error": {"type": "invalid_request_error", "message": said}}
    if dialect == "gemini":
        said = f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."
        return {"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}}
    said = (
        f"This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens."
    )
    code = "context_length_exceeded"
    return {"error": {"message": said, "type": "invalid_request_error", "param": "messages", "code": code}}


def events(dialect: str, text: str, tokens: int) -> list[bytes]:
    """A whole answer as a stream's events."""
    words = [word + " " for word in text.split()] or [""]
    if dialect == "anthropic":
        start = {**reply(dialect, "", tokens), "content": [], "stop_reason": None}
        said = [
            {"type": "message_start", "message": start},
            {"type": "ping"},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
                for word in words
            ),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
            {"type": "message_stop"},
        ]
        return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in said]
    if dialect == "openai-chat":
        deltas = [{"role": "assistant", "content": ""}, *({"content": word} for word in words)]
        chunks = [{"id": "c", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        chunks.append({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        chunks.append({"id": "c", "choices": [], "usage": reply(dialect, "", tokens)["usage"]})
        return [*(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks), b"data: [DONE]\n\n"]
    if dialect == "openai-responses":
        whole = reply(dialect, text, tokens)
        said = [
            {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}},
            {"type": "response.output_item.added", "output_index": 0, "item": {**whole["output"][0], "content": []}},
            *({"type": "response.output_text.delta", "output_index": 0, "delta": word} for word in words),
            {"type": "response.completed", "response": whole},
        ]
        return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in said]
    parts = [{"candidates": [{"content": {"role": "model", "parts": [{"text": word}]}}]} for word in words]
    last = {**parts[-1], "usageMetadata": reply(dialect, "", tokens)["usageMetadata"]}
    return [f"data: {json.dumps(part)}\r\n\r\n".encode() for part in (*parts[:-1], last)]


async def begin(request: web.Request, status: int = 200, kind: str = "text/event-stream") -> web.StreamResponse:
    response = web.StreamResponse(status=status, headers={"content-type": kind})
    await response.prepare(request)
    return response


async def stream(request: web.Request, dialect: str, text: str, tokens: int, pause: float = 0.0) -> web.StreamResponse:
    response = await begin(request)
    for event in events(dialect, text, tokens):
        await response.write(event)
        if pause:
            await asyncio.sleep(pause)
    await response.write_eof()
    return response


def says(body: Any, status: int = 200, **headers: str) -> Script:
    """A script: this body, whatever was asked."""

    async def script(_: web.Request, __: bytes) -> web.StreamResponse:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return web.Response(body=data, status=status, headers={"content-type": "application/json", **headers})

    return script


def streams(*pieces: bytes, cut: bool = False) -> Script:
    """A script: these pieces of a stream, whatever was asked. `cut`: the connection breaks after them."""

    async def script(request: web.Request, _: bytes) -> web.StreamResponse:
        response = await begin(request)
        for piece in pieces:
            await response.write(piece)
            await asyncio.sleep(0.01)
        if cut:
            assert request.transport is not None
            request.transport.abort()
        else:
            await response.write_eof()
        return response

    return script
