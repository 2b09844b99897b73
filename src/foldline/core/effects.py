"""What the engine asks of the world, and what it is told. Values only: who does them is in drive.py.

    Recall(digests)         ──> Recalled or None      the longest prefix that was folded or pruned before
    Known(texts)            ──> {text: Checkpoint}    which of these texts are checkpoints that came back
    Keep(conversation)      ──> None                  store the originals, before anything else
    Around(conversation)    ──> Surroundings          what the agent keeps besides: its plan, its memory files
    Asking(asks)            ──> [Reply or CallerError] one model call each; several may run at once
    Save(plan, checkpoint)  ──> None, or Recalled     make the view durable, before it is claimed; someone was faster
    Tell(notice)            ──> None                  say something to whoever listens

An effect that fails is answered with its error as a value, so that every outcome is seen in the engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from foldline.core.asking import Ask
from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.prune import PruneSettings
from foldline.model import Conversation, Notice


@dataclass(frozen=True, slots=True)
class ViewPlan:
    """How a history is shown: which checkpoint stands for its beginning, and which results are stubs.

    It is stored under the skeleton of the history it was made for, and holds for everything that extends it.
    """

    skeleton: str
    count: int
    start: int = 0
    """The first message that is shown as it is."""
    silent: int = 0
    """Messages right before `start` that the skeleton does not know: results, reminders, pictures."""
    checkpoint: str = ""
    """The reference of the checkpoint that stands before it."""
    carried: int | None = None
    """A user message before `start` that is shown behind the checkpoint."""
    clamped: int = 0
    """Characters of the carried message that are shown; 0: all of them."""
    stubs: frozenset[str] = frozenset()
    """Names of the results that are shown as stubs."""
    tokens: int = 0
    """The size of the view right after the last fold; 0 where nothing was folded."""
    in_row: int = 0
    """Folds in a row, this one included, that gained too little."""
    pins: tuple[int, ...] = ()
    """Messages before `start` that are shown in front of the checkpoint."""
    settings: PruneSettings | None = None
    """How the stubs are made, where not as the options say: a stub must be the same bytes on every turn."""
    ready: bool = False
    """It was made ahead of need, and is not shown before it has to be."""
    guide: int | None = None
    """Another message in front of the checkpoint: it carries the project's instructions. Every fold chooses it anew."""
    guide_as: str = ""
    """The identity of what is shown of that message: what a client puts beside the user's words may change."""
    carried_as: str = ""
    """The identity that the carried message had when only a part of it was shown, by which the view names the whole on
    every turn: the identity itself changes when a client moves its cache marks."""
    missing: int = 0
    """How many of the user's rules found no room in the checkpoint."""
    most: int = 0
    """How many tokens the view could have when it was made: where there are many more now, these rules may fit."""
    bare: bool = False
    """The carried message is shown without its pictures and files. One that is clamped has none anyway."""

    @property
    def front(self) -> tuple[int, ...]:
        """All messages that are shown in front of the checkpoint."""
        return self.pins if self.guide is None else tuple(sorted({*self.pins, self.guide}))


@dataclass(frozen=True, slots=True)
class Recalled:
    """A plan found again, and the checkpoint it shows. `ready` is one made ahead of need, if there is one."""

    plan: ViewPlan
    checkpoint: Checkpoint | None = None
    ready: Recalled | None = None


@dataclass(frozen=True, slots=True)
class Keep:
    conversation: Conversation


@dataclass(frozen=True, slots=True)
class Around:
    conversation: Conversation


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the agent keeps beside the conversation, as it is when a checkpoint is written."""

    plan: str = ""
    """Its active plan and the task in progress."""
    memory_files: tuple[str, ...] = ()
    """What memory files there are, an entry for each."""
    memory: tuple[str, ...] = ()
    """The texts of these files, in which compaction instructions may stand."""
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Recall:
    digests: tuple[str, ...]
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asking:
    asks: tuple[Ask, ...]


@dataclass(frozen=True, slots=True)
class Save:
    """Make a view durable. `covered` names the messages the checkpoint stands for; `over` is the plan this one
    replaces.

    Where another plan has taken that place meanwhile, nothing is saved, and that one is the answer.
    """

    plan: ViewPlan
    checkpoint: Checkpoint | None = None
    covered: tuple[str, ...] = ()
    over: ViewPlan | None = None


@dataclass(frozen=True, slots=True)
class Tell:
    notice: Notice


Effect: TypeAlias = Keep | Around | Recall | Known | Asking | Save | Tell
