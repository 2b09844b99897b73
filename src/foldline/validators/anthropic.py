"""What the Anthropic Messages API demands of the order of blocks and of the request around them.

Neighbouring messages of one role are judged as the one message the API makes of them. Block types nobody
here knows are accepted: the API adds new ones. Rules about single blocks are in anthropic_blocks.py, those about
thinking in anthropic_thinking.py; the table of them all is here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from foldline.validators import anthropic_blocks as blocks
from foldline.validators import anthropic_thinking as thinking
from foldline.validators.anthropic_blocks import SERVER_CALLS, Block, Request, Turn, role_of
from foldline.validators.anthropic_thinking import version_of
from foldline.validators.base import Fault, Rule, Violation, judge, mapping, show, string, unwrap

ROLES = frozenset({"user", "assistant", "system"})

SYSTEM_SINCE = (4, 8)
"""The first version that takes a system message in the middle of a conversation."""


def _payload_shape(request: Request) -> Iterator[Fault]:
    if request.payload.fault:
        yield None, "messages", request.payload.fault
    elif not request.messages:
        yield None, "messages", "at least one message is required"


def _role(request: Request) -> Iterator[Fault]:
    for index, message in enumerate(request.messages):
        if role_of(message) not in ROLES:
            text = f"must be user or assistant, got {show(mapping(message).get('role'))}"
            yield index, f"messages[{index}].role", text


def _first_role(request: Request) -> Iterator[Fault]:
    if request.turns and request.turns[0].role == "assistant":
        yield 0, "messages[0].role", "the first message must use the user role"


def _system_place(request: Request) -> Iterator[Fault]:
    version = version_of(request)
    for place, turn in enumerate(request.turns):
        if turn.role != "system":
            continue
        before = request.turns[place - 1] if place else None
        after = request.turns[place + 1] if place + 1 < len(request.turns) else None
        path = f"messages[{turn.message}].role"
        if version is not None and version < SYSTEM_SINCE:
            yield turn.message, path, "role 'system' is not supported on this model"
        elif before is None:
            yield turn.message, path, "use the top-level `system` parameter for the initial system prompt"
        elif before.role != "user" and not _ends_in_server_result(before):
            yield turn.message, path, "role 'system' must follow a 'user' message or a server tool's result"
        elif after is not None and after.role != "assistant":
            yield turn.message, path, "role 'system' must precede an 'assistant' message or end the list"


def _ends_in_server_result(turn: Turn) -> bool:
    return bool(turn.blocks) and turn.blocks[-1].kind.endswith("_tool_result")


def _content_empty(request: Request) -> Iterator[Fault]:
    text = "all messages must have non-empty content except for the optional final assistant message"
    last = len(request.messages) - 1
    for index, message in enumerate(request.messages):
        excused = blocks.directive(message) or (index == last and role_of(message) == "assistant")
        if mapping(message).get("content") in ("", []) and not excused:
            yield index, f"messages[{index}].content", text


def _call_unanswered(request: Request) -> Iterator[Fault]:
    for turn, after in zip(request.turns, (*request.turns[1:], None), strict=False):
        answered = {_answers(block) for block in after.of("tool_result")} if after and after.role == "user" else set()
        for call in turn.of("tool_use"):
            if turn.role == "assistant" and _id(call) and _id(call) not in answered:
                text = f"`tool_use` id {show(_id(call))} was found without a `tool_result` block immediately after"
                yield call.fault(text, "id")


def _result_without_call(request: Request) -> Iterator[Fault]:
    calls: set[str] = set()
    for turn in request.turns:
        for result in turn.of("tool_result"):
            if turn.role == "user" and _answers(result) and _answers(result) not in calls:
                text = f"unexpected `tool_use_id` {show(_answers(result))}: no such `tool_use` in the previous message"
                yield result.fault(text, "tool_use_id")
        calls = {_id(call) for call in turn.of("tool_use")} if turn.role == "assistant" else set()


def _results_first(request: Request) -> Iterator[Fault]:
    for turn in request.turns:
        for before, block in pairwise(turn.blocks):
            if turn.role == "user" and block.kind == "tool_result" and before.kind != "tool_result":
                yield block.fault("`tool_result` blocks must come first in the message after their `tool_use` blocks")


def _duplicate_call(request: Request) -> Iterator[Fault]:
    seen: set[str] = set()
    for block in request.blocks:
        if block.kind == "tool_use" and _id(block):
            if _id(block) in seen:
                yield block.fault(f"`tool_use` ids must be unique, {show(_id(block))} is not", "id")
            seen.add(_id(block))


def _duplicate_result(request: Request) -> Iterator[Fault]:
    seen: set[str] = set()
    for block in request.blocks:
        if block.kind == "tool_result" and _answers(block):
            if _answers(block) in seen:
                text = f"each `tool_use` must have a single result, {show(_answers(block))} has several"
                yield block.fault(text, "tool_use_id")
            seen.add(_answers(block))


def _server_result(request: Request) -> Iterator[Fault]:
    seen: set[str] = set()
    for block in request.blocks:
        if block.kind in SERVER_CALLS:
            seen.add(_id(block))
        elif block.kind.endswith("_tool_result") and _answers(block) not in seen:
            yield block.fault(f"`{block.kind}` needs its call before it", "tool_use_id")


def _server_call(request: Request) -> Iterator[Fault]:
    answered = {_answers(block) for block in request.blocks if block.kind.endswith("_tool_result")}
    open_step = _open_step(request)
    for turn in request.turns:
        for call in turn.of(*SERVER_CALLS):
            if turn is not open_step and _id(call) not in answered:
                yield call.fault(f"server tool use {show(_id(call))} was found without a corresponding result", "id")


def _open_step(request: Request) -> Turn | None:
    """The assistant turn the server has yet to go on with: last, or followed by nothing but results."""
    turns = [turn for turn in request.turns if turn.role != "system"]
    if turns and turns[-1].role == "user" and all(block.kind == "tool_result" for block in turns[-1].blocks):
        turns.pop()
    return turns[-1] if turns and turns[-1].role == "assistant" else None


def _tools_missing(request: Request) -> Iterator[Fault]:
    if request.payload.whole and request.head.get("tools") is None:
        for block in request.blocks:
            if block.kind in {"tool_use", "tool_result"}:
                yield None, "tools", "must be given when the messages contain `tool_use` or `tool_result` blocks"
                return


def _id(block: Block) -> str:
    return string(block.body.get("id"))


def _answers(block: Block) -> str:
    return string(block.body.get("tool_use_id"))


RULES: tuple[Rule[Request], ...] = (
    Rule("payload-shape", "A request has a list of messages, and the list is not empty.", _payload_shape),
    Rule("message-shape", "Content is a string or a list of objects with a string type.", blocks.message_shape),
    Rule("role", "Messages are the user's or the assistant's; newer models take system messages too.", _role),
    Rule("first-role", "The first message is the user's.", _first_role),
    Rule("system-place", "A system message follows the user and precedes the assistant or the end.", _system_place),
    Rule("block-role", "Calls and thinking are the assistant's, tool results the user's.", blocks.block_role),
    Rule("content-empty", "Only a final assistant message may be empty.", _content_empty),
    Rule("text-empty", "A text block holds text.", blocks.text_empty),
    Rule("text-blank", "The text of a message is more than white space.", blocks.text_blank),
    Rule("trailing-space", "A final assistant message does not end with white space.", thinking.trailing_space),
    Rule("call-unanswered", "Every tool_use has its tool_result in the very next message.", _call_unanswered),
    Rule("result-without-call", "Every tool_result has its tool_use in the message before.", _result_without_call),
    Rule("results-first", "Tool results stand before everything else in their message.", _results_first),
    Rule("duplicate-call", "No two tool_use blocks share an id.", _duplicate_call),
    Rule("duplicate-result", "No tool_use has two results.", _duplicate_result),
    Rule("server-result-without-call", "A server tool's result has its call before it.", _server_result),
    Rule("server-call-unanswered", "A server tool's call has its result, unless its turn is open.", _server_call),
    Rule("call-shape", "A call has an id of plain characters, a name and an input object.", blocks.call_shape),
    Rule("result-shape", "A result names its call; an error result says something.", blocks.result_shape),
    Rule("thinking-sealed", "Thinking carries its signature, redacted thinking its data.", blocks.thinking_sealed),
    Rule("thinking-last", "An assistant message does not end with thinking.", thinking.last),
    Rule("thinking-first", "With thinking enabled, a turn still using tools starts with thinking.", thinking.first),
    Rule("thinking-off", "With thinking disabled, the final assistant message contains none.", thinking.off),
    Rule("thinking-budget", "The thinking budget is large enough and below max_tokens.", thinking.budget),
    Rule("prefill", "No unfinished assistant message with thinking, or on models without prefill.", thinking.prefill),
    Rule("image-source", "An image is base64 of a known type, a url or a file.", blocks.image_source),
    Rule("mark-place", "No cache mark stands on thinking or on empty text.", blocks.mark_place),
    Rule("mark-count", "There are at most four cache marks.", blocks.mark_count),
    Rule("tools-missing", "A request whose messages use tools defines tools.", _tools_missing),
)


def check(payload: Any) -> list[Violation]:
    """What the Messages API would refuse in a request, or in a list of messages."""
    return judge(blocks.cut(unwrap(payload, "messages")), RULES)
