"""What came back, judged by one ruler for everyone: tokens of o200k, our strict validator, and the metrics of `evals`.

Nothing here knows who made what it judges.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sessions import Chat, session

from foldline import sources, validators
from foldline.dialects.convert import as_request, convert
from foldline.errors import FoldlineError
from foldline.evals import said
from foldline.evals.explained import generic
from foldline.evals.identifiers import identifiers
from foldline.evals.metrics import Ruler, World, background, mean
from foldline.evals.splits import Session, Split, files, load, prepared, size, splits
from foldline.model import Conversation
from foldline.tokens import best_counter

FRAME = 4
"""Tokens around a message."""
SLACK = 1.02
"""A size is reached when it is not passed by more: framing is counted differently by everyone."""
DIALECT = "openai-chat"
CUT = 0.7
"""Where a session is cut into what was seen and what came then."""
UNSCORED = 5
"""Sessions whose text counts as generic, and is not scored."""
CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
"""Real sessions, where they lie beside this checkout."""
LONGEST = 120_000
"""Tokens of a real prefix: some peers take the square of it."""
COUNT = best_counter("gpt-4o").count


def tokens(messages: Chat) -> int:
    return sum(FRAME + sum(map(COUNT, texts(message))) for message in messages)


def texts(message: dict[str, Any]) -> list[str]:
    calls = [call["function"] for call in message.get("tool_calls") or []]
    found = [message.get("content"), *(text for call in calls for text in (call["name"], call["arguments"]))]
    return [text for text in found if isinstance(text, str)]


@dataclass(frozen=True)
class Verdict:
    """Of many outcomes: how many a provider would refuse, why mostly, how many came to nothing, and the sizes."""

    count: int
    refused: int
    why: str
    raised: int
    over: int
    reached: float | None


def verdict(asked: Sequence[int], outcomes: Sequence[dict[str, Any]]) -> Verdict:
    pairs = [(size, found["messages"]) for size, found in zip(asked, outcomes, strict=True) if "messages" in found]
    faults = [validators.check(messages, DIALECT) for _, messages in pairs]
    rules = Counter(fault.rule for found in faults for fault in found[:1])
    shares = [tokens(messages) / size for size, messages in pairs]
    return Verdict(
        len(outcomes),
        sum(map(bool, faults)),
        rules.most_common(1)[0][0] if rules else "",
        len(outcomes) - len(pairs),
        sum(share > SLACK for share in shares),
        statistics.median(shares) if shares else None,
    )


class Exam:
    """Some sessions cut in two: what is given to be made smaller, and how what comes back is scored."""

    def __init__(self, rulers: Sequence[Ruler], share: float) -> None:
        self.rulers, self.share = rulers, share

    @property
    def tokens(self) -> int:
        """Of a prefix, on average, to the thousand."""
        return int(round(statistics.mean(ruler.split.tokens for ruler in self.rulers), -3))

    def given(self) -> list[dict[str, Any]]:
        """The prefixes, then the prefixes with constraints planted in them."""
        plain = [ruler.split.prefix for ruler in self.rulers]
        return [self._chat(prefix) for prefix in (*plain, *(ruler.planted.prefix for ruler in self.rulers))]

    def _chat(self, prefix: Conversation) -> dict[str, Any]:
        request = as_request(prefix)
        messages = request["messages"] if isinstance(request, dict) else list(request)
        return {"messages": messages, "tokens": round(tokens(messages) * self.share), "share": self.share}

    def scores(self, outcomes: Sequence[dict[str, Any]]) -> dict[str, float | None]:
        """Means over the sessions. What raised, or cannot be read, or would be refused, scores nothing."""
        half = len(self.rulers)
        found = [scored(ruler, one) for ruler, one in zip(self.rulers, outcomes[:half], strict=True)]
        kept = [survived(ruler, one) for ruler, one in zip(self.rulers, outcomes[half:], strict=True)]
        names = ("xf", "frr", "gfrr", "vas", "uir", "share", "sound")
        return {name: mean(found, name) for name in names} | {"constraints": mean(kept, "kept")}


def made_up(count: int) -> list[Ruler]:
    """Sessions that anybody can make again."""
    whole = [sources.read(session(seed), DIALECT) for seed in range(count + UNSCORED)]
    scored, rest = whole[:count], whole[count:]
    names = [identifiers(said.plain(one.messages)) for one in whole]
    world = World(generic([said.agents(one.messages) for one in rest]), background(names))
    return [Ruler(split(number, one), world) for number, one in enumerate(scored)]


def real(count: int, folder: Path = CORPUS) -> list[Ruler]:
    """Real sessions in a folder, in the order of their digests, which is one of chance; none where there is no folder.

    Each is cut once, where the agent is about to speak. The text of those that are left over is the generic one."""
    sessions = sorted(_sessions(folder), key=lambda one: one.digest)
    cuts = {one.digest: cut for one in sessions if (cut := _cut(one)) is not None}
    scored = list(cuts)[:count]
    rest = [one for one in sessions if one.digest not in scored]
    names = [identifiers(said.plain(one.whole.messages)) for one in sessions]
    world = World(generic([said.agents(one.whole.messages) for one in rest]), background(names))
    return [Ruler(cuts[digest], world) for digest in scored]


def _sessions(folder: Path) -> Iterator[Session]:
    for path in files([folder]) if folder.is_dir() else ():
        try:
            yield load(path)
        except FoldlineError:
            continue  # the corpus holds damaged files on purpose; `make corpus` counts them


def _cut(one: Session) -> Split | None:
    """Its first cut that is no real compaction, in the form that every peer takes."""
    cuts = (cut for cut in splits(one) if cut.real is None and cut.tokens <= LONGEST)
    cut = next(cuts, None)
    if cut is None:
        return None
    chat = as_request(replace(convert(cut.prefix, DIALECT), layout=None))
    prefix = sources.read(chat, DIALECT)
    return replace(cut, prefix=prefix, tokens=size(prefix.messages))


def split(number: int, whole: Conversation) -> Split:
    steps = said.steps(whole.messages)
    at = steps[round(len(steps) * CUT)]
    prefix = prepared(whole, whole.messages[:at])
    system = "\n".join(message.text for message in whole.messages if message.role == "system")
    future = whole.messages[at : steps[min(len(steps) - 1, round(len(steps) * CUT) + 40)]]
    return Split(f"made up {number}", at, system, prefix, tuple(future), size(prefix.messages))


def viewed(outcome: dict[str, Any]) -> Conversation | None:
    try:
        return sources.read(outcome["messages"], DIALECT) if "messages" in outcome else None
    except FoldlineError:
        return None


def scored(ruler: Ruler, outcome: dict[str, Any]) -> dict[str, float | None]:
    view = viewed(outcome)
    if view is None:
        return dict.fromkeys(("xf", "frr", "gfrr", "vas", "uir", "sound"), 0.0)
    found = ruler.score(view)
    return {**found, "share": size(view.messages) / ruler.split.tokens, "sound": found["valid"]}


def survived(ruler: Ruler, outcome: dict[str, Any]) -> dict[str, float | None]:
    view = viewed(outcome)
    return {"kept": 0.0} if view is None else dict(ruler.survived(view))
