"""HTML and SVG put together so that nothing can slip in: every text is escaped unless it was made here.

    tag("p", "1 < 2", class_="note") ──> Markup('<p class="note">1 &lt; 2</p>')

What is written with it stands in page.py and plots.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_VOID = frozenset({"meta", "line", "circle", "rect", "path", "polyline"})
"""Elements that are written without an end."""


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def join(pieces: Iterable[str]) -> Markup:
    """Pieces one after the other, those that are no markup escaped."""
    return Markup("".join(piece if isinstance(piece, Markup) else escape(piece) for piece in pieces))


def tag(name: str, /, *inside: str, **attributes: object) -> Markup:
    """An element. `class_` is written class, `stroke_width` stroke-width."""
    written = "".join(f' {_name(key)}="{escape(str(value))}"' for key, value in attributes.items())
    if name in _VOID and not inside:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join(inside)}</{name}>")


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-") if key != "viewBox" else key


def style(text: str) -> Markup:
    """A style sheet of our own."""
    return Markup(f"<style>{text}</style>")
