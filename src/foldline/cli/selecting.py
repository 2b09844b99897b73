"""`foldline select`: the document with only the messages a strategy keeps. How they are chosen is in core/select.py."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from foldline.cli.change import Change, change, output
from foldline.cli.options import Given, common
from foldline.cli.screen import count
from foldline.core.select import Strategy, select
from foldline.errors import InputError, MalformedInput

if TYPE_CHECKING:
    from foldline.core.counting.meter import Meter
    from foldline.model import Conversation


@click.command("select")
@common
@click.option("--strategy", "saved", metavar="FILE", help="Read the strategy from this .json or .toml file.")
@click.option("--keep-recent", type=click.IntRange(min=0), metavar="N", help="Keep the last N messages. [default: 10]")
@click.option("--keyword", "keywords", multiple=True, metavar="WORD",
              help="Keep messages with this word, instead of the usual ones; may be repeated.")  # fmt: skip
@click.option("--no-tool-results", is_flag=True, help="Do not keep messages only because they hold tool results.")
@output
def command(
    given: Given,
    saved: str | None,
    keep_recent: int | None,
    keywords: tuple[str, ...],
    no_tool_results: bool,
    output: str | None,
    in_place: bool,
    force: bool,
) -> None:
    """Keep only the messages that matter, whole and in their order.

    Kept are system messages, the newest messages, those with a keyword, tool results, and whatever belongs to them: no
    call without its result. Options given here win over the strategy's file.
    """
    strategy = load_strategy(saved) if saved else Strategy()
    strategy = replace(strategy, keep_recent=strategy.keep_recent if keep_recent is None else keep_recent)
    strategy = replace(strategy, keep_keywords=keywords) if keywords else strategy
    strategy = replace(strategy, keep_tool_results=False) if no_tool_results else strategy

    def selected(conversation: Conversation, meter: Meter) -> Change:
        found = select(conversation.messages, strategy, conversation.grammar, meter.message)
        reasons = dict(zip(map(str, found.indices), found.reasons, strict=True))
        text = f"{found.count_after:,} of {count(found.count_before, 'message')} kept"
        return Change(found.messages, {"kept": reasons}, text, found.notices)

    change(given, selected, output, in_place=in_place, force=force)


def load_strategy(name: str) -> Strategy:
    """A strategy from its file, by the ending of its name."""
    try:
        text = Path(name).read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or "not UTF-8 text"
        raise InputError(f"the strategy cannot be read: {what}", source=name) from None
    try:
        return Strategy.from_toml(text) if name.lower().endswith(".toml") else Strategy.from_json(text)
    except MalformedInput as error:
        raise MalformedInput(error.what, source=name, line=error.line, offset=error.offset) from None
