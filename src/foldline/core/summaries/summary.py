"""Summaries: a reply becomes a typed value, and the value becomes text again.

    Reply ── accept ──> Summary ── render ──> text ── parse ──> the same Summary

Tolerant of what models really send: headings that are numbered, bold, underlined or renamed, JSON instead of
Markdown, sections left out, the form repeated. A reply that is not a summary is an error that says why. What wraps a
summary is removed in unwrap.py; whether what it says is true is decided in the audit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from foldline.core.asking import Reply
from foldline.core.summaries.headings import HeadingLine, by_order, named, opens
from foldline.core.summaries.prompts import prompt
from foldline.core.summaries.styles import OTHER, STYLES, Heading, Style
from foldline.core.summaries.unwrap import RULE, opens_working, unwrap, without_farewell
from foldline.core.words.markup import bare, fenced, guard, opens_fence, tidy, unguarded
from foldline.errors import Empty, Truncated

LONGEST = 500_000
"""Characters of a reply: ten times what the largest checkpoint may have. A longer one is not read at all."""
SAYS_NOTHING = frozenset(
    {"", "n/a", "na", "-", "not applicable", "keine", "nichts", "aucun", "aucune", "无", "暂无", "なし", "없음"}
)
"""How models write an empty section in a word or two."""
_NOTHING = re.compile(
    r"(?:none|nothing)(?:[ ,]+(?:yet|so far|at (?:this|the) (?:time|moment|point|stage)|at present|right now|now|"
    r"currently|identified|reported|known|noted|found|recorded|encountered|mentioned|specified|stated|remaining|"
    r"outstanding|pending|applicable))*"
)
"""How models write an empty section in more words."""
LONGEST_LOOP, ROUNDS = 12, 4
"""Lines of a round that repeats, and rounds in a row from which the model counts as caught in a loop."""
_WORKING = frozenset({"analysis", "thinking", "reasoning", "scratchpad"})
"""Members of a JSON reply that are thrown away, as the tags of these names are."""
_FORMS = {"checkpoint": ("checkpoint", "update", "analysis")}
"""The prompts whose lines a weak model repeats instead of filling them in; by default that of the style."""
_TAG = re.compile(r"\s*</?\w+>\s*")
_REFUSAL = re.compile(r"\W*(?:i(?:['’]m| am) (?:sorry|unable|not able)|i can(?:no|['’])t|as an ai|sorry\b)", re.I)


class Section(NamedTuple):
    """One section. `key` is the style's, or "" for what stands outside all its sections."""

    key: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """What a summary says, section by section, in the style's order, without empty sections."""

    style: str
    sections: tuple[Section, ...]
    version: str = ""
    """The version of the prompt that it answers."""

    def get(self, key: str) -> str:
        return next((section.text for section in self.sections if section.key == key), "")

    @property
    def immediate_task(self) -> str:
        return self.get("immediate")

    def with_section(self, key: str, text: str) -> Summary:
        """The summary with another text in one section, or without that section where the text says nothing."""
        style = STYLES[self.style]
        others = [section for section in self.sections if section.key != key]
        said = Section(key, style.heading(key).title, text.strip())
        return replace(self, sections=_ordered(others if says_nothing(text) else [*others, said], style))

    def to_dict(self) -> dict[str, Any]:
        return {"style": self.style, "version": self.version, "sections": [list(section) for section in self.sections]}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Summary:
        sections = tuple(Section(*section) for section in saved["sections"])
        return cls(saved["style"], sections, saved.get("version", ""))


def accept(reply: Reply, style: Style) -> Summary:
    """A reply as a summary; raises Empty or Truncated if it is not one.

    It must have enough of the style's headings, and one more if they are bare labels, which any answer may have.
    """
    if reply.stop in ("length", "overflow"):
        raise Truncated("the summary ends at its length limit")
    if reply.stop == "tool":
        raise Empty("the model called a tool instead of writing a summary")
    if not reply.text.strip():
        raise Empty("the reply has no text")
    if len(reply.text) > LONGEST:
        raise Empty(f"the reply has {len(reply.text):,} characters: no summary is that long")
    text = unwrap(without_farewell(reply.text), style)  # behind what wraps a summary, or at the end of what was wrapped
    sections, loose = _sections(by_order(without_farewell(text), style), style)
    usable = len({section.key for section in sections if section.key}) >= style.least + loose
    if reply.stop == "refusal" or (not usable and _REFUSAL.match(reply.text)):
        raise Empty("the model refused to write a summary")
    if not usable:
        raise Empty("the reply does not have the sections of a summary")
    summary = _written(_summary(sections, style))
    if not any(section.key for section in summary.sections):
        raise Empty("the reply says nothing under its headings, or only repeats the form it was given")
    return summary


def _written(summary: Summary) -> Summary:
    """Only what the model itself wrote: without lines of the form it was given, rules between sections, repeated
    rounds of a loop, and empty lines in a row."""
    form = _form(summary.style)
    for section in summary.sections:
        lines = [line for line in section.text.split("\n") if bare(line).casefold() not in form]
        while lines and (not lines[-1].strip() or RULE.fullmatch(lines[-1])):
            lines.pop()
        own = any(line.strip() and not _TAG.fullmatch(line) for line in lines)
        summary = summary.with_section(section.key, tidy("\n".join(_once(lines))) if own else "")
    return summary


def _once(lines: Sequence[str]) -> Iterator[str]:
    """The lines, with only the first round of each loop. Code may well repeat itself, and is kept."""
    code, at = fenced(lines), 0
    words = [line if inside else bare(line) for line, inside in zip(lines, code, strict=True)]
    while at < len(lines):
        length, stop = _loop(words, at) if words[at] and not code[at] else (1, at + 1)
        yield from lines[at : at + length]
        at = stop


def _loop(words: Sequence[str], at: int) -> tuple[int, int]:
    """How many lines the round has that begins here, and where its repetitions end."""
    for length in range(1, LONGEST_LOOP + 1):
        stop = at + length
        while stop < len(words) and words[stop] == words[stop - length]:
            stop += 1
        if stop - at >= length * ROUNDS:
            return length, stop
    return 1, at + 1


@cache
def _form(style: str) -> frozenset[str]:
    """The lines of the form, bare. Its tags are not among them: a summary may quote them."""
    lines = [line for name in _FORMS.get(style, (style, "analysis")) for line in prompt(name).text.split("\n")]
    return frozenset(bare(line).casefold() for line in lines if line and not line.startswith("<"))


def parse(text: str, style: Style) -> Summary:
    """The sections of a text. Never raises: what fits no section is kept among the other notes."""
    return _summary(_sections(unwrap(text, style), style)[0], style)


def _summary(sections: Sequence[Section], style: Style) -> Summary:
    kept = [section for section in sections if not says_nothing(section.text)]
    return Summary(style.name, _ordered(_joined(kept), style))


def render(summary: Summary) -> str:
    """The summary as Markdown that parses back to the same summary. Done, In Progress and Blocked stand under
    Progress."""
    style = STYLES[summary.style]
    present = {section.key for section in summary.sections}
    added = dict.fromkeys(style.always - present, "(none)")
    added |= {style.heading(key).under: "" for key in present if style.heading(key).under not in (*present, "")}
    sections = [*summary.sections, *(Section(key, style.heading(key).title, text) for key, text in added.items())]
    return "\n\n".join(_rendered(section, style) for section in _ordered(sections, style))


def _rendered(section: Section, style: Style) -> str:
    marks = "###" if style.heading(section.key).under else "##"
    text = guard(section.text, lambda line: _is_special(line, style))
    return f"{marks} {section.title}\n{text}".rstrip("\n")


def _is_special(line: str, style: Style) -> bool:
    """Outside code the line would open a section or a code fence, or begin a model's reasoning."""
    return opens(line, style) is not None or opens_fence(line) or opens_working(line)


def says_nothing(text: str) -> bool:
    """The text is empty, or every line of it is a way to write that."""
    return all(_is_empty(bare(line).strip("*_()[]. ").casefold()) for line in text.split("\n"))


def _is_empty(words: str) -> bool:
    return words in SAYS_NOTHING or _NOTHING.fullmatch(words) is not None


def _sections(text: str, style: Style) -> tuple[list[Section], bool]:
    """All sections, empty ones too, and whether bare labels were taken for headings."""
    sections = _from_json(text, style)
    if sections:
        return sections, False
    lines = text.split("\n")
    outside = (line for line, inside in zip(lines, fenced(lines), strict=True) if not inside)
    marked = {line.lstrip().startswith("#") for line in outside if opens(line, style)}
    return list(_from_markdown(lines, style, loose=True not in marked)), not marked


def _from_markdown(lines: Sequence[str], style: Style, loose: bool) -> Iterator[Section]:
    """Splits at headings outside code. A heading the style does not know stays inside the section above it, and so
    does a bare label that names that section again, such as `CONTINUE: …` below the immediate task."""
    now, text = None, list[str]()
    for line, inside in zip(lines, fenced(lines), strict=True):
        opened = None if inside else opens(line, style, loose=loose)
        again = opened is not None and now is not None and opened.heading == now.heading and not opens(line, style)
        if opened and not again:
            yield from _closed(now, text)
            now, text = opened, [opened.text]
        else:
            text.append(line if inside else unguarded(line, lambda line: _is_special(line, style)))
    yield from _closed(now, text)


def _closed(opened: HeadingLine | None, lines: Sequence[str]) -> Iterator[Section]:
    text = "\n".join(lines).strip()
    if opened:
        yield Section(opened.heading.key, opened.heading.title, text)
    elif text and ("\n" in text or not (text.endswith(":") or text.startswith("#"))):  # else a greeting or a title
        yield Section(OTHER.key, OTHER.title, text)


def _from_json(text: str, style: Style) -> list[Section]:
    if not text.startswith("{"):
        return []
    try:
        value = json.loads(text)
        inner = value.get("summary")
        told = _sections(unwrap(inner, style), style)[0] if isinstance(inner, str) else []  # Markdown in a string
        if any(section.key for section in told):
            return told
        inner = inner if isinstance(inner, dict) else value
        return [section._replace(text=section.text.strip()) for section in _members(inner, style)]
    except (ValueError, RecursionError):
        return []


def _members(value: Mapping[str, Any], style: Style) -> Iterator[Section]:
    """Members whose names are names of sections. A member that only contains such members is split into them."""
    for name, item in value.items():
        if name.casefold() in _WORKING:
            continue
        heading = named(name, style)
        inner = [named(key, style) for key in item] if isinstance(item, dict) else []
        if inner and all(inner):
            yield from _members(item, style)
        elif heading:
            yield Section(heading.key, heading.title, _as_text(item, heading))
        else:
            yield Section(OTHER.key, OTHER.title, f"{name}: {_as_text(item, OTHER)}")


def _as_text(item: Any, heading: Heading = OTHER) -> str:
    if isinstance(item, list):
        marks = (f"{number}." if heading.form == "steps" else "-" for number in range(1, len(item) + 1))
        return "\n".join(
            f"{mark} {_as_text(entry)}".replace("\n", "\n  ") for mark, entry in zip(marks, item, strict=True)
        )
    if isinstance(item, dict):
        return "\n".join(f"{name}: {_as_text(entry)}" for name, entry in item.items())
    return "" if item is None else str(item).strip()


def _joined(sections: Sequence[Section]) -> list[Section]:
    """A section that a model wrote twice becomes one. A version that adds nothing is dropped."""
    found: dict[str, Section] = {}
    for section in sections:
        before = found.get(section.key)
        found[section.key] = section._replace(text=_both(before.text, section.text)) if before else section
    return list(found.values())


def _both(first: str, second: str) -> str:
    told, again = (frozenset(map(str.strip, text.split("\n"))) for text in (first, second))
    if again <= told:
        return first
    return second if told <= again else f"{first}\n{second}"


def _ordered(sections: Sequence[Section], style: Style) -> tuple[Section, ...]:
    order = {heading.key: number for number, heading in enumerate((*style.headings, OTHER))}
    return tuple(sorted(sections, key=lambda section: order[section.key]))
