"""Text made harmless: whatever in it a terminal would obey is shown as an escape."""

from __future__ import annotations

import re

HARMFUL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
"""Control characters of both sets, what turns the direction of writing, lone surrogates, marks nobody sees."""


def safe(text: str) -> str:
    """The text with everything a terminal would obey shown as an escape."""
    return HARMFUL.sub(lambda found: _escape(ord(found[0])), text)


def safe_text(text: str) -> str:
    """The same for text of several lines, which stays so."""
    return HARMFUL.sub(lambda found: found[0] if found[0] in "\t\n" else _escape(ord(found[0])), text)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
