"""What a turn is given besides the conversation: budget, manner, models, settings. Values only."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from foldline.core.counting.budget import Budget
from foldline.core.prune import PruneSettings
from foldline.core.resume import Abilities, Manner

Direction: TypeAlias = Literal["up-to", "from"]

SUMMARISER_WINDOW = 32_768
"""The window assumed for a summariser that states none: small enough for nearly every model in use."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A model that can be asked for a summary: its name, and its window if known."""

    name: str
    window: int = SUMMARISER_WINDOW
    max_tokens: int = 8_192
    """What the model may write at once, including its reasoning before the notes."""


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that shapes a view. The defaults fold without a model."""

    budget: Budget
    manner: Manner = field(default_factory=Manner)
    abilities: Abilities = field(default_factory=Abilities)
    prune: PruneSettings = field(default_factory=PruneSettings)
    style: str = "checkpoint"
    focus: str = ""
    memory: tuple[str, ...] = ()
    """Texts of project memory files, in which compaction instructions may stand."""
    plan: str = ""
    """The agent's active plan and its task in progress, as a checkpoint shows it."""
    mask_secrets: bool = True
    """A model that writes is shown masks in place of secrets."""
    around: bool = False
    """The agent keeps a plan or memory files, which are read before a checkpoint is written."""
    model: Writer | None = None
    fallback: Writer | None = None
    pins: tuple[int, ...] = ()
    """Messages that stay as they are. The engine adds the rest of their tool cycles at once."""
    guide: int | None = None
    """The message that carries the project's instructions, where it is to stay."""
    scope: str = ""
    transcript: str = ""
    secret: bytes = field(kw_only=True)
    """Seals the fence around quoted history. It has no default: a secret that everyone knows lets anyone forge one."""
    force: bool = False
    """Compact now, whatever the policy says."""
    refused: bool = False
    """That is because the provider refused the request as too long."""
    ahead: bool = False
    """Make a fold ahead of need: it is shown only when it is needed."""
    to: int | None = None
    """Tokens the view should have."""
    most: int | None = None
    """Tokens the checkpoint may have, where its room allows more."""
    direction: Direction = "up-to"
    pivot: int | None = None
    """The message at which to divide, where the caller chooses that."""

    @property
    def writers(self) -> tuple[Writer, ...]:
        return tuple(writer for writer in (self.model, self.fallback) if writer)

    def without_models(self) -> Options:
        """The same, with nobody to ask."""
        return replace(self, model=None, fallback=None)
