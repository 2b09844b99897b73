"""The lifting of facts: out of the messages of a span, word for word.

    messages, deeds ── facts_of ──> Facts

Each fact names the message it stands in. What the user said, ruled, decided or consented to comes from the user's own
words alone: never from a tool, a reminder or a model. What becomes of facts when more are found is said in facts.py.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from foldline.core.facts import ENDED, Fact, Facts, Kind, in_order
from foldline.core.said.offers import names_several, put, taken
from foldline.core.said.rule_lists import announced, announces
from foldline.core.said.sentences import Sentence, asks, bears_rule, consents, sentences, turns
from foldline.core.said.usertext import idles, own_words, retelling, retells, stops
from foldline.core.words.masks import masked
from foldline.core.work.deeds import ANSWERS, Deed
from foldline.core.work.errors_seen import troubles
from foldline.core.work.plans import latest_tasks, listed
from foldline.core.work.reaching import reached
from foldline.core.work.running import NOTICE, ended_by, running
from foldline.model import Media, Message, Origin

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


def facts_of(messages: Sequence[Message], done: Sequence[Deed], *, first: int = 0, start: int = 0) -> Facts:
    """The facts of a span whose first message is number `first` of the history; the deeds' places count from
    `start`."""
    said = _said(messages, first)
    found = (
        *_words(said),
        *_tasks(messages, done, first, start),
        *_troubles(messages, done, first, start),
        *_reached(messages, done, first, start),
        *_running(messages, done, first, start),
        *_now(said, messages),
        *_earlier(said),
    )
    return Facts(in_order(found))


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


def _running(messages: Sequence[Message], done: Sequence[Deed], first: int, start: int) -> Iterator[Fact]:
    """What runs in the background, and, without a text, what has ended: it may have begun in an earlier span."""
    seen = ((first + one.message - start, one.name, one.what) for one in running(done))
    notices = ((at, message) for at, message in enumerate(messages, first) if _notifies(message))
    told = ((at, name, "") for at, message in notices for name in ended_by(message.text))
    last = {name: (at, what) for at, name, what in sorted((*seen, *told))}
    yield from (Fact("running", what, messages[at - first].identity, at, "", name) for name, (at, what) in last.items())


def _notifies(message: Message) -> bool:
    """A client may tell in it what ended. Claude Code's notices quote what an agent reported, and so count as a
    tool's: these are known by how they begin."""
    return message.role == "user" and (message.origin is not Origin.TOOL or message.text.lstrip().startswith(NOTICE))


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
        ended = ENDED if not question and message is messages[last_heard(messages)] and not message.calls else ""
        yield Fact("approval" if question else "doing", masked(question or text), message.identity, at, ended)


def _goes_on(message: Message, messages: Sequence[Message]) -> bool:
    """Work was done after these words, so they wait for nothing: an assistant that asks and waits does nothing
    meanwhile."""
    return messages[last_work(messages)] is not message


def last_heard(messages: Sequence[Message]) -> int:
    """The last message with something in it for the agent; -1 if there is none."""
    return next((at for at in range(len(messages) - 1, -1, -1) if not idles(messages[at])), -1)


def is_stopped(messages: Sequence[Message]) -> bool:
    """The user stopped the agent, and has said nothing since."""
    at = last_heard(messages)
    return at >= 0 and stops(messages[at])


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
        *_running(messages, done, first, start),
        *_now(said, messages),
    )
    return Facts(tuple(fact for fact in in_order(states) if fact.text or fact.kind == "running"))


def _speaks(message: Message) -> bool:
    return message.origin is Origin.ASSISTANT and message.role == "assistant" and bool(message.text.strip())
