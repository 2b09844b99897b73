"""Results in an envelope of JSON: what the command said, and whether its client says that it succeeded.

    '{"returncode": 1, "output": "boom"}' ── unpacked ──> Unpacked("boom", well=False)

Commands print JSON too, and records have keys such as `status`, `error` and `output`. So JSON counts as an envelope
only if it has both the text and how it ended, and no key that no client puts beside them. Keys are compared by their
letters alone: exit_code and exitCode are one. Exit codes in plain text are in deeds.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from foldline.core.words.text import sendable

LONGEST = 2_000_000
"""Characters of a result that is parsed at most."""
_LOOK = 2_000
"""Characters at either end of a result in which a key of an envelope is sought."""
_CODES = frozenset({"exitcode", "returncode", "exitstatus"})
_SAID = ("output", "stdout", "stderr")
_BESIDE = ("error", "message")
_FRAME = frozenset(
    {*_CODES, *_SAID, *_BESIDE, "metadata", "success", "ok", "status", "command", "cwd"}
    | {"duration", "durationms", "durationseconds", "timedout", "truncated", "interrupted", "signal", "pid"}
)
_KEY = re.compile(r"\"(?:output|stdout|stderr)\"\s*:", re.I)


class Unpacked(NamedTuple):
    """What was said (the text itself where there is no envelope), and whether the envelope says that all went well."""

    said: str
    well: bool | None = None


def unpacked(text: str) -> Unpacked:
    """What a command said, out of the envelope in which its client gives it."""
    start = text.lstrip()[:1]
    value = _value(text) if start == "{" and _KEY.search(text[:_LOOK] + text[_LOOK:][-_LOOK:]) else None
    keys = [(_letters(name), inner) for name, inner in value.items()] if value else []
    envelope = dict(keys)
    if not keys or not _FRAME.issuperset(envelope):
        return Unpacked(text)
    parts = [value for name in (*_SAID, *_BESIDE) if (value := envelope.get(name))]
    told = list(_tellings(keys))
    if not _has_code(keys) or not told or not any(isinstance(envelope.get(name), str) for name in _SAID):
        return Unpacked(text)
    if not all(isinstance(part, str) for part in parts):  # what is said in another form would be lost
        return Unpacked(text)
    said = "\n".join(part.rstrip("\n") for part in parts if part.strip())
    return Unpacked(sendable(said), all(told))


def stated(text: str) -> bool | None:
    """Whether a result states success in a form that many tools use: {"success": …} or {"metadata": {"exit_code":
    …}}."""
    value = _value(text) if text.startswith("{") else None
    if value is None:
        return None
    inner: dict[str, Any] = value["metadata"] if isinstance(value.get("metadata"), dict) else value
    if type(inner.get("exit_code")) is int:
        return bool(inner["exit_code"] == 0)
    return inner["success"] if isinstance(inner.get("success"), bool) else None


def _value(text: str) -> dict[str, Any] | None:
    if len(text) > LONGEST:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _has_code(keys: Sequence[tuple[str, Any]]) -> bool:
    """It has an exit code; `success` alone is in ordinary records, too."""
    inner = [
        (_letters(name), said)
        for key, value in keys
        if key == "metadata" and isinstance(value, Mapping)
        for name, said in value.items()
    ]
    return any(name in _CODES and (value is None or _number(value) is not None) for name, value in (*keys, *inner))


def _tellings(keys: Sequence[tuple[str, Any]]) -> Iterator[bool]:
    """What each key says about how the command ended."""
    for name, value in keys:
        if name in _CODES and (code := _number(value)) is not None:
            yield code == 0
        elif name in ("success", "ok") and isinstance(value, bool):
            yield value
        elif name in ("timedout", "interrupted") and value is True:
            yield False
        elif name == "metadata" and isinstance(value, Mapping):
            yield from _tellings([(_letters(inner), said) for inner, said in value.items()])


def _number(value: Any) -> int | None:
    """An exit code, as a number or in digits."""
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,5}", value):
        return int(value)
    return value if type(value) is int else None
