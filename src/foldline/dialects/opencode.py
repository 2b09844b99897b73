"""opencode's exports: {info, messages: [{info, parts}]}.

One element is a whole turn: of the user, or of the agent with all its steps, where each tool part is both the call and
its result. So one element becomes several messages here (an assistant message for each step, a tool message for each
result), which share the element's place and go back into it together. What single parts say is `opencode_parts`'
matter, and how changed messages go back is `opencode_write`'s.

`Conversation.compactions` speaks of the whole history: its indices point into the messages of `history="all"`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from foldline.dialects import jsontext, opencode_parts, opencode_write
from foldline.dialects.base import Dialect, Listed, Source
from foldline.dialects.lined import History
from foldline.dialects.openai_chat import GRAMMAR
from foldline.dialects.opencode_write import Fold, Turn
from foldline.errors import MalformedInput
from foldline.model import Compaction, Conversation, Head, Message, Notice, Origin, Part

_SLOT = "messages"


class OpenCode(Dialect):
    name = "opencode"
    api = "openai-chat"
    grammar = GRAMMAR

    def fits(self, value: Any) -> int:
        turns = value.get(_SLOT) if isinstance(value, dict) and isinstance(value.get("info"), dict) else None
        return 100 if isinstance(turns, list) and turns and all(map(_is_turn, turns)) else 0

    def read(self, source: Source, value: Any, history: History = "live") -> Conversation:
        turns = value.get(_SLOT) if isinstance(value, dict) else None
        if not isinstance(turns, list) or not all(map(_is_turn, turns)):
            raise MalformedInput(f"'{_SLOT}' is no list of objects with info and parts", source=source.name)
        rows = tuple(jsontext.elements(jsontext.dig(source.data, (_SLOT,))))
        whole = [_messages(turn, row, data) for row, (turn, data) in enumerate(zip(turns, rows, strict=True))]
        folds = _folds(turns)
        order = folds[-1].order(len(turns)) if folds and history == "live" else range(len(turns))
        messages = tuple(message for row in order for message in whole[row])
        return Conversation(
            self.name,
            messages,
            Head(model=_model(turns)),
            self.grammar,
            Listed(source, (_SLOT,), rows, messages),
            tuple(_notices(turns)),
            tuple(_compaction(fold, whole) for fold in folds),
        )

    def write(self, conversation: Conversation) -> bytes:
        layout = conversation.layout
        if not isinstance(layout, Listed):
            rows = opencode_write.from_nothing(conversation.messages)
            return jsontext.join_object({"info": b"{}", _SLOT: jsontext.join_list(rows)})
        if conversation.messages is layout.messages:
            return layout.whole()
        turns = [jsontext.decode(row) for row in layout.rows]
        folds = _folds(turns)
        return layout.changed(
            opencode_write.rewritten(layout, turns, conversation.messages, folds[-1] if folds else None)
        )


def _is_turn(turn: Any) -> bool:
    return isinstance(turn, dict) and isinstance(turn.get("info"), dict) and isinstance(turn.get("parts"), list)


def _messages(turn: Turn, row: int, data: bytes) -> list[Message]:
    """The messages of one turn."""
    if _failed(turn):
        return []
    raws = jsontext.elements(jsontext.dig(data, ("parts",)))
    if turn["info"].get("role") == "user":
        return list(_user(turn, row, data, raws))
    steps = list(opencode_parts.steps(turn["parts"]))
    return [message for step in steps for message in _step(turn, row, step, data if len(steps) == 1 else None, raws)]


def _user(turn: Turn, row: int, data: bytes, raws: Sequence[bytes]) -> Iterator[Message]:
    """What the user said, and apart from it what the program put beside it."""
    seen = [(n, read) for n, part in enumerate(turn["parts"]) if (read := opencode_parts.read_part(part)) is not None]
    runs = [(origin, list(run)) for origin, run in groupby(seen, lambda p: opencode_parts.origin(turn["parts"][p[0]]))]
    for origin, run in runs:
        raw = data if len(runs) == 1 else b",".join(raws[n] for n, _ in run)
        parts = tuple(part for _, part in run)
        yield Message("user", origin, parts, str(turn["info"].get("id", "")), "blocks", raw=raw, rows=(row,))


def _step(turn: Turn, row: int, places: Sequence[int], data: bytes | None, raws: Sequence[bytes]) -> Iterator[Message]:
    """One step of the model, and the results of its calls."""
    parts = [(n, part) for n in places if (part := opencode_parts.read_part(turn["parts"][n])) is not None]
    if not parts:
        return
    said: tuple[Part, ...] = tuple(part for _, part in parts)
    origin = Origin.SUMMARY if turn["info"].get("summary") is True else Origin.ASSISTANT
    raw = data if data is not None else b",".join(raws[n] for n in places)
    yield Message("assistant", origin, said, str(turn["info"].get("id", "")), "blocks", raw=raw, rows=(row,))
    for place, _ in parts:
        part = turn["parts"][place]
        result = opencode_parts.read_result(part) if part["type"] == "tool" else None
        if result is not None:
            yield Message("tool", Origin.TOOL, (result,), raw=raws[place], rows=(row,))


def _failed(turn: Turn) -> bool:
    """An answer that ended in an error, unless the user cut it off after something was said: opencode resends those."""
    error = turn["info"].get("error")
    if not isinstance(error, dict):
        return False
    said = any(part.get("type") not in ("step-start", "reasoning") for part in turn["parts"] if isinstance(part, dict))
    return error.get("name") != "MessageAbortedError" or not said


def _notices(turns: Sequence[Turn]) -> Iterator[Notice]:
    failed = sum(map(_failed, turns))
    if failed:
        yield Notice("api-error", f"{failed} answers failed; the model never sees them")
    states = [part.get("state") for turn in turns for part in turn["parts"] if isinstance(part, dict)]
    times = [state["time"] for state in states if isinstance(state, dict) and isinstance(state.get("time"), dict)]
    cleared = sum("compacted" in time for time in times)
    if cleared:
        yield Notice(
            "cleared", f"{cleared} tool results were cleared from the agent's own context; here they are whole"
        )


def _folds(turns: Sequence[Turn]) -> list[Fold]:
    """The compactions that came to an end: asked for in one turn, answered by a finished summary."""
    places = {turn["info"].get("id"): row for row, turn in enumerate(turns) if isinstance(turn["info"].get("id"), str)}
    folds = []
    for row, turn in enumerate(turns):
        info = turn["info"]
        asked = places.get(info["parentID"]) if isinstance(info.get("parentID"), str) else None
        if info.get("summary") is not True or not info.get("finish") or _failed(turn) or asked is None or asked >= row:
            continue
        marks = [part for part in turns[asked]["parts"] if isinstance(part, dict) and part.get("type") == "compaction"]
        tail = marks[0].get("tail_start_id") if marks else None
        kept = places.get(tail, asked) if isinstance(tail, str) else asked
        folds += [Fold(asked, row, min(kept, asked))] if marks else []
    return folds


def _compaction(fold: Fold, whole: Sequence[Sequence[Message]]) -> Compaction:
    counts = [sum(map(len, whole[:row])) for row in (fold.kept, fold.asked, fold.summary)]
    summary = "\n".join(message.text for message in whole[fold.summary])
    return Compaction(counts[2], summary, kept=tuple(range(counts[0], counts[1])))


def _model(turns: Sequence[Turn]) -> str:
    return next((str(turn["info"]["modelID"]) for turn in reversed(turns) if turn["info"].get("modelID")), "")
