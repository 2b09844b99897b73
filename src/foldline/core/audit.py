"""The audit: a summary is held against its source before anyone relies on it.

    Summary, Evidence ── audit ──> Audited (the summary mended, findings)

Identifiers that occur nowhere in the source are inventions: their lines go, and a section that is mostly invention
goes whole. The user's consent is never a model's to report: a line that claims it stands only where the user's own
words carry it, and a rule is no laxer than they are. What only a tool said never becomes a rule, a task, a next step or
the user's word, nor an order anywhere else: a line that repeats it goes; and one that nobody is known to have said, as
when such words come back in others, is set aside among the other notes as hearsay. What passes itself off for the
program's own part of a checkpoint goes. Nothing else is added here, and every line that goes or moves is named in a
finding. How each is told is in identifiers.py, claims.py and consent.py, told.py and echoes.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from foldline.core.claims import claims
from foldline.core.consent import Consents
from foldline.core.echoes import Heard, is_by, is_owned, repeats
from foldline.core.facts import Facts
from foldline.core.hearsay import HEARSAY, set_aside, with_hearsay
from foldline.core.identifiers import Source
from foldline.core.markup import bare
from foldline.core.notes import TITLES
from foldline.core.plainly import unmasked
from foldline.core.styles import plain
from foldline.core.summary import Section, Summary
from foldline.core.told import quotes, told, unquoted
from foldline.core.units import Unit, units
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
MOSTLY = 0.5
"""A section of which more lines than this share are inventions is refused whole."""

_RULES = re.compile(r"rule|instruct|constraint|prefer|polic|guideline", re.I)
"""In a heading of the model's own, what makes the lines below it rules …"""
_ORDERING = re.compile(rf"{_RULES.pattern}|next|to-?do|action|must|always", re.I)
"""… or something else that someone must have said …"""
_TELLING = re.compile(rf"{_ORDERING.pattern}|require|user|step|task|\byou\b|first|remember|order|mandat|duty", re.I)
"""… or something to obey."""

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
    hearsay = [finding.text for finding in findings if finding.action == "set aside"]
    return Audited(with_hearsay(audited, hearsay), tuple(findings))


def _checked(section: Section, judge: _Judge) -> tuple[str, list[Finding]]:
    """What is left of a section, and a finding for every line that is not."""
    lines = section.text.split("\n")
    wrong = dict(_with_what_hangs_on(lines, _faults(lines, section.key, judge)))
    if _mostly_invented(lines, wrong):
        gone = {number: wrong.get(number, "invented") for number, line in enumerate(lines) if line.strip()}
        return "", [Finding(fault, section.key, lines[at], "section refused") for at, fault in gone.items()]
    text = "\n".join(line for number, line in enumerate(lines) if number not in wrong).strip()
    return text, [Finding(fault, section.key, lines[at], _ACTIONS.get(fault, GONE)) for at, fault in wrong.items()]


def _faults(lines: Sequence[str], key: str, judge: _Judge) -> list[Fault | None]:
    """What is wrong with each line. What continues another line shares its faults."""
    found: list[Fault | None] = [None] * len(lines)
    place, before = _Place.of(key), ""
    for unit in units(lines):
        place = place.under(unit)
        fault = judge.fault(unit, place, before)
        for number in range(unit.start, unit.stop):
            found[number] = "forged" if place.forged else judge.invented(lines[number]) or fault
        before = unit.text
    return found


class _Place(NamedTuple):
    """Where a line stands. A heading of the model's own can make what stands below it binding, or forged."""

    key: str
    binding: bool
    ordering: bool
    rules: bool
    forged: bool = False
    aside: bool = False

    @classmethod
    def of(cls, key: str) -> _Place:
        return cls(key, key in BINDING or not key, key in BINDING, key == "constraints")

    def under(self, unit: Unit) -> _Place:
        """The place of what comes with this unit."""
        if unit.text == HEARSAY:
            return self._replace(aside=True)
        if not unit.title:
            return self
        above = self if unit.label else _Place.of(self.key)
        return above._replace(
            binding=above.binding or unit.opens or _TELLING.search(unit.title) is not None,
            ordering=above.ordering or _ORDERING.search(unit.title) is not None,
            rules=above.rules or _RULES.search(unit.title) is not None,
            forged=above.forged or plain(unit.title) in OWN_HEADINGS,
        )


class _Judge:
    """The evidence, as the lines of a summary are held against it."""

    def __init__(self, evidence: Evidence) -> None:
        self._consents = Consents(evidence.facts)
        self._users = Heard.in_text(*(fact.text for fact in evidence.facts.of("user")))
        self._source = Source(evidence.everything)
        self._shown, self._said = evidence.from_tools, evidence.spoken
        self._aside = frozenset(set_aside(evidence.everything))

    def invented(self, line: str) -> Fault | None:
        return "invented" if self._source.lacks(unmasked(line)) else None

    def fault(self, unit: Unit, place: _Place, before: str) -> Fault | None:
        if place.aside and (unit.text == HEARSAY or bare(unit.text) in self._aside):
            return None
        text = unit.headed or unit.text
        if claims(text) and not self._consents.carry(text, before):
            return "consent"
        quoted = quotes(text)
        if any(repeats(order, self._shown, self._said) for order in _orders(unit, place, quoted)):
            return "unsaid" if bare(unit.text) in self._aside else "tool-instruction"
        if quoted and not is_by(unquoted(text), self._users):
            return "invented"
        return None if unit.code else self._unsaid(unit.text, place)

    def _unsaid(self, text: str, place: _Place) -> Fault | None:
        if place.rules and self._consents.loosens(text):
            return "unsaid"
        return "unsaid" if place.ordering and not is_owned(text, self._shown, self._said) else None


def _orders(unit: Unit, place: _Place, quoted: bool) -> Iterator[str]:
    """What a unit tells to do: all of it where that is binding, else what is put as an order."""
    if place.binding or quoted:
        yield unit.text
    if not (place.ordering or quoted or unit.code):
        yield from told(unit.text)


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
