"""Pruning: old bulky tool results become stubs that say how to get the original back.

    messages, plan ── prune ──> Pruned (messages, plan, stubs, freed)

A stub depends only on its original and the settings, and what is in the plan stays a stub while the history grows. So
the same log gives the same bytes on every turn, and a provider's prompt cache holds. New stubs come in batches, and
only when a batch frees enough to be worth the lost cache. The newest messages are never touched, whatever the plan
says. Whether to prune at all is the policy's decision.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from foldline.core.words.text import head, tail
from foldline.model import Media, Message, Opaque, Part, Text, ToolResult

_ERROR_LINE = re.compile(
    "error|exception|fail|traceback|fatal|panic|denied|refused|cannot|undefined|not found", re.IGNORECASE
)
_FAILED = re.compile(
    r"^(?:FAIL|FAILED|ERROR|--- FAIL|npm ERR!)\b|\b[1-9]\d{0,4} (?:failed|failures?|errors?)\b", re.MULTILINE
)
"""How a check says at its end that it failed; behind a pipe nothing else says so."""
ENDS = 600
"""Characters at the end of a result in which such words are sought."""
LONGEST_WORD = 60
"""Characters by which a cut may move to keep a word whole. Longer words are data, and may be cut."""
_REMINDER, _REMINDER_ENDS = "<system-reminder>", "</system-reminder>"
"""What Claude Code puts behind the results of its tools."""
_LEFT_OUT = "left out here; original"
_ORIGINAL = re.compile(rf"{_LEFT_OUT} (\w+)")
"""How a stub names its original."""
_MARKED = _LEFT_OUT.encode()
LEAST_GAIN = 64
"""Characters that a stub must save at least: its marker takes about forty tokens, and less text may have fewer."""


@dataclass(frozen=True, slots=True)
class PruneSettings:
    """What is bulky, what stays of it, and when it pays."""

    limit: int = 2_000
    """Characters above which a result is bulky."""
    head: int = 500
    """Characters kept from its beginning: the command's first words, the file's header."""
    tail: int = 200
    """Characters kept from its end: the exit status, the last line of a test run."""
    protect: int = 4
    """Messages at the end that are never touched: what the model is working with now."""
    worthwhile: int = 8_000
    """Characters a batch must free, about 2,000 tokens: below that, re-reading the cache costs more than it saves."""
    error_lines: int = 600
    """Characters of error lines kept from the middle of a result that is an error, by its mark or by its end."""
    recall_tool: str = ""
    """The tool by which the agent gets an original back; "" when it has none."""


@dataclass(frozen=True, slots=True)
class Stub:
    """One result that is shown shortened: where it stands, and the name of its original.

    `again` counts the results before it with the same call id and content: some providers use their ids over and over.
    """

    message: int
    call_id: str
    ref: str
    removed: int
    again: int = 0

    @property
    def key(self) -> str:
        """What the plan remembers: this result of this call."""
        return f"{self.call_id}:{self.ref}" + (f"#{self.again}" if self.again else "")


@dataclass(frozen=True, slots=True)
class Pruned:
    """`plan` names every result that is a stub from now on; `freed` counts the characters gone from the view."""

    messages: tuple[Message, ...]
    plan: frozenset[str] = frozenset()
    stubs: tuple[Stub, ...] = ()
    freed: int = 0


def prune(
    messages: Sequence[Message], settings: PruneSettings | None = None, plan: frozenset[str] = frozenset()
) -> Pruned:
    """Shortens what the plan names, and what has become old and bulky since, if that frees enough."""
    settings = settings or PruneSettings()
    known = tuple(messages)
    found = list(_candidates(known, settings))
    fresh = sum(stub.removed for stub, _, _ in found if stub.key not in plan)
    if fresh < settings.worthwhile:
        found = [candidate for candidate in found if candidate[0].key in plan]
    if not found:
        return Pruned(known, plan)
    stubs = tuple(stub for stub, _, _ in found)
    return Pruned(
        _replaced(known, found),
        plan | {stub.key for stub in stubs},
        stubs,
        sum(stub.removed for stub in stubs),
    )


_Candidate: TypeAlias = tuple[Stub, int, ToolResult]
"""A stub, its place among the results of its message, and the shortened result."""


def _candidates(messages: tuple[Message, ...], settings: PruneSettings) -> Iterator[_Candidate]:
    """Every result before the protected tail that could be a stub."""
    seen: Counter[tuple[str, str]] = Counter()
    for index, message in enumerate(messages[: max(0, len(messages) - settings.protect)]):
        came_back = message.raw is not None and _MARKED in message.raw
        if message.raw is not None and len(message.raw) <= settings.limit and not came_back:
            continue  # as nearly always: so few bytes hold no bulky result
        for nth, result in enumerate(message.results):
            if came_back and (original := _ORIGINAL.search(result.text)) is not None:  # a stub that came back
                seen[result.call_id, original[1]] += 1
            if _length(result) > settings.limit:
                ref = result.ref
                again = seen[result.call_id, ref]
                seen[result.call_id, ref] += 1
                short = shorten(result, settings, ref)
                removed = _length(result) - _length(short)
                if removed >= LEAST_GAIN:
                    yield Stub(index, result.call_id, ref, removed, again), nth, short


def _length(result: ToolResult) -> int:
    return sum(len(part.text) if isinstance(part, Text) else _media_length(part) for part in result.content)


def _media_length(part: Media | Opaque) -> int:
    return len(part.data) if isinstance(part, Media) else 0


def _replaced(messages: tuple[Message, ...], found: Sequence[_Candidate]) -> tuple[Message, ...]:
    short_ones: dict[int, dict[int, ToolResult]] = {}
    for stub, nth, short in found:
        short_ones.setdefault(stub.message, {})[nth] = short
    changed = list(messages)
    for index, by_nth in short_ones.items():
        changed[index] = messages[index].with_parts(_parts(messages[index], by_nth))
    return tuple(changed)


def _parts(message: Message, by_nth: Mapping[int, ToolResult]) -> Iterator[Part]:
    nth = -1
    for part in message.parts:
        nth += isinstance(part, ToolResult)
        yield by_nth.get(nth, part) if isinstance(part, ToolResult) else part


def shorten(result: ToolResult, settings: PruneSettings, ref: str = "") -> ToolResult:
    """The result as a stub: text shortened, images replaced by their names, opaque parts unchanged. Never longer."""
    ref = ref or result.ref
    whole = result.text
    short = _shorten_text(whole, result.is_error, settings, ref)
    first = next((at for at, part in enumerate(result.content) if isinstance(part, Text)), None)
    content: list[Text | Media | Opaque] = []
    for at, part in enumerate(result.content):
        if isinstance(part, Media):
            content.append(_name_media(part, ref))
        elif isinstance(part, Opaque) or short == whole:
            content.append(part)
        elif at == first:
            content.append(replace(part, text=short))
    return replace(result, content=tuple(content))


def _shorten_text(text: str, is_error: bool, settings: PruneSettings, ref: str) -> str:
    if len(text) <= settings.limit:
        return text
    own = without_reminders(text)
    first, last = _to_word(own, head(own, settings.head)), _from_word(own, tail(own, settings.tail))
    if len(first) + len(last) >= len(own):
        first, last = own, ""
    middle = own[len(first) : len(own) - len(last)]
    failed = is_error or _FAILED.search(own, max(len(own) - ENDS, 0)) is not None
    errors = _error_lines(middle, settings.error_lines) if failed else ""
    marker = _marker(len(text) - len(first) - len(last) - len(errors), ref, settings.recall_tool)
    short = "\n".join(piece for piece in (first, marker, errors, last) if piece)
    return short if len(short) < len(text) else text


def without_reminders(text: str) -> str:
    """What the tool said, without the reminders a client put behind it: half a reminder would mislead."""
    end = stop = _trimmed(text, len(text))
    while text.endswith(_REMINDER_ENDS, 0, stop) and (start := text.rfind(_REMINDER, 0, stop)) >= 0:
        stop = _trimmed(text, start)
    return text[:stop] if stop < end else text


def _trimmed(text: str, stop: int) -> int:
    """The end of the text before `stop`, without the white space there."""
    while stop and text[stop - 1].isspace():
        stop -= 1
    return stop


def _to_word(text: str, first: str) -> str:
    """The beginning of a text, without a word that it cuts in two: half a name is no name."""
    if first[-1:].isspace() or text[len(first) : len(first) + 1].isspace():
        return first
    whole = first[: -len(first.rsplit(None, 1)[-1])].rstrip() if first.strip() else first
    return whole if len(first) - len(whole) <= LONGEST_WORD else first


def _from_word(text: str, last: str) -> str:
    """The end of a text, without a word that it cuts in two."""
    if last[:1].isspace() or text[-len(last) - 1 : -len(last)].isspace():
        return last
    whole = last[len(last.split(None, 1)[0]) :].lstrip() if last.strip() else last
    return whole if len(last) - len(whole) <= LONGEST_WORD else last


def _marker(removed: int, ref: str, recall_tool: str) -> str:
    how = f'; {recall_tool}("{ref}") shows it whole' if recall_tool else ""
    return f"[… {removed:,} characters {_LEFT_OUT} {ref}{how} …]"


def _error_lines(text: str, room: int) -> str:
    """The lines that say what went wrong, as many whole ones as fit, in their order."""
    kept: list[str] = []
    for line in text.splitlines():
        if _ERROR_LINE.search(line[:500]):
            room -= len(line) + 1
            if room < 0:
                break
            kept.append(line)
    return "\n".join(kept)


def _name_media(part: Media, ref: str) -> Media | Text:
    """The name of an old image in its place: the bytes would weigh on every request. A tiny one stays."""
    name = f"[{part.kind} {part.mime} of {len(part.data):,} base64 characters {_LEFT_OUT} {ref}]"
    return Text(name) if len(part.data) > len(name) else part
