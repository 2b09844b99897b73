"""`foldline prune`: the document with its old bulky tool results shortened. How they are is in core/prune.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from foldline.cli.change import Change, change, output
from foldline.cli.options import Given, common
from foldline.cli.screen import count
from foldline.core.prune import PruneSettings, prune

if TYPE_CHECKING:
    from foldline.core.counting.meter import Meter
    from foldline.model import Conversation

_DEFAULTS = PruneSettings()


def _number(name: str, text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option for one of the settings, with the setting's own default."""
    kind, default = click.IntRange(min=0), getattr(_DEFAULTS, name)
    return click.option(f"--{name}", type=kind, default=default, show_default=True, metavar="N", help=text)


@click.command("prune")
@common
@_number("limit", "Characters above which a result is bulky.")
@_number("head", "Characters kept of its beginning.")
@_number("tail", "Characters kept of its end.")
@_number("protect", "Messages at the end that are never touched.")
@_number("worthwhile", "Characters that must be freed, or nothing is changed.")
@output
def command(given: Given, output: str | None, in_place: bool, force: bool, **settings: Any) -> None:
    """Shorten old bulky tool results.

    The document goes to standard output in its own dialect, the figures to standard error. Each shortened result says
    how much was left out; the originals are in FILE alone, so keep it.
    """

    def pruned(conversation: Conversation, _: Meter) -> Change:
        found = prune(conversation.messages, PruneSettings(**settings))
        figures = {"results_shortened": len(found.stubs), "characters_freed": found.freed}
        return Change(found.messages, figures, f"{count(len(found.stubs), 'result')} shortened")

    change(given, pruned, output, in_place=in_place, force=force)
