"""The summary that needs no model: goal, work log and the immediate task, all in words that were really said.

    messages, facts, room ── extract ──> Summary

The log holds what the agent itself wrote (what it said, ran, and put into files) and what it had just read, for it
copies from that. An agent mostly goes on with more of the same, and says in a few words what tools said in many. Which
lines find room is decided in choosing.py. Extraction always succeeds. The user's words, tasks, errors and files are not
here: the notes carry them in any case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

from foldline.core.facts import Fact, Facts
from foldline.core.log.choosing import Stock
from foldline.core.log.loglines import FAILED, REFUSED, LogLine
from foldline.core.log.logtext import below, quoted, reread, shown
from foldline.core.log.readings import seen
from foldline.core.log.shelf import SizeOf
from foldline.core.log.worklog import answers, entries, outcomes, subject
from foldline.core.summaries.shorten import shorten
from foldline.core.summaries.styles import CHECKPOINT
from foldline.core.summaries.summary import Section, Summary
from foldline.core.words.masks import masked
from foldline.core.words.text import beginning, ends, head
from foldline.core.work.deeds import Deed
from foldline.core.work.errors_seen import is_refused
from foldline.core.work.tools import command_of
from foldline.model import Message, Origin

VERSION = "extract/14"
EXTRACTED = "extraction, without a model"
"""Who wrote a summary that was extracted, as its checkpoint and its receipt name it."""
LOG = "Work Log"
TASK_PART, GOAL_PART = 16, 20
"""The task and the goal may each take one part in so many of the room: both stand elsewhere in full."""
EARLIER_PART = 2
"""What a model wrote before may take one part in so many of the room."""
PASSING = frozenset({"immediate", "next", "active", "context"})
"""Sections of an earlier summary that are out of date, or are carried line by line."""
LITTLE, MUCH = 40, 5
"""A log is made again with the room that it left or lacked. Not where it left less than one part in forty of the
room, which is not worth it, nor where it left more than one part in five, for then all lines are in."""
HEADING_TOKENS = 8
"""About what a section's heading and the empty line before it cost."""
LENGTHS = (600, 300, 120, 40)
"""Characters of a quotation in the goal and the task: the longest of these that there is room for."""
BEGINNING = 120
"""Characters of a first request that is too long for the goal."""
REQUEST = 120
"""Characters of the latest request in the task: the view shows it in full."""
FEWEST_WORDS, FIRST_FEW = 3, 5
"""Words that a first request has at least, and the number of messages in which it is sought: a greeting is no goal,
nor is a bare address."""
LAST_STEP = 2
"""The assistant's last words count as what it is doing if they stand in so many messages at the end: otherwise it
has gone on since."""
STANDING = {
    "open": ("CONTINUE", "CONTINUE with what the user asked."),
    "ended": ("LAST ASKED, perhaps done", "What the user asked is perhaps done."),
    "stopped": ("STOPPED by the user", "The user stopped the work on what was asked."),
}
"""How the latest request stands, before its quotation, and where it is also the first, which is quoted elsewhere."""
_URL = re.compile(r"\S+://\S+")
_WORD = re.compile(r"[A-Za-z0-9_'’-]+|[^\W\x00-\x7f]")
"""A word; in scripts without blanks between words each character counts as one."""


class Extractor:
    """Extracts from some messages, `first` being the number of the first of them. `done` is what was done in them,
    and `start` the message from which the deeds' places count; `previous` is the summary of what came before, and
    `log` the lines kept with it. The lines are read once, however often a summary is wanted."""

    def __init__(
        self,
        messages: Sequence[Message],
        *,
        first: int = 0,
        previous: Summary | None = None,
        log: Sequence[LogLine] = (),
        done: Sequence[Deed] = (),
        start: int = 0,
    ) -> None:
        self.messages, self.first, self.previous, self.log = messages, first, previous, log
        self.done, self.start = done, start
        self._sizes: dict[SizeOf, SizeOf] = {}

    @cached_property
    def _stock(self) -> Stock:
        undone = {
            (deed.at - self.start, deed.call.id, deed.call.arguments): REFUSED if is_refused(deed) else FAILED
            for deed in self.done
            if deed.failed
        }
        ran = {deed.at - self.start: deed.call for deed in self.done if deed.at - self.start >= 0 and not deed.call.id}
        found = (
            *entries(self.messages, undone, ran),
            *outcomes(self.done, self.start),
            *seen(self.done, self.start),
        )
        before = self.log or (reread(self.previous.get("context")) if self.previous else ())
        lines = [*before, *sorted(found, key=lambda line: line.message)]
        return Stock(lines, partial(answers, self.messages), self.first, len(self.messages))

    @property
    def lines(self) -> Sequence[LogLine]:
        """All lines the log is chosen from, except what tools said other than files."""
        return self._stock.lines

    @cached_property
    def _asked(self) -> list[int]:
        return [index for index, message in enumerate(self.messages) if message.origin is Origin.USER]

    def summary(self, facts: Facts, room: int, size: SizeOf) -> Summary:
        """The best summary in `room` tokens."""
        share = room // TASK_PART
        asked = [*(fact.at - self.first for fact in facts.of("user") if fact.at < self.first), *self._asked]
        task = _longest(lambda length: _task(facts, length), share, size)
        goal = _longest(lambda length: _goal(facts, length), room // GOAL_PART, size, LENGTHS[:-1])
        room -= _cost(task, size) + _cost(goal, size) + HEADING_TOKENS
        earlier = _earlier(self.previous, room // EARLIER_PART, size)
        room -= sum(_cost(section.text, size) for section in earlier)
        log = self._log(room, size, asked)
        doing = _longest(lambda length: self._doing(facts, length, log), share - size(task), size)
        if doing:
            task = f"{task}\n{doing}".lstrip()
            log = self._log(room - _cost(doing, size), size, asked)
        written = {section.key: section for section in earlier}
        titles = {heading.key: heading.title for heading in CHECKPOINT.headings} | {"context": LOG}
        made = {"goal": goal, "context": log, "immediate": task}
        written |= {key: Section(key, titles[key], text) for key, text in made.items() if text}
        return Summary("checkpoint", tuple(written[key] for key in titles if key in written), VERSION)

    def kept(self, log: str, size: SizeOf) -> tuple[LogLine, ...]:
        """The lines that the next extraction chooses from, if this log is shown."""
        return tuple(self._stock.kept(size(log), self._sizes.setdefault(size, lru_cache(maxsize=None)(size))))

    def _log(self, room: int, size: SizeOf, asked: Sequence[int]) -> str:
        """The log in so much room. Lines have fewer tokens together than one by one, so it is made a second time
        where the first left room for more."""
        sized = self._sizes.setdefault(size, lru_cache(maxsize=None)(size))

        def made(wanted: int) -> str:
            return shown(self._stock.within(wanted, sized), self.first, asked)

        text = made(room)
        spare = room - size(text)
        if room // LITTLE > spare >= 0 or spare > room // MUCH:
            return text
        again = made(room + spare)
        fitting = (found for found in (text, again) if size(found) <= room)
        return max(fitting, key=len, default=min(text, again, key=len))

    def _doing(self, facts: Facts, length: int, log: str) -> str:
        """What was said last about the task, and the last thing tried, where the log had no room for it. Not what
        comes after these messages: the view shows that."""
        stop = self.first + len(self.messages)
        said, waiting = facts.first("doing"), facts.first("approval")
        spoken, lines = waiting or said, []
        if said and not waiting and stop - LAST_STEP <= said.at < stop and not _is_told(said.text, log):
            lines.append(f"The assistant last said: {quoted(beginning(said.text, length))}")
        last = next((message for message in reversed(self.messages[-6:]) if message.calls), None)
        if last and not (spoken and spoken.at >= stop) and not any(line.text in log for line in entries([last])):
            command = masked(command_of(last.calls[-1]).strip())
            tried = f": {quoted(beginning(command, min(length, 120)))}" if command else ""
            lines.append(f"The last call that these notes stand for was {subject(last.calls[-1])}{tried}")
        return "\n".join(lines)


def extract(messages: Sequence[Message], facts: Facts, room: int, size: SizeOf, **more: Any) -> Summary:
    """The best summary of these messages in `room` tokens, made once."""
    return Extractor(messages, **more).summary(facts, room, size)


def _earlier(previous: Summary | None, room: int, size: SizeOf) -> tuple[Section, ...]:
    """What a model wrote before, unchanged, as far as there is room."""
    if previous is None or previous.style != CHECKPOINT.name:
        return ()
    lasting = tuple(section for section in previous.sections if section.key not in PASSING)
    return shorten(Summary(previous.style, lasting, previous.version), room, size).summary.sections


def _cost(text: str, size: SizeOf) -> int:
    return size(text) + HEADING_TOKENS if text else 0


def _longest(write: Callable[[int], str], room: int, size: SizeOf, lengths: Sequence[int] = LENGTHS) -> str:
    """The text with the longest quotations that fit; "" where none do."""
    return next((text for text in map(write, lengths) if _cost(text, size) <= room), "")


def _quote(text: str, length: int) -> str:
    """The user's own words, in quotation marks."""
    return f"“{below(beginning(text, length))}”"


def _goal(facts: Facts, length: int) -> str:
    """What the user asked first; only its beginning if it is long, or is a rule that stands below in full. Nothing
    where a summary stands for what came before: that has the goal, and what was asked next may be about something
    else."""
    said = _first_request(facts)
    if said is None or facts.first("earlier"):
        return ""
    most = BEGINNING if any(fact.at == said.at for fact in facts.of("rule")) else length  # the notes show rules in full
    return f"First asked: {_quote(said.text, length if len(said.text) <= most else BEGINNING)}"


def _first_request(facts: Facts) -> Fact | None:
    said = facts.of("user")[:FIRST_FEW]
    return next((fact for fact in said if _words(fact.text) >= FEWEST_WORDS), facts.first("user"))


def _words(text: str) -> int:
    """How many words a text has; an address counts as one."""
    return len(_WORD.findall(_URL.sub(" url ", head(text, LENGTHS[0]))))


def _task(facts: Facts, length: int) -> str:
    """What to go on with: the latest request, which the view itself shows, or the question that waits for the user."""
    asked, waiting, first = facts.first("immediate"), facts.first("approval"), _first_request(facts)
    if waiting:
        asking = quoted(beginning(waiting.text, length))
        return f"CONTINUE once the user has answered what the assistant asked: {asking}"
    if asked is None:
        return ""
    doing = facts.first("doing")
    ended = doing is not None and doing.is_ended
    lead, alone = STANDING["stopped" if asked.is_stopped else "ended" if ended else "open"]
    if first and first.at == asked.at:
        return alone
    question = next((fact.question for fact in facts.of("decision") if fact.at == asked.at and fact.question), "")
    answering = f" (in answer to {quoted(ends(question, length))})" if question else ""
    return f"{lead}: {_quote(asked.text, min(length, REQUEST))}{answering}"


def _is_told(words: str, log: str) -> bool:
    """The log has the last line of these words."""
    return words.strip().rsplit("\n", 1)[-1].strip() in log
