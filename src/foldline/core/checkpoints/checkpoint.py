"""Checkpoints: "the history up to here may be represented by this", and the message that says so.

    Summary, Facts, Ledger ── compose ──> text ── Checkpoint ──> one row in the archive

A checkpoint is found again by the skeleton of the history it covers, and recognised when it comes back as input by the
hash of its text, never by a marker. It is never changed: a better one is another row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from foldline.core.checkpoints.notes import SNAPSHOT_LENGTH, WHOLE, Composed, notes
from foldline.core.checkpoints.pieces import LATEST
from foldline.core.facts import Facts
from foldline.core.log.extract import VERSION as EXTRACT
from foldline.core.log.loglines import LogLine
from foldline.core.log.logtext import in_ticks
from foldline.core.resume import naming
from foldline.core.said.usertext import idles, own_words
from foldline.core.summaries.prompts import fill, prompt
from foldline.core.summaries.summary import Summary, render
from foldline.core.words.masks import begun
from foldline.core.words.text import head, sendable
from foldline.core.work.deeds import FRAME
from foldline.core.work.ledger import Ledger
from foldline.model import REF_LENGTH, Message, Origin, Text, ToolResult, digest

_SPEAKERS = {Origin.USER: "user", Origin.ASSISTANT: "assistant", Origin.TOOL: "tool output", Origin.SUMMARY: "summary"}
LOOK = 10 * SNAPSHOT_LENGTH
"""Characters of a message that are read for the snapshot: many of them may be blanks, which it does not show."""
SNAPSHOT = 6
"""Messages that the snapshot shows: the last ones that were folded."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a checkpoint was made: enough to tell whether another would be the same."""

    style: str = "checkpoint"
    focus: str = ""
    model: str = ""
    version: str = ""
    direction: str = "up-to"
    kind: str = "regular"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One row. It stands for messages `start` to `stop` of the history whose skeleton after `stop` is `skeleton`."""

    text: str
    skeleton: str
    start: int
    stop: int
    recipe: Recipe
    summary: Summary
    facts: Facts
    ledger: Ledger
    generation: int = 1
    parent: str = ""
    scope: str = ""
    log: tuple[LogLine, ...] = ()
    """Where there was no model: the lines that the next log is chosen from, more of them than this one shows."""

    @property
    def ref(self) -> str:
        """Its name: the hash of what it says and covers."""
        return digest(f"{self.skeleton}\0{self.parent}\0{self.text}".encode("utf-8", "surrogatepass"))[:REF_LENGTH]

    @property
    def message(self) -> Message:
        """What the model is shown: a user message by its role, a summary by its origin."""
        return Message("user", Origin.SUMMARY, (Text(self.text),))

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "skeleton": self.skeleton,
            "start": self.start,
            "stop": self.stop,
            "recipe": asdict(self.recipe),
            "summary": self.summary.to_dict(),
            "facts": self.facts.to_dict(),
            "ledger": self.ledger.to_dict(),
            "generation": self.generation,
            "parent": self.parent,
            "scope": self.scope,
            "log": [list(line) for line in self.log],
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Checkpoint:
        return cls(
            **{
                **saved,
                "recipe": Recipe(**saved["recipe"]),
                "summary": Summary.from_dict(saved["summary"]),
                "facts": Facts.from_dict(saved["facts"]),
                "ledger": Ledger.from_dict(saved["ledger"]),
                "log": tuple(LogLine(*line) for line in saved.get("log", ())),
            }
        )


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around a summary: how much it covers, who wrote it, how to go on, where the transcript is."""

    covered: int
    author: str
    resume: str
    kept_tail: bool = True
    transcript: str = ""
    plan: str = ""
    user_carried: bool = False
    """The newest user message was answered in part, and stands behind the checkpoint all the same."""
    terse: bool = False
    """It is written in as few words as will do: there is hardly room for more than the rules."""


def compose(
    summary: Summary,
    facts: Facts,
    ledger: Ledger,
    snapshot: str,
    frame: Frame,
    room: int,
    size: Callable[[str], int],
) -> Composed:
    """Opening, summary, notes, snapshot, continuation. The notes take what room the rest leaves.

    An extracted summary has the commands in its work log.
    """
    quotes = summary.version == EXTRACT
    has_log = quotes and bool(summary.get("context"))
    going_on = naming(frame.resume, task=bool(summary.immediate_task), latest=bool(snapshot) or has_log)
    frame = replace(frame, resume=going_on)
    ledger = replace(ledger, commands=()) if quotes else ledger
    before = [_opening(frame, quotes=quotes), render(summary)]
    latest = f"## {LATEST}\n{snapshot}" if snapshot else ""
    after = [latest, *_closing(frame, quotes=quotes)]
    used = sum(size(piece) + 2 for piece in (*before, *after) if piece)
    noted = notes(facts, ledger, max(room - used, 0), size, before[1], whole=room * WHOLE)
    text = sendable("\n\n".join(piece for piece in (*before, noted.text, *after) if piece))
    return replace(noted, text=text, tokens=size(text))


def framed(frame: Frame) -> str:
    """A checkpoint without content: only what stands around a summary."""
    return "\n\n".join((_opening(frame, quotes=True), *_closing(frame, quotes=True)))


def _opening(frame: Frame, *, quotes: bool) -> str:
    covered = f"{frame.covered:,}"
    if frame.terse:
        return fill("resume-opening-terse", covered=covered)
    if quotes:
        return fill("resume-opening-quoted", covered=covered)
    return fill("resume-opening", covered=covered, author=frame.author)


def _closing(frame: Frame, *, quotes: bool) -> list[str]:
    """How to go on. The messages that follow are announced only behind a model's summary: a log leads straight up to
    them."""
    if frame.terse:
        return [frame.resume, prompt("resume-end").text]
    found = [fill("resume-plan-kept", plan=frame.plan)] if frame.plan else []
    found += [prompt("resume-carried").text] if frame.user_carried else []
    found += [prompt("resume-kept").text] if frame.kept_tail and not quotes else []
    if frame.transcript:
        found.append(fill("resume-transcript", path=frame.transcript))
    return [*found, f"## How to go on\n{frame.resume}", prompt("resume-end").text]


def snapshot_of(messages: Sequence[Message], first: int, room: int, size: Callable[[str], int]) -> str:
    """The last folded messages with something in them for the agent, each by its beginning, as many as fit."""
    lines: list[str] = []
    told = (index for index in range(len(messages) - 1, -1, -1) if not idles(messages[index]))
    for index in islice(told, SNAPSHOT):
        more = [line, *lines] if (line := _glance(messages[index], first + index + 1)) else lines
        if size("\n".join(more)) > room:  # measured together: sizes do not add up
            break
        lines = more
    return "\n".join(lines)


def _glance(message: Message, number: int) -> str:
    """A message with each part on one line, so that nothing in it can pass for somebody else's line."""
    text = own_words(message) if message.origin is Origin.USER else message.text
    text = begun(text, LOOK) if message.origin in (Origin.ASSISTANT, Origin.TOOL) else text
    calls = [f"called {call.name}({begun(call.arguments, 120)})" for call in message.calls]
    said = " ".join(" ".join((text, *calls)).split(None, SNAPSHOT_LENGTH)[:SNAPSHOT_LENGTH])  # more is never shown
    lines = [f"[{number} {_SPEAKERS.get(message.origin, 'program')}] {head(said, SNAPSHOT_LENGTH)}"] if said else []
    lines += [f"[{number} tool output] {in_ticks(line)}" for result in message.results if (line := _first_line(result))]
    return "\n".join(lines)


def _first_line(result: ToolResult) -> str:
    """The first line that says something: clients put a head of their own before what a command printed."""
    said = (line for line in result.text.splitlines() if line.strip() and not FRAME.match(line))
    return begun(next(said, ""), SNAPSHOT_LENGTH // 2)
