"""Facts: what must survive a fold, lifted out of the messages word for word.

    messages, deeds ── facts_of ──> Facts ── then ──> the facts of everything so far

Each fact names the message it stands in. What the user said, ruled, decided or consented to comes from the user's own
words alone: never from a tool, a reminder or a model. Nothing here is generated, ranked by a model, or shown. How many
facts a checkpoint has room for is decided in notes.py.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

from foldline.core.said.offers import names_several, put, taken
from foldline.core.said.rule_lists import announced, announces
from foldline.core.said.sentences import Sentence, asks, bears_rule, consents, sentences, turns
from foldline.core.said.usertext import own_words, retelling, retells
from foldline.core.words.masks import masked
from foldline.core.work.deeds import ANSWERS, Deed
from foldline.core.work.errors_seen import FORGOTTEN, REFUSED, is_open, since, troubles
from foldline.core.work.plans import LISTED, latest_tasks, listed
from foldline.core.work.reaching import reached
from foldline.core.work.running import ended_by, running
from foldline.model import Media, Message, Origin

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
ENDED = "ended"
"""The value of `about` for an assistant's last words where `is_ended` holds."""
SHORT_ANSWER = 400
"""An answer to a question is a decision as a whole if it has no more characters than this."""
OFFERED = 8
"""How many of the assistant's texts before an answer are searched for the options that the answer names."""
LOOK = 100_000
"""Characters at either end of a user message in which rules and decisions are sought. What lies between is pasted:
people say what they want before or after it."""
_RUNS = re.compile(r"(?:```|~~~|</[\w-]{1,40}>)\s*\Z")
"""How a text ends that gives a command to be run: with a code fence or an element."""
ENDING = 1_000
"""Characters at the end of a text in which that ending is sought."""
_RAN = "<bash-input>"
"""How the message begins that Claude Code sends when the user runs a command beside the agent: it answers no
question."""
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
        return Facts(_in_order((*kept, *new)))

    def without(self, summaries: Set[str]) -> Facts:
        """The facts without these earlier summaries."""
        return Facts(tuple(fact for fact in self.facts if fact.kind != "earlier" or fact.text not in summaries))

    def ending(self, last: int, worked: int) -> Facts:
        """The facts as they are if message `last` ends the conversation and `worked` is the agent's last work. Words
        that something came after are not what the assistant ended with, and an assistant that worked on is not
        waiting."""
        return Facts(tuple(_overtaken(fact, last, worked) for fact in self.facts))

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


def _in_order(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Each fact once, in the order of the messages; of errors and deeds only the newest. An error counts as the same
    one even if its result was shortened since."""
    once = {fact._replace(source="", about="") if fact.kind in MOST else fact: fact for fact in facts}
    ordered = sorted(once.values(), key=lambda fact: fact.at)
    old = {fact for kind, most in MOST.items() for fact in [fact for fact in ordered if fact.kind == kind][:-most]}
    return tuple(fact for fact in ordered if fact not in old)


def facts_of(messages: Sequence[Message], done: Sequence[Deed], *, first: int = 0, start: int = 0) -> Facts:
    """The facts of a span whose first message is number `first` of the history; the deeds' places count from
    `start`."""
    said = _said(messages, first)
    found = (
        *_words(said),
        *_tasks(messages, done, first, start),
        *_troubles(messages, done, first, start),
        *_reached(messages, done, first, start),
        *_running(said, messages, done, first, start),
        *_now(said, messages),
        *_earlier(said),
    )
    return Facts(_in_order(found))


_Said: TypeAlias = list[tuple[int, Message]]
"""The messages with words, each with its number in the history: there are few among thousands that only call and
answer."""


def _said(messages: Sequence[Message], first: int) -> _Said:
    found = enumerate(messages, first)
    spoken = ((at, message) for at, message in found if message.origin is not Origin.TOOL)
    return [(at, message) for at, message in spoken if message.origin is not Origin.ASSISTANT or message.text]


def _words(said: _Said) -> Iterator[Fact]:
    """Every user message, and the rules and decisions in it."""
    asked, offered = "", deque[str](maxlen=OFFERED)
    for number, message in said:
        if message.role == "assistant":
            asked = asks(message.text) if message.text else asked
            offered.append(message.text)
            continue
        words, at = own_words(message), partial(Fact, source=message.identity, at=number)
        attached = attached_to(message)
        if words:
            yield at("user", words, about=attached)
            options = "\n".join(offered) if asked or names_several(words) else put("".join([*offered][-1:]), words)
            about = taken(words, options) or asked
            yield from (at("decision", answer, about=masked(about)) for answer in _answer(words, about))
            yield from (at(kind, text) for kind, text in _telling(words))
            asked = ""
            offered.clear()
        elif attached:
            yield at("media", attached)


def attached_to(message: Message) -> str:
    """How many pictures or files came with the user's words."""
    media = sum(type(part) is Media for part in message.parts) if message.origin is Origin.USER else 0
    return f"{media} attached" if media else ""


def _answer(words: str, asked: str) -> Iterator[str]:
    """The user's answer to a question, if one was asked."""
    if not asked or words.endswith("?") or words.startswith(_RAN):
        return
    if len(words) <= SHORT_ANSWER:
        yield words
    elif consents(words):
        yield next(sentences(words)).text


def _telling(words: str) -> Iterator[tuple[Kind, str]]:
    lists = tuple(announced(words)) if len(words) <= 2 * LOOK else ()
    listed = {sentence.text for found in lists for sentence in sentences(found.text)}
    yield from (("rule", part) for found in lists for part in found.parts)
    for sentence in _spoken(words):
        if announces(sentence.text) or sentence.text in listed:
            continue
        if not sentence.pasted and bears_rule(sentence.text):
            yield "rule", sentence.text
        elif not sentence.pasted and turns(sentence.text):
            yield "decision", sentence.text


def _spoken(words: str) -> Iterable[Sentence]:
    """The sentences of a message; if most of it is pasted, the whole sentences at its two ends."""
    if len(words) <= 2 * LOOK:
        return sentences(words)
    first, last = tuple(sentences(words[:LOOK])), tuple(sentences(words[-LOOK:]))
    return (*first[:-1], *last[1:])


def _tasks(messages: Sequence[Message], done: Sequence[Deed], first: int, start: int) -> Iterator[Fact]:
    whole = listed(done)
    if whole is not None:
        yield Fact("listed", "a whole list of tasks", messages[whole - start].identity, first + whole - start)
    for task in latest_tasks(done):
        kind: Kind = "done" if task.status in ("completed", "cancelled") else "open"
        about = "" if task.status in ("pending", "completed") else task.status
        at = task.message - start
        yield Fact(kind, masked(task.text), messages[at].identity, first + at, about, task.key)


def _troubles(messages: Sequence[Message], done: Sequence[Deed], first: int, start: int) -> Iterator[Fact]:
    for trouble in troubles(done):
        at = trouble.message - start
        yield Fact("error", trouble.text, messages[at].identity, first + at, trouble.cure, trouble.tried)


def _reached(messages: Sequence[Message], done: Sequence[Deed], first: int, start: int) -> Iterator[Fact]:
    for deed in reached(done):
        at = deed.message - start
        yield Fact("reached", deed.text, messages[at].identity, first + at, deed.kind, deed.by)


def _running(said: _Said, messages: Sequence[Message], done: Sequence[Deed], first: int, start: int) -> Iterator[Fact]:
    """What runs in the background, and, without a text, what has ended: it may have begun in an earlier span."""
    seen = ((first + one.message - start, one.name, one.what) for one in running(done))
    told = ((at, name, "") for at, message in said if message.role == "user" for name in ended_by(message.text))
    last = {name: (at, what) for at, name, what in sorted((*seen, *told))}
    yield from (Fact("running", what, messages[at - first].identity, at, "", name) for name, (at, what) in last.items())


def _now(said: _Said, messages: Sequence[Message]) -> Iterator[Fact]:
    """What the user asked last, what the assistant did since or ended with, and what it waits for."""
    newest = next((index for index in range(len(said) - 1, -1, -1) if own_words(said[index][1])), -1)
    if newest >= 0:
        at, message = said[newest]
        yield Fact("immediate", own_words(message), message.identity, at)
    spoken = next((pair for pair in reversed(said[newest + 1 :]) if _speaks(pair[1])), None)
    if spoken is not None:
        at, message = spoken
        text = message.text.strip()
        question = "" if _goes_on(message, messages) else asks(text)
        ended = ENDED if not question and message is messages[-1] and not message.calls else ""
        yield Fact("approval" if question else "doing", masked(question or text), message.identity, at, ended)


def _goes_on(message: Message, messages: Sequence[Message]) -> bool:
    """Work was done after these words, so they wait for nothing: an assistant that asks and waits does nothing
    meanwhile."""
    return messages[last_work(messages)] is not message


def last_work(messages: Sequence[Message]) -> int:
    """The last message in which the agent said or did something or got a result; -1 if there is none."""
    return next((at for at in range(len(messages) - 1, -1, -1) if _is_work(messages, at)), -1)


def _is_work(messages: Sequence[Message], at: int) -> bool:
    """The message is work: words, calls or results. Other messages under the tool's name count only as the answer to
    a command in a text."""
    message = messages[at]
    if message.calls or message.results:
        return True
    if message.origin is Origin.TOOL:
        step = messages[at - 1] if at else None
        if step is None or not _speaks(step):
            return False
        return message.text.startswith(ANSWERS) or _RUNS.search(step.text[-ENDING:]) is not None
    return _speaks(message)


def _overtaken(fact: Fact, last: int, worked: int) -> Fact:
    if fact.kind == "approval" and fact.at < worked:
        fact = fact._replace(kind="doing", about="")
    return fact._replace(about="") if fact.kind == "doing" and fact.at != last else fact


def _earlier(said: _Said) -> Iterator[Fact]:
    """The newest summary that somebody else wrote into the conversation: nothing else is left of what it stands for."""
    found = next((pair for pair in reversed(said) if retells(pair[1])), None)
    if found is not None:
        at, message = found
        yield Fact("earlier", retelling(message), message.identity, at)


def now_of(messages: Sequence[Message], done: Sequence[Deed], *, first: int = 0, start: int = 0) -> Facts:
    """The facts of a span that say how things stand: tasks, errors, deeds, what is asked and awaited."""
    said = _said(messages, first)
    states = (
        *_tasks(messages, done, first, start),
        *_troubles(messages, done, first, start),
        *_reached(messages, done, first, start),
        *_running(said, messages, done, first, start),
        *_now(said, messages),
    )
    return Facts(tuple(fact for fact in _in_order(states) if fact.text or fact.kind == "running"))


def _speaks(message: Message) -> bool:
    return message.origin is Origin.ASSISTANT and message.role == "assistant" and bool(message.text.strip())
