"""What a message says as plain text, for measuring: the same words for a prefix, a view and a future.

    plain(messages)      everything said, tool results included
    shown(messages)      the same without system prompts, which are free and earn nothing
    agents(messages)     only what the agent itself wrote: its text, and the arguments of its calls
    told(messages)       only what was told to it: tools and user
    users(messages)      the user's own words

Thinking is in none of them: providers drop it from earlier turns. Nothing is measured here.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from foldline.model import Message, Origin, Text, ToolCall

SHORTEST_LINE = 20
"""Characters below which a line is too common to prove anything: braces, `return None`, `else:`."""
FEWEST_WORDS = 4
"""Words below which a sentence instructs nobody: "yes", "go on"."""

_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z_-]*)(?:\s[^<>]*)?>")
_CLIENTS = frozenset({"INSTRUCTIONS", "editorContext", "permissions", "reminderInstructions", "skill"})
"""Elements that clients put into user messages (reminders, command output), besides those with - or _ in their names:
what has neither is the user's own HTML."""
_AROUND = frozenset({"command-args", "user_message", "user_query", "userRequest"})
"""Elements that clients put around the user's own words."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n+")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{1,2}|[^\W\u3040-\u30ff\u3400-\u9fff]+")
"""Chinese and Japanese are written without blanks: there two characters are about a word."""


def plain(messages: Iterable[Message]) -> str:
    """Everything the messages say, one part below the other."""
    return "\n".join(text for message in messages for text in _pieces(message))


def shown(messages: Iterable[Message]) -> str:
    """Everything the messages say, system prompts aside, wherever they stand."""
    return plain(message for message in messages if message.role != "system")


def _pieces(message: Message) -> Iterator[str]:
    for part in message.parts:
        if type(part) is Text:
            yield part.text
        elif type(part) is ToolCall:
            yield call_text(part)
    yield from (result.text for result in message.results)


def call_text(call: ToolCall) -> str:
    """A call as a reader would note it: the tool, then each argument with its line ends as they are."""
    found = call.parsed()
    if not found:
        return f"{call.name}\n{call.arguments}"
    return "\n".join((call.name, *(f"{key}: {_value(value)}" for key, value in found.items())))


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "\n".join(f"{key}: {_value(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return "\n".join(map(_value, value))
    return json.dumps(value)


def agents(messages: Iterable[Message]) -> str:
    """What the agent itself wrote."""
    return "\n".join(text for message in messages if message.role == "assistant" for text in _pieces(message))


def told(message: Message) -> str:
    """What a message that is not the agent's tells it; "" for the agent's own."""
    return "" if message.role == "assistant" else "\n".join(_pieces(message))


def users(messages: Iterable[Message]) -> list[str]:
    """The user's own words, message by message, without what a client put beside them."""
    own = (message for message in messages if message.role == "user" and message.origin is Origin.USER)
    texts = (_without_injected("\n".join(p.text for p in message.parts if type(p) is Text)) for message in own)
    return [text for text in map(str.strip, texts) if text]


def _without_injected(text: str) -> str:
    """The text without clients' elements, each of which ends where its name is first closed. One that is never closed
    is the user's own writing."""
    tags = [tag for tag in _TAG.finditer(text) if _clients(tag["name"])]
    ends: dict[str, list[int]] = {}
    for tag in tags:
        if tag["close"]:
            ends.setdefault(tag["name"], []).append(tag.end())
    pieces, at = list[str](), 0
    for tag in tags:
        around, closing = tag["name"] in _AROUND, ends.get(tag["name"], [])
        if tag.start() < at or (tag["close"] and not around):
            continue
        end = bisect_right(closing, tag.start())
        if around or end < len(closing):
            pieces.append(text[at : tag.start()])
            at = tag.end() if around else closing[end]
    return "\n".join((*pieces, text[at:]))


def _clients(name: str) -> bool:
    return "-" in name or "_" in name or name in _CLIENTS or name in _AROUND


def sentences(texts: Iterable[str]) -> list[str]:
    """The sentences of four words or more, each once, in order."""
    found = (piece.strip() for text in texts for piece in _SENTENCE.split(text))
    return list(dict.fromkeys(piece for piece in found if len(_WORD.findall(piece)) >= FEWEST_WORDS))


def lines(text: str) -> list[str]:
    """The lines long enough to prove something, each once, without the space around them."""
    stripped = (line.strip() for line in text.split("\n"))
    return list(dict.fromkeys(line for line in stripped if len(line) >= SHORTEST_LINE))


def squeezed(text: str) -> str:
    """The text with every run of white space as one blank: quoting may break lines anew."""
    return " ".join(text.split())


def steps(messages: Sequence[Message]) -> list[int]:
    """Where the agent's turns begin: runs of its messages, of which some dialects write several for one turn."""
    return [
        index
        for index, message in enumerate(messages)
        if message.role == "assistant" and (index == 0 or messages[index - 1].role != "assistant")
    ]
