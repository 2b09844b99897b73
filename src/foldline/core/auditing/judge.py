"""One line of a summary, held against the conversation: what is wrong with it where it stands.

    Evidence ── Judge;  unit, place ── fault ──> the fault or None
                                    ── trimmed ──> the deed without what is claimed for it

A section, or a heading of the model's own, can make the lines below it binding. Whose words a line has is decided in
echoes.py, user_claims.py and consent.py; what happens to faulty lines, in audit.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from foldline.core.auditing.claims import claimed, claims, heeds, of_others
from foldline.core.auditing.clauses import Trimmed, without
from foldline.core.auditing.consent import Consents
from foldline.core.auditing.echoes import Heard, is_by, is_owned, repeats, said_so
from foldline.core.auditing.line_intent import as_order, commands, orders_in, quotes, reads_as_words, states, unquoted
from foldline.core.auditing.unconfirmed import HEARSAY, set_aside
from foldline.core.auditing.units import Unit
from foldline.core.auditing.user_claims import UserClaims
from foldline.core.checkpoints.pieces import TITLES
from foldline.core.facts import Facts
from foldline.core.summaries.styles import plain
from foldline.core.words.identifiers import Source
from foldline.core.words.markup import bare
from foldline.core.words.masks import without_masks
from foldline.core.words.plainly import unmasked
from foldline.core.words.stems import WORD, stems

Fault: TypeAlias = Literal["invented", "consent", "tool-instruction", "unsaid", "forged", "overlong"]

BINDING = frozenset(
    {"constraints", "next", "immediate", "pending", "commitments", "active", "request", "goal", "intent", "messages"}
)
"""Sections that tell the next model what to do, or what the user said."""
OWN_HEADINGS = frozenset(
    {
        *(
            plain(TITLES[section])
            for section in ("rules", "earlier", "decisions", "said", "commits", "waiting", "running")
        ),
        "notes on the conversation so far",
        "what the user said in order",
        "the latest messages before these notes",
        "how to go on",
        "end of the notes",
        "your plan",
    }
)
"""Headings under which only the program speaks or quotes the user: a model must not write there."""

NAME = 6
"""Words of a line that only names a deed."""
_RULES = re.compile(r"rule|instruct|constraint|prefer|polic|guideline", re.I)
"""Words that, in a heading of the model's own, make the lines below it rules."""
_ORDERING = re.compile(rf"{_RULES.pattern}|next|to-?do|action|must|always", re.I)
"""Words that, in a heading of the model's own, make the lines below it orders, which someone must have given."""
_TELLING = re.compile(rf"{_ORDERING.pattern}|require|user|step|task|\byou\b|first|remember|order|mandat|duty", re.I)
"""Words that, in a heading of the model's own, make the lines below it binding: no tool's order may stand there."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a summary may rest on: everything in the span, and within it what people or the assistant said and what
    tools printed."""

    everything: str
    spoken: Heard
    from_tools: Heard
    facts: Facts


class LinePlace(NamedTuple):
    """Where a line stands. A heading of the model's own can make what stands below it binding, or forged."""

    key: str
    binding: bool
    ordering: bool
    rules: bool
    forged: bool = False
    aside: bool = False
    held: bool = False
    """What stands here waits for someone, or is not wanted."""

    @classmethod
    def of(cls, key: str) -> LinePlace:
        return cls(key, key in BINDING or not key, key in BINDING, key == "constraints", held=key == "blocked")

    def under(self, unit: Unit) -> LinePlace:
        """The place of the lines that this unit opens."""
        if unit.text == HEARSAY:
            return self._replace(aside=True)
        if not unit.title:
            return self
        above = self if unit.label else LinePlace.of(self.key)
        return above._replace(
            binding=above.binding or unit.opens or _TELLING.search(unit.title) is not None,
            ordering=above.ordering or _ORDERING.search(unit.title) is not None,
            rules=above.rules or _RULES.search(unit.title) is not None,
            held=above.held or heeds(unit.title),
            forged=above.forged or plain(unit.title) in OWN_HEADINGS,
        )


class Judge:
    """Judges the lines of one summary by the evidence."""

    def __init__(self, evidence: Evidence) -> None:
        self._consents = Consents(evidence.facts)
        self._claims = UserClaims(evidence.facts, evidence.spoken)
        self._source, self._everything = Source(evidence.everything), evidence.everything
        self._shown, self._said = evidence.from_tools, evidence.spoken
        self._aside = frozenset(set_aside(evidence.everything))

    def invented(self, line: str) -> Fault | None:
        return "invented" if self._source.lacks(unmasked(line)) else None

    def fault(self, unit: Unit, place: LinePlace, before: str) -> Fault | None:
        if place.aside and (unit.text == HEARSAY or bare(unit.text) in self._aside):
            return None
        unit = unit._replace(text=without_masks(unit.text), headed=without_masks(unit.headed))
        text = bare(unit.headed or unit.text)
        if claims(text) and not self._consents.carry(text, before) and not self._is_told(text, place):
            return "consent"
        if not unit.code and self._consents.refusals.overrules(text, self._said) and not self._is_held(text, place):
            return "consent"
        quoted = quotes(text)
        if any(repeats(order, self._shown, self._said) for order in set(_orders(unit, place, quoted))):
            return "unsaid" if bare(unit.text) in self._aside else "tool-instruction"
        if quoted and not self._bears(bare(unit.text) if quotes(unit.text) else text):
            return "invented"
        return self._unsaid(unit, place)

    def _is_told(self, text: str, place: LinePlace) -> bool:
        """All it claims is told of others, word for word as the assistant or the user told it, and binds nobody."""
        return not place.binding and all(map(self._is_told_of_others, claimed(text)))

    def _is_told_of_others(self, sentence: str) -> bool:
        return of_others(sentence) and said_so(sentence, self._said) and _running(sentence) in self._words

    @cached_property
    def _words(self) -> str:
        """All words of the source, in their order."""
        return _running(self._everything)

    def _bears(self, text: str) -> bool:
        """What it has the user say is the user's, or tells that the user said no."""
        return self._claims.bears(text) or self._consents.refusals.tells(unquoted(text))

    def _is_held(self, text: str, place: LinePlace) -> bool:
        """It stands, as a mere name, below a heading that says it is not to be done."""
        return place.held and not claims(text) and len(stems(text)) <= NAME

    def trimmed(self, line: str, unit: Unit, place: LinePlace) -> Trimmed | None:
        """The line without what it claims for the user, where its deed is known and nothing in it is binding; else
        None."""
        if place.binding or unit.stop > unit.start + 1 or unit.headed or unit.title or unit.code:
            return None
        trim = without(line, self._claims_too_much)
        deed = bare(trim.deed) if trim else ""
        if not deed or self._consents.refused(deed) or not is_by(deed, self._said):
            return None
        return trim if trim and not self.fault(unit._replace(text=trim.deed), place, "") else None

    def _claims_too_much(self, text: str, before: str) -> bool:
        if claims(text) and not self._consents.carry(text, before):
            return True
        return quotes(text) and not self._claims.bears(text if stems(unquoted(text)) else f"{before} {text}")

    def _unsaid(self, unit: Unit, place: LinePlace) -> Fault | None:
        if unit.code and not reads_as_words(unit.text):
            return None
        if self._is_lax(unit.text, place):
            return "unsaid"
        told = [unit.text] if place.ordering or commands(unit.text) else _told_to_do(unit, place)
        if all(map(self._is_owned, told)):
            return None
        if self._consents.refusals.tells(bare(unit.text)):
            return None
        return None if self._claims.restates(bare(unit.text)) else "unsaid"

    def _is_lax(self, text: str, place: LinePlace) -> bool:
        """It gives more freedom than the user did."""
        if place.ordering or commands(text):
            return self._consents.loosens(text, rule=place.rules)
        return self._consents.turns(text)

    def _is_owned(self, text: str) -> bool:
        return all(is_owned(form, self._shown, self._said) for form in filter(None, (text, as_order(text))))


def _running(text: str) -> str:
    return f" {' '.join(WORD.findall(text.casefold()))} "


def _told_to_do(unit: Unit, place: LinePlace) -> Collection[str]:
    """The orders in a unit that stands where nothing is one by its place."""
    return () if unit.code or place.aside else {order for order in orders_in(unit.text) if not states(order)}


def _orders(unit: Unit, place: LinePlace, quoted: bool) -> Iterator[str]:
    """The orders in a unit: all of it where its place is binding, else the parts worded as orders."""
    if place.binding or quoted:
        yield unit.text
    if place.ordering and (order := as_order(unit.text)):
        yield order
    if not (place.ordering or quoted or unit.code):
        yield from orders_in(unit.text)
