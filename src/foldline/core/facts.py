"""Facts: what must survive a fold, as values, and how later ones are added to earlier ones.

    Facts ── then ──> the facts of everything so far

Nothing here is generated, ranked by a model, or shown. How facts are found in messages is said in lifting.py; how many
of them a checkpoint has room for is decided in notes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from foldline.core.work.deeds import Deed
from foldline.core.work.errors_seen import FORGOTTEN, REFUSED, is_open, since
from foldline.core.work.plans import LISTED

Kind: TypeAlias = Literal[
    "user",
    "media",
    "rule",
    "decision",
    "done",
    "open",
    "listed",
    "error",
    "reached",
    "running",
    "approval",
    "immediate",
    "doing",
    "earlier",
]
_TASKS: frozenset[Kind] = frozenset({"done", "open"})
_SINCE: frozenset[Kind] = frozenset({"approval", "doing"})
"""What the assistant said since the user spoke: out of date once either of them speaks again."""
ENDED, STOPPED = "ended", "stopped"
"""The values of `about` where `is_ended` and `is_stopped` hold."""
MOST = {"error": 48, "reached": 24, "running": 24}
"""How many errors, deeds and names of what runs are carried along: the newest."""


class Fact(NamedTuple):
    """Words from one message. `source` is that message's identity, `at` its number in the whole history.

    `about` and `key` have the same form in every kind of fact; what they mean for one kind is said by the properties
    below.
    """

    kind: Kind
    text: str
    source: str
    at: int
    about: str = ""
    """Other words that belong to the fact, such as the question before a decision."""
    key: str = ""
    """What a later fact about the same thing is recognised by: the number of a task that the agent updates (its text
    may stand in an earlier span), what was tried when an error came, the command that reached beyond the files, or the
    name of what runs in the background. (With no text it has ended.)"""

    def _about(self, *kinds: Kind) -> str:
        return self.about if self.kind in kinds else ""

    @property
    def question(self) -> str:
        """What the assistant had asked before a decision."""
        return self._about("decision")

    @property
    def cure(self) -> str:
        """What cured an error; "" while nothing is known of a cure."""
        return self._about("error")

    @property
    def status(self) -> str:
        """A task's status, where that is more than done or not yet begun."""
        return self._about("open", "done")

    @property
    def attached(self) -> str:
        """How many pictures or files came with the user's words."""
        return self._about("user")

    @property
    def repeatable(self) -> str:
        """The kind of a deed where only the last deed of that kind counts."""
        return self._about("reached")

    @property
    def is_ended(self) -> bool:
        """The assistant's last words ask nothing and nothing came after them: its turn was over, or it was stopped."""
        return self._about("doing") == ENDED

    @property
    def is_stopped(self) -> bool:
        """What the user asked last was stopped by the user, who has said nothing since."""
        return self._about("immediate") == STOPPED


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts, in the order of their messages."""

    facts: tuple[Fact, ...] = ()

    def of(self, *kinds: Kind) -> tuple[Fact, ...]:
        return tuple(fact for fact in self.facts if fact.kind in kinds and fact.text)

    def first(self, kind: Kind) -> Fact | None:
        return next(iter(self.of(kind)), None)

    def then(self, later: Facts) -> Facts:
        """These facts and those of what came after. States (tasks, what is asked) are replaced; words, errors and
        deeds add up."""
        kinds = {fact.kind for fact in later.facts}
        past = kinds & {"immediate", "earlier", "listed"} | (_SINCE if kinds & {"immediate", *_SINCE} else frozenset())
        renewed = {fact.key for fact in later.facts if fact.kind in _TASKS and fact.key}
        if "listed" in kinds:  # a whole list replaces all lists before it
            renewed |= {"", *(fact.key for fact in self.facts if fact.kind in _TASKS and fact.key.startswith(LISTED))}
        worded, told_again = _worded(self.facts, later.facts), _told_again(later)
        kept = [
            worded.get(fact, fact)
            for fact in self.facts
            if fact in worded
            or not ((fact.key in renewed if fact.kind in _TASKS else fact.kind in past) or told_again(fact))
        ]
        known = {fact.key for fact in worded}
        new = (fact for fact in later.facts if fact.text or fact.kind not in _TASKS or fact.key not in known)
        return Facts(in_order((*kept, *new)))

    def without(self, summaries: Set[str]) -> Facts:
        """The facts without these earlier summaries."""
        return Facts(tuple(fact for fact in self.facts if fact.kind != "earlier" or fact.text not in summaries))

    def ending(self, last: int, worked: int, *, stopped: bool = False) -> Facts:
        """The facts as they are if message `last` ends the conversation, `worked` is the agent's last work, and the
        user perhaps stopped it. Words that something came after are not what the assistant ended with, and an
        assistant that worked on is not waiting."""
        about = STOPPED if stopped else ""
        ended = (_overtaken(fact, last, worked) for fact in self.facts)
        return Facts(tuple(fact._replace(about=about) if fact.kind == "immediate" else fact for fact in ended))

    def since(self, done: Sequence[Deed]) -> Facts:
        """The facts after these deeds: errors may be cured by them, or left behind."""
        known = since(done)
        found = ((fact, known.cure(fact.cure, fact.key) if fact.kind == "error" else "") for fact in self.facts)
        return Facts(tuple(fact._replace(about=cure) if cure else fact for fact, cure in found if cure != FORGOTTEN))

    def to_dict(self) -> list[list[Any]]:
        return [list(fact) for fact in self.facts]

    @classmethod
    def from_dict(cls, saved: Iterable[Sequence[Any]]) -> Facts:
        return cls(tuple(Fact(*fact) for fact in saved))


def _told_again(later: Facts) -> Callable[[Fact], bool]:
    """A test for facts that later facts replace: an error that is cured by now or came once more, a deed that was done
    again where only the last counts, and what ran and is heard of again."""
    errors, deeds = later.of("error"), later.of("reached")
    seen = {(fact.source, fact.text) for fact in errors}
    failed = {fact.key for fact in errors if fact.key and fact.cure != REFUSED}
    done = {fact.repeatable for fact in deeds} - {""}
    named = {fact.key for fact in later.facts if fact.kind == "running"}

    def is_told(fact: Fact) -> bool:
        if fact.kind == "running":
            return fact.key in named or not fact.text
        if fact.kind == "error":
            return (fact.source, fact.text) in seen or (is_open(fact.cure) and fact.key in failed)
        return fact.repeatable in done

    return is_told


def _worded(earlier: Iterable[Fact], later: Iterable[Fact]) -> dict[Fact, Fact]:
    """Tasks that were only updated: maps each earlier fact to the same words with the new status."""
    updates = {fact.key: fact for fact in later if fact.kind in _TASKS and fact.key and not fact.text}
    told = {fact.key: fact for fact in earlier if fact.kind in _TASKS and fact.text and fact.key in updates}
    return {fact: updates[key]._replace(text=fact.text, source=fact.source, at=fact.at) for key, fact in told.items()}


def in_order(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Each fact once, in the order of the messages; of errors, deeds and what runs only the newest. An error counts as
    the same one even if its result was shortened since; what has ended takes no place of what runs."""
    once = {fact._replace(source="", about="") if fact.kind in MOST else fact: fact for fact in facts}
    ordered = sorted(once.values(), key=lambda fact: fact.at)
    old = {
        fact
        for kind, most in MOST.items()
        for fact in [fact for fact in ordered if fact.kind == kind and fact.text][:-most]
    }
    return tuple(fact for fact in ordered if fact not in old)


def _overtaken(fact: Fact, last: int, worked: int) -> Fact:
    if fact.kind == "approval" and fact.at < worked:
        fact = fact._replace(kind="doing", about="")
    return fact._replace(about="") if fact.kind == "doing" and fact.at != last else fact
