"""What the OpenAI Chat Completions API demands of a list of messages.

The answers to an assistant's tool calls are the run of tool messages right behind it. Fields nobody here
knows are accepted; content parts must be of the kinds their role may carry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foldline.validators.base import Fault, Payload, Rule, Violation, judge, mapping, sequence, show, string, unwrap

PARTS: Mapping[str, frozenset[str]] = {
    "system": frozenset({"text"}),
    "developer": frozenset({"text"}),
    "user": frozenset({"text", "image_url", "input_audio", "file"}),
    "assistant": frozenset({"text", "refusal"}),
    "tool": frozenset({"text"}),
    "function": frozenset({"text"}),
}
"""Role → the kinds of content parts it may carry."""

INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
"""An assistant message with one of these needs no content."""


@dataclass(frozen=True, slots=True)
class Step:
    """An assistant message with tool calls: their places and ids, and the tool messages right behind it."""

    message: int
    calls: tuple[tuple[str, str], ...]
    answers: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What the rules look at."""

    payload: Payload
    messages: tuple[Mapping[str, Any], ...]
    steps: tuple[Step, ...]


def cut(payload: Payload) -> Request:
    messages = tuple(map(mapping, payload.items))
    steps = tuple(_step(index, messages) for index in range(len(messages)) if _calls(index, messages[index]))
    return Request(payload, messages, steps)


def _step(index: int, messages: Sequence[Mapping[str, Any]]) -> Step:
    answers = []
    for place in range(index + 1, len(messages)):
        if messages[place].get("role") != "tool":
            break
        answers.append((place, string(messages[place].get("tool_call_id"))))
    return Step(index, _calls(index, messages[index]), tuple(answers))


def _calls(index: int, message: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    if message.get("role") != "assistant":
        return ()
    rows = enumerate(sequence(message.get("tool_calls")))
    return tuple((f"messages[{index}].tool_calls[{place}]", string(mapping(call).get("id"))) for place, call in rows)


def _payload_shape(request: Request) -> Iterator[Fault]:
    if request.payload.fault:
        yield None, "messages", request.payload.fault
    elif not request.messages:
        yield None, "messages", "empty array: expected at least one message"


def _role(request: Request) -> Iterator[Fault]:
    for index, message in enumerate(request.messages):
        if string(message.get("role")) not in PARTS:
            text = f"must be one of {', '.join(PARTS)}, got {show(message.get('role'))}"
            yield index, f"messages[{index}].role", text


def _content(request: Request) -> Iterator[Fault]:
    for index, message in enumerate(request.messages):
        content, path = message.get("content"), f"messages[{index}].content"
        if content is None:
            excused = any(message.get(field) is not None for field in INSTEAD_OF_CONTENT)
            if message.get("role") != "assistant" or not excused:
                yield index, path, "expected a string or content parts, got nothing"
        elif not isinstance(content, str | list):
            yield index, path, f"expected a string or content parts, got {show(content)}"
        elif content == []:
            yield index, path, "empty array: expected at least one content part"


def _part_kind(request: Request) -> Iterator[Fault]:
    for index, message in enumerate(request.messages):
        allowed = PARTS.get(string(message.get("role")), frozenset())
        for place, part in enumerate(sequence(message.get("content"))):
            kind = mapping(part).get("type")
            if allowed and string(kind) not in allowed:
                text = f"must be one of {', '.join(sorted(allowed))}, got {show(kind)}"
                yield index, f"messages[{index}].content[{place}].type", text


def _calls_empty(request: Request) -> Iterator[Fault]:
    for index, message in enumerate(request.messages):
        calls = message.get("tool_calls")
        if message.get("role") == "assistant" and calls is not None and not sequence(calls):
            text = f"expected a list of at least one call, got {show(calls)}"
            yield index, f"messages[{index}].tool_calls", text


def _call_shape(request: Request) -> Iterator[Fault]:
    for step in request.steps:
        bodies = sequence(request.messages[step.message].get("tool_calls"))
        for (path, name), body in zip(step.calls, bodies, strict=True):
            if not name:
                yield step.message, f"{path}.id", "expected a string of at least one character"
            yield from _function(step.message, path, mapping(body))


def _function(index: int, path: str, call: Mapping[str, Any]) -> Iterator[Fault]:
    field, text = ("custom", "input") if call.get("type") == "custom" else ("function", "arguments")
    body = mapping(call.get(field))
    if call.get("type") not in ("function", "custom"):
        yield index, f"{path}.type", f"must be function or custom, got {show(call.get('type'))}"
    if not string(body.get("name")):
        yield index, f"{path}.{field}.name", "expected a string of at least one character"
    if not isinstance(body.get(text), str):
        yield index, f"{path}.{field}.{text}", f"expected a string, got {show(body.get(text))}"


def _answer_shape(request: Request) -> Iterator[Fault]:
    for index, message in enumerate(request.messages):
        if message.get("role") == "tool" and not string(message.get("tool_call_id")):
            yield index, f"messages[{index}].tool_call_id", "missing required parameter: it names the call it answers"
        if message.get("role") == "function" and not string(message.get("name")):
            yield index, f"messages[{index}].name", "missing required parameter: it names the function that answers"


def _call_unanswered(request: Request) -> Iterator[Fault]:
    for step in request.steps:
        answered = {name for _, name in step.answers}
        for path, name in step.calls:
            if name and name not in answered:
                text = f"must be followed by tool messages responding to each `tool_call_id`: {show(name)} has none"
                yield step.message, f"{path}.id", text


def _answer_without_call(request: Request) -> Iterator[Fault]:
    known = {(place, name) for step in request.steps for place, _ in step.answers for _, name in step.calls}
    for index, message in enumerate(request.messages):
        name = string(message.get("tool_call_id"))
        if message.get("role") == "tool" and name and (index, name) not in known:
            text = (
                f"a tool message must be a response to a preceding message with `tool_calls`: {show(name)} is in none"
            )
            yield index, f"messages[{index}].tool_call_id", text


def _duplicate_call(request: Request) -> Iterator[Fault]:
    for step in request.steps:
        seen: set[str] = set()
        for path, name in step.calls:
            if name and name in seen:
                yield step.message, f"{path}.id", f"two calls of one message share the id {show(name)}"
            seen.add(name)


def _duplicate_answer(request: Request) -> Iterator[Fault]:
    for step in request.steps:
        seen: set[str] = set()
        for place, name in step.answers:
            if name and name in seen:
                yield place, f"messages[{place}].tool_call_id", f"{show(name)} was already answered"
            seen.add(name)


RULES: tuple[Rule[Request], ...] = (
    Rule("payload-shape", "A request has a list of messages, and the list is not empty.", _payload_shape),
    Rule("role", "Every message has one of the six roles.", _role),
    Rule("content", "Every message has content, except an assistant's that says it otherwise.", _content),
    Rule("part-kind", "Content parts are of the kinds their role may carry.", _part_kind),
    Rule("calls-empty", "tool_calls is absent or a list of at least one call.", _calls_empty),
    Rule("call-shape", "A call has an id, a type, a name, and arguments in a string.", _call_shape),
    Rule("answer-shape", "A tool message names its call, a function message its function.", _answer_shape),
    Rule("call-unanswered", "Every call is answered by a tool message right behind it.", _call_unanswered),
    Rule("answer-without-call", "Every tool message answers a call of the assistant before it.", _answer_without_call),
    Rule("duplicate-call", "No two calls of a message share an id.", _duplicate_call),
    Rule("duplicate-answer", "No call is answered twice.", _duplicate_answer),
)


def check(payload: Any) -> list[Violation]:
    """What the Chat Completions API would refuse in a request, or in a list of messages."""
    return judge(cut(unwrap(payload, "messages")), RULES)
