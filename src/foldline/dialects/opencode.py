"""opencode's exports: {info, messages: [{info, parts}]}.

One element is a whole turn: of the user, or of the agent with all its steps, where each tool part is both the call and
its result. So one element becomes several messages here (an assistant message for each step, a tool message for each
result), which share the element's place and go back into it together. What single parts say is `opencode_parts`'
matter.

`Conversation.compactions` speaks of the whole history: its indices point into the messages of `history="all"`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from foldline.dialects import jsontext, opencode_parts
from foldline.dialects.base import Dialect, Listed, Source, plain_text
from foldline.dialects.lined import START, History, plan
from foldline.dialects.openai_chat import GRAMMAR
from foldline.errors import MalformedInput
from foldline.model import Compaction, Conversation, Head, Message, Notice, Origin, Part, ToolResult, digest

_SLOT = "messages"
Turn = Mapping[str, Any]
_COPIED = {"user": ("agent", "model"), "assistant": ("parentID", "modelID", "providerID", "mode", "agent", "path")}
"""By role, what a new turn takes over from the nearest: opencode imports none without it."""
_SPENT = {"cost": 0, "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}}
"""What an answer that nobody was asked for has cost."""
_BEFORE = "-"
"""Sorts before every character that opencode's ids are made of."""


@dataclass(frozen=True, slots=True)
class Fold:
    """A compaction: the turn that asked for it, the one with the summary, and the first that was kept."""

    asked: int
    summary: int
    kept: int

    def order(self, count: int) -> list[int]:
        """The turns that are live after it, in the order in which the model sees them."""
        return [self.asked, self.summary, *range(self.kept, self.asked), *range(self.summary + 1, count)]


@dataclass(frozen=True)
class Beside:
    """Where new turns are put: opencode sorts turns by time and id, so theirs begin with `stem`."""

    stem: str = "msg_"
    session: Any = ""
    created: Any = 0
    copied: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


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
            rows = _new_rows(conversation.messages, Beside())
            return jsontext.join_object({"info": b"{}", _SLOT: jsontext.join_list(rows)})
        if conversation.messages is layout.messages:
            return layout.whole()
        return layout.changed(_rewritten(layout, conversation.messages))


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


def _rewritten(layout: Listed, messages: Sequence[Message]) -> list[bytes]:
    turns = [jsontext.decode(row) for row in layout.rows]
    folds = _folds(turns)
    live = folds[-1] if folds else None
    summary = live.summary if live else START
    todo = plan(layout, _taking_over(messages, summary), summary)
    stay = {live.asked, live.summary} if live else set()
    gone = todo.gone - stay
    added = {run.after: _new_rows(run.messages, _beside(turns, run.after, gone)) for run in todo.made}
    rows = list(added.get(START, ()))
    for row, data in enumerate(layout.rows):
        held = todo.changed.get(row, () if row in todo.gone & stay else None)
        if held is not None:
            rows.append(_rebuilt(data, turns[row], held))
        elif row not in gone:
            rows.append(data)
        rows += added.get(row, ())
    return rows


def _taking_over(messages: Sequence[Message], summary: int) -> Sequence[Message]:
    """A new first message in plain words takes the place of a summary that is gone."""
    gone = summary != START and not any(summary in message.rows for message in messages)
    if not gone or not messages or messages[0].rows or plain_text(messages[0].parts) is None:
        return messages
    return (replace(messages[0], rows=(summary,)), *messages[1:])


def _rebuilt(data: bytes, turn: Turn, held: Sequence[Message]) -> bytes:
    new = opencode_parts.rebuild(turn, held)
    return data if new == turn else jsontext.encode(new)


def _beside(turns: Sequence[Turn], after: int, gone: frozenset[int]) -> Beside:
    """The place behind that turn, among those that are left: behind the last one up to it, else before the next."""
    infos = [turn["info"] for turn in turns]
    behind = [info for row, info in enumerate(infos) if row <= after and row not in gone][-1:]
    ahead = [info for row, info in enumerate(infos) if row > after and row not in gone][:1]
    info: Mapping[str, Any] = next(iter([*behind, *ahead, *infos]), {})
    name = str(info.get("id") or Beside.stem)
    stem = name if behind else name[:-1] + _BEFORE if ahead else Beside.stem
    created = info["time"].get("created", 0) if isinstance(info.get("time"), dict) else 0
    nearest = [*reversed(infos[: after + 1]), *infos[after + 1 :]]
    return Beside(stem, info.get("sessionID", ""), created, {role: _shared(role, nearest) for role in _COPIED})


def _shared(role: str, infos: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """What a new turn of this role takes over from the first of these that has the role."""
    info = next((info for info in infos if info.get("role") == role), {})
    return {key: info[key] for key in _COPIED[role] if key in info}


def _new_rows(messages: Sequence[Message], beside: Beside) -> list[bytes]:
    """Turns for messages made here: results stand in the turn of their calls."""
    turns: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and turns:
            turns[-1].append(message)
        else:
            turns.append([message])
    return [_new_row(turn, beside, number) for number, turn in enumerate(turns)]


def _new_row(messages: Sequence[Message], beside: Beside, number: int) -> bytes:
    first = messages[0]
    role = "assistant" if first.role == "assistant" else "user"
    name = f"{beside.stem}{number:04}{digest(jsontext.encode([beside.stem, number, first.identity]))[:8]}"
    known = {"id": name, "sessionID": beside.session, "role": role, "time": {"created": beside.created}}
    info = {**known, **beside.copied.get(role, {}), **(_SPENT if role == "assistant" else {})}
    results = {result.call_id: result for message in messages for result in message.results}
    called = {call.id for message in messages for call in message.calls}
    parts = [p for m in messages for p in m.parts if not isinstance(p, ToolResult) or p.call_id not in called]
    made = [opencode_parts.new_part(part, info, results) for part in parts]
    if first.origin is Origin.SUMMARY and role == "user":
        made = [{**part, "synthetic": True, "metadata": {"origin": first.origin.value}} for part in made]
    ordered = [{**part, "id": f"prt_{place:04}{part['id'][4:]}"} for place, part in enumerate(made)]
    return jsontext.encode({"info": info, "parts": ordered})
