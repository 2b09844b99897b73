"""Summaries: a reply becomes a typed value, and the value becomes text again.

    Reply ── accept ──> Summary ── render ──> text ── parse ──> the same Summary

Tolerant of what models really send: a code fence around it, an analysis that is never closed, headings that are
numbered, bold or renamed, JSON instead of Markdown, sections left out. What is no summary is an error that says why.
Whether what a summary says is true is the auditor's matter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from foldline.core.asking import Reply
from foldline.core.styles import STYLES, Heading, Style
from foldline.errors import Empty, Truncated

SAYS_NOTHING = frozenset({"none", "(none)", "n/a", "na", "nothing", "-", "[none]", "none.", "not applicable", "n/a."})
"""How models write an empty section."""

_HEADING = re.compile(
    r"^\s{0,3}(?:#{1,6}\s+(?P<hash>[^\n]{1,120}?)\s*#*"
    r"|(?:\d{1,2}[.)]\s+)?\*\*(?P<bold>[^*\n]{1,120})\*\*:?"
    r"|(?P<plain>(?:\d{1,2}[.)]\s+)?[A-Z][A-Za-z&' ,]{2,60}):)\s*$"
)
_INLINE = re.compile(
    r"^\s{0,3}(?:#{1,6}\s+|\d{1,2}[.)]\s+)?(?:\*\*)?(?P<title>[A-Z][A-Za-z&' ]{2,60})(?:\*\*)?:(?:\*\*)?\s+(?P<text>\S.*)$"
)
_NUMBER = re.compile(r"^(?:section\s+)?\d{1,2}[.):]?\s+", re.I)
_OPEN, _CLOSE = re.compile(r"^[ \t]*<summary>", re.M), "</summary>"
_ANALYSIS = re.compile(r"^\s*<(analysis|thinking|think|scratchpad)>", re.I)
_REFUSAL = re.compile(r"^\W*(?:i(?:'m| am) (?:sorry|unable|not able)|i can(?:no|')t|as an ai|sorry,? )", re.I)


class Section(NamedTuple):
    """One section. `key` is the style's; "" for one the style does not know, which is kept under its own title."""

    key: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """What a summary says, section by section, in the style's order; empty sections are not there."""

    style: str
    sections: tuple[Section, ...]
    version: str = ""
    """The prompt it answers."""

    def get(self, key: str) -> str:
        return next((section.text for section in self.sections if section.key == key), "")

    @property
    def immediate_task(self) -> str:
        return self.get("immediate")

    def with_section(self, key: str, text: str) -> Summary:
        """The summary with one section said otherwise, or taken out when there is nothing to say."""
        style = STYLES[self.style]
        heading = style.heading(key) or Heading(key, key.capitalize())
        others = [section for section in self.sections if section.key != key]
        added = [*others, Section(key, heading.title, text.strip())] if text.strip() else others
        return replace(self, sections=_ordered(added, style))

    def to_dict(self) -> dict[str, Any]:
        return {"style": self.style, "version": self.version, "sections": [list(section) for section in self.sections]}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Summary:
        sections = tuple(Section(*section) for section in saved["sections"])
        return cls(saved["style"], sections, saved.get("version", ""))


def accept(reply: Reply, style: Style) -> Summary:
    """A reply as a summary; Empty or Truncated when it is none."""
    if reply.stop == "length":
        raise Truncated("the summary ends at its length limit")
    if reply.stop == "tool":
        raise Empty("the model called a tool instead of writing a summary")
    if reply.stop == "refusal":
        raise Empty("the model refused to write a summary")
    if not reply.text.strip():
        raise Empty("the reply has no text")
    summary = parse(reply.text, style)
    known = [section for section in summary.sections if section.key]
    if len(known) < style.least:
        what = (
            "the model refused" if _REFUSAL.match(reply.text) else "the reply does not have the sections of a summary"
        )
        raise Empty(what)
    return summary


def parse(text: str, style: Style) -> Summary:
    """The sections of a text. Never raises: what is not understood stays under its own title."""
    body = unwrap(text)
    sections = _from_json(body, style) or list(_from_markdown(body, style))
    kept = [section for section in sections if section.text and not says_nothing(section.text)]
    return Summary(style.name, _ordered(_joined(kept), style))


def render(summary: Summary) -> str:
    """The summary as Markdown. Sections inside progress stand one level below it."""
    style = STYLES[summary.style]
    present = {section.key for section in summary.sections}
    missing = [Section(key, _title(style, key), "(none)") for key in style.always - present]
    return "\n\n".join(
        f"{_marks(section.key)} {section.title}\n{section.text}"
        for section in _ordered([*summary.sections, *missing], style)
    )


def unwrap(text: str) -> str:
    """The summary's own text: without the analysis before it, the tags and the fence around it."""
    text = _unfenced(text.strip())
    start = _ANALYSIS.match(text)
    opening = _OPEN.search(text)
    if start:
        text = _after_analysis(text, start, opening)
        opening = _OPEN.search(text)
    if opening and not text[: opening.start()].strip():
        text = text[opening.end() :]
        end = text.rfind(_CLOSE)
        text = text[:end] if end >= 0 and not text[end + len(_CLOSE) :].strip(" \n`") else text
    return re.sub(r"\n{3,}", "\n\n", _unfenced(text.strip()))


def says_nothing(text: str) -> bool:
    bare = text.strip().lstrip("-*0123456789.[] ").strip().casefold()
    return not bare or bare in SAYS_NOTHING


def _after_analysis(text: str, start: re.Match[str], opening: re.Match[str] | None) -> str:
    """What follows the analysis. One that is never closed ends where the summary opens, or at the first heading."""
    closing = f"</{start.group(1)}>"
    end = text.find(closing)
    while end >= 0:
        rest = text[end + len(closing) :].lstrip()
        again = _ANALYSIS.match(rest)
        if not again:
            return rest
        text, closing = rest, f"</{again.group(1)}>"
        end = text.find(closing)
    if opening:
        return text[opening.start() :]
    heading = next((match for match in re.finditer(r"^#{1,3}\s+\S", text, re.M)), None)
    return text[heading.start() :] if heading else ""


def _unfenced(text: str) -> str:
    """Without a code fence that goes around all of it."""
    match = re.match(r"^```[\w-]*\n([\s\S]*?)\n?```\s*$", text)
    return match.group(1).strip() if match and "\n```" not in match.group(1) else text


def _from_markdown(text: str, style: Style) -> Iterator[Section]:
    """Splits at headings outside code fences. A heading the style does not know stays inside the section above it."""
    key, title, lines, fenced = "", "", list[str](), False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        found = None if fenced else _heading(line, style)
        if found is None:
            lines.append(line)
            continue
        if title or "".join(lines).strip():
            yield Section(key, title, "\n".join(lines).strip())
        key, title, rest = found
        lines = [rest] if rest else []
    if title:
        yield Section(key, title, "\n".join(lines).strip())
    elif "".join(lines).strip():
        yield Section("", "Notes", "\n".join(lines).strip())


def _heading(line: str, style: Style) -> tuple[str, str, str] | None:
    """Key, title and what follows on the line, where a section of the style begins."""
    match = _HEADING.match(line)
    if match:
        heading = named(match.group("hash") or match.group("bold") or match.group("plain"), style)
        return (heading.key, heading.title, "") if heading else None
    inline = _INLINE.match(line)
    heading = named(inline.group("title"), style) if inline else None
    return (heading.key, heading.title, inline.group("text")) if heading and inline else None


def named(title: str, style: Style) -> Heading | None:
    """The section a title means: by its name, another name, or all its words."""
    bare = _bare(title)
    for heading in style.headings:
        if bare in (_bare(heading.title), *map(_bare, heading.aliases)):
            return heading
    words = set(bare.split())
    for heading in style.headings:
        wanted = set(_bare(heading.title).split()) - {"and"}
        if len(wanted) > 1 and wanted <= words:
            return heading
    return None


def _bare(title: str) -> str:
    title = _NUMBER.sub("", title.strip().strip("*:#_ ")).strip("*:#_ ")
    return re.sub(r"[^a-z' ]+", " ", re.sub(r"\([^)]*\)", "", title.casefold()).replace("&", "and")).strip()


def _from_json(text: str, style: Style) -> list[Section]:
    if not text.startswith("{"):
        return []
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    inner = value.get("summary") if isinstance(value.get("summary"), dict) else value
    found = [(named(str(name).replace("_", " "), style), item) for name, item in inner.items()]
    return [Section(heading.key, heading.title, _as_text(item)) for heading, item in found if heading]


def _as_text(item: Any) -> str:
    if isinstance(item, list):
        return "\n".join(f"- {_as_text(entry)}" for entry in item)
    if isinstance(item, dict):
        return "; ".join(f"{name}: {_as_text(entry)}" for name, entry in item.items())
    return "" if item is None else str(item).strip()


def _joined(sections: Sequence[Section]) -> list[Section]:
    """Sections a model wrote twice become one."""
    found: dict[tuple[str, str], Section] = {}
    for section in sections:
        place = (section.key, "" if section.key else section.title)
        before = found.get(place)
        found[place] = section if before is None else section._replace(text=f"{before.text}\n{section.text}")
    return list(found.values())


def _ordered(sections: Sequence[Section], style: Style) -> tuple[Section, ...]:
    order = {heading.key: number for number, heading in enumerate(style.headings)}
    return tuple(sorted(sections, key=lambda section: order.get(section.key, len(order))))


def _title(style: Style, key: str) -> str:
    heading = style.heading(key)
    return heading.title if heading else key.capitalize()


def _marks(key: str) -> str:
    return "###" if key in ("done", "active", "blocked") else "##"
