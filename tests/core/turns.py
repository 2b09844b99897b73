"""Messages for tests of what is known of a conversation: what users say, agents call and tools answer."""

from __future__ import annotations

import json

from foldline.core.history.cycles import pair
from foldline.core.lifting import facts_of
from foldline.core.work.deeds import deeds
from foldline.model import Grammar, Message, Origin, Text, ToolCall, ToolResult


def user(*texts, origin=Origin.USER):
    return Message("user", origin, tuple(Text(text) for text in texts))


def says(text="", *calls):
    return Message("assistant", Origin.ASSISTANT, (*((Text(text),) if text else ()), *calls))


def call(id_, tool, /, **arguments):
    return ToolCall(id_, tool, json.dumps(arguments, ensure_ascii=False))


def result(id_, text, is_error=False):
    return Message("user", Origin.TOOL, (ToolResult(id_, (Text(text),), is_error),))


def facts(*messages, first=0):
    return facts_of(messages, tuple(deeds(messages, pair(messages, Grammar()))), first=first)


def texts(found, *kinds):
    return [fact.text for fact in found.of(*kinds)]
