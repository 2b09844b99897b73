"""The picture of an Inspection for people: what it is, how full, tables with bars, and what would make room.

Everything from data is made harmless first. Nothing is computed here but lengths of bars; the numbers are report.py's.
Importing this module imports rich.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from foldline.cli.options import SHOWN_NOTICES, Given
from foldline.cli.report import Inspection, Share, Tier, Turn
from foldline.cli.screen import console, count, safe

SHOWN_TURNS = 10
"""The user's messages listed, the newest; --json lists them all."""
SHOWN_TOOLS = 10
"""Tools listed one by one; the rest is one row. --json lists them all."""
WIDEST = 110
"""Columns used at the most: bars longer than that are harder to compare, not easier."""
ROOM_FOR_BARS = 60
"""In narrower terminals the numbers need the room."""
ROOM_FOR_DETAILS = 44
"""In narrower ones still, only names and tokens are shown."""
SHORTEST_BAR = 8
"""Below this a bar tells nothing."""
BAR_PART = 3
"""A bar gets a third of the width."""
HEADING = "bold"
FAINT = "dim"
BAR = "cyan"
ALARM = "red"
NEARLY_FULL = 0.85
"""From here on the bar of the window is red: an agent would compact now."""


def draw(found: Inspection, given: Given) -> None:
    """Prints the whole picture on standard output."""
    Picture(console(sys.stdout)).draw(found, given)


class Picture:
    """Draws on one console, as wide as that is."""

    def __init__(self, out: Console) -> None:
        self.out = out
        self.width = min(out.width, WIDEST)
        self.bars = self.width // BAR_PART if self.width >= ROOM_FOR_BARS else 0
        self.detailed = self.width >= ROOM_FOR_DETAILS
        self.full, self.empty = ("█", "░") if out.encoding.lower().startswith("utf") else ("#", ".")

    def draw(self, found: Inspection, given: Given) -> None:
        self.title(found, given)
        self.counts(found)
        self.shares("Who and what", "parts", found.by_origin)
        self.shares("Tools", "calls", _first(found.by_tool, SHOWN_TOOLS))
        self.shares("Age", "messages", found.by_age)
        self.shares("Results by tokens", "results", found.by_size)
        self.turns(found.turns)
        self.tiers(found.tiers)
        self.notices(found)

    def line(self, text: str, style: str = "") -> None:
        self.out.print(Text(text, style=style), width=self.width, crop=False)

    def title(self, found: Inspection, given: Given) -> None:
        names = (os.path.basename(given.name), found.dialect, found.model)
        self.line(" · ".join(safe(name) for name in names if name), HEADING)
        if found.window is None or found.full is None:
            self.line(f"{found.tokens:,} tokens ({_bounds(found)}); give --model or --window to see how full that is")
            return
        self.line(f"{found.tokens:,} tokens ({_bounds(found)}) of {found.window:,}: {found.full:,.0%}")
        full = self.full_bar(found.full, self.width)
        self.out.print(Text(full, style=ALARM if found.full >= NEARLY_FULL else BAR), width=self.width)

    def full_bar(self, share: float, length: int) -> str:
        filled = min(length, round(share * length))
        return self.full * filled + self.empty * (length - filled)

    def compare(self, *rows: tuple[str, int, int]) -> None:
        """One bar for each (name, tokens, messages), the longest as long as there is room for."""
        names = max(len(name) for name, _, _ in rows)
        ends = [
            f" {tokens:>9,} tokens {messages:>6,} message{'' if messages == 1 else 's'}" for _, tokens, messages in rows
        ]
        room = self.width - names - 1 - max(map(len, ends))
        most = max(tokens for _, tokens, _ in rows) or 1
        for (name, tokens, _), end in zip(rows, ends, strict=True):
            filled = round(tokens / most * room) if room >= SHORTEST_BAR else 0
            bar = f"{self.full * max(filled, 1):<{room}}" if room >= SHORTEST_BAR else ""
            self.out.print(Text.assemble(f"{name:<{names}} ", (bar, BAR), end), width=self.width, crop=False)

    def counts(self, found: Inspection) -> None:
        counts = [
            count(found.messages, "message"),
            count(found.cycles, "tool cycle"),
            count(found.cuts, "legal cut"),
            *([count(found.compactions, "compaction")] if found.compactions else []),
        ]
        self.line(" · ".join(counts))
        kinds = ", ".join(f"{number:,} × {safe(kind)}" for kind, number in sorted(found.repairs.items()))
        self.line(f"repairs needed: {kinds or 'none'}", ALARM if kinds else "")

    def shares(self, title: str, counted: str, shares: Sequence[Share]) -> None:
        if not any(share.count or share.tokens for share in shares):
            return
        whole, most = sum(share.tokens for share in shares) or 1, max(share.tokens for share in shares) or 1
        columns = ["tokens", "share", counted] if self.detailed else ["tokens"]
        table = self.table(title, *columns, *([""] if self.bars else []))
        for share in shares:
            bar = Text(self.full * round(self.bars * share.tokens / most), style=BAR)
            cells = (f"{share.tokens:,}", f"{share.tokens / whole:.0%}", f"{share.count:,}", bar)
            table.add_row(Text(safe(share.name)), *cells[: len(table.columns) - 1])
        self.out.print(table)

    def turns(self, turns: Sequence[Turn]) -> None:
        if not turns:
            return
        self.out.print()
        table = Table(box=None, width=self.width, pad_edge=False, padding=(0, 2, 0, 0), header_style=HEADING)
        table.add_column("Message", justify="right", no_wrap=True)
        table.add_column("after", justify="right", no_wrap=True)
        table.add_column("in which the user says", ratio=1, overflow="ellipsis", no_wrap=True)
        for turn in turns[-SHOWN_TURNS:]:
            table.add_row(f"{turn.number:,}", f"{turn.tokens_before:,}", Text(safe(turn.text)))
        self.out.print(table)
        if len(turns) > SHOWN_TURNS:
            self.line(
                f"and {count(len(turns) - SHOWN_TURNS, 'message')} of the user before; --json shows them all", FAINT
            )

    def tiers(self, tiers: Sequence[Tier]) -> None:
        columns = ["frees", "leaves"] if self.detailed else ["frees"]
        table = self.table("What would free tokens", *columns, *([""] if self.bars else []))
        for tier in tiers:
            cells = (f"{tier.freed:,}", f"{tier.left:,}", Text(tier.detail, style=FAINT))
            table.add_row(Text(tier.name), *cells[: len(table.columns) - 1])
        self.out.print(table)
        self.line("A cut also costs the summary that stands for what it folds.", FAINT)

    def table(self, title: str, *columns: str) -> Table:
        """An empty table: names, numbers, and in the column without a heading whatever needs the room."""
        self.out.print()
        table = Table(box=None, width=self.width, pad_edge=False, padding=(0, 2, 0, 0), header_style=HEADING)
        table.add_column(title, ratio=1, overflow="ellipsis", no_wrap=True)
        for name in columns:
            table.add_column(name, justify="right" if name else "left", width=None if name else self.bars, no_wrap=True)
        return table

    def notices(self, found: Inspection) -> None:
        if found.notices:
            self.out.print()
        for notice in found.notices[:SHOWN_NOTICES]:
            self.line(f"note: {safe(str(notice))}")
        if len(found.notices) > SHOWN_NOTICES:
            self.line(f"note: and {len(found.notices) - SHOWN_NOTICES} more; --json shows them all")


def _bounds(found: Inspection) -> str:
    """How sure the count is."""
    return "exact" if found.low == found.high else f"between {found.low:,} and {found.high:,}"


def _first(shares: Sequence[Share], number: int) -> Sequence[Share]:
    """The first rows, and all others as one."""
    others = shares[number:]
    if len(others) < 2:
        return shares
    count, tokens = sum(share.count for share in others), sum(share.tokens for share in others)
    return (*shares[:number], Share(f"{len(others)} others", count, tokens))
