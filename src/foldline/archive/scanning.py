"""A search through an archive that has no index: every message is looked at. For the short sessions kept in memory.

Answers in the order and with the words of search.py, which does the same with an index.
"""

from __future__ import annotations

from collections.abc import Iterator

from foldline.archive.base import Filters, Found, Stored
from foldline.archive.history import Shelf, masked, opening
from foldline.core.words.searchtext import SNIPPET, Asked, ask, scores, snippet
from foldline.core.words.text import head
from foldline.core.work.tools import call_touches
from foldline.model import Message, ToolCall

_SESSIONS = 1_000
"""Sessions that are looked through, the newest."""


def scan(archive: Shelf, query: str, limit: int, filters: Filters) -> list[Found]:
    """Messages with all words of the query, or if none has, with any; the best first."""
    asked = ask(query)
    every = [*_every(archive, filters)][::-1]
    every.sort(key=lambda item: -item[0].time)
    if not asked.terms:
        return [_one(*item, "", 0.0) for item in every[:limit]] if not query.strip() else []
    texts = [_words(stored.message) for stored, _ in every]
    texts = [masked(text) if any(_hits(asked, text)) else "" for text in texts]  # no secret is found by asking for it
    hits = [_hits(asked, text) for text in texts]
    for wanted in (all, any):
        places = [at for at, terms in enumerate(hits) if wanted(terms)]
        if places:
            points = [round(score, 3) for score in scores(asked, [texts[at] for at in places])]
            best = sorted(zip(places, points, strict=True), key=lambda item: -item[1])[:limit]
            return [_one(*every[at], snippet(asked, texts[at]), score) for at, score in best]
    return []


def _hits(asked: Asked, text: str) -> list[bool]:
    """Which of the words asked for are in a text."""
    lowered = text.lower()
    return [any(needle in lowered for needle in term.needles) for term in asked.terms]


def _every(archive: Shelf, filters: Filters) -> Iterator[tuple[Stored, tuple[str, ...]]]:
    """Every message once, the oldest session first, with the tools it calls or answers.

    It is the same one where all that stands before it is the same: branches share it.
    """
    seen: set[int] = set()
    for session in reversed(archive.sessions(filters.scope, filters.project, _SESSIONS)):
        if filters.session not in (None, session.name):
            continue
        names: dict[str, str] = {}
        touching: set[str] = set()
        way = hash((session.scope, session.project, session.dialect))
        for stored in archive.messages(session.name):
            message = stored.message
            names |= {call.id: call.name for call in message.calls}
            if filters.file:
                touching |= {call.id for call in message.calls if _touches(call, filters.file)}
            ids = [call.id for call in message.calls] + [result.call_id for result in message.results]
            tools = tuple(dict.fromkeys(filter(None, (names.get(name, "") for name in ids))))
            way = hash((way, stored.ref))
            if way not in seen and (not filters.file or touching & set(ids)) and _fits(filters, stored, tools):
                seen.add(way)
                yield stored, tools


def _touches(call: ToolCall, file: str) -> bool:
    wanted = "/" + file.strip("/")
    paths = (path for touch in call_touches(call) for path in (touch.path, touch.to) if path)
    known = ("/" + path.strip("/") for path in paths)
    return any(path.endswith(wanted) or wanted.endswith(path) for path in known)


def _words(message: Message) -> str:
    calls = (f"{call.name} {call.arguments}" for call in message.calls)
    return "\n".join((message.text, *calls, *(result.text for result in message.results))).strip()


def _one(stored: Stored, tools: tuple[str, ...], shown: str, score: float) -> Found:
    text = shown or head(opening(_words(stored.message)), SNIPPET)
    return Found(
        *(stored.ref, stored.session, "", stored.position, stored.role, stored.origin, " ".join(tools), stored.time),
        *(text, round(score, 3)),
    )


def _fits(filters: Filters, stored: Stored, tools: tuple[str, ...]) -> bool:
    speaker = "tool" if stored.origin == "tool" else stored.role
    return (
        filters.role in (None, speaker)
        and (filters.tool is None or filters.tool.lower() in (name.lower() for name in tools))
        and (filters.after is None or stored.time >= filters.after)
        and (filters.before is None or stored.time < filters.before)
    )
