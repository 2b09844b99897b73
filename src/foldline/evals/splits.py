"""Real sessions, cut where they could have been folded: what the agent had seen, and what it then did.

    path ── sessions ──> Session ── splits ──> Split (prefix P, future F, and what a real compaction left, if one did)

A prefix reaches back to the last compaction inside the session: that is what the agent had before it. Prefixes are
put into the form of a request and mended once, for every strategy alike; thinking and pictures are taken out, since
no metric reads them. What is then done with a split stands elsewhere.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from foldline import sources, validators
from foldline.core.counting.meter import Meter
from foldline.core.history.repair import repair
from foldline.dialects import jsontext
from foldline.dialects.base import Listed
from foldline.dialects.convert import REQUESTS, api_of, as_request, convert
from foldline.errors import InputError
from foldline.evals import said
from foldline.model import Compaction, Conversation, Head, Media, Message, Part, Text, Thinking, ToolResult, digest
from foldline.tokens import best_counter

FUTURE_TURNS = 40
"""The agent's own turns that make up a future."""
LEAST_FUTURE = 10
"""Turns below which a future says too little about what was needed."""
LEAST_PREFIX = 20_000
"""Tokens below which nobody folds, and 2 % is less than the frame around a summary."""
CUTS = 2
"""Random cuts in each session, besides its real compactions."""
_SAME_BLOCKS = frozenset({"claude-code", "codex", "trajectories"})
"""Transcripts whose messages are their provider's own, and need no carrying over."""
_PICTURE = Text("[a picture or file]")


class Place(NamedTuple):
    """Where a session lies: a file, and its number there if the file holds several."""

    path: Path
    pick: int | None = None


@dataclass(frozen=True)
class Session:
    """One conversation of a file, whole. `name` tells it from the others; its digest depends on its words alone."""

    name: str
    whole: Conversation

    @cached_property
    def digest(self) -> str:
        return digest("\0".join(message.identity for message in self.whole.messages).encode())

    @property
    def system(self) -> str:
        """What is free for every strategy: the system prompt, wherever it stands."""
        parts = [part.text for part in self.whole.head.system if isinstance(part, Text)]
        return "\n".join([*parts, *(message.text for message in self.whole.messages if message.role == "system")])


@dataclass(frozen=True)
class Split:
    """A session cut at message `at`. `real` is what a compaction of the agent's own left there, None at other cuts."""

    session: str
    at: int
    system: str
    prefix: Conversation
    future: tuple[Message, ...]
    tokens: int
    """Of the prefix, the system prompt aside."""
    real: tuple[Message, ...] | None = None

    @cached_property
    def digest(self) -> str:
        """Names the split by its words: the same in whatever folder and order it was found."""
        texts = (self.system, said.plain(self.prefix.messages), said.plain(self.future), said.plain(self.real or ()))
        return digest("\0".join(texts).encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=1)
def meter() -> Meter:
    """One ruler for all: o200k tokens, framing included, whatever the session's own model."""
    return Meter(best_counter())


def size(messages: Iterable[Message]) -> int:
    """Tokens of messages, system prompts aside."""
    return sum(meter().message(message) for message in messages if message.role != "system")


def files(paths: Iterable[Path]) -> list[Path]:
    """The files named, and those in the folders named, each once, by name."""
    found: dict[Path, None] = {}
    for path in paths:
        inside = sorted(inner for inner in path.rglob("*") if inner.is_file()) if path.is_dir() else [path]
        found |= dict.fromkeys(inner.resolve() for inner in inside if inner.name != "README.md")
    return sorted(found)


def load(place: Path | Place, name: str = "") -> Session:
    """The whole history in a file, the first one if it holds several. Raises InputError for what is no conversation."""
    path, pick = place if isinstance(place, Place) else Place(place)
    try:
        if pick is None:
            return Session(name or path.name, sources.read(path, history="all"))
        return Session(name or path.name, sources.read(b"[" + _several(path)[pick] + b"]"))
    except InputError as error:
        error.source = error.source or str(path)
        raise


@lru_cache(maxsize=2)
def _several(path: Path) -> list[bytes]:
    """The sessions of a file that holds several. Hundreds of them are asked for one by one."""
    layout = sources.read(path).layout
    assert isinstance(layout, Listed)
    return jsontext.elements(layout.source.data)


def splits(session: Session, cuts: int = CUTS, seed: int = 0, least: int = LEAST_PREFIX) -> Iterator[Split]:
    """The session's real compactions, then so many random cuts. The same seed gives the same cuts."""
    for compaction in session.whole.compactions:
        if compaction.summary and (split := _real(session, compaction, least)):
            yield split
    yield from (_cut(session, at) for at in _chosen(session, cuts, seed, least))


def _chosen(session: Session, cuts: int, seed: int, least: int) -> list[int]:
    draw = random.Random(f"{seed} {session.digest}")  # noqa: S311 - a plan of measurement, not a secret
    legal = list(_legal(session, least))
    return sorted(draw.sample(legal, min(cuts, len(legal))))


def _legal(session: Session, least: int) -> Iterator[int]:
    """Where the agent is about to speak, enough stands before and enough comes after."""
    messages = session.whole.messages
    turns = said.steps(messages)
    sums = [0, *accumulate(map(meter().message, messages))]
    for number, at in enumerate(turns):
        first, stop = _span(session, at)
        later = bisect_left(turns, stop) - number
        if later >= LEAST_FUTURE and sums[at] - sums[first] >= least:
            yield at


def _span(session: Session, at: int) -> tuple[int, int]:
    """From the last compaction before a message to the first one after it."""
    folds = [0, *(compaction.at for compaction in session.whole.compactions), len(session.whole.messages)]
    return max(fold for fold in folds if fold <= at), min(fold for fold in folds if fold > at)


def _cut(session: Session, at: int) -> Split:
    first, stop = _span(session, at)
    messages = session.whole.messages
    prefix = prepared(session.whole, messages[first:at])
    return Split(session.name, at, session.system, prefix, _future(messages[at:stop]), size(prefix.messages))


def _real(session: Session, compaction: Compaction, least: int) -> Split | None:
    """The cut at a real compaction; None when there is too little before or after it."""
    messages, at = session.whole.messages, compaction.at
    if at <= 0 or at >= len(messages):
        return None
    first, _ = _span(session, at - 1)
    _, stop = _span(session, at)
    future = _future(messages[at + 1 : stop])
    prefix = prepared(session.whole, messages[first:at])
    tokens = size(prefix.messages)
    if tokens < least or len(said.steps(future)) < LEAST_FUTURE:
        return None
    left = prepared(session.whole, [messages[at], *(messages[kept] for kept in compaction.kept if first <= kept < at)])
    return Split(session.name, at, session.system, prefix, future, tokens, left.messages)


def _future(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages up to the end of the last turn that counts."""
    turns = said.steps(messages)
    stop = turns[FUTURE_TURNS] if len(turns) > FUTURE_TURNS else len(messages)
    return tuple(messages[:stop])


def prepared(whole: Conversation, messages: Sequence[Message]) -> Conversation:
    """Messages of a session as a request of its provider's dialect: bare, mended, fit to be sent."""
    api = api_of(whole.dialect)
    grammar = REQUESTS[api].grammar
    bare = tuple(found for message in messages if (found := _bare(message)).parts)
    head = replace(whole.head, model="", thinking=False, thinks_first=False) if whole.dialect == api else Head()
    if whole.dialect == api or whole.dialect in _SAME_BLOCKS:
        carried = Conversation(api, bare, head, grammar)
    else:
        carried = replace(convert(Conversation(whole.dialect, bare), api), layout=None)
    return carried.with_messages(repair(carried.messages, grammar).messages)


def _bare(message: Message) -> Message:
    parts = tuple(_seen(part) for part in message.parts if type(part) is not Thinking)
    return message.with_parts(parts)


def _seen(part: Part) -> Part:
    if isinstance(part, Media):
        return _PICTURE
    if isinstance(part, ToolResult) and any(isinstance(inner, Media) for inner in part.content):
        return replace(part, content=tuple(_PICTURE if isinstance(i, Media) else i for i in part.content))
    return part


def faults(view: Conversation) -> list[Any]:
    """What the provider would refuse in a view, the missing tool definitions aside: transcripts do not hold them."""
    found = validators.check(as_request(view), view.dialect)
    return [fault for fault in found if fault.rule != "tools-missing"]
