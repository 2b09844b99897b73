"""What the Anthropic Messages API demands of thinking, and of a final assistant message the model is to go on from.

Signatures cannot be checked here: whether one is genuine only the API knows. The table of rules is in anthropic.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldline.validators.anthropic_blocks import THINKING, Block, Request, Turn
from foldline.validators.base import Fault, integer, mapping, sequence, show, string

MODEL = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")
"""The version in a model name; a date after it is no part of it."""

PREFILL_UNTIL = (4, 6)
"""From this version on, the last message must be the user's."""

MIN_BUDGET = 1024
"""The smallest thinking budget the API takes."""


def trailing_space(request: Request) -> Iterator[Fault]:
    final = _final_text(request)
    if final is not None and final.text != final.text.rstrip():
        yield final.fault("final assistant content cannot end with trailing whitespace")


def _final_text(request: Request) -> Block | None:
    """The text a request asks the model to go on from."""
    turn = request.turns[-1] if request.turns else None
    if turn is None or turn.role != "assistant" or not turn.blocks:
        return None
    return turn.blocks[-1] if turn.blocks[-1].kind == "text" else None


def last(request: Request) -> Iterator[Fault]:
    for turn in request.turns:
        if turn.role == "assistant" and turn.blocks and turn.blocks[-1].kind in THINKING:
            block = turn.blocks[-1]
            yield block.fault(f"the final block in an assistant message cannot be `{block.kind}`")


def first(request: Request) -> Iterator[Fault]:
    start = _loop_start(request) if _mode(request) == "enabled" else None
    found = [block for block in start.blocks if block.kind != "compaction"] if start else []
    if found and found[0].kind not in THINKING:
        text = f"expected `thinking` or `redacted_thinking`, but found `{found[0].kind}`: with thinking enabled, the "
        yield found[0].fault(f"{text}turn whose tools are being answered must start with it", "type")


def _loop_start(request: Request) -> Turn | None:
    """Where the model began the turn whose tool results the request brings; None when it brings none."""
    turns = [turn for turn in request.turns if turn.role != "system"]
    if not turns or not turns[-1].of("tool_result"):
        return None
    start = None
    for turn in reversed(turns):
        if turn.role == "assistant":
            start = turn
        elif not turn.of("tool_result"):
            break
    return start


def prefill(request: Request) -> Iterator[Fault]:
    final, version = _final_text(request), version_of(request)
    if final is None:
        return
    if _mode(request) in {"enabled", "adaptive"}:
        yield final.fault("with thinking enabled, the conversation must end with a user message")
    elif version is not None and version >= PREFILL_UNTIL:
        yield final.fault("this model does not support assistant message prefill")


def off(request: Request) -> Iterator[Fault]:
    if not request.payload.whole or _mode(request) in {"enabled", "adaptive"}:
        return
    final = [turn for turn in request.turns[-1:] if turn.role == "assistant"]
    for block in (block for turn in final for block in turn.of(*THINKING)):
        yield block.fault(f"when thinking is disabled, a final assistant message cannot contain `{block.kind}`")


def budget(request: Request) -> Iterator[Fault]:
    tokens = integer(mapping(request.head.get("thinking")).get("budget_tokens"))
    limit = integer(request.head.get("max_tokens"))
    if _mode(request) != "enabled" or tokens is None:
        return
    interleaved = any(string(beta).startswith("interleaved-thinking") for beta in sequence(request.head.get("betas")))
    if tokens < MIN_BUDGET:
        yield None, "thinking.budget_tokens", f"must be at least {MIN_BUDGET}, got {show(tokens)}"
    if limit is not None and limit <= tokens and not interleaved:
        yield None, "max_tokens", f"must be greater than `thinking.budget_tokens` ({show(tokens)}), got {show(limit)}"


def _mode(request: Request) -> str:
    return string(mapping(request.head.get("thinking")).get("type"))


def version_of(request: Request) -> tuple[int, int] | None:
    found = MODEL.search(string(request.head.get("model")))
    return (int(found[1]), int(found[2] or 0)) if found else None
