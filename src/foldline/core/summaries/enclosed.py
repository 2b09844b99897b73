"""The words in parts that are no text: what a provider's own tools were asked and found, and documents of plain text.

    Opaque or Media ── enclosed ──> its words, or ""

They are a tool's words, whoever sent them along. Pictures, sealed content and forms of files are not read.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from foldline.model import Media, Opaque

LONGEST = 20_000
"""Characters of a part that are read: ten times what a record shows of a result."""
_BASE64 = 4 * LONGEST // 3 * 4
"""Characters of base64 for so many characters, of up to three bytes each."""
DEEPEST = 12
"""Levels of a part that are looked through."""
_TELLING = frozenset(
    {"name", "query", "queries", "title", "url", "text", "stdout", "stderr", "output", "code", "error"}
)
_AROUND = frozenset({"action", "content", "sources", "results", "queries", "executableCode", "codeExecutionResult"})
_WHOLE = frozenset({"input", "arguments"})
"""Keys whose values are words, keys of what has such words in it, and keys of which every word counts."""


def enclosed(part: Media | Opaque) -> str:
    """The words in it; "" where there are none that can be read."""
    words = _told(part.extra) if isinstance(part, Opaque) else _written(part)
    return "\n".join(filter(None, words))[:LONGEST]


def _written(part: Media) -> Iterator[str]:
    """What a document says: a provider takes its text as it is, in blocks, or in base64."""
    source = part.extra.get("source")
    if isinstance(source, Mapping) and source.get("type") in ("text", "content"):
        said = source.get("data") or source.get("content")
        yield from [said] if isinstance(said, str) else _told({"content": said})
    elif part.mime.startswith("text/"):
        try:
            yield base64.b64decode(part.data[:_BASE64]).decode("utf-8", "replace")
        except ValueError:
            return


def _told(value: Any, key: str = "content", whole: bool = False, deep: int = DEEPEST) -> Iterator[str]:
    """The words below a key, in their order."""
    if isinstance(value, str):
        yield from [value] if whole or key in _TELLING else ()
    elif isinstance(value, list) and deep:
        for item in value:
            yield from _told(item, key, whole, deep - 1)
    elif isinstance(value, Mapping) and deep:
        for name, inner in value.items():
            if whole or name in _TELLING or name in _AROUND or name in _WHOLE:
                yield from _told(inner, name, whole or name in _WHOLE, deep - 1)
