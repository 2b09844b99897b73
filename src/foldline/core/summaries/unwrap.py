"""A reply without its wrapping: the summary's own text, from between tags, behind an analysis, out of a code fence.

    reply ── unwrap ──> text that begins with the summary
    text ── without_farewell ──> the text up to its last word on the matter

Thrown away is the model's reasoning: an analysis before the summary, whether closed, nested, never closed or never
opened; a closed one inside or behind it, whose tags stand alone on their lines; and a draft that was rewritten. Any
other tag inside the summary is the summary's own text. A section that stands nowhere else does not count as reasoning:
so a summary that only quotes both tags on lines of their own does not lose what stands between them.

What stands before all lines comes off too: `> `, or blanks that would make code of them; a greeting may lack it.
Underlined headings get marks.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from foldline.core.summaries.headings import opens, with_marks
from foldline.core.summaries.styles import Style
from foldline.core.words.markup import fenced

_MORE = r"(?:[ \t][^<>\n]*)?"
"""The attributes of a tag."""
_NAME = r"(?:analysis|thinking|think|thoughts?|reasoning|reflection|scratchpad)"
_TAG = rf"<{_NAME}{_MORE}>"
_SUMMARY = rf"<summary{_MORE}>"
_STARTS = re.compile(rf"^[ \t]*{_TAG}", re.I | re.M)
_AGAIN = re.compile(rf"\s*{_TAG}", re.I)
_ALONE = re.compile(rf"^[ \t]*<(?P<closing>/?)(?P<name>{_NAME}){_MORE}>[ \t\r]*(?:\n|\Z)", re.I | re.M)
_ALOUD, _TELLS = (
    re.compile(rf"^[ \t]*(?:#{{1,6}}[ \t]*|\*\*){title}[ \t]*:?(?:\*\*)?:?[ \t\r]*$", re.I | re.M)
    for title in (r"(?:\*\*)?(?:analysis|thinking|reasoning|scratchpad)", r"(?:\*\*)?(?:final )?summary")
)
"""Headings that stand in for tags: after the first the model reasons, after the second comes the summary."""
_TURN = re.compile(rf"</{_NAME}>\s*(?={_SUMMARY})", re.I)
_ENDS = re.compile(rf"</{_NAME}>[ \t\r]*(?=$|#{{1,6}}[ \t])", re.I | re.M)
_OPENS = re.compile(rf"^[ \t]*{_SUMMARY}", re.I | re.M)
_CLOSES = re.compile(r"</summary>[ \t\r]*$", re.I | re.M)
_FIRST_LINE = re.compile(r"\s*(?P<line>[^\n]*)")
_WRAPPER = re.compile(r"(?P<mark>`{3,}|~{3,})(?P<info>markdown|md|json|xml|html|text|plaintext)?[ \t\r]*")
_THINGS = r"(?:questions|changes|adjustments|edits|details|information|clarifications?|help|assistance)"
_ANYTHING = (
    r"(?:anything else(?: (?:you (?:need|want)|i can (?:do|help(?: you)? with|assist(?: you)? with)))?|"
    rf"(?:any |some )?(?:more |other |further |additional )?{_THINGS}(?: (?:or|and) {_THINGS})?)"
)
_FAREWELL = re.compile(
    r"[*_]*(?:(?:"
    r"(?:i )?hope (?:this|that|it)(?: summary)? (?:helps|is helpful|is useful)|"
    r"(?:please |just )?let me know if (?:you(?: need| have| want| would like|['’]d like)|there(?: is|['’]s)) "
    rf"{_ANYTHING}|"
    rf"(?:please )?(?:feel free|do(?: not|n['’]t) hesitate) to (?:ask|reach out)(?: if you (?:need|have) {_ANYTHING})?|"
    r"(?:i(?: a|['’])m )?happy to help(?: further)?"
    r")[\W_]*)+",
    re.I,
)
"""What a model says last of all, to nobody: a whole line, without a mark of a list, of these and no other words."""
LONGEST_FAREWELL = 240
"""Characters of such a line."""
RULE = re.compile(r"\s*([-*_])(?:[ \t]*\1){2,}\s*")
"""A line that only separates a section from the next."""
_QUOTED, _INDENTED = re.compile(r" {0,3}> ?"), re.compile(r" {4}|\t")
BLANK = 3
"""Lines after a fence in which its content must begin."""
_BYTE_ORDER = "\ufeff"
"""A byte-order mark that some send before a text. Python does not strip it as white space."""


class _Text:
    """A text with its code fences and headings, each found once."""

    def __init__(self, text: str, style: Style) -> None:
        self.text, self.style = text, style
        lines = text.split("\n")
        self._starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        self._inside = fenced(lines)
        self._headings: list[int] = []
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for line, start, inside in zip(lines, self._starts, self._inside, strict=False):
            opened = None if inside else opens(line, style)
            if opened:
                self._headings.append(start)
                self._places[opened.heading.key].append(start)

    @property
    def sections(self) -> frozenset[str]:
        return frozenset(self._places)

    def heading(self, start: int = 0, stop: int | None = None) -> int | None:
        """The place of the first heading between two places."""
        stop = len(self.text) if stop is None else stop
        at = bisect_left(self._headings, start)
        return self._headings[at] if at < len(self._headings) and self._headings[at] < stop else None

    def matches(self, pattern: re.Pattern[str], start: int = 0) -> Iterator[re.Match[str]]:
        """The matches of the pattern outside code."""
        for match in pattern.finditer(self.text, start):
            if not self._inside[bisect_right(self._starts, match.start()) - 1]:
                yield match

    def first(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        return next(self.matches(pattern), None)

    def is_working(self, start: int, stop: int) -> bool:
        """Between two places there is no section, or at least one that also stands elsewhere."""
        return self.heading(start, stop) is None or any(
            _some(places, start, stop) and (places[0] < start or places[-1] >= stop) for places in self._places.values()
        )

    def begins_anew(self, at: int) -> bool:
        """A summary begins behind a place: the first section stands there, or one that is written again there."""
        anew = any(places[0] < at <= places[-1] for places in self._places.values())
        return anew or (self.heading(0, at) is None and self.heading(at) is not None)


def _some(places: Sequence[int], start: int, stop: int) -> bool:
    """One of these places, in order, is between the two."""
    at = bisect_left(places, start)
    return at < len(places) and places[at] < stop


def unwrap(text: str, style: Style) -> str:
    """The summary's own text."""
    text = _plain(_plain(text, style).lstrip(_BYTE_ORDER), style)
    text = _plain(_unfenced(_without_greeting(text, style), style), style)
    if _ALOUD.search(text):
        text = _behind_titles(_Text(text, style))
    if "<" not in text:
        return text
    for step in (_without_working, _behind_analysis, _behind_end, _between_tags):
        text = step(_Text(text, style))
    return _plain(_unfenced(_plain(text, style), style), style)


def _plain(text: str, style: Style) -> str:
    """The text without what stands before all its lines, and with marks for its headings."""
    lines = text.split("\n")
    for margin in (_QUOTED, _INDENTED):
        begins = next((at for at, line in enumerate(lines) if margin.match(line)), len(lines))
        if all(margin.match(line) for line in lines[begins:] if line.strip()):
            inner = with_marks("\n".join(margin.sub("", line, count=1) for line in lines[begins:]), style)
            if _is_greeting("\n".join(lines[:begins]), style) and any(opens(line, style) for line in inner.split("\n")):
                return inner.strip()
    return with_marks(text.strip(), style)


def without_farewell(text: str) -> str:
    """The text without the lines at its very end that only say farewell, and rules below them."""
    lines = text.rstrip().split("\n")
    while lines:
        last = next((at for at in range(len(lines) - 1, -1, -1) if _says_something(lines[at])), 0)
        if not _is_farewell(lines[last].rstrip()):
            break
        del lines[last:]
    return "\n".join(lines).rstrip()


def _says_something(line: str) -> bool:
    return bool(line.strip()) and RULE.fullmatch(line) is None


def _is_farewell(line: str) -> bool:
    return len(line) <= LONGEST_FAREWELL and _FAREWELL.fullmatch(line) is not None


def opens_working(line: str) -> bool:
    """The whole line opens an analysis: if it were closed further down, it would be thrown away."""
    tag = _ALONE.fullmatch(line)
    return tag is not None and not tag["closing"]


def _without_working(whole: _Text) -> str:
    """The text without each closed analysis whose tags stand alone on their lines, wherever it stands."""
    kept, at = [], 0
    for start, stop in sorted(_closed(whole)):
        if whole.is_working(start, stop):
            kept.append(whole.text[at:start])  # "" where it lies inside the one before
            at = max(at, stop)
    return "".join([*kept, whole.text[at:]])


def _closed(whole: _Text) -> Iterator[tuple[int, int]]:
    """Where each closed analysis stands: an end tag closes the last one opened under its name."""
    opened: defaultdict[str, list[int]] = defaultdict(list)
    for tag in whole.matches(_ALONE):
        waiting = opened[tag["name"].lower()]
        if not tag["closing"]:
            waiting.append(tag.start())
        elif waiting:
            yield waiting.pop(), tag.end()


def _behind_analysis(whole: _Text) -> str:
    """What follows the analysis that a text begins with, whether closed or not. A greeting may come before it."""
    text, starts = whole.text, whole.first(_STARTS)
    if not starts or not _is_greeting(text[: starts.start()], whole.style):
        return text
    turn = whole.first(_TURN)
    if turn:
        return text[turn.end() :]
    end = _end_of_analysis(whole, starts.start())
    opening = whole.first(_OPENS)
    if opening and (whole.heading(end or 0, opening.start()) is None or (end is None and whole.first(_CLOSES))):
        return text[opening.start() :]
    if end is None:
        end = whole.heading()
    return text[end:] if end is not None else text[: starts.start()]


def _behind_titles(whole: _Text) -> str:
    """What follows the heading of the summary, if the heading of an analysis comes before it, and no section does."""
    thinks, tells = whole.first(_ALOUD), whole.first(_TELLS)
    if not thinks or not tells or thinks.start() > tells.start():
        return whole.text
    begins = _is_greeting(whole.text[: thinks.start()], whole.style) and whole.heading(tells.end()) is not None
    is_working = begins and whole.is_working(thinks.start(), tells.start())
    return whole.text[tells.end() :].strip() if is_working else whole.text


def _is_greeting(text: str, style: Style) -> bool:
    """Nothing in the text begins a section, not even a bare label."""
    return not any(opens(line, style, loose=True) for line in text.split("\n"))


def _end_of_analysis(whole: _Text, start: int) -> int | None:
    """The end of the last of several analyses in a row; None if the first is never closed."""
    done = None
    for closing in whole.matches(_ENDS, start):
        done = closing.end()
        if not _AGAIN.match(whole.text, done):
            return done
    return done


def _behind_end(whole: _Text) -> str:
    """What follows the end of an analysis that has no beginning: some templates open it before the reply."""
    ends = [closing.end() for closing in whole.matches(_ENDS)]
    anew = [end for end in ends if whole.begins_anew(end)]
    if anew:
        return whole.text[anew[-1] :]
    rest = _unfenced(whole.text[ends[-1] :].strip(), whole.style) if ends and not whole.sections else ""
    return rest if _begins(rest, whole.style) else whole.text


def _between_tags(whole: _Text) -> str:
    text, opening = whole.text, whole.first(_OPENS)
    if not opening or whole.heading(0, opening.start()) is not None:
        return text
    alone = text[opening.end() :].split("\n", 1)[0].strip() == ""
    if not alone and text[: opening.start()].strip():
        return text
    anew = [tag for tag in whole.matches(_OPENS, opening.end()) if _begins(_line_at(text, tag.end()), whole.style)]
    return _together(whole, [opening, *anew])


def _line_at(text: str, at: int) -> str:
    """The first line after a place that is not empty."""
    found = _FIRST_LINE.match(text, at)
    return found["line"] if found else ""


def _together(whole: _Text, openings: Sequence[re.Match[str]]) -> str:
    """The last summary, preceded by earlier ones that have sections it lacks. A tag that begins neither stays."""
    last = _Text(whole.text[openings[-1].end() :], whole.style)
    kept, sections = [_up_to_closing(last)], last.sections
    for here, behind in reversed(list(pairwise(openings))):
        part = _Text(whole.text[here.end() : behind.start()].lstrip(), whole.style)
        if part.sections <= sections:
            continue
        closed = _up_to_closing(part)
        kept += ["\n" if closed != part.text else behind.group(), closed]
        sections |= part.sections
    return "".join(reversed(kept))


def _up_to_closing(whole: _Text) -> str:
    """The text before its closing tag. A tag with a heading behind it, or with words on both sides, closes nothing."""
    text, closings = whole.text, list(whole.matches(_CLOSES))
    if not closings or whole.heading(closings[-1].end()) is not None:
        return text
    own_line = text[: closings[-1].start()].rsplit("\n", 1)[-1].strip() == ""
    last = not text[closings[-1].end() :].strip()
    return text[: closings[-1].start()] if own_line or last else text


def _without_greeting(text: str, style: Style) -> str:
    """The text from the code fence with the sections on, where other words come before it."""
    if "```" not in text and "~~~" not in text:
        return text
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if opens(line, style, loose=True) or _ALONE.match(line) or _OPENS.match(line):
            return text
        wrapper = _WRAPPER.fullmatch(line)
        if wrapper and _begins(_line_at("\n".join(lines[number + 1 : number + 1 + BLANK]), 0), style):
            alone = wrapper["info"] or not _Text(text, style).sections  # without these, the fence may be a quotation
            return "\n".join(lines[number:]) if alone else text
    return text


def _unfenced(text: str, style: Style) -> str:
    """The text without a code fence around all of it, closed or not."""
    first, _, rest = text.partition("\n")
    wrapper = _WRAPPER.fullmatch(first)
    if not wrapper or not (wrapper["info"] or _begins(rest.lstrip(), style)):
        return text
    lines = rest.split("\n")
    marks = [number for number, line in enumerate(lines) if line.lstrip().startswith(wrapper["mark"])]
    if len(marks) % 2:
        behind = lines[marks[-1] + 1 :]
        lines = [*lines[: marks[-1]], *(behind if any(opens(line, style) for line in behind) else ())]
    return "\n".join(lines).strip()


def _begins(text: str, style: Style) -> bool:
    """A summary could begin here."""
    tagged = text.startswith("{") or _AGAIN.match(text) or _OPENS.match(text)
    return bool(tagged or opens(text.split("\n", 1)[0], style))
