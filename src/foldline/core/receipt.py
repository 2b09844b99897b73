"""The receipt: what was kept, stubbed and folded, what it cost, who wrote, what the audit found. Values only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from foldline.core.auditing.audit import Finding
from foldline.core.policy import Action
from foldline.model import EMPTY, Notice

IN_PART = "messages in part"
"""The key under which the receipt counts messages of the user's that are shown in part. It is no section."""

WRITTEN = "written"
"""The outcome of an attempt that brought a summary."""

NOT_TAKEN = "not taken"
"""How the outcome begins where that summary is not what is shown."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a summary: who was asked, and what came of it.

    What it read and wrote, as its provider counted, stands with the outcome of the last try: of all its requests
    together, of pieces and of replies that were no summary too. None: nothing was told.
    """

    who: str
    outcome: str
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def told(self) -> bool:
        """Its provider counted something of it."""
        return self.input_tokens is not None or self.output_tokens is not None

    def not_taken(self, why: str) -> Attempt:
        """The same, where what was written is not what is shown."""
        return replace(self, outcome=f"{NOT_TAKEN}: {why}") if self.outcome == WRITTEN else self


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a turn did. `folded`, `stubbed` and `kept` count messages and results of the view's history."""

    action: Action
    reason: str
    tokens_before: int
    tokens_after: int
    room: int
    messages: int
    kept: int
    folded: int = 0
    stubbed: int = 0
    rebased: bool = False
    """The view does not extend the last one: the provider's prompt cache starts over behind the shared prefix."""
    checkpoint: str = ""
    """The reference of the checkpoint, once it is durable."""
    generation: int = 0
    author: str = ""
    attempts: tuple[Attempt, ...] = ()
    chunks: tuple[tuple[int, int], ...] = ()
    """The spans the summariser read, first message to last (exclusive): together they are all that was folded."""
    findings: tuple[Finding, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()
    repairs: Mapping[str, int] = field(default=EMPTY)
    rewritten: int = 0
    """What writing the view to the prompt cache costs more than reading it would: in tokens at the plain price."""
    saved_per_turn: int = 0
    """What every later turn saves, in the same tokens: reading from the cache costs a tenth of the plain price."""
    notices: tuple[Notice, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "repairs": dict(self.repairs)}

    def __str__(self) -> str:
        lines = [f"{self.action}: {self.reason}", f"tokens   {self.tokens_before:,} → {self.tokens_after:,}"]
        lines.append(f"messages {self.kept:,} kept, {self.folded:,} folded, {self.stubbed:,} results stubbed")
        if self.checkpoint:
            lines.append(f"checkpoint {self.checkpoint} (generation {self.generation}) by {self.author}")
        if self.rebased:
            saves = f"saves that of {self.saved_per_turn:,} a turn"
            lines.append(f"cache    costs the price of {self.rewritten:,} tokens once, {saves}")
        lines += [f"asked    {attempt.who}: {attempt.outcome}" for attempt in self.attempts]
        lines += [_cost(attempt) for attempt in self.attempts if attempt.told]
        lines += [f"finding  {item.fault} in {item.section}: {item.text.strip()[:80]}" for item in self.findings]
        lines += [f"mended   {kind}: {count}" for kind, count in self.repairs.items()]
        lines += [_missing(section, count) for section, count in self.left_out]
        lines += [f"notice   {notice}" for notice in self.notices]
        return "\n".join(lines)


def together(counts: Iterable[int | None]) -> int | None:
    """The sum of those that are known; None where none is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _cost(attempt: Attempt) -> str:
    read, wrote = ("?" if count is None else f"{count:,}" for count in (attempt.input_tokens, attempt.output_tokens))
    return f"spent    {attempt.who}: {read} tokens in, {wrote} out"


def _missing(section: str, count: int) -> str:
    lines = "1 line" if count == 1 else f"{count} lines"
    return f"in part  {count} of the user's messages" if section == IN_PART else f"no room  {lines} of {section}"
