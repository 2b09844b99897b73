"""How an export of opencode's is written again after its messages changed.

A compaction of opencode's own stays while all its turns do and nothing new stands before what it kept. Otherwise it is
undone: its mark would bring back what is gone, or hide what is new. What it had hidden is dropped then, and what is
left of its turns stands in the order of the view. Nothing here reads an export; `opencode` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from foldline.dialects import jsontext, opencode_parts
from foldline.dialects.base import Listed
from foldline.dialects.lined import START, behind, owners, plan, unsized
from foldline.model import Message, Origin, ToolResult, digest

Turn: TypeAlias = Mapping[str, Any]
_COPIED = {"user": ("agent", "model"), "assistant": ("parentID", "modelID", "providerID", "mode", "agent", "path")}
"""By role, what a new turn takes over from the nearest: opencode imports none without it."""
_SPENT = {"cost": 0, "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}}
"""What an answer that nobody was asked for has cost."""
_COUNTS, _CACHED = ("total", "input", "output", "reasoning"), ("read", "write")
"""What opencode takes the size of its context from: in an answer, in the end of a step, and in the `cache` of both."""
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


def from_nothing(messages: Sequence[Message]) -> list[bytes]:
    """Turns of an export that holds nothing else."""
    return list(map(jsontext.encode, _new_turns(messages, Beside())))


def rewritten(layout: Listed, turns: Sequence[Turn], messages: Sequence[Message], fold: Fold | None) -> list[bytes]:
    """The turns of the export with other messages in it."""
    view = _answering(messages)
    stands = fold if fold is not None and _stands(fold, layout.messages, view) else None
    todo = plan(layout, view, stands.summary) if stands else plan(layout, _in_order(view))
    order = fold.order(len(turns)) if fold else list(range(len(turns)))
    hidden = set() if stands else set(range(len(turns))) - set(order) - owners(view).keys()
    gone = todo.gone | hidden
    built = _built(turns, todo.changed, gone, marks=stands is fold)
    for row in behind(order, todo.gone | built.keys(), todo.made):
        built[row] = _unsized(built.get(row, layout.rows[row]))
    added = {run.after: _new_turns(run.messages, _beside(turns, run.after, gone)) for run in todo.made}
    put = [(turn, jsontext.encode(turn)) for turn in added.get(START, ())]
    for row, turn in enumerate(turns):
        put += [] if row in gone else [(turn, built.get(row, layout.rows[row]))]
        put += [(new, jsontext.encode(new)) for new in added.get(row, ())]
    return list(_hung(put, [turns[row] for row in gone]))


def _answering(messages: Sequence[Message]) -> list[Message]:
    """The messages, with results that were made here in the turns of their calls."""
    homes: dict[str, tuple[int, ...]] = {}
    found = []
    for message in messages:
        if message.role == "tool" and not message.rows and message.results:
            message = replace(message, rows=homes.get(message.results[0].call_id, ()))
        homes.update({call.id: message.rows for call in message.calls})
        found.append(message)
    return found


def _stands(fold: Fold, before: Sequence[Message], now: Sequence[Message]) -> bool:
    """Its turns are all there, and nothing new stands before them or among what they kept."""
    gone = owners(before).keys() - owners(now).keys()
    last = max((n for n, message in enumerate(now) if message.rows and min(message.rows) <= fold.summary), default=0)
    return not gone & {fold.asked, fold.summary, fold.kept} and all(message.rows for message in now[:last])


def _in_order(messages: Sequence[Message]) -> list[Message]:
    """A message that stands before one of an earlier turn has to move: it is written anew, at its place."""
    ordered: list[Message] = []
    least = max((row for message in messages for row in message.rows), default=START)
    for message in reversed(messages):
        moved = bool(message.rows) and max(message.rows) > least
        ordered.append(replace(message.with_parts(message.parts), rows=()) if moved else message)
        least = min((least, *ordered[-1].rows))
    return ordered[::-1]


def _built(
    turns: Sequence[Turn], changed: Mapping[int, Sequence[Message]], gone: Iterable[int], *, marks: bool
) -> dict[int, bytes]:
    """The turns that are left and say something else. Without `marks`, those of compactions are plain words."""
    built = {}
    for row in set(range(len(turns))) - set(gone):
        new = opencode_parts.rebuild(turns[row], changed[row], marks=marks) if row in changed else turns[row]
        new = new if marks else opencode_parts.unmarked(new)
        if new is not turns[row] and new != turns[row]:
            built[row] = jsontext.encode(new)
    return built


def _unsized(row: bytes) -> bytes:
    """The turn without the size that the context had after it, and after each of its steps."""
    whole = _without_counts(row, ("info", "tokens"))
    parts = jsontext.elements(jsontext.dig(whole, ("parts",)))
    left = [_without_counts(part, ("tokens",)) for part in parts]
    return whole if left == parts else jsontext.splice(whole, ("parts",), jsontext.join_list(left))


def _without_counts(data: bytes, path: tuple[str, ...]) -> bytes:
    return unsized(unsized(data, path, _COUNTS), (*path, "cache"), _CACHED)


def _hung(put: Sequence[tuple[Turn, bytes]], gone: Iterable[Turn]) -> Iterator[bytes]:
    """The turns as bytes. An answer to a turn that is gone hangs on the user's turn before it, as on a checkpoint's."""
    asking = [_id(turn) for turn, _ in put if turn["info"].get("role") == "user"]
    lost = set(map(_id, gone)) - {_id(turn) for turn, _ in put} - {""}
    user = next(iter(asking), "")
    for turn, data in put:
        user = _id(turn) if turn["info"].get("role") == "user" else user
        torn = user and _id(turn, "parentID") in lost
        yield jsontext.splice(data, ("info", "parentID"), jsontext.encode(user)) if torn else data


def _id(turn: Turn, name: str = "id") -> str:
    value = turn["info"].get(name)
    return value if isinstance(value, str) else ""


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


def _new_turns(messages: Sequence[Message], beside: Beside) -> list[Turn]:
    """Turns for messages made here: results stand in the turn of their calls."""
    turns: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and turns:
            turns[-1].append(message)
        else:
            turns.append([message])
    return [_new_turn(turn, beside, number) for number, turn in enumerate(turns)]


def _new_turn(messages: Sequence[Message], beside: Beside, number: int) -> Turn:
    first = messages[0]
    role = "assistant" if first.role == "assistant" else "user"
    name = f"{beside.stem}{number:04}{digest(jsontext.encode([beside.stem, number, first.identity]))[:8]}"
    known = {"id": name, "sessionID": beside.session, "role": role, "time": {"created": beside.created}}
    retold = {"summary": True} if role == "assistant" and first.origin is Origin.SUMMARY else {}
    info = {**known, **beside.copied.get(role, {}), **(_SPENT if role == "assistant" else {}), **retold}
    results = {result.call_id: result for message in messages for result in message.results}
    called = {call.id for message in messages for call in message.calls}
    parts = [p for m in messages for p in m.parts if not isinstance(p, ToolResult) or p.call_id not in called]
    made = [opencode_parts.new_part(part, info, results) for part in parts]
    if first.origin is Origin.SUMMARY and role == "user":
        made = [{**part, "synthetic": True, "metadata": {"origin": first.origin.value}} for part in made]
    ordered = [{**part, "id": f"prt_{place:04}{part['id'][4:]}"} for place, part in enumerate(made)]
    return {"info": info, "parts": ordered}
