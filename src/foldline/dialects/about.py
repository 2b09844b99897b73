"""What a transcript says about itself: the folder its agent ran in, its title, and when each message was written.

    conversation ── about ──> About

Requests say none of it. What a transcript's messages are is its dialect's matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from foldline.dialects import jsontext
from foldline.dialects.base import Lined, Listed
from foldline.model import Conversation

_FIRST_ROWS = 200
"""Rows in which the folder is looked for: agents name it in their first, or in every one."""
_TITLES = (b'"custom-title"', b'"ai-title"', b'"session_info"')
"""Types of rows that hold nothing but a title; the last one of the first of these that is there counts."""
_SUMMARY = b'{"type":"summary"'
"""Older Claude Code titles sessions so, in whichever file it had open."""


@dataclass(frozen=True, slots=True)
class About:
    """`times` has one entry for each message, in unix seconds; it is empty where nothing says when it was written."""

    project: str = ""
    title: str = ""
    times: tuple[float, ...] = ()


class _Place(msgspec.Struct, gc=False):
    cwd: str | None = None


class _Row(msgspec.Struct, gc=False):
    """What is looked at of a row: `cwd` stands in it, or in the payload of Codex."""

    type: str | None = None
    cwd: str | None = None
    timestamp: Any = None
    payload: _Place | None = None


class _Named(msgspec.Struct, rename="camel", gc=False):
    """A row with a title."""

    type: str | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    name: str | None = None
    summary: str | None = None
    leaf_uuid: str | None = None


_row, _named = msgspec.json.Decoder(_Row), msgspec.json.Decoder(_Named)


def about(conversation: Conversation) -> About:
    layout = conversation.layout
    if isinstance(layout, Lined):
        times = tuple(_time_of(layout.rows, message.rows) for message in conversation.messages)
        return About(_project(layout.rows), _title(layout.rows), _filled(times))
    if isinstance(layout, Listed) and conversation.dialect == "opencode":
        return _opencode(conversation, layout)
    return About()


def _peek(row: bytes) -> _Row:
    try:
        return _row.decode(row)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Row()  # a torn row, or one of another shape, says nothing


def _project(rows: Sequence[bytes]) -> str:
    seen = map(_peek, rows[:_FIRST_ROWS])
    places = (row.cwd or (row.payload.cwd if row.payload else None) for row in seen)
    return next((place for place in places if place), "")


def _title(rows: Sequence[bytes]) -> str:
    for kind in _TITLES:
        for row in _titled(rows, kind):
            if title := row.custom_title or row.ai_title or row.name:
                return title
    own = (row for row in _titled(rows, _SUMMARY) if row.summary and row.leaf_uuid and _holds(rows, row.leaf_uuid))
    return next((row.summary for row in own if row.summary), "")


def _titled(rows: Sequence[bytes], mark: bytes) -> Iterator[_Named]:
    """Rows with this mark that are of its type, the newest first."""
    for row in reversed(rows):
        if mark in row[:_FIRST_ROWS]:
            try:
                found = _named.decode(row)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
            if found.type and found.type.encode() in mark:
                yield found


def _holds(rows: Sequence[bytes], uuid: str) -> bool:
    """The title is that of this session: the row it names is here."""
    mark = f'"uuid":"{uuid}"'.encode()
    return any(mark in row for row in rows)


def _time_of(rows: Sequence[bytes], places: Sequence[int]) -> float:
    return _seconds(_peek(rows[min(places)]).timestamp) if places else 0.0


def _seconds(stamp: Any) -> float:
    """Unix seconds of a time in words or in milliseconds; 0 for anything else."""
    if isinstance(stamp, (int, float)) and not isinstance(stamp, bool):
        return stamp / 1000
    try:
        found = datetime.fromisoformat(stamp)
    except (TypeError, ValueError):
        return 0.0
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _filled(times: Sequence[float]) -> tuple[float, ...]:
    """A message without a time was written no earlier than the one before it."""
    first = next((time for time in times if time), 0.0)
    filled, last = [], first
    for time in times:
        last = time or last
        filled.append(last)
    return tuple(filled) if first else ()


def _opencode(conversation: Conversation, layout: Listed) -> About:
    info = _object(jsontext.decode(jsontext.dig(layout.source.data, ("info",))))
    made = [_object(_object(jsontext.decode(row)).get("info")) for row in layout.rows]
    created = [_seconds(_object(one.get("time")).get("created")) for one in made]
    times = _filled([created[message.rows[0]] if message.rows else 0.0 for message in conversation.messages])
    folder = info.get("directory") or next((_object(one.get("path")).get("cwd") for one in made), "")
    return About(_words(folder), _words(info.get("title")), times)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _words(value: Any) -> str:
    return value if isinstance(value, str) else ""
