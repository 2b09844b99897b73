"""What a reply says beside its content: usage, an overflow, that it is well. Reads bytes as they come; sends nothing.

    Events.feed(chunk)   cuts a stream into events, wherever it was cut on its way
    Watch.see(event)     "wait" while nothing is clear, "good" at the first content, "refused" at an error
    whole(dialect, body) the same for a reply in one piece

Only events that can tell something are decoded: the others are looked at for a few words.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from foldline.errors import CallerError, Overflow
from foldline.overflow import overflow_in, silently_truncated, understand
from foldline.usage import usage_from

Verdict = Literal["wait", "good", "refused"]
EVENT_MOST = 4 << 20
"""Bytes of one event that are kept together; a longer one passes unseen."""
LARGE = 256 << 10
"""Bytes of JSON that take a millisecond to read; more than this is read beside the event loop."""
TRUNCATION_LEAST = 1_024
"""Tokens sent, or reported, below which a low report says nothing: counting is rough, and no server is so small."""
_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_END_LONGEST = 4
_LINE = re.compile(rb"\r\n|\n|\r")
_TELLING = (b"usage", b"error", b"stop_reason", b"Usage", b"failed", b"incomplete")
"""An event without any of these words has nothing for us once the stream is good."""
_PRELUDE: Mapping[str, frozenset[str]] = {
    "anthropic": frozenset({"message_start", "ping"}),
    "openai-responses": frozenset({"response.created", "response.in_progress", "response.queued", "keepalive"}),
}
"""Events that come before it is clear that an answer follows."""


class Silent(Overflow):
    """The provider dropped part of the prompt and said nothing; what it reported is what it takes."""


class Events:
    """Cuts a stream of server-sent events, or of Gemini's array, into the data of each."""

    def __init__(self, framed: bool = False) -> None:
        self._framed, self._left = framed, b""
        self._text, self._decoder = "", codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of the events that this chunk completes."""
        yield from self._cut_framed(chunk) if self._framed else self._cut(chunk)
        if len(self._left) + len(self._text) > EVENT_MOST:
            self._left, self._text = b"", ""

    def _cut(self, chunk: bytes) -> Iterator[bytes]:
        begin = max(0, len(self._left) - _END_LONGEST + 1)
        self._left += chunk
        at = 0
        for end in _END.finditer(self._left, begin):
            yield _data(self._left[at : end.start()])
            at = end.end()
        self._left = self._left[at:]

    def _cut_framed(self, chunk: bytes) -> Iterator[bytes]:
        """Elements of an array: a bracket or comma, an object, and so on."""
        self._text = (self._text + self._decoder.decode(chunk)).lstrip(_AROUND)
        while b"}" in chunk and self._text.startswith("{"):
            try:
                value, end = _scanner.raw_decode(self._text)
            except ValueError:
                return
            self._text = self._text[end:].lstrip(_AROUND)
            yield json.dumps(value).encode()


_AROUND = " \t\r\n,["
_scanner = json.JSONDecoder()


def _data(event: bytes) -> bytes:
    lines = (line[5:].removeprefix(b" ") for line in _LINE.split(event) if line.startswith(b"data:"))
    return b"\n".join(lines)


@dataclass
class Watch:
    """Follows one reply. `tokens` is our own count of what was sent; 0: a low report tells nothing."""

    dialect: str
    tokens: int = 0
    good: bool = False
    ended: bool = False
    """It came to its proper end."""
    refusal: CallerError | None = None
    response: Any = None
    """The event or body with the most telling usage."""
    _input: int = field(default=0, repr=False)

    def see(self, data: bytes) -> Verdict:
        """What an event makes of the stream."""
        if data.strip() == b"[DONE]":
            self.ended = True
            return "good" if self.good else "wait"
        if self.good and not any(word in data for word in _TELLING):
            return "good"
        value = loaded(data)
        if not isinstance(value, Mapping):
            return "good" if self.good else "wait"
        return self._judge(value)

    def _judge(self, value: Mapping[str, Any]) -> Verdict:
        self.refusal = refusal_in(self.dialect, value) or self.refusal
        self._hear_usage(value)
        if self.refusal is not None:
            return "refused"
        if not self.good and _says_something(self.dialect, value):
            self.good = True
        return "good" if self.good else "wait"

    def _hear_usage(self, value: Mapping[str, Any]) -> None:
        usage = usage_from(self.dialect, value)
        if usage is not None and usage.input >= self._input:
            self.response, self._input = value, usage.input
            self.refusal = self.refusal or truncated(usage.input, self.tokens)


def whole(dialect: str, body: bytes, tokens: int) -> Watch:
    """A reply in one piece, looked at."""
    watch = Watch(dialect, tokens)
    value = loaded(body)
    if isinstance(value, Mapping):
        watch._judge(value)
        watch.ended = True
    return watch


def refusal_in(dialect: str, value: Mapping[str, Any]) -> CallerError | None:
    """The error that a reply with status 200 tells of, if it does."""
    failed = value.get("type") in ("error", "response.failed") or bool(value.get("error"))
    stopped = "model_context_window_exceeded" in (_stop(value), _stop(value.get("delta")), _stop(value.get("message")))
    if dialect == "openai-responses" and not failed:
        failed = isinstance(value.get("response"), Mapping) and bool(value["response"].get("error"))
    if stopped:
        return overflow_in({"stop_reason": "model_context_window_exceeded"}, status=200)
    return understand(value, status=200) if failed else None


def truncated(reported: int, tokens: int) -> Silent | None:
    """A provider that reports far less than was sent has dropped the rest."""
    if min(reported, tokens) < TRUNCATION_LEAST or not silently_truncated(reported, tokens):
        return None
    text = f"the provider read {reported:,} of about {tokens:,} tokens and said nothing; send less"
    return Silent(text, status=200, limit=reported)


def _stop(value: object) -> object:
    return value.get("stop_reason") if isinstance(value, Mapping) else None


def _says_something(dialect: str, value: Mapping[str, Any]) -> bool:
    """The event has content, or is one that comes only after the prompt was taken."""
    if dialect in _PRELUDE:
        return value.get("type", "") not in _PRELUDE[dialect]
    if dialect == "gemini":
        return bool(value.get("candidates") or value.get("promptFeedback"))
    choices = value.get("choices")
    return isinstance(choices, list) and any(_chosen(choice) for choice in choices)


def _chosen(choice: object) -> bool:
    if not isinstance(choice, Mapping):
        return False
    said = choice.get("delta") or choice.get("message") or {}
    spoken = isinstance(said, Mapping) and any(item for key, item in said.items() if key != "role")
    return spoken or bool(choice.get("finish_reason") or choice.get("text"))


def loaded(data: bytes) -> object:
    """The value of some JSON; None for what is none. A large one is read so that other threads get their turns."""
    try:
        return json.loads(data, object_pairs_hook=_object if len(data) > LARGE else None)
    except (ValueError, RecursionError):
        return None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Python code: the interpreter is given up here if someone waits for it, and nowhere inside the decoder."""
    return dict(pairs)


__all__ = ["LARGE", "Events", "Silent", "Verdict", "Watch", "loaded", "refusal_in", "truncated", "whole"]
