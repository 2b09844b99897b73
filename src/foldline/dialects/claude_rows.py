"""Claude Code's rows: which of them speak, which make up one message, and which the agent would send next.

Claude Code writes one row for each block of an answer, results between them, and everything else it does beside them.
Order is the file's: parallel calls branch, so walking from child to parent would lose rows. The parent links only tell
which branches were left behind. What a row says is `claude_code`'s matter.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from foldline.dialects.claude_record import Record, answer, ids, mapping, speaks
from foldline.model import Notice

Records = Mapping[int, Record]
"""The records by their rows, in file order."""
Ids = Mapping[int, tuple[tuple[str, ...], tuple[str, ...]]]
"""The ids of the calls and of the results in each row that speaks."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """A compaction: its row, what it says of itself, and the rows it kept verbatim."""

    row: int
    metadata: Mapping[str, Any] = field(repr=False)
    kept: Collection[int]
    kept_first: bool
    """What was kept stands before the summary; otherwise after it."""
    anchor: str = ""
    """The name of the row that what was kept hangs on."""


NO_BOUNDARY = Boundary(-1, {}, (), False)
"""In the place of the last compaction where there was none."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The whole history: each message as the rows it is written in, in file order; and the compactions."""

    groups: Sequence[tuple[int, ...]]
    reach: Sequence[int]
    """The last row of each message and those before it."""
    boundaries: Sequence[Boundary]
    ids: Ids
    notices: tuple[Notice, ...]


def once(records: Records) -> dict[int, Record]:
    """The records without those that repeat an earlier one, as in a file that was copied onto its own end."""
    first: dict[object, int] = {}
    for row, record in records.items():
        first.setdefault((record.uuid, record.type, record.is_sidechain) if record.uuid else row, row)
    return {row: records[row] for row in first.values()}


def outline(records: Records) -> Outline:
    """Of records that are there once each."""
    rows, notices = _speaking(records)
    named = {row: ids(records[row]) for row in rows}
    folds = boundaries(records)
    groups = _groups(records, named, [fold.row for fold in folds])
    return Outline(groups, list(accumulate((group[-1] for group in groups), max)), folds, named, notices)


def live(records: Records, whole: Outline) -> tuple[list[int], tuple[Notice, ...]]:
    """Which of the groups the agent would send next, in the order in which it would."""
    last = whole.boundaries[-1] if whole.boundaries else NO_BOUNDARY
    left = _left_behind(records, whole.ids, last)
    later = [n for n, rows in enumerate(whole.groups) if rows[0] > last.row and not left.issuperset(rows)]
    kept = kept_groups(whole, last)
    opening = [n for n in later if records[whole.groups[n][0]].is_compact_summary][: bool(kept and not last.kept_first)]
    rest = [n for n in later if n not in opening]
    notices = [Notice("left-behind", f"rows on branches that were left behind: {len(left):,}")] if left else []
    return [*opening, *kept, *rest], tuple(notices)


def kept_groups(whole: Outline, boundary: Boundary) -> list[int]:
    """The messages before a compaction that it kept. Of a stretch of rows, only messages that began before it have to
    be looked at: there may be as many compactions as messages."""
    rows = boundary.kept if isinstance(boundary.kept, range) else sorted(boundary.kept)
    if not rows:
        return []
    near = bisect_left(whole.reach, rows[0])
    stop = group_at(whole, min(rows[-1] + 1, boundary.row))
    sure = min(group_at(whole, rows[0]), stop) if isinstance(rows, range) else stop
    return [*(n for n in range(near, sure) if is_kept(whole.groups[n], boundary)), *range(sure, stop)]


def group_at(whole: Outline, row: int) -> int:
    """The first message that begins in this row or behind it."""
    return bisect_left(whole.groups, row, key=lambda rows: rows[0])


def is_kept(rows: Sequence[int], boundary: Boundary) -> bool:
    """A message in these rows stands before the compaction, and was kept by it."""
    return bool(rows) and min(rows) < boundary.row and any(row in boundary.kept for row in rows)


def _speaking(records: Records) -> tuple[list[int], tuple[Notice, ...]]:
    """The rows that are part of what is said."""
    rows = [row for row, record in records.items() if speaks(record)]
    main = [row for row in rows if not records[row].is_sidechain]
    chosen = main or rows  # a file of sidechain rows alone is a subagent's own conversation
    counts = {
        "sidechain": len(rows) - len(chosen),
        "api-error": sum(bool(record.is_api_error_message) for record in records.values()),
        "cleared": sum(_cleared(record) for record in records.values()),
    }
    return chosen, tuple(Notice(code, f"{number} {_WORDS[code]}") for code, number in counts.items() if number)


_WORDS = {
    "sidechain": "rows belong to the conversations of subagents and are left out",
    "api-error": "rows tell of failed requests; the model never saw them",
    "cleared": "tool results were cleared from the agent's own context; here they are whole",
}


def _cleared(record: Record) -> int:
    names = mapping(record.microcompact_metadata).get("compactedToolIds")
    return len(names) if isinstance(names, list) else 0


def _groups(records: Records, named: Ids, borders: Iterable[int]) -> list[tuple[int, ...]]:
    """Rows joined to messages: the blocks of one answer, and the results of one answer's calls."""
    groups: dict[str, list[int]] = {}
    window, left = 0, sorted(borders, reverse=True)
    steps: dict[str, str] = {}  # a call → its answer
    for row, (calls, results) in named.items():
        while left and left[-1] < row:
            left.pop()
            window, steps = window + 1, {}
        said = answer(records[row]) if records[row].type == "assistant" else ""
        step = next((steps[name] for name in results if name in steps), "")
        key = f"{window} says {said}" if said else f"{window} answers {step}" if step else f"row {row}"
        steps.update(dict.fromkeys(calls, said or key))
        groups.setdefault(key, []).append(row)
    return [tuple(group) for group in groups.values()]


def boundaries(records: Records) -> list[Boundary]:
    """The compactions in the file, in its order."""
    rows = [row for row, record in records.items() if record.subtype == "compact_boundary"]
    places = {record.uuid: row for row, record in reversed(list(records.items())) if record.uuid} if rows else {}
    return [_boundary(records[row], row, places) for row in rows]


def _boundary(record: Record, row: int, places: Mapping[str, int]) -> Boundary:
    metadata = mapping(record.compact_metadata)
    listed, segment = metadata.get("preservedMessages"), metadata.get("preservedSegment")
    kept: Collection[int] = ()
    anchor = None
    if isinstance(segment, dict):
        ends = _found(places, [segment.get(f"{end}Uuid", segment.get(end)) for end in ("head", "tail")])
        kept = range(ends[0], min(ends[1] + 1, row)) if len(ends) == 2 else kept
        anchor = segment.get("anchorUuid", segment.get("anchor"))
    if isinstance(listed, dict):
        kept = frozenset(
            place for place in _found(places, listed.get("uuids") or listed.get("allUuids")) if place < row
        )
        anchor = listed.get("anchorUuid")
    named = anchor if isinstance(anchor, str) else ""
    return Boundary(row, metadata, kept, kept_first=bool(named) and named == record.uuid, anchor=named)


def _found(places: Mapping[str, int], names: Any) -> list[int]:
    """The rows of these uuids, as far as they are uuids and have rows."""
    listed = names if isinstance(names, list) else []
    return [places[name] for name in listed if isinstance(name, str) and name in places]


def _left_behind(records: Records, named: Ids, fold: Boundary) -> frozenset[int]:
    """Rows after a compaction on branches the conversation went back from: the user rewound, or resumed before them.

    Parallel calls branch too, so blocks and results of an answer that is on the way stay, wherever they hang; and so
    does every row whose parent is not in the file. Who went back to before the first message began a tree of its own.
    """
    rows = [row for row in records if row > fold.row and records[row].uuid and not records[row].is_sidechain]
    way = _way(records, rows)
    rooted = any(records[row].parent_uuid for row in rows) and not all(records[row].parent_uuid for row in way)
    answers = {answer(records[row]) for row in way} - {""}
    before = [row for row in (fold.row, *fold.kept) if row in records]
    said = [row for row in rows if answer(records[row]) in answers]
    calls = {name for row in (*before, *said) for name in named.get(row, ((), ()))[0]}
    names = {records[row].uuid for row in before} - {None}
    reached = {records[row].uuid for row in way} | (
        names if any(records[row].parent_uuid in names for row in way) else set()
    )
    left = {None, ""} if rooted else set[str | None]()
    for row in rows:
        record = records[row]
        if row in way or answer(record) in answers or calls.intersection(named.get(row, ((), ()))[1]):
            reached.add(record.uuid)
        elif record.parent_uuid in left or (record.parent_uuid in reached and _is_turn(record)):
            left.add(record.uuid)
        elif record.parent_uuid in reached:
            reached.add(record.uuid)
    return frozenset(row for row in rows if records[row].uuid in left and row in named)


def _is_turn(record: Record) -> bool:
    """Opens a branch of its own: words of the user or the model, not a note beside them, and no summary."""
    return record.type in ("user", "assistant") and not record.is_meta and not record.is_compact_summary


def _way(records: Records, rows: Sequence[int]) -> frozenset[int]:
    """From the last thing said back to where its chain ends."""
    places = {records[row].uuid: row for row in rows}
    at = next((row for row in reversed(rows) if speaks(records[row])), None)
    way: set[int] = set()
    while at is not None and at not in way:
        way.add(at)
        at = places.get(records[at].parent_uuid)
    return frozenset(way)
