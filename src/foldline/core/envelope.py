"""Results in an envelope of JSON: what the command said, and whether the tool says that it succeeded.

    '{"returncode": 1, "output": "boom"}' ── opened ──> Opened("boom", well=False)

Every client has keys of its own, so they are known by their letters alone: exit_code and exitCode are one. A key such
as `status` or `error` also stands in records, where it tells of what was looked up; it counts only where all keys
beside it are an envelope's. Exit codes in plain text are in deeds.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

LONGEST = 2_000_000
"""Characters of a result that is taken apart."""
_LOOK = 2_000
"""Characters at either end in which a key of an envelope stands."""
_CODES = ("exitcode", "returncode", "exitstatus")
_SAID = ("output", "stdout", "stderr")
_INSIDE = ("metadata", "result")
"""Where an envelope may have another in it."""
_FRAME = frozenset(
    {*_CODES, *_SAID, *_INSIDE, "code", "status", "ok", "success", "error", "iserror", "message", "content", "details"}
    | {"reason", "errors", "data", "type", "command", "cwd"}
    | {"duration", "durationms", "timedout", "truncated", "signal"}
)
_WELL = {"ok": True, "success": True, "succeeded": True, "completed": True, "error": False, "failed": False}
_WELL |= {"failure": False, "errored": False}
_KEY = re.compile(
    r"\"(?:exit_?code|return_?code|exit_?status|metadata|status|ok|success|error|is_?error|output|stdout)\"\s*:", re.I
)
_PRINTED = re.compile(r"'(?:exit_?code|return_?code)': '?(-?\d{1,5})\b", re.I)
"""The same in a dict as Python prints it, which is not taken apart."""


class Opened(NamedTuple):
    """What was said, the text itself where there is no envelope; and whether it says that all went well."""

    said: str
    well: bool | None = None


def opened(text: str) -> Opened:
    start = text.lstrip()[:2]
    if start[:1] not in ("{", "["):
        return Opened(text)
    ends = text[:_LOOK] + text[_LOOK:][-_LOOK:]
    if start == "{'":
        printed = _PRINTED.search(ends)
        return Opened(text, int(printed[1]) == 0 if printed else None)
    value = _value(text) if _KEY.search(ends) else None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return Opened(text)
    envelopes = [_plain_keys(value)]
    envelopes += [_plain_keys(inner) for inner in map(envelopes[0].get, _INSIDE) if isinstance(inner, dict)]
    told = (well for envelope in envelopes if (well := _well(envelope)) is not None)
    said = next(filter(None, map(_said, envelopes)), "")
    return Opened(said or text, next(told, None))


def _value(text: str) -> Any:
    if len(text) > LONGEST:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _plain_keys(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name.lower().replace("_", "").replace("-", ""): inner for name, inner in value.items()}


def _well(envelope: Mapping[str, Any]) -> bool | None:
    """What the surest of its keys says."""
    return next((well for well in _tellings(envelope) if well is not None), None)


def _tellings(envelope: Mapping[str, Any]) -> Iterator[bool | None]:
    spoken = any(isinstance(envelope.get(name), str) for name in _SAID)
    codes = (*_CODES, "code", "status") if spoken else _CODES
    yield from (_is_zero(envelope.get(name)) for name in codes)
    yield from (envelope[name] for name in ("success", "ok") if isinstance(envelope.get(name), bool))
    if isinstance(envelope.get("iserror"), bool):
        yield not envelope["iserror"]
    if _FRAME.issuperset(envelope):
        yield _WELL.get(str(envelope.get("status")).lower())
        yield False if envelope.get("error") else None


def _is_zero(value: Any) -> bool | None:
    """An exit code, as a number or in digits."""
    if isinstance(value, str) and value.removeprefix("-").isdecimal():
        return int(value[:6]) == 0
    return value == 0 if isinstance(value, int) and not isinstance(value, bool) else None


def _said(envelope: Mapping[str, Any]) -> str:
    """What it says that the command said; and if that is nothing, what was wrong."""
    parts = [envelope[name] for name in _SAID if isinstance(envelope.get(name), str) and envelope[name].strip()]
    content = envelope.get("content")
    if isinstance(content, Sequence) and "iserror" in envelope and not isinstance(content, str):
        parts += [part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)]
    told = any(name in envelope for name in (*_SAID, "iserror"))
    error = envelope.get("error")
    if told and isinstance(error, str) and error.strip() and not parts:
        parts = [error]
    return "\n".join(part.rstrip("\n") for part in parts)
