"""opencode's exports: {info, messages: [{info, parts}]}.

One element holds a whole turn of the agent: its steps, and in each tool part both the call and its result. So one
element becomes several messages here (an assistant message for each step, a tool message for each result), which share
the element's place and go back into it together. What single parts say is `opencode_parts`' matter.

`Conversation.compactions` speaks of the whole history: its indices point into the messages of `history="all"`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from foldline.dialects import jsontext, opencode_parts
from foldline.dialects.base import Dialect, Listed, Source
from foldline.dialects.lined import History, owners, plan
from foldline.dialects.openai_chat import GRAMMAR
from foldline.errors import MalformedInput
from foldline.model import Compaction, Conversation, Head, Message, Notice, Origin, Part, Text, ToolCall

_SLOT = "messages"


class OpenCode(Dialect):
    name = "opencode"
    api = "openai-chat"
    grammar = GRAMMAR

    def fits(self, value: Any) -> int:
        rows = value.get(_SLOT) if isinstance(value, dict) and isinstance(value.get("info"), dict) else None
        if not isinstance(rows, list):
            return 0
        return 100 if all(_is_turn(row) for row in rows) and (rows or "slug" in value["info"]) else 0

    def read(self, source: Source, value: Any, history: History = "live") -> Conversation:
        turns = value.get(_SLOT) if isinstance(value, dict) else None
        if not isinstance(turns, list) or not all(_is_turn(turn) for turn in turns):
            raise MalformedInput("'messages' is no list of {info, parts} objects", source=source.name)
        rows = tuple(jsontext.elements(jsontext.dig(source.data, (_SLOT,))))
        whole = [_messages(turn, row, data) for row, (turn, data) in enumerate(zip(turns, rows, strict=True))]
        start, kept = _live(turns) if history == "live" else (0, range(0))
        chosen = [*range(start, len(turns))][:1] if kept else []
        order = (
            [*range(start, min(start + 2, len(turns))), *kept, *range(start + 2, len(turns))]
            if kept
            else [*range(start, len(turns))]
        )
        messages = tuple(message for row in order for message in whole[row])
        failed = sum(_failed(turn) for turn in turns)
        notices = (Notice("api-error", f"{failed} answers failed; the model never saw them"),) if failed else ()
        return Conversation(
            self.name,
            messages,
            Head(model=_model(turns)),
            self.grammar,
            Listed(source, (_SLOT,), rows, messages),
            notices,
            tuple(_compactions(turns, whole)),
        )
