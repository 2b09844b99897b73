"""What the tests of all request dialects ask, once."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from foldline.dialects import jsontext
from foldline.dialects.anthropic import Anthropic
from foldline.dialects.base import RequestDialect, Source
from foldline.dialects.gemini import Gemini
from foldline.dialects.openai_chat import OpenAIChat
from foldline.dialects.openai_responses import OpenAIResponses
from foldline.model import Conversation, Text, ToolResult
from foldline.validators import check
from strategies import Dice, conversations, json_values

ALL = (Anthropic(), OpenAIChat(), OpenAIResponses(), Gemini())
WORDS = (
    "",
    "x",
    "user",
    "text",
    "function",
    "custom",
    "data:image/png;base64,AA",
    "not-an-object",
    "foldline-call-0-x",
)
"""Strings that mean something to one of the dialects, for mutations that almost fit."""


def canonical(value: Any) -> bytes:
    """JSON text that differs wherever two values do, even where Python calls them equal (1, 1.0, True)."""
    return jsontext.encode(_sorted(value))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def read(dialect: RequestDialect, value: Any) -> Conversation:
    return dialect.read(Source(jsontext.encode(value)), value)


def bare(conversation: Conversation) -> Conversation:
    """The conversation with every message's bytes taken away."""
    return conversation.with_messages([replace(message, raw=None) for message in conversation.messages])


def rebuilt(dialect: RequestDialect, value: Any) -> Any:
    """The document written from the parts alone."""
    return jsontext.decode(dialect.write(bare(read(dialect, value))))


def assert_comes_back(dialect: RequestDialect, value: Any) -> None:
    """As bytes with all their white space, as text, and as a value."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    for form, given in (("bytes", text.encode()), ("text", text), ("value", value)):
        source = Source(text.encode(), form)
        conversation = dialect.read(source, value)
        assert source.give(dialect.write(conversation)) == given
        again = conversation.with_messages(list(conversation.messages))
        assert canonical(jsontext.decode(dialect.write(again))) == canonical(value)


def assert_parts_suffice(dialect: RequestDialect, value: Any) -> None:
    assert canonical(rebuilt(dialect, value)) == canonical(value)


def assert_object_survives(dialect: RequestDialect, value: Any) -> None:
    before = canonical(value)
    assert canonical(dialect.build(dialect.parse(value))) == before
    assert canonical(value) == before, "reading changed what was read"


def stubbed(dialect: RequestDialect, value: Any, stub: str) -> Any:
    """The document with every tool result's content replaced by a stub."""
    conversation = read(dialect, value)
    messages = []
    for message in conversation.messages:
        parts = [replace(p, content=(Text(stub),)) if type(p) is ToolResult else p for p in message.parts]
        messages.append(message.with_parts(parts) if message.results else message)
    return jsontext.decode(dialect.write(conversation.with_messages(messages)))


def assert_stubs_fit(dialect: RequestDialect, value: Any) -> None:
    stub = "[stub: 5,000 characters, ask for ref 12ab]"
    written = stubbed(dialect, value, stub)
    assert check(written, dialect.name) == []
    again = read(dialect, written)
    assert [r.content for m in again.messages for r in m.results] == [
        (Text(stub),) for m in again.messages for _ in m.results
    ]
    untouched = [m.raw for m in read(dialect, value).messages if not m.results]
    assert [m.raw for m in again.messages if not m.results] == untouched
    assert canonical(stubbed(dialect, written, stub)) == canonical(written)


def assert_detected(dialect: RequestDialect, value: Any) -> None:
    scores = {other.name: other.fits(value) for other in ALL}
    assert max(scores, key=lambda name: scores[name]) == dialect.name, scores
    assert sorted(scores.values())[-1] > sorted(scores.values())[-2], scores


def elements(dialect: RequestDialect) -> st.SearchStrategy[dict[str, Any]]:
    """Single elements of the dialect's list, changed in a few places to anything at all."""
    change = st.tuples(st.integers(0, 2**24 - 1), json_values())
    picked = st.tuples(conversations(dialect.name), st.integers(0, 2**16), st.lists(change, max_size=4))
    return picked.map(lambda drawn: _mutated(drawn[0][dialect.slot], drawn[1], drawn[2]))


def _mutated(values: list[dict[str, Any]], pick: int, changes: list[tuple[int, Any]]) -> dict[str, Any]:
    element = copy.deepcopy(values[pick % len(values)])
    for number, value in changes:
        _mutate(element, Dice(number), value)
    return element


def _mutate(element: dict[str, Any], dice: Dice, value: Any) -> None:
    places = list(_places(element))
    if not places:
        return
    holder, key = places[dice.roll(len(places))]
    match dice.roll(5):
        case 0:
            del holder[key]
        case 1:
            holder[key] = (None, [], {}, *WORDS)[dice.roll(3 + len(WORDS))]
        case 2 if isinstance(holder, dict):
            holder[WORDS[dice.roll(len(WORDS))]] = value
        case 3 if isinstance(holder, list):
            holder.insert(key, value)
        case _:
            holder[key] = value


def _places(value: Any) -> Any:
    """Every place inside a value: what holds it, and under which key."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield value, key
        yield from _places(inner)
