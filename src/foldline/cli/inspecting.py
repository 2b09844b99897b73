"""`foldline inspect`: where the tokens of a conversation are. What it finds is in report.py, the picture in draw.py."""

from __future__ import annotations

from dataclasses import replace

import click

from foldline.cli.options import Given, common, load, meter, print_json, window
from foldline.cli.screen import count, working


@click.command("inspect")
@common
def command(given: Given) -> None:
    """Show where the tokens of a conversation are.

    By who spoke, by tool, by age and by the size of results; what would have to be repaired before a provider takes it;
    and what pruning, selecting and cutting would free.
    """
    from foldline.cli.report import inspect

    with working(f"reading {given.name}", quiet=given.json) as life:
        conversation = load(given)
        life.step(f"counting the tokens of {count(len(conversation), 'message')}")
        size, notices = window(given, conversation)
        found = inspect(conversation, meter(given, conversation), model=given.model, window=size)
        found = replace(found, notices=(*found.notices, *notices))
    if given.json:
        print_json({"file": given.file, "history": given.history, "pick": given.pick, **found.to_json()})
        return
    from foldline.cli.draw import draw

    draw(found, given)
