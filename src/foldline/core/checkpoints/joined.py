"""Checkpoints that come back in one message with what stood beside them, as some clients join the user's words.

    message ── notes_in ──> texts in it that may be checkpoints        message, known ── parted ──> the messages it was
    conversation, options ── divided ──> the same with those messages, and with their places

Which of these texts are checkpoints, the archive knows by their hash. A message that is nothing but a checkpoint is not
divided.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain

from foldline.core.options import Options
from foldline.core.said.usertext import BEGINS, ENDS, strip
from foldline.model import EMPTY, Conversation, Message, Origin, Part, Text

_MARK = "\x00"
"""Stands in for a text whose place alone matters."""


def notes_in(message: Message) -> tuple[str, ...]:
    """Texts in a message that may be checkpoints; none if the message is nothing but one. A checkpoint that a client
    quotes inside an element of its own does not count."""
    if message.role != "user" or message.origin is not Origin.USER or BEGINS not in message.text:
        return ()
    texts = (part.text for part in message.parts if type(part) is Text)
    spans = ((text, start, stop) for text in texts for start, stop in _spans(text))
    found = tuple(text[start:stop] for text, start, stop in spans if _is_said(text, start, stop))
    return () if len(message.parts) == 1 and found == (message.text,) else found


def _is_said(text: str, start: int, stop: int) -> bool:
    """The text does not stand inside an element that a client put there."""
    return _MARK in strip(f"{text[:start]}{_MARK}{text[stop:]}")


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where such texts begin and end. Each begins a line; of several beginnings before an end the last one counts,
    since no checkpoint has such a line inside."""
    at = 0
    while (end := text.find(ENDS, at)) >= 0:
        start = end
        while (start := text.rfind(BEGINS, at, start)) >= 0:
            if text[start - 1 : start] in ("", "\n"):
                yield start, end + len(ENDS)
                break
        at = end + len(ENDS)


def parted(message: Message, known: Container[str]) -> tuple[Message, ...]:
    """The messages that this one was joined from: each checkpoint by itself, and what stood between them."""
    groups: list[list[Part]] = [[]]
    for part in chain.from_iterable(_pieces(part, known) for part in message.parts):
        if type(part) is Text and part.text in known:
            groups += [[part], []]
        else:
            groups[-1].append(part)
    return tuple(replace(message, parts=tuple(group), raw=None, rows=()) for group in groups if group)


def _pieces(part: Part, known: Container[str]) -> Iterator[Part]:
    """A part, or the checkpoints in it and what stands before, between and behind them. The part's other fields go
    with the last piece."""
    if type(part) is not Text:
        yield part
        return
    found, at = list[str](), 0
    for start, stop in _spans(part.text):
        if part.text[start:stop] in known:
            found += [part.text[at:start].strip("\n"), part.text[start:stop]]
            at = stop
    if not found:
        yield part
        return
    *first, last = [words for words in (*found, part.text[at:].strip("\n")) if words.strip()]
    yield from (replace(part, text=words, extra=EMPTY) for words in first)
    yield replace(part, text=last)


def divided(
    conversation: Conversation, options: Options, apart: Sequence[Sequence[Message]], known: Container[str]
) -> tuple[Conversation, Options]:
    """The conversation with these messages in place of each joined one, and the options with the new positions."""
    messages = tuple(chain.from_iterable(apart))
    starts = tuple(accumulate(map(len, apart), initial=0))
    places = (at for pin in options.pins for at in range(starts[pin], starts[pin + 1]))
    pins = tuple(at for at in places if messages[at].text not in known)
    pivot = None if options.pivot is None else starts[options.pivot]
    return conversation.with_messages(messages), replace(options, pins=pins, pivot=pivot)
