"""An Anthropic request cut into blocks and turns, and the rules that look at one block at a time.

How blocks must follow one another, and what the request around them demands, is in anthropic.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from foldline.validators.base import Fault, Payload, mapping, sequence, show, string

THINKING = frozenset({"thinking", "redacted_thinking"})
SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
ASSISTANT_ONLY = THINKING | SERVER_CALLS | {"tool_use"}

ID = re.compile(r"[a-zA-Z0-9_-]+")
NAME_LENGTH = 200
"""The longest tool name a tool_use block may carry."""

MAX_MARKS = 4
"""Cache breakpoints a request may have, over tools, system and messages."""

SOURCES = frozenset({"base64", "url", "file"})
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})

HEAD = -1
"""The place of a block that stands in the system prompt, not in a message."""


@dataclass(frozen=True, slots=True)
class Block:
    """A content block where it stands. String content counts as one text block, with `listed` false."""

    message: int
    path: str
    kind: str
    body: Mapping[str, Any]
    listed: bool = True

    @property
    def text(self) -> str:
        return string(self.body.get("text"))

    def fault(self, text: str, field: str = "") -> Fault:
        return None if self.message == HEAD else self.message, f"{self.path}.{field}" if field else self.path, text


@dataclass(frozen=True, slots=True)
class Turn:
    """Neighbouring messages of one role, which the API takes as one message."""

    role: str
    message: int
    blocks: tuple[Block, ...]

    def of(self, *kinds: str) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks if block.kind in kinds)


@dataclass(frozen=True, slots=True)
class Request:
    """What the rules look at."""

    payload: Payload
    blocks: tuple[Block, ...]
    turns: tuple[Turn, ...]

    @property
    def head(self) -> Mapping[str, Any]:
        return self.payload.head

    @property
    def messages(self) -> Sequence[Any]:
        return self.payload.items


def cut(payload: Payload) -> Request:
    """The payload as blocks and turns; what is no object or no block is left to the rules about shape."""
    rows = [(index, role_of(message), _blocks(index, message)) for index, message in enumerate(payload.items)]
    spoken = [row for row in rows if not directive(payload.items[row[0]])]
    turns = []
    for role, group in groupby(spoken, key=lambda row: row[1]):
        members = list(group)
        turns.append(Turn(role, members[0][0], tuple(block for row in members for block in row[2])))
    return Request(payload, tuple(block for row in rows for block in row[2]), tuple(turns))


def role_of(message: Any) -> str:
    return string(mapping(message).get("role"))


def directive(message: Any) -> bool:
    """A system message without words, which only sets the output: it may stand anywhere and is no turn."""
    return role_of(message) == "system" and message.get("content") == [] and "output_config" in message


def _blocks(index: int, message: Any) -> tuple[Block, ...]:
    content = mapping(message).get("content")
    path = f"messages[{index}].content"
    if isinstance(content, str):
        return (Block(index, path, "text", {"type": "text", "text": content}, listed=False),) if content else ()
    return tuple(_listed(index, path, content))


def _listed(index: int, path: str, content: Any) -> Iterator[Block]:
    for place, body in enumerate(sequence(content)):
        if isinstance(body, dict):
            yield Block(index, f"{path}[{place}]", string(body.get("type")), body)


def inner(block: Block) -> tuple[Block, ...]:
    """The blocks inside a tool result."""
    return tuple(_listed(block.message, f"{block.path}.content", block.body.get("content")))


def every(request: Request) -> Iterator[Block]:
    """All blocks, those inside tool results too."""
    for block in request.blocks:
        yield block
        if block.kind == "tool_result":
            yield from inner(block)


def message_shape(request: Request) -> Iterator[Fault]:
    for index, message in enumerate(request.messages):
        content = mapping(message).get("content")
        if not isinstance(content, str | list):
            yield index, f"messages[{index}].content", f"must be a string or a list of blocks, got {show(content)}"
        for place, block in enumerate(sequence(content)):
            if not string(mapping(block).get("type")):
                yield index, f"messages[{index}].content[{place}]", "must be an object with a string `type`"


def block_role(request: Request) -> Iterator[Fault]:
    for block in request.blocks:
        role = role_of(request.messages[block.message])
        if role == "user" and block.kind in ASSISTANT_ONLY:
            yield block.fault(f"`{block.kind}` blocks can only be in `assistant` messages")
        if role == "assistant" and block.kind == "tool_result":
            yield block.fault("`tool_result` blocks can only be in `user` messages")


def text_empty(request: Request) -> Iterator[Fault]:
    for block in (*request.blocks, *_system(request)):
        if block.kind == "text" and block.listed and not block.text:
            yield block.fault("text content blocks must be non-empty", "text")


def text_blank(request: Request) -> Iterator[Fault]:
    for index, blocks in groupby(request.blocks, key=lambda block: block.message):
        texts = [block for block in blocks if block.kind == "text" and block.text]
        if texts and not any(block.text.strip() for block in texts):
            yield index, texts[0].path, "text content blocks must contain non-whitespace text"


def call_shape(request: Request) -> Iterator[Fault]:
    for block in request.blocks:
        if block.kind not in {"tool_use", *SERVER_CALLS}:
            continue
        if not ID.fullmatch(string(block.body.get("id"))):
            yield block.fault(f"must match ^{ID.pattern}$, got {show(block.body.get('id'))}", "id")
        if not 1 <= len(string(block.body.get("name"))) <= NAME_LENGTH:
            yield block.fault(f"must be a name of 1 to {NAME_LENGTH} characters", "name")
        if not isinstance(block.body.get("input"), dict):
            yield block.fault(f"input should be a valid dictionary, got {show(block.body.get('input'))}", "input")


def result_shape(request: Request) -> Iterator[Fault]:
    for block in request.blocks:
        if block.kind != "tool_result":
            continue
        content = block.body.get("content")
        if not string(block.body.get("tool_use_id")):
            yield block.fault("must name the call it answers", "tool_use_id")
        if content is not None and not isinstance(content, str | list):
            yield block.fault(f"must be a string or a list of blocks, got {show(content)}", "content")
        if len(inner(block)) != len(sequence(content)) or any(not part.kind for part in inner(block)):
            yield block.fault("every block in it must be an object with a string `type`", "content")
        if block.body.get("is_error") is True and not content:
            yield block.fault("content cannot be empty if `is_error` is true", "content")


def thinking_sealed(request: Request) -> Iterator[Fault]:
    for block in request.blocks:
        if block.kind == "thinking" and not isinstance(block.body.get("thinking"), str):
            yield block.fault("must be a string", "thinking")
        if block.kind == "thinking" and not string(block.body.get("signature")):
            yield block.fault("field required: a thinking block goes back with its signature", "signature")
        if block.kind == "redacted_thinking" and not string(block.body.get("data")):
            yield block.fault("field required: redacted thinking goes back with its data", "data")


def image_source(request: Request) -> Iterator[Fault]:
    for block in every(request):
        if block.kind != "image":
            continue
        source = mapping(block.body.get("source"))
        if string(source.get("type")) not in SOURCES:
            yield block.fault(f"must be base64, url or file, got {show(source.get('type'))}", "source.type")
        if source.get("type") == "base64" and string(source.get("media_type")) not in IMAGE_TYPES:
            yield block.fault("input should be image/jpeg, image/png, image/gif or image/webp", "source.media_type")


def mark_place(request: Request) -> Iterator[Fault]:
    for block in (*every(request), *_system(request)):
        if block.body.get("cache_control") is None:
            continue
        if block.kind in THINKING:
            yield block.fault(f"{block.kind} cannot be marked: extra inputs are not permitted", "cache_control")
        if block.kind == "text" and not block.text:
            yield block.fault("cache_control cannot be set for empty text blocks", "cache_control")


def mark_count(request: Request) -> Iterator[Fault]:
    marked = [request.head, *map(mapping, sequence(request.head.get("tools")))]
    marked += [block.body for block in (*_system(request), *every(request))]
    count = sum(body.get("cache_control") is not None for body in marked)
    if count > MAX_MARKS:
        yield None, "cache_control", f"at most {MAX_MARKS} blocks may carry it, found {count}"


def _system(request: Request) -> tuple[Block, ...]:
    content = sequence(request.head.get("system"))
    rows = [(f"system[{place}]", mapping(body)) for place, body in enumerate(content)]
    return tuple(Block(HEAD, path, string(body.get("type")), body) for path, body in rows)
