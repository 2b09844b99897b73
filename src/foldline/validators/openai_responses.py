"""What the OpenAI Responses API demands of its input items.

Items nobody here knows, compactions among them, are accepted. Where the history lies on the server
(previous_response_id, conversation, item references), what is not in sight is not missed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from foldline.validators.base import Fault, Payload, Rule, Violation, judge, mapping, sequence, show, string, unwrap

ANSWERS: Mapping[str, str] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
    "tool_search_call": "tool_search_output",
}
"""Kind of call → kind of the item that answers it."""

OUTPUTS: Mapping[str, str] = {output: call for call, output in ANSWERS.items()}
TEXT_FIELDS: Mapping[str, str] = {"function_call": "arguments", "custom_tool_call": "input"}
ID_PREFIXES: Mapping[str, str] = {"function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs", "message": "msg"}

ROLES = frozenset({"user", "assistant", "system", "developer"})
SAID_TO_MODEL = frozenset({"input_text", "input_image", "input_file", "input_audio"})
SAID_BY_MODEL = frozenset({"output_text", "refusal"})
FOREIGN = frozenset({"text", "image_url", "file"})
"""Content parts of the Chat Completions API, refused here."""

ON_SERVER = ("previous_response_id", "conversation", "prompt")
"""A request with one of these has more history than its input shows."""

RESPONSE = re.compile(r"[a-z]+_([0-9a-f]{16})00[0-9a-f]{32}")
"""An item id of the present form: its first 16 digits are those of the response the item came in."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the rules look at. `hidden`: some of the history lies on the server."""

    payload: Payload
    items: tuple[Mapping[str, Any], ...]
    hidden: bool

    def of(self, kinds: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
        """Index, kind and call id of the items of these kinds that take part in pairing."""
        for index, item in enumerate(self.items):
            if kind_of(item) in kinds and _paired(item):
                yield index, kind_of(item), _call_id(item)


def cut(payload: Any) -> Request:
    body = unwrap(payload, "input")
    hidden = any(body.head.get(field) for field in ON_SERVER)
    if body.whole and (isinstance(body.head.get("input"), str) or (hidden and body.head.get("input") is None)):
        body, hidden = replace(body, fault=""), True  # a text, or nothing: there are no items to miss anything in
    items = tuple(map(mapping, body.items))
    hidden = hidden or any(kind_of(item) == "item_reference" for item in items)
    return Request(body, items, hidden)


def kind_of(item: Mapping[str, Any]) -> str:
    """The item's type; a message may leave it out."""
    return string(item.get("type")) or ("message" if "role" in item else "")


def _paired(item: Mapping[str, Any]) -> bool:
    """A tool search the server runs itself has no call id and no answer of ours."""
    return not (kind_of(item).startswith("tool_search") and item.get("execution") == "server")


def _call_id(item: Mapping[str, Any]) -> str:
    fallback = item.get("id") if kind_of(item) == "local_shell_call_output" else None
    return string(item.get("call_id")) or string(fallback)


def _payload_shape(request: Request) -> Iterator[Fault]:
    if request.payload.fault:
        yield None, "input", request.payload.fault
    elif not request.items and not request.hidden:
        yield None, "input", "nothing is asked: one item, or a reference to a response, is required"


def _item_shape(request: Request) -> Iterator[Fault]:
    for index, item in enumerate(request.items):
        if not kind_of(item):
            yield index, f"input[{index}]", "must be an object with a string `type`, or a message with a role"
        if kind_of(item) == "message" and string(item.get("role")) not in ROLES:
            text = f"must be one of {', '.join(sorted(ROLES))}, got {show(item.get('role'))}"
            yield index, f"input[{index}].role", text
        if kind_of(item) == "message" and not isinstance(item.get("content"), str | list):
            yield index, f"input[{index}].content", "missing required parameter"
        if kind_of(item) == "reasoning" and not isinstance(item.get("summary"), list):
            yield index, f"input[{index}].summary", "missing required parameter: a list, which may be empty"


def _part_kind(request: Request) -> Iterator[Fault]:
    for index, item in enumerate(request.items):
        if kind_of(item) != "message":
            continue
        refused = FOREIGN | (SAID_TO_MODEL if item.get("role") == "assistant" else SAID_BY_MODEL)
        for place, part in enumerate(sequence(item.get("content"))):
            kind = string(mapping(part).get("type"))
            if not kind or kind in refused:
                text = f"invalid value {show(kind)} in a message of role {show(item.get('role'))}"
                yield index, f"input[{index}].content[{place}].type", text


def _call_shape(request: Request) -> Iterator[Fault]:
    for index, item in enumerate(request.items):
        kind = kind_of(item)
        if (kind in ANSWERS or kind in OUTPUTS) and _paired(item) and not _call_id(item):
            yield index, f"input[{index}].call_id", "missing required parameter: it pairs a call with its output"
        if kind in TEXT_FIELDS and not isinstance(item.get(TEXT_FIELDS[kind]), str):
            yield index, f"input[{index}].{TEXT_FIELDS[kind]}", "expected a string"
        if kind in TEXT_FIELDS and not string(item.get("name")):
            yield index, f"input[{index}].name", "expected a string of at least one character"
        if kind in {"function_call_output", "custom_tool_call_output"} and not isinstance(
            item.get("output"), str | list
        ):
            yield index, f"input[{index}].output", "expected a string or content parts"


def _call_unanswered(request: Request) -> Iterator[Fault]:
    answered = {(OUTPUTS[kind], name) for _, kind, name in request.of(OUTPUTS)}
    for index, kind, name in request.of(ANSWERS):
        if name and not request.hidden and (kind, name) not in answered:
            text = f"no tool output found for {kind.replace('_', ' ')} {show(name)}"
            yield index, f"input[{index}].call_id", text


def _output_without_call(request: Request) -> Iterator[Fault]:
    called = {(kind, name) for _, kind, name in request.of(ANSWERS)}
    for index, kind, name in request.of(OUTPUTS):
        if name and not request.hidden and (OUTPUTS[kind], name) not in called:
            text = f"no tool call found for {kind.replace('_', ' ')} with call_id {show(name)}"
            yield index, f"input[{index}].call_id", text


def _output_too_early(request: Request) -> Iterator[Fault]:
    first = {(kind, name): index for index, kind, name in reversed(list(request.of(ANSWERS)))}
    for index, kind, name in request.of(OUTPUTS):
        if name and first.get((OUTPUTS[kind], name), -1) > index:
            yield index, f"input[{index}].call_id", f"the output stands before its call {show(name)}"


def _duplicate_call(request: Request) -> Iterator[Fault]:
    yield from _repeated(request, ANSWERS, "two calls share the call_id")


def _duplicate_output(request: Request) -> Iterator[Fault]:
    yield from _repeated(request, OUTPUTS, "there is already an output for call_id")


def _repeated(request: Request, kinds: Mapping[str, str], text: str) -> Iterator[Fault]:
    seen: set[tuple[str, str]] = set()
    for index, kind, name in request.of(kinds):
        if name and (kind, name) in seen:
            yield index, f"input[{index}].call_id", f"{text} {show(name)}"
        seen.add((kind, name))


def _duplicate_item(request: Request) -> Iterator[Fault]:
    seen: set[str] = set()
    for index, item in enumerate(request.items):
        name = string(item.get("id"))
        if name and name in seen:
            yield index, f"input[{index}].id", f"duplicate item found with id {show(name)}"
        seen.add(name)


def _item_id(request: Request) -> Iterator[Fault]:
    for index, item in enumerate(request.items):
        prefix, name = ID_PREFIXES.get(kind_of(item)), item.get("id")
        if kind_of(item) == "message" and item.get("role") != "assistant":
            continue
        if prefix and name is not None and not string(name).startswith(prefix):
            yield index, f"input[{index}].id", f"expected an id that begins with {show(prefix)}, got {show(name)}"


def _reasoning_alone(request: Request) -> Iterator[Fault]:
    for index, item in enumerate(request.items):
        if kind_of(item) != "reasoning":
            continue
        after = next((later for later in request.items[index + 1 :] if kind_of(later) != "reasoning"), {})
        if not _by_model(after) or (_by_reference(item) and not after.get("id")):
            text = f"item {show(item.get('id'))} of type 'reasoning' was provided without its required following item"
            yield index, f"input[{index}]", text


def _by_model(item: Mapping[str, Any]) -> bool:
    """Calls, the assistant's messages, and items nobody here knows; not what a client sends."""
    if kind_of(item) == "message":
        return item.get("role") == "assistant"
    return bool(kind_of(item)) and kind_of(item) not in OUTPUTS


def _by_reference(item: Mapping[str, Any]) -> bool:
    """The reasoning lies on the server, which knows which item came after it by that item's id."""
    return bool(item.get("id")) and not item.get("encrypted_content")


def _reasoning_late(request: Request) -> Iterator[Fault]:
    thought: dict[str, int] = {}
    for index, item in enumerate(request.items):
        if kind_of(item) == "reasoning" and _response(item):
            thought.setdefault(_response(item), index)
    for index, item in enumerate(request.items):
        if kind_of(item) in ID_PREFIXES and thought.get(_response(item), -1) > index:
            text = (
                f"was provided without its required 'reasoning' item, which stands at input[{thought[_response(item)]}]"
            )
            yield index, f"input[{index}]", text


def _response(item: Mapping[str, Any]) -> str:
    found = RESPONSE.fullmatch(string(item.get("id")))
    return found[1] if found else ""


RULES: tuple[Rule[Request], ...] = (
    Rule("payload-shape", "The input is a text or a list of items, or the history lies on the server.", _payload_shape),
    Rule("item-shape", "Items have a type, messages a role and content, reasoning a summary list.", _item_shape),
    Rule("part-kind", "Input parts are said to the model, output parts by it.", _part_kind),
    Rule("call-shape", "Calls and outputs have a call_id, a name and text where they need it.", _call_shape),
    Rule("call-unanswered", "Every call has an output of its kind.", _call_unanswered),
    Rule("output-without-call", "Every output has a call of its kind.", _output_without_call),
    Rule("output-too-early", "An output stands after its call.", _output_too_early),
    Rule("duplicate-call", "No two calls share a call_id.", _duplicate_call),
    Rule("duplicate-output", "No call has two outputs.", _duplicate_output),
    Rule("duplicate-item", "No two items share an id.", _duplicate_item),
    Rule("item-id", "An item id begins as its kind demands.", _item_id),
    Rule("reasoning-alone", "Reasoning is followed by the item it led to.", _reasoning_alone),
    Rule("reasoning-late", "Reasoning stands before the items of its response.", _reasoning_late),
)


def check(payload: Any) -> list[Violation]:
    """What the Responses API would refuse in a request, or in a list of input items."""
    return judge(cut(payload), RULES)
