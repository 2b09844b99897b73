"""How much of the future any choice of lines could explain: chosen by someone who knows that future.

    python bench/ceiling.py [FOLDER]      real sessions; ../shared/corpus if none is named

At each real compaction, lines of the prefix are taken greedily, by the pieces of the future that they are first to
hold, for each token; as many as the agent's own summary has tokens. Nobody can choose so well: the figures bound what a
better choice could bring, by who wrote the lines. Generic text is that of the first sessions without compactions, none
of which is scored. What is measured of real strategies stands in foldline.evals.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from foldline.core.log.readings import shows
from foldline.evals import said
from foldline.evals.explained import FROM_EACH, GENERIC, Explainer, generic
from foldline.evals.splits import Session, Split, files, load, size, splits
from foldline.model import Message, Origin, Text, ToolCall, ToolResult
from foldline.tokens import best_counter

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
PIECE = 8
"""Characters of the future that count as one piece: about what a packer finds worth naming."""
SHORTEST = 4
"""Characters of a line at least."""
WHO = {
    "the agent": {"agent"},
    "the agent and the user": {"agent", "user"},
    "the agent, and files that it read": {"agent", "read"},
    "anybody": {"agent", "user", "read", "other"},
}
"""Whose lines may be chosen."""


def lines_of(messages: tuple[Message, ...]) -> Iterator[tuple[str, str]]:
    """Every line, with who wrote it."""
    files_shown = {call.id for message in messages for call in message.calls if shows(call)}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                who, text = "agent", said.call_text(part)
            elif isinstance(part, ToolResult):
                who, text = ("read" if part.call_id in files_shown else "other"), part.text
            elif isinstance(part, Text):
                who, text = _speaker(message), part.text
            else:
                continue
            yield from ((line, who) for line in text.split("\n") if len(line.strip()) >= SHORTEST)


def _speaker(message: Message) -> str:
    if message.role == "assistant":
        return "agent"
    return "user" if message.origin is Origin.USER else "other"


def pieces(text: str) -> set[str]:
    return {text[at : at + PIECE] for at in range(len(text) - PIECE + 1)}


def chosen(split: Split, room: int, whose: set[str], known: set[str], count: Callable[[str], int]) -> str:
    """The best lines for this future that find room, in the order in which they were written last."""
    place: dict[str, int] = {}
    for at, (line, who) in enumerate(lines_of(split.prefix.messages)):
        if who in whose:
            place[line] = at
    wanted = pieces(said.agents(split.future)) - known
    telling = {line: found for line in place if (found := pieces(line) & wanted)}
    cost = {line: count(line) + 1 for line in telling}
    heap = [(-len(found) / cost[line], line) for line, found in telling.items()]
    heapq.heapify(heap)
    taken: list[str] = []
    while heap:
        _, line = heapq.heappop(heap)
        now = -len(telling[line] & wanted) / cost[line]
        if heap and now > heap[0][0]:
            heapq.heappush(heap, (now, line))
        elif now and cost[line] <= room:
            room -= cost[line]
            wanted -= telling[line]
            taken.append(line)
    return "\n".join(sorted(taken, key=place.__getitem__))


def main(folder: Path) -> None:
    sessions = [load(path) for path in files([folder])]
    plain = [said.agents(session.whole.messages)[:FROM_EACH] for session in sessions if not session.whole.compactions]
    given = generic(plain[: 2 * GENERIC // FROM_EACH])
    known, count = pieces(given.decode("utf-8", "replace")), best_counter().count
    found: dict[str, dict[str, list[float]]] = {}
    for session in sessions:
        for split in _real(session):
            explainer = Explainer(said.agents(split.future), said.shown(split.prefix.messages), given)
            room = size(split.real or ())
            texts = {who: chosen(split, room, whose, known, count) for who, whose in WHO.items()}
            texts["the agent's own summary"] = said.shown(split.real or ())
            for who, text in texts.items():
                if (share := explainer.share(text)) is not None:
                    found.setdefault(who, {}).setdefault(session.digest, []).append(share)
    for who, by_session in found.items():
        values = [sum(each) / len(each) for each in by_session.values()]
        print(f"{sum(values) / len(values):.2f}  {who} ({len(values)} sessions)")


def _real(session: Session) -> Iterator[Split]:
    return (split for split in splits(session, cuts=0) if split.real is not None)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else CORPUS)
