"""What a Compactor is told when it is made: refused at once where it cannot be so, and made into what a turn takes.

What each setting is for stands at the Compactor, what is given to a single call is checked in core/arguments.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from foldline.agenda import Agenda
from foldline.archive.base import Backend
from foldline.callers import Caller, caller
from foldline.core import arguments
from foldline.core.counting.budget import Budget
from foldline.core.counting.meter import Meter
from foldline.core.options import Writer
from foldline.core.prune import PruneSettings
from foldline.core.resume import Abilities
from foldline.core.summaries.styles import OFFERED
from foldline.models import summariser_window

_KINDS: Mapping[str, tuple[Any, str]] = {
    "archive": (Backend, 'an archive, as Archive("folds.db")'),
    "model": ((str, Caller), 'a name, as "anthropic:claude-haiku-4-5", or a Caller'),
    "fallback": ((str, Caller), 'a name, as "openai:gpt-5-mini", or a Caller'),
    "abilities": (Abilities, "Abilities(search=True)"),
    "agenda": (Agenda, "an Agenda"),
    "root": ((str, os.PathLike), "the project's folder"),
    "prune": (PruneSettings, "PruneSettings(limit=2_000)"),
    "scope": (str, "a text that names the project or the user"),
    "transcript": (str, "a text that says where the whole conversation is"),
    "secret": (bytes, "some 16 bytes"),
    "meter": (Meter, "a Meter"),
    "listen": (Callable, "a function that takes a Notice"),
}
"""What settings are, and an example of each."""


def check(budget: object, style: object, patience: object, **given: object) -> None:
    """Raises InvalidSetting for the first that cannot be so. Of those in `given`, None says that there is none."""
    if not isinstance(budget, Budget):
        raise arguments.no_budget(budget)
    arguments.check_seconds("patience", patience, "for all questions of one turn")
    arguments.check_known("style", style, OFFERED)
    for what, value in given.items():
        arguments.check_kind(what, value, *_KINDS[what])


def abilities_of(abilities: Abilities | None, agenda: Agenda | None) -> Abilities:
    """What the agent has. One whose plan is kept has the tool for it."""
    has = abilities or Abilities()
    return has if agenda is None else replace(has, plan=True)


def callers_of(model: str | Caller | None, fallback: str | Caller | None) -> dict[str, Caller]:
    """Who is asked, by the part they have."""
    named = {"model": model, "fallback": fallback}
    return {who: caller(name) if isinstance(name, str) else name for who, name in named.items() if name is not None}


def writer_of(asked: Caller | None) -> Writer | None:
    """What the engine has to know of a caller."""
    return Writer(asked.name, asked.window or summariser_window(asked.name)) if asked is not None else None
