"""The audit: a summary is held against its source before anyone relies on it.

    Summary, Evidence ── audit ──> Audited (the summary mended, findings)

Its rules:

- A line with an identifier that occurs nowhere in the source goes, and so does one that has the user say what the user
  did not say: it is invented. A section that is mostly invented goes whole.
- Consent that the user's own words do not carry goes: only the claim, if the line also reports a deed that is known,
  else the whole line. What the assistant told word for word of a program or of others is no consent outside the
  binding sections.
- A deed that the user refused when asked goes, however it is worded, unless the line says so, asks or waits.
- What only a tool said never becomes a rule, a task, a next step or the user's word, nor an order in any other
  section: the line goes.
- A rule that is laxer than the user's words is set aside as unconfirmed, and so are, in every section, what turns the
  user's words around and an order that nobody is known to have given.
- A heading that imitates the program's own goes, with all that stands below it.
- What is too long to be read goes.

What stands below an invented heading or item goes with it. The audit adds nothing else, and every line that goes or
moves is named in a finding. What is wrong with a line is decided in judge.py, what is set aside is kept by
unconfirmed.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from foldline.core.auditing.clauses import Trimmed
from foldline.core.auditing.judge import BINDING, OWN_HEADINGS, Evidence, Fault, Judge, LinePlace
from foldline.core.auditing.unconfirmed import with_hearsay
from foldline.core.auditing.units import units
from foldline.core.summaries.summary import Section, Summary
from foldline.errors import Ungrounded

MOST_OF_ALL, LONGEST = 150_000, 10_000
"""Characters of a summary and of one of its lines that are read: several times what any model is asked for. More
would find no room, and take long to read."""
MOSTLY = 0.5
"""A section is refused whole when more than this share of its lines is invented."""

__all__ = ["BINDING", "OWN_HEADINGS", "Audited", "Evidence", "Finding", "audit"]

Action: TypeAlias = Literal["line removed", "section refused", "set aside", "claim removed"]


class Finding(NamedTuple):
    """A remark of the auditor: what is wrong, in which section, the words, and what was done about them."""

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


def audit(summary: Summary, evidence: Evidence) -> Audited:
    """The summary without what the evidence does not carry. Raises Ungrounded when nothing is left."""
    judge, rooms = Judge(evidence), _rooms(summary)
    kept: list[Section] = []
    findings: list[Finding] = []
    for section in summary.sections:
        read = _beginning(section.text, rooms[section.key])
        text, found = _checked(section._replace(text=read), judge)
        unread = section.text[len(read) :].strip("\n")
        findings += [*found, *([Finding("overlong", section.key, unread, GONE)] if unread else [])]
        kept += [section._replace(text=text)] if text else []
    if not any(section.key for section in kept):
        raise Ungrounded("nothing in the summary can be found in the conversation")
    audited = replace(summary, sections=tuple(kept))
    hearsay = [finding.text for finding in findings if finding.action == "set aside"]
    return Audited(with_hearsay(audited, hearsay), tuple(findings))


def _rooms(summary: Summary) -> dict[str, int]:
    """How much of each section is read: all of the short ones, and of the long ones an equal share of what is left."""
    rooms, left = dict[str, int](), MOST_OF_ALL
    by_length = sorted(summary.sections, key=lambda section: len(section.text))
    for number, section in enumerate(by_length):
        rooms[section.key] = min(len(section.text), left // (len(by_length) - number))
        left -= rooms[section.key]
    return rooms


def _beginning(text: str, length: int) -> str:
    """As many whole lines of the text as fit into so many characters."""
    return text if len(text) <= length else text[: text.rfind("\n", 0, length) + 1]


def _checked(section: Section, judge: Judge) -> tuple[str, list[Finding]]:
    """What is left of a section, and a finding for every line that is not."""
    lines = section.text.split("\n")
    faults, shorter = _faults(lines, section.key, judge)
    wrong = dict(_with_what_hangs_on(lines, faults))
    if _mostly_invented(lines, wrong):
        named = ((wrong.get(number, "invented"), line) for number, line in enumerate(lines) if line.strip())
        return "", [Finding(fault, section.key, line, "section refused") for fault, line in named]
    left = {number: shorter[number].rest if number in shorter else line for number, line in enumerate(lines)}
    text = "\n".join(line for number, line in left.items() if number not in wrong).strip()
    cut = (piece for number, trim in shorter.items() if number not in wrong for piece in trim.cut)
    gone = (Finding(fault, section.key, lines[at], _ACTIONS.get(fault, GONE)) for at, fault in wrong.items())
    return text, [*(Finding("consent", section.key, piece, "claim removed") for piece in cut), *gone]


def _faults(lines: Sequence[str], key: str, judge: Judge) -> tuple[list[Fault | None], dict[int, Trimmed]]:
    """What is wrong with each line, and what is left of lines that only claim too much. A line that continues
    another shares its faults."""
    found: list[Fault | None] = [None] * len(lines)
    shorter: dict[int, Trimmed] = {}
    place, before = LinePlace.of(key), ""
    for unit in units(lines):
        place = place.under(unit)
        if len(unit.text) > LONGEST:
            found[unit.start : unit.stop] = ["overlong"] * (unit.stop - unit.start)
            continue
        fault = judge.fault(unit, place, before)
        trim = judge.trimmed(lines[unit.start], unit, place) if fault in ("consent", "invented") else None
        for number in range(unit.start, unit.stop):
            found[number] = "forged" if place.forged else judge.invented(lines[number]) or (None if trim else fault)
        if trim and trim.cut:
            shorter[unit.start] = trim
        before = unit.text
    return found, shorter


def _with_what_hangs_on(lines: Sequence[str], faults: Sequence[Fault | None]) -> Iterator[tuple[int, Fault]]:
    """Faulty lines, and all lines below an invented or unfounded heading or item: left alone they would seem to
    belong to the one above it."""
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
    """How far each line is indented; headings rank above all lines. The first line lost its indent in parsing, and
    gets it back."""
    depths = [-1 if line.startswith("#") else len(line) - len(line.lstrip()) for line in lines]
    rest = [depth for depth, line in zip(depths[1:], lines[1:], strict=True) if line.strip()]
    return [max(depths[0], min(rest, default=0)) if depths[0] == 0 else depths[0], *depths[1:]]


def _mostly_invented(lines: Sequence[str], wrong: dict[int, Fault]) -> bool:
    said = sum(1 for line in lines if line.strip())
    return said > 1 and sum(fault == "invented" for fault in wrong.values()) > MOSTLY * said
