"""What a provider's refusal says: its status, words, codes, numbers and headers. What they mean is in overflow.py.

    said ── listen ──> Said          headers ── retry_after ──> seconds to wait

Only fields that speak of the error are read, never content that a server may echo. Nothing is concluded here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

BODY_MOST = 65_536
"""Bytes of a body that are read: errors are short, and anything longer is a page or an echo of the request."""

DEPTH_MOST, ITEMS_MOST = 6, 8
"""How deeply errors are nested (a gateway's, around a router's, around a provider's), and how many of a list are
read."""

_CODE_KEYS = ("type", "code", "Code", "__type", "status", "reason", "stop_reason", "finish_reason", "status_code")
_TEXT_KEYS = ("message", "Message", "msg", "error", "detail", "raw", "status_msg")
_NESTED = ("error", "Error", "errors", "detail", "details", "response", "metadata", "delta", "choices", "base_resp")
_COUNTS = {"n_prompt_tokens": "input", "n_ctx": "limit"}


@dataclass(frozen=True, slots=True)
class Said:
    """All that a refusal says about itself."""

    status: int | None = None
    texts: tuple[str, ...] = ()
    codes: frozenset[str] = frozenset()
    counts: Mapping[str, int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n".join(self.texts)[:BODY_MOST]


def listen(said: object, status: int | None, headers: Mapping[str, str] | None) -> Said:
    """Reads what a body, an event or an exception says about the error."""
    bodies: tuple[object, ...] = (said,)
    names: list[str] = []
    if isinstance(said, BaseException):
        response = getattr(said, "response", None)
        bodies = (getattr(said, "body", None), getattr(said, "details", None), response, _words(said))
        names = [type(said).__name__.lower()]
        status = status or _status_of(said) or _status_of(response)
        headers = headers or getattr(response, "headers", None)
    found = [pair for body in bodies for pair in _walk(_load(body), DEPTH_MOST)]
    codes = names + [value.lower() for key, value in found if key == "code" and isinstance(value, str)]
    statuses = [number for key, value in found if key == "code" and (number := _http_status(value))]
    return Said(
        status=statuses[0] if statuses and status in (None, 200) else status,
        texts=tuple(value for key, value in found if key == "text" and isinstance(value, str)),
        codes=frozenset(code.rpartition("#")[2] for code in codes),
        counts={key: value for key, value in found if key in ("input", "limit") and isinstance(value, int)},
        headers=_lower(headers),
    )


def _walk(value: object, depth: int) -> Iterator[tuple[str, object]]:
    """The fields about the error, as ("code" | "text" | "input" | "limit", value). The rest of a body stays unread."""
    if isinstance(value, str):
        yield "text", value[:BODY_MOST]
    elif isinstance(value, list) and depth:
        for item in value[:ITEMS_MOST]:
            yield from _walk(item, depth - 1)
    elif isinstance(value, Mapping) and depth:
        yield from _walk_fields(value, depth - 1)


def _walk_fields(fields: Mapping[Any, Any], depth: int) -> Iterator[tuple[str, object]]:
    for key in _CODE_KEYS:
        if isinstance(code := fields.get(key), str | int):
            yield "code", code
    for key in _TEXT_KEYS:
        if isinstance(text := fields.get(key), str):
            yield from _walk(_load(text), depth)
    for key, name in _COUNTS.items():
        if type(count := fields.get(key)) is int and count > 0:
            yield name, count
    if isinstance(delay := fields.get("retryDelay"), str):
        yield "text", f"retryDelay: {delay}"
    for key in _NESTED:
        if isinstance(inner := fields.get(key), Mapping | list):
            yield from _walk(inner, depth)


def _load(body: object) -> object:
    """A decoded body: JSON where it is JSON, its text where it is not; an SDK's object as what it dumps itself to."""
    if isinstance(body, bytes | bytearray | memoryview):
        body = bytes(body[:BODY_MOST]).decode("utf-8", "replace")
    if not isinstance(body, str):
        dump = None if isinstance(body, Mapping) else getattr(body, "model_dump", None)
        return dump() if callable(dump) else body
    try:
        return json.loads(body) if body.lstrip()[:1] in ("{", "[") and len(body) <= BODY_MOST else body
    except (ValueError, RecursionError):
        return body


def _words(error: BaseException) -> str:
    message = getattr(error, "message", None)
    return message if isinstance(message, str) and message else str(error)


def _status_of(holder: object) -> int | None:
    if isinstance(holder, Mapping):
        inner = holder.get("ResponseMetadata")
        return _http_status(inner.get("HTTPStatusCode")) if isinstance(inner, Mapping) else None
    values = (getattr(holder, name, None) for name in ("status_code", "status", "code"))
    return next((status for value in values if (status := _http_status(value))), None)


def _http_status(value: object) -> int | None:
    number = int(value) if isinstance(value, str) and re.fullmatch(r"[45][0-9]{2}", value) else value
    return number if isinstance(number, int) and 400 <= number <= 599 else None


def _lower(headers: Mapping[str, str] | None) -> dict[str, str]:
    items = getattr(headers, "items", tuple)
    return {str(name).lower(): str(value) for name, value in items()}


def _seconds(said: str) -> float | None:
    try:
        seconds = float(said)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _moment(said: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(said).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds to wait, as the headers say: a number, or a date measured against the answer's own Date, else `now`."""
    lower = _lower(headers)
    if (ms := _seconds(lower.get("retry-after-ms", ""))) is not None:
        return ms / 1_000
    said = lower.get("retry-after", "")
    if (seconds := _seconds(said)) is not None:
        return seconds
    until, since = _moment(said), _moment(lower.get("date", ""))
    since = now if since is None else since
    return None if until is None or since is None else max(0.0, until - since)
