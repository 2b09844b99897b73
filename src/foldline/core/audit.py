"""The audit: a summary is held against its source before anyone relies on it.

    Summary, source ── audit ──> Audited (the summary mended, findings)

Identifiers that occur nowhere in the source are inventions: their lines go, and a section that is mostly invention
goes whole. The user's consent is never a model's to report: a line that claims it stands only where the user's own
words carry it. What only a tool said never becomes a rule, a task or a next step. Nothing is added here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from foldline.core.facts import Facts
from foldline.core.sentences import consents
from foldline.core.summary import Section, Summary
from foldline.errors import Ungrounded

Fault: TypeAlias = Literal["invented", "consent", "tool-instruction"]

BINDING = frozenset(
    {"constraints", "next", "immediate", "pending", "commitments", "active", "request", "goal", "intent"}
)
"""Sections that tell the next model what to do."""
MOSTLY = 0.5
"""A section of which more lines than this share are inventions is refused whole."""
GRAM = 4
"""Words in a row that show where a line was taken from."""
SHORTEST = 4
"""Letters of a word that counts when lines are compared."""

_IDENTIFIER = re.compile(
    r"https?://[^\s)>\]\"'`]+"
    r"|(?:[\w.@~-]+)?(?:/[\w.@+-]+){2,}"
    r"|\b[\w-]+/[\w./-]*\w\.\w{1,6}\b"
    r"|\b[\w-]+\.(?:py|js|ts|tsx|jsx|go|rs|java|rb|c|h|cpp|cs|md|json|toml|ya?ml|sql|sh|txt|html|css|lock|cfg|ini)\b"
    r"|\b[a-z]+(?:_[a-z0-9]+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b|\b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b"
    r"|\b[0-9a-f]{7,40}\b|\b\d{4,}\b"
)
_CONSENT_CLAIM = re.compile(
    r"\b(?:user|they|he|she|customer|owner)\b[^.\n]{0,60}?\b(?:approv|agree|consent|confirm|authori[sz]|permit|"
    r"allow|gave (?:permission|the go)|green.?light|signed off|okay(?:ed|s)|accept)",
    re.I,
)
_DATE_LIKE = re.compile(r"^(?:19|20)\d\d$")


class Finding(NamedTuple):
    """A remark of the auditor: what is wrong, in which section, the words, and what was done about it."""

    fault: Fault
    section: str
    text: str
    action: Literal["line removed", "section refused"]


@dataclass(frozen=True, slots=True)
class Audited:
    summary: Summary
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a summary may rest on: everything in the span, and of it what people and the assistant said."""

    everything: str
    spoken: str
    from_tools: str
    facts: Facts


def audit(summary: Summary, evidence: Evidence) -> Audited:
    """The summary without what the evidence does not carry. Raises Ungrounded when nothing is left."""
    kept: list[Section] = []
    findings: list[Finding] = []
    for section in summary.sections:
        checked, faults = _section(section, evidence)
        findings += faults
        if checked.text.strip():
            kept.append(checked)
    if not any(section.key for section in kept):
        raise Ungrounded("nothing in the summary can be found in the conversation")
    return Audited(Summary(summary.style, tuple(kept), summary.version), tuple(findings))


def _section(section: Section, evidence: Evidence) -> tuple[Section, list[Finding]]:
    lines = section.text.split("\n")
    faults = [(line, _fault(line, section.key, evidence)) for line in lines]
    wrong = [(line, fault) for line, fault in faults if fault]
    if not wrong:
        return section, []
    said = sum(1 for line in lines if line.strip())
    if sum(1 for _, fault in wrong if fault == "invented") > MOSTLY * said and said > 1:
        return section._replace(text=""), [
            Finding(fault, section.key, line, "section refused") for line, fault in wrong
        ]
    text = "\n".join(line for line, fault in faults if not fault)
    return section._replace(text=text), [Finding(fault, section.key, line, "line removed") for line, fault in wrong]


def _fault(line: str, key: str, evidence: Evidence) -> Fault | None:
    if any(name not in evidence.everything for name in identifiers(line)):
        return "invented"
    if _CONSENT_CLAIM.search(line) and not _carried(line, evidence):
        return "consent"
    if key in BINDING and _tools_word(line, evidence):
        return "tool-instruction"
    return None


def identifiers(text: str) -> Iterator[str]:
    """Names that can be looked up: paths, symbols, hashes, addresses, long numbers."""
    for match in _IDENTIFIER.finditer(text):
        name = match.group().rstrip(".,:;/")
        if not _DATE_LIKE.match(name) and len(name) > 3:
            yield name


def _carried(line: str, evidence: Evidence) -> bool:
    """The user answered yes to something that this line speaks of."""
    words = set(_words(line))
    for fact in evidence.facts.of("decision", "rule"):
        if consents(fact.text) or fact.kind == "rule":
            shared = words & set(_words(f"{fact.about} {fact.text}"))
            if len(shared) >= 2:
                return True
    return False


def _tools_word(line: str, evidence: Evidence) -> bool:
    """The line repeats what a tool said, and nobody else did."""
    grams = list(_grams(_words(line)))
    if not grams:
        return False
    said = sum(gram in evidence.spoken for gram in grams)
    shown = sum(gram in evidence.from_tools for gram in grams)
    return shown > said and shown >= max(1, len(grams) // 3)


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.casefold()) if len(word) >= SHORTEST]


def _grams(words: Sequence[str]) -> Iterator[str]:
    for at in range(len(words) - GRAM + 1):
        yield " ".join(words[at : at + GRAM])


def comparable(text: str) -> str:
    """Text in the form in which lines are compared: long words in small letters, one blank between."""
    return " ".join(_words(text))
