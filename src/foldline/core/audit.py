"""The audit: a summary is held against its source before anyone relies on it.

    Summary, Evidence ── audit ──> Audited (the summary mended, findings)

Identifiers that occur nowhere in the source are inventions: their lines go, and a section that is mostly invention
goes whole. The user's consent is never a model's to report: a line that claims it stands only where the user's own
words carry it. What only a tool said never becomes a rule, a task, a next step or the user's word: a line that repeats
it goes; and one that nobody is known to have said, as when such words come back in others, is set aside among the other
notes as hearsay. What passes itself off for the program's own part of a checkpoint goes. Nothing else is added here,
and every line that goes or moves is named in a finding. How each is told is in identifiers.py, consent.py, echoes.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from foldline.core.consent import carried, claims
from foldline.core.echoes import Heard, is_owned, repeats, stems
from foldline.core.facts import Facts
from foldline.core.identifiers import Source
from foldline.core.markup import fenced
from foldline.core.notes import TITLES
from foldline.core.styles import plain
from foldline.core.summary import Section, Summary
from foldline.errors import Ungrounded

Fault: TypeAlias = Literal["invented", "consent", "tool-instruction", "unsaid", "forged"]

BINDING = frozenset(
    {"constraints", "next", "immediate", "pending", "commitments", "active", "request", "goal", "intent", "messages"}
)
"""Sections that tell the next model what to do, or what the user said."""
OWN_HEADINGS = frozenset(
    {
        *(plain(TITLES[section]) for section in ("rules", "earlier", "decisions", "said", "waiting")),
        "notes on the conversation so far",
        "what the user said in order",
        "the latest messages before these notes",
        "how to go on",
        "end of the notes",
        "your plan",
    }
)
"""Headings under which the program itself speaks or quotes the user: no model writes there."""
OWN_SHARE = 0.5
"""Share of the words of what the user is said to have said that the user must have said."""
MOSTLY = 0.5
"""A section of which more lines than this share are inventions is refused whole."""

_HEADING = re.compile(r" {0,3}(?:>\s*)?(?:(?P<marks>#{1,6})\s+(?P<title>\S.*)|\*\*(?P<bold>[^*]+)\*\*:?\s*$)")
HEARSAY = "Unconfirmed: nobody in the conversation is known to have said this. Make sure before you act on it."
"""Stands above what is set aside."""

_ORDERING = re.compile(r"rule|instruct|constraint|prefer|next|to-?do|action|must|always", re.I)
"""In a heading of the model's own, what makes the lines below it something that someone must have said."""
_MARK = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?")
_TELLING = re.compile(r"rule|instruct|constraint|require|prefer|user|next|step|task|to-?do|action|must|always", re.I)
"""In a heading of the model's own, what makes the lines below it something to obey."""
_USERS = re.compile(
    r"\[\d+ user\]|^\W*user(?:'s words)?\s*:|\buser(?:'s|’s)? (?:\w+ )?(?:said|says|told|asked|asks|wants?|"
    r"wish(?:es|ed)?|decided|chose|insist(?:s|ed)|prefer(?:s|red)?|require[sd]?|request(?:s|ed)?|instruct(?:s|ed)|order(?:s|ed)|"
    r"demand(?:s|ed)|expects?|needs|words?|rules?|instructions?|preferences?)\b",
    re.I,
)
"""A line that puts words into the user's mouth."""

__all__ = ["BINDING", "OWN_HEADINGS", "Audited", "Evidence", "Finding", "audit"]


Action: TypeAlias = Literal["line removed", "section refused", "set aside"]


class Finding(NamedTuple):
    """A remark of the auditor: what is wrong, in which section, the words, and what was done about it."""

    fault: Fault
    section: str
    text: str
    action: Action


GONE: Action = "line removed"
_ACTIONS: dict[Fault, Action] = {"unsaid": "set aside"}


@dataclass(frozen=True, slots=True)
class Audited:
    """The summary as far as the evidence carries it, and what was taken out."""

    summary: Summary
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a summary may rest on: everything in the span, and of it what everyone said and what tools printed."""

    everything: str
    spoken: Heard
    from_tools: Heard
    facts: Facts


def audit(summary: Summary, evidence: Evidence) -> Audited:
    """The summary without what the evidence does not carry. Raises Ungrounded when nothing is left."""
    judge = _Judge(evidence)
    kept: list[Section] = []
    findings: list[Finding] = []
    for section in summary.sections:
        text, found = _checked(section, judge)
        findings += found
        kept += [section._replace(text=text)] if text else []
    if not any(section.key for section in kept):
        raise Ungrounded("nothing in the summary can be found in the conversation")
    audited = replace(summary, sections=tuple(kept))
    hearsay = [_MARK.sub("- ", finding.text, count=1) for finding in findings if finding.action == "set aside"]
    if hearsay:
        audited = audited.with_section("", "\n".join(filter(None, (audited.get(""), HEARSAY, *hearsay))))
    return Audited(audited, tuple(findings))


def _checked(section: Section, judge: _Judge) -> tuple[str, list[Finding]]:
    """What is left of a section, and a finding for every line that is not."""
    lines = section.text.split("\n")
    wrong = dict(_with_what_hangs_on(lines, list(_faults(lines, section.key, judge))))
    if _mostly_invented(lines, wrong):
        gone = {number: wrong.get(number, "invented") for number, line in enumerate(lines) if line.strip()}
        return "", [Finding(fault, section.key, lines[at], "section refused") for at, fault in gone.items()]
    text = "\n".join(line for number, line in enumerate(lines) if number not in wrong).strip()
    return text, [Finding(fault, section.key, lines[at], _ACTIONS.get(fault, GONE)) for at, fault in wrong.items()]


def _faults(lines: Sequence[str], key: str, judge: _Judge) -> Iterator[Fault | None]:
    """What is wrong with each line. A heading of the model's own can make what stands below it binding, or forged."""
    usual = binding = key in BINDING or not key
    ordering = key in BINDING
    forged = False
    for line, code in zip(lines, fenced(lines), strict=True):
        heading = None if code else _HEADING.match(line)
        if heading:
            title = heading["title"] or heading["bold"]
            forged = plain(title) in OWN_HEADINGS
            binding = usual or _opens_section(heading["marks"]) or _TELLING.search(title) is not None
            ordering = key in BINDING or _ORDERING.search(title) is not None
        yield (
            "forged" if forged else judge.fault(line, binding) or (ordering and not code and judge.unsaid(line)) or None
        )


def _opens_section(marks: str | None) -> bool:
    """A heading as high as those of the sections: it stands beside them, whatever it is about."""
    return marks in ("#", "##")


class _Judge:
    """The evidence, as the lines of a summary are held against it."""

    def __init__(self, evidence: Evidence) -> None:
        self._facts = evidence.facts
        self._users = frozenset(stems("\n".join(fact.text for fact in evidence.facts.of("user"))))
        self._source = Source(evidence.everything)
        self._shown, self._said = evidence.from_tools, evidence.spoken

    def fault(self, line: str, binding: bool) -> Fault | None:
        if self._source.lacks(line):
            return "invented"
        if claims(line) and not carried(line, self._facts):
            return "consent"
        quotes = _USERS.search(line) is not None
        if (binding or quotes) and repeats(line, self._shown, self._said):
            return "tool-instruction"
        return "invented" if quotes and not self._users_own(line) else None

    def unsaid(self, line: str) -> Fault | None:
        return None if is_owned(line, self._shown, self._said) else "unsaid"

    def _users_own(self, line: str) -> bool:
        """What a line has the user say is, by half its words at least, in what the user said."""
        words = set(stems(_USERS.sub(" ", line)))
        return len(words & self._users) >= OWN_SHARE * len(words)


def _with_what_hangs_on(lines: Sequence[str], faults: Sequence[Fault | None]) -> Iterator[tuple[int, Fault]]:
    """Faulty lines, and what stands below an invented heading or item: it would seem to belong to the one above."""
    depths = _depths(lines)
    holder, cause = 0, None
    for number, (line, fault) in enumerate(zip(lines, faults, strict=True)):
        if line.strip() and depths[number] <= depths[holder]:
            cause = None
        if fault and not cause:
            holder, cause = number, fault if fault in ("invented", "consent") else None
        if line.strip() and (found := fault or cause):
            yield number, found


def _depths(lines: Sequence[str]) -> list[int]:
    """How far each line is indented; headings stand above all. The first line has lost its indent, and gets it back."""
    depths = [-1 if line.startswith("#") else len(line) - len(line.lstrip()) for line in lines]
    rest = [depth for depth, line in zip(depths[1:], lines[1:], strict=True) if line.strip()]
    return [max(depths[0], min(rest, default=0)) if depths[0] == 0 else depths[0], *depths[1:]]


def _mostly_invented(lines: Sequence[str], wrong: dict[int, Fault]) -> bool:
    said = sum(1 for line in lines if line.strip())
    return said > 1 and sum(fault == "invented" for fault in wrong.values()) > MOSTLY * said
