"""Desk: what the tools work on, and how far they reach. It holds things and does nothing with them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from foldline.agenda import Agenda
from foldline.archive.base import SessionInfo
from foldline.archive.history import Shelf
from foldline.compactor import Compactor
from foldline.tools.table import TOOLS, Tool

Reach: TypeAlias = Literal["scope", "project", "all"]


@dataclass(frozen=True, slots=True)
class Live:
    """A conversation that is going on: who keeps it in its window, and what gives its last request."""

    compactor: Compactor
    request: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Desk:
    """What an agent's tools work on.

    `scope` is whose plan it is. `reach` says which sessions can be found: those of the scope, those of the project at
    `root`, or all. A reference of 16 digits can be read wherever it came from, since nobody guesses one.
    """

    archive: Shelf
    agenda: Agenda = field(default_factory=Agenda)
    root: str | os.PathLike[str] = "."
    scope: str = ""
    reach: Reach = "scope"
    live: Live | None = None
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(16), repr=False)
    """What the fences around stored text are made of."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that work here."""
        return tuple(tool for tool in TOOLS if self.live or not tool.live)

    @property
    def filters(self) -> Mapping[str, str]:
        """Which sessions can be found, as archives are asked for them."""
        if self.reach == "scope":
            return {"scope": self.scope}
        return {"project": os.path.realpath(self.root)} if self.reach == "project" else {}

    def reaches(self, session: SessionInfo) -> bool:
        return all(getattr(session, name) == value for name, value in self.filters.items())

    def close(self) -> None:
        if hasattr(self.archive, "close"):
            self.archive.close()
