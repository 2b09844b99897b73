"""A reply without its wrapping: the summary's own text, from between tags, behind an analysis, out of a code fence.

    reply ── unwrap ──> text that begins with the summary

A tag inside the summary is the summary's own text: only what stands before its first heading, or closes what was
opened there, is wrapping. An analysis that is never closed ends where the summary begins.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate

from foldline.core.headings import opens
from foldline.core.markup import fenced
from foldline.core.styles import Style

_TAG = r"(?:analysis|thinking|think|scratchpad)"
_STARTS = re.compile(rf"(?:[^\n<]{{0,200}}\n)?\s*<{_TAG}>", re.I)
_AGAIN = re.compile(rf"\s*<{_TAG}>", re.I)
_TURN = re.compile(rf"</{_TAG}>\s*(?=<summary>)", re.I)
_ENDS = re.compile(rf"</{_TAG}>[ \t\r]*(?=$|#{{1,6}}[ \t])", re.I | re.M)
_OPENS = re.compile(r"^[ \t]*<summary>", re.I | re.M)
_CLOSES = re.compile(r"</summary>[ \t\r]*$", re.I | re.M)
_WRAPPER = re.compile(r"(?P<mark>`{3,}|~{3,})(?P<info>markdown|md|json|xml|html|text|plaintext)?[ \t\r]*")


class _Text:
    """A text whose code fences and headings are known, so that each is looked for once."""

    def __init__(self, text: str, style: Style) -> None:
        self.text = text
        lines = text.split("\n")
        self._starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        self._inside = fenced(lines)
        self._headings = [
            start
            for line, start, inside in zip(lines, self._starts, self._inside, strict=False)
            if not inside and opens(line, style)
        ]

    def heading(self, start: int = 0, stop: int | None = None) -> int | None:
        """Where the first heading between two places stands."""
        stop = len(self.text) if stop is None else stop
        at = bisect_left(self._headings, start)
        return self._headings[at] if at < len(self._headings) and self._headings[at] < stop else None

    def matches(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Where it is matched outside code."""
        for match in pattern.finditer(self.text):
            if not self._inside[bisect_right(self._starts, match.start()) - 1]:
                yield match

    def first(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        return next(self.matches(pattern), None)


def unwrap(text: str, style: Style) -> str:
    """The summary's own text."""
    text = _unfenced(text.strip(), style)
    if "<" not in text:
        return text
    text = _behind_analysis(_Text(text, style))
    text = _between_tags(_Text(text, style))
    return _unfenced(text.strip(), style)


def _behind_analysis(whole: _Text) -> str:
    text, starts = whole.text, _STARTS.match(whole.text)
    if not starts or whole.heading(0, starts.end()) is not None:
        return text
    turn = whole.first(_TURN)
    if turn:
        return text[turn.end() :]
    end = _end_of_analysis(whole)
    opening = whole.first(_OPENS)
    if opening and (whole.heading(end or 0, opening.start()) is None or (end is None and whole.first(_CLOSES))):
        return text[opening.start() :]
    if end is None:
        end = whole.heading()
    return text[end:] if end is not None else ""


def _end_of_analysis(whole: _Text) -> int | None:
    """Behind the last of the analyses that follow one another at the start; None when the first is never closed."""
    done = None
    for closing in whole.matches(_ENDS):
        done = closing.end()
        if not _AGAIN.match(whole.text, done):
            return done
    return done


def _between_tags(whole: _Text) -> str:
    text, opening = whole.text, whole.first(_OPENS)
    if not opening or whole.heading(0, opening.start()) is not None:
        return text
    alone = text[opening.end() :].split("\n", 1)[0].strip() == ""
    if not alone and text[: opening.start()].strip():
        return text
    closings = [match for match in whole.matches(_CLOSES) if match.start() >= opening.end()]
    if not closings or whole.heading(closings[-1].end()) is not None:
        return text[opening.end() :]
    own_line = text[: closings[-1].start()].rsplit("\n", 1)[-1].strip() == ""
    last = not text[closings[-1].end() :].strip()
    return text[opening.end() : closings[-1].start()] if own_line or last else text[opening.end() :]


def _unfenced(text: str, style: Style) -> str:
    """Without a code fence around all of it, closed or not."""
    first, _, rest = text.partition("\n")
    wrapper = _WRAPPER.fullmatch(first)
    if not wrapper or not (wrapper["info"] or _begins(rest.lstrip(), style)):
        return text
    lines = rest.split("\n")
    marks = [number for number, line in enumerate(lines) if line.lstrip().startswith(wrapper["mark"])]
    return "\n".join(lines[: marks[-1]] if len(marks) % 2 else lines).strip()


def _begins(text: str, style: Style) -> bool:
    """A summary could begin here."""
    tagged = text.startswith("{") or _AGAIN.match(text) or _OPENS.match(text)
    return bool(tagged or opens(text.split("\n", 1)[0], style))
