"""A history as it is shown, with its old bulky results as stubs.

    ground ── shown ──> the last view extended by what is new        ground ── pruned ──> the same with more stubs

What stands in front of the tail is in ground.py, what a stub is in prune.py. When more stubs are wanted is decided in
the engine.
"""

from __future__ import annotations

from dataclasses import replace

from foldline.core.ground import Ground
from foldline.core.prune import Pruned, PruneSettings
from foldline.core.stubbing import only, stubbed
from foldline.model import Message


def shown(ground: Ground, settings: PruneSettings) -> tuple[Message, ...]:
    """The last view extended by what is new: its bytes begin with those of the last view."""
    return _again(ground, settings).messages if ground.plan.stubs else ground.view


def pruned(ground: Ground, settings: PruneSettings) -> Pruned:
    """The view with more results as stubs: where the plan says how its stubs are made, only those are made so."""
    settings = only(ground.plan.settings) if ground.plan.settings else settings
    return stubbed(ground.view, settings, ground.plan.stubs, ground.pinned)


def spared(ground: Ground, settings: PruneSettings) -> Ground:
    """The ground, where stubs are pinned now: they are whole from now on, also on turns that do not pin them."""
    if not (ground.plan.stubs and ground.given.pins):
        return ground
    stubs = _again(ground, settings).plan
    return ground if stubs == ground.plan.stubs else replace(ground, plan=replace(ground.plan, stubs=stubs), moved=True)


def _again(ground: Ground, settings: PruneSettings) -> Pruned:
    """The view with the stubs of its plan, and no others."""
    return stubbed(ground.view, only(ground.plan.settings or settings), ground.plan.stubs, ground.pinned)
