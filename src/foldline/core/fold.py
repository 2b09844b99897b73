"""The view of a folded history: what stands in front of the tail, and the promises proved on it.

    messages, start, front ── Base.view ──> messages ── prove ──> or BrokenPromise

What is proved: calls and results pair up, every system message is there, the newest user message is there. Sizes are
checked in limits.py; rules are counted where the notes are written. This module neither summarises nor decides where to
cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from foldline.core.history.cycles import Pairing, pair
from foldline.core.said.usertext import guides, own_words, retells
from foldline.core.words.text import beginning, ending
from foldline.errors import FoldlineError
from foldline.model import Grammar, Media, Message, Text, ToolResult


class BrokenPromise(FoldlineError):
    """A view would break a promise. Never raised to users: the engine takes the next smaller step instead."""


@dataclass(frozen=True, slots=True)
class Base:
    """How a history is shown so far: `front` stands in place of messages[:start], the rest follows.

    Without a checkpoint the front is empty and everything is shown as it came.
    """

    front: tuple[Message, ...] = ()
    start: int = 0

    def view(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        return (*self.front, *messages[self.start :])


class Extent(NamedTuple):
    """How much of a user message is shown behind a checkpoint."""

    length: int = 0
    """Characters of it; 0: all of them."""
    bare: bool = False
    """It has no pictures and files. One of which only so many characters are shown has none anyway."""


ALL = Extent()


def newest_user(messages: Sequence[Message]) -> int | None:
    """The index of the newest message with words of the user's own."""
    return next((index for index in range(len(messages) - 1, -1, -1) if own_words(messages[index])), None)


def standing(messages: Sequence[Message], stop: int) -> tuple[int, ...]:
    """The system messages before `stop`. Of several with the same text only the last: an agent that repeats a
    reminder all day would fill the window with it."""
    last: dict[str, int] = {}
    for index, message in enumerate(messages[:stop]):
        if message.role == "system":
            last[_said(message)] = index
    return tuple(sorted(last.values()))


def as_carried(message: Message, extent: Extent = ALL, name: str = "") -> Message:
    """A user message as it stands behind a checkpoint: without results, since their calls are folded, and without a
    summary that a client joined to it, since the notes quote that. Where not all of it is to be shown, it has no
    pictures, and if it is too long, only its two ends with the name of the whole between them, if that is shorter."""
    if message.results:
        message = message.with_parts(part for part in message.parts if type(part) is not ToolResult)
    if retells(message) and own_words(message):
        words = Text(own_words(message))
        message = message.with_parts((words, *(part for part in message.parts if type(part) is not Text)))
    text, media = message.text, sum(type(part) is Media for part in message.parts)
    length = extent.length or len(text)
    if extent == ALL or (len(text) <= length and not media):
        return message
    pictures = f"{media} pictures or files" if media else ""
    first, last = beginning(text, length * 2 // 3).removesuffix(" …"), ending(text, length // 3)
    characters = f"{len(text) - len(first) - len(last):,} characters"
    ends = _marked(first, (characters, pictures), last, name or message.identity)
    whole = _marked(text, (pictures,), "", name or message.identity) if media else text
    return message.with_parts((Text(min(whole, ends, key=len) if len(text) > length else whole),))


def _marked(before: str, left_out: Iterable[str], after: str, name: str) -> str:
    """Two pieces of a message, and between them what is left out."""
    what = " and ".join(filter(None, left_out))
    return f"{before}\n[… {what} of this message left out here; original {name} …]\n{after}".rstrip("\n")


def guiding(messages: Sequence[Message], but: int | None = None) -> int | None:
    """The index of the newest message that carries the project's instructions, other than `but`, if there is one."""
    backwards = range(len(messages) - 1, -1, -1)
    return next((index for index in backwards if index != but and guides(messages[index])), None)


def with_cycles(indices: Iterable[int], pairing: Pairing) -> set[int]:
    """These messages, and the whole of every cycle that one of them is in."""
    wanted = set(indices)
    if not wanted:
        return wanted
    for cycle in pairing.cycles:
        span = range(cycle.start, cycle.stop)
        if any(index in wanted for index in span):
            wanted.update(span)
    return wanted


def prove(
    view: Sequence[Message],
    history: Sequence[Message],
    grammar: Grammar,
    pairing: Pairing | None = None,
    *,
    clamped: bool = False,
) -> None:
    """Raises BrokenPromise where the view is not what was promised. Pass its pairing if you have it; pass `clamped`
    where the newest user message is shown in part and the receipt says so."""
    pairing = pairing or pair(view, grammar)
    if pairing.orphans or pairing.duplicates:
        raise BrokenPromise("a result stands in the view without its call")
    if any(None in cycle.answers for cycle in pairing.cycles):
        raise BrokenPromise("a call stands in the view without its result")
    shown = set(map(id, view))
    systems = (message for message in history if message.role == "system")
    missing = [message for message in systems if id(message) not in shown]
    if not _are_said(missing, view):
        raise BrokenPromise("a system message is not in the view")
    newest = None if clamped else newest_user(history)
    if (
        newest is not None
        and id(history[newest]) not in shown
        and own_words(history[newest]) not in map(own_words, view)
    ):
        raise BrokenPromise("the newest user message is not in the view")


def _are_said(missing: Sequence[Message], view: Sequence[Message]) -> bool:
    """Other messages in the view say the very same."""
    return not missing or set(map(_said, missing)) <= set(map(_said, view))


def _said(message: Message) -> str:
    """The message's text; if it has none, its identity."""
    return message.text or message.identity
