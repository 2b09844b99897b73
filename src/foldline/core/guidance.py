"""The project's own instructions (CLAUDE.md, AGENTS.md), as coding agents put them into the user's messages.

    ground, decision ── guided ──> a fold that leaves the message that carries them where it is

An agent sends them once, at the beginning of its history: folded with it they would be gone, for nobody sends them
again. They are the program's words, so no rules or facts are read from them; files that a caller names are in
memory_files. How the rest is folded is in compaction.py.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from foldline.core.attempt import Folded
from foldline.core.compaction import Compaction
from foldline.core.counting.meter import Meter
from foldline.core.effects import Asking
from foldline.core.fold import guiding, newest_user
from foldline.core.ground import Ground
from foldline.core.options import Options
from foldline.core.policy import Decision
from foldline.core.receipt import Attempt
from foldline.core.said.usertext import guide_in
from foldline.core.story import Story
from foldline.errors import CannotFit

MOST = 0.25
"""Share of a view's target size that they may take. Larger instructions are folded, and counted as left out."""
LEFT_OUT = "project instructions"


def guided(
    ground: Ground, options: Options, meter: Meter, decision: Decision, story: Story
) -> Generator[Asking, list[Any], Folded | None]:
    """A fold that shows the instructions as they are. They give way where they would cost the view, or one of the
    user's rules."""
    guide = guiding(ground.messages, newest_user(ground.messages))  # the newest user message stays anyway
    if guide is None or guide in options.pins:
        return (yield from Compaction(ground, options, meter, decision, story).run())
    if guide < ground.begin:  # what they want of summaries counts for spans that they do not stand in, too
        options = replace(options, memory=(*options.memory, guide_in(ground.messages[guide]).text))
    folded: Folded | None = None
    asked: tuple[Attempt, ...] = ()
    if meter.message(guide_in(ground.messages[guide])) * meter.ratio <= decision.target * MOST:
        attempt = Compaction(ground, replace(options, guide=guide), meter, decision, story)
        with suppress(CannotFit):
            folded = yield from attempt.run()
        if folded and not folded.missing:
            return folded
        why = "beside the project's instructions it left no room, or no room for a rule"
        asked = tuple(tried.not_taken(why) for tried in attempt.asked)
        options = options.without_models()  # a model is asked once
    try:
        without = yield from Compaction(ground, options, meter, decision, story).run()
    except CannotFit:
        if folded is None:
            raise
        without = None
    if without is None or (folded and folded.cost <= without.cost):
        return folded or without
    without = replace(without, written=replace(without.written, attempts=(*asked, *without.written.attempts)))
    plan = without.shown.plan
    gone = guide < plan.start and guide not in plan.pins
    return replace(without, left_out=(*without.left_out, (LEFT_OUT, 1))) if gone else without
