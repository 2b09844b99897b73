"""The user's words in pieces: each message once, its rules and decisions where they are seen; and earlier summaries.

    facts ── said ──> Piece, Piece, …

A message stands as it is; a long one without its pasted blocks, or only by its beginning. What is quoted of an earlier
summary is in foreign_summary.py, other pieces are in pieces.py, the room for all of them in notes.py.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter

from foldline.core.checkpoints.foreign_summary import retold
from foldline.core.checkpoints.pieces import LEFT_OUT, PRESSING, RANKS, Piece, on_one_line
from foldline.core.facts import Fact, Facts
from foldline.core.log.extract import STANDING
from foldline.core.log.logtext import below, quoted
from foldline.core.said.offers import LONGEST
from foldline.core.said.sentences import bears_rule, sentences, states, turns
from foldline.core.words.text import beginning, ends, head

LONG_MESSAGE = 1_500
"""Characters of a user message above which its pasted blocks are named instead of shown."""
SHORT_MESSAGE = 500
"""Characters of a user message up to which it is shown whole in place of the rules and decisions in it."""
BEGINNINGS = (2_500, 1_200, SHORT_MESSAGE)
"""Characters of a long message's beginning that is shown where the message does not fit: the longest there is room
for."""
WORTH = 0.7
"""A beginning is offered only if it is shorter than this share of the message: else it saves too little."""
LONGEST_WORDS = 6_000
"""Characters of the user's own words in one message that are shown: ten times what people type, a tenth of a dump."""
MOST_AGAIN = 3
"""Rules and decisions of one long message that are shown by themselves as well: a message with more of them is a
plan."""

MOST_STATED = 16
"""Statements that come before the user's other words: a user who remarks on everything states no rules."""
SENT_AGAIN = 40
"""Characters above which a message that comes again word for word counts as the same one."""

OFTEN, MOST_PLACES = 3, 4
"""Times from which the same few words are shown once, and places of them that are all named."""
_WORD = re.compile(r"[^\W\d_]+")
_STRETCH = re.compile(r".{1,200}(?=\s|$)|.{1,200}", re.S)
"""A stretch of words in a sentence that does not end."""
_FIRST = ("## Goal\nFirst asked: ",)
_LATEST = tuple(f"## Immediate Task\n{lead}: " for lead, _ in STANDING.values())
"""What precedes the user's words where a summary made without a model quotes them: the first, and the latest."""


def said(facts: Facts, summary_text: str, whole: int) -> Iterator[Piece]:
    """The user's messages, each at one place. A short one with rules or decisions is shown whole where rules or
    decisions are; those of a long one are repeated there, so that they are not overlooked."""
    first = {fact.text: fact.at for fact in reversed(facts.of("user"))}
    alone = _ruled_alone(facts)
    facts = _once(facts)
    telling = _telling(facts)
    places = {message.at: place for message in facts.of("user") if (place := _place(message, telling))}
    for fact in facts.of("rule", "decision"):
        section = "rules" if fact.kind == "rule" else "decisions"
        if fact.at not in places:
            planned = len(telling[fact.at]) > MOST_AGAIN and fact.text not in alone
            rank = RANKS["again" if planned else section]
            yield Piece(section, f"- {_quoted(fact)}{_asked(fact)}", rank, fact.at, fact.at, inner=below(fact.text))
    for fact in facts.of("earlier"):
        for order, line in enumerate(retold(fact.text, whole)):
            yield Piece("earlier", f"> {line.text}", RANKS["earlier"], line.worth, order)
    for fact in facts.of("media"):
        yield Piece("said", f"[{fact.at + 1}] {_media(fact.text)}", RANKS["said"], fact.at / PRESSING, fact.at)
    yield from _messages(facts, summary_text, whole, places, telling, first)


def _telling(facts: Facts) -> dict[int, list[Fact]]:
    """Rules and decisions by the places of their messages."""
    found: dict[int, list[Fact]] = {}
    for fact in facts.of("rule", "decision"):
        found.setdefault(fact.at, []).append(fact)
    return found


def ruling(facts: Facts) -> tuple[Fact, ...]:
    """The rules without those of plans, which are long messages with many rules."""
    alone = _ruled_alone(facts)
    facts = _once(facts)
    telling = _telling(facts)
    placed = {message.at for message in facts.of("user") if _place(message, telling)}
    return tuple(
        fact
        for fact in facts.of("rule")
        if fact.at in placed or fact.text in alone or len(telling[fact.at]) <= MOST_AGAIN
    )


def _ruled_alone(facts: Facts) -> frozenset[str]:
    """The rules that some message states without a plan's many others: a plan that repeats them does not take them
    along when it gives way."""
    telling = _telling(facts)
    return frozenset(fact.text for fact in facts.of("rule") if len(telling[fact.at]) <= MOST_AGAIN)


def _once(facts: Facts) -> Facts:
    """The facts without those of messages that were sent again later, word for word, and each rule of more than a few
    words once, where it was stated last: it may take back what was said in between. A few words may mean something
    else each time, and an answer stays with its question."""
    last = {fact.text: fact.at for fact in facts.of("user")}
    sent = (fact for fact in facts.of("user") if len(fact.text) > SENT_AGAIN)
    later = {fact.at: last[fact.text] for fact in sent if fact.at != last[fact.text]}
    there = {(fact.kind, fact.text, fact.about, fact.at) for fact in facts.facts}
    again = ((fact, (fact.kind, fact.text, fact.about, later.get(fact.at))) for fact in facts.facts)
    kept = tuple(fact for fact, same in again if same not in there)
    places = {fact.text: fact.at for fact in kept if fact.kind == "rule" and len(fact.text) > SENT_AGAIN}
    return Facts(tuple(fact for fact in kept if fact.kind != "rule" or places.get(fact.text, fact.at) == fact.at))


def stated(facts: Facts) -> frozenset[int]:
    """The places of short messages that state something, those most unlike the others: they may be rules in words of
    their own."""
    messages = facts.of("user")
    found = [(odd, fact.at) for fact, odd in zip(messages, _oddities(messages), strict=True) if states(fact.text)]
    return frozenset(at for _, at in sorted(found)[-MOST_STATED:])


def _messages(
    facts: Facts,
    summary_text: str,
    whole: int,
    places: Mapping[int, str],
    telling: Mapping[int, Sequence[Fact]],
    first: Mapping[str, int],
) -> Iterator[Piece]:
    """Every message. Those with a place among rules or decisions stand there. One that the summary quotes is not
    repeated, unless it was said before and came again: then it may take back what was said in between. That the latest
    message has the same words quotes no earlier one, which may have answered another question. Few words that were said
    again and again stand where they were said last."""
    messages = facts.of("user")
    often = _often(fact for fact in messages if fact.at not in places)
    ruling, stating = {fact.at for fact in facts.of("rule")}, stated(facts)
    asked = facts.first("immediate")
    for fact, worth in zip(messages, _worths(messages), strict=True):
        section = places.get(fact.at, "")
        leads = (*_FIRST, *(_LATEST if asked is None or fact.at == asked.at else ()))
        anew = fact.attached or fact.at != first[fact.text] or not _is_quoted(fact.text, summary_text, leads)
        if section == "decisions" and not anew:
            continue
        if section:
            about = next((_asked(found) for found in telling[fact.at] if found.question), "")
            shorter = "\n".join(f"- {_quoted(found)}{_asked(found)}" for found in telling[fact.at])
            rules = "\n".join(f"- {_quoted(found)}" for found in telling[fact.at] if found.kind == "rule")
            fewer = sum(found.kind != "rule" for found in telling[fact.at])
            shortest = (f"{rules}\n(decided beside it: {fewer}{LEFT_OUT}",) if rules and fewer else ()
            longer = f"- {_quoted(fact)}{about}"
            longer = longer if longer != shorter else ""
            yield Piece(section, shorter, RANKS[section], fact.at, fact.at, shortest, longer)
        elif anew and fact.at == (said := often.get(fact.at, [fact.at]))[-1]:
            pressing = PRESSING if fact.at in ruling or messages[0].at in said else 0
            times = f" (said {len(said):,} times)" if len(said) > MOST_PLACES else ""
            media = f" {_media(fact.attached)}" if fact.attached else ""
            text, *forms = (f"{_at(said)} {below(words)}{media}{times}" for words in _forms(fact.text))
            longer = f"{_at(said)} {below(fact.text)}{media}{times}" if len(fact.text) <= whole else ""
            longer = "" if longer == text else longer
            rank = RANKS["said" if stating.isdisjoint(said) else "stated"]
            yield Piece("said", text, rank, pressing + worth, fact.at, tuple(forms), longer)


def _often(messages: Iterable[Fact]) -> dict[int, list[int]]:
    """For each message of a few words that the user said often, all places where they were said. Pictures beside them
    make them others."""
    found: dict[str, list[int]] = {}
    for fact in messages:
        if len(fact.text) <= SENT_AGAIN and not fact.attached:
            found.setdefault(fact.text, []).append(fact.at)
    return {at: said for said in found.values() if len(said) >= OFTEN for at in said}


def _at(places: Sequence[int]) -> str:
    """The numbers of messages; of many, the first and the last."""
    if len(places) > MOST_PLACES:
        return f"[{places[0] + 1}–{places[-1] + 1}]"
    return f"[{','.join(str(at + 1) for at in places)}]"


def _media(attached: str) -> str:
    return f"(pictures or files: {attached}, not shown here)"


def _is_quoted(text: str, summary_text: str, leads: Iterable[str]) -> bool:
    """The summary quotes the text as the user's words: that somebody else says the same in it is not enough."""
    return any(f"{lead}“{below(text)}”" in summary_text for lead in leads)


def _forms(text: str) -> list[str]:
    """The words of a user message without pasted blocks, and ever shorter beginnings of it."""
    words = shown_words(text)
    return [words, *(_begun(text, head(words, length)) for length in BEGINNINGS if length < len(words) * WORTH)]


def _begun(text: str, beginning: str) -> str:
    kept = beginning.rsplit(None, 1)[0]
    return f"{kept} …\n({len(text) - len(kept):,} more characters{LEFT_OUT}"


def _place(message: Fact, telling: Mapping[int, Sequence[Fact]]) -> str:
    """The section in which a message is shown whole if it is short or mostly rules and decisions; "" for others."""
    length = len(message.text)
    if message.attached or length > LONG_MESSAGE:
        return ""
    found = [fact for fact in telling.get(message.at, ()) if fact.text in message.text]
    mostly = 2 * sum(len(fact.text) for fact in found)
    if not found or (mostly < length and length > SHORT_MESSAGE):
        return ""
    return "rules" if any(fact.kind == "rule" for fact in found) else "decisions"


def _asked(fact: Fact) -> str:
    """What the assistant had asked; a long question by both its ends, since a condition may stand in the last words."""
    return f" (asked: {quoted(ends(on_one_line(fact.question), LONGEST))})" if fact.question else ""


def _worths(messages: Sequence[Fact]) -> Iterator[float]:
    """What each user message is worth: the later it was said and the less it is like the others, the more."""
    yield from (odd + number / len(messages) for number, odd in enumerate(_oddities(messages)))


def _oddities(messages: Sequence[Fact]) -> Iterator[float]:
    """How unlike the others each user message is. What a user repeats in one form is routine; what is said once, in
    words of its own, may be a rule that no list of words knows."""
    words = [set(_WORD.findall(fact.text.casefold())) for fact in messages]
    spread = Counter(word for found in words for word in found)
    most = math.log(len(messages) + 1)
    for found in words:
        rare = math.fsum(math.log((len(messages) + 1) / spread[word]) for word in found) / (len(found) or 1)
        yield rare / most


def _quoted(fact: Fact) -> str:
    words = below(_gist(fact.text))
    end = "\n" if words.endswith(("```", "~~~")) else ""  # a fence is closed by a line of its own
    return f"“{words}{end}” [{fact.at + 1}]"


def _gist(text: str) -> str:
    """The words of a rule or decision; of a very long sentence the stretches that rule or decide."""
    if len(text) <= LONG_MESSAGE:
        return text
    stretches = _STRETCH.findall(text)
    telling = [bears_rule(stretch) or turns(stretch) for stretch in stretches]
    shown = map(any, pairwise((False, *telling)))  # the rule itself may follow the words that announce it
    runs = groupby(zip(shown, stretches, strict=True), key=itemgetter(0))
    words = "".join("".join(stretch for _, stretch in run) if shows else " … " for shows, run in runs)
    return beginning(words.strip() if any(telling) else text, LONG_MESSAGE)


def shown_words(text: str) -> str:
    """A user message as the notes show it: all of it, or the words of a long one without its pasted blocks."""
    if len(text) <= LONG_MESSAGE:
        return text
    shown: list[str] = []
    pasted = 0
    for sentence in sentences(text):
        if sentence.pasted:
            pasted += len(sentence.text)
        else:
            shown.append(sentence.text)
    words = "\n".join(shown)
    first = head(words, LONGEST_WORDS)
    missing = [f"{len(words) - len(first):,} more characters"] if len(first) < len(words) else []
    missing += [f"pasted text of {pasted:,} characters"] if pasted else []
    return f"{first}\n({' and '.join(missing)}{LEFT_OUT}".lstrip() if missing else first
