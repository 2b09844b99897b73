"""What a turn has to do: what its view's size asks for, what somebody asked for, and what an earlier fold left out.

    size, ground, options ── needed ──> Decision

When a size asks for what is in policy.py.
"""

from __future__ import annotations

from dataclasses import replace

from foldline.core.counting.budget import Budget
from foldline.core.counting.meter import Tally
from foldline.core.effects import ViewPlan
from foldline.core.ground import Ground
from foldline.core.options import Options
from foldline.core.policy import MAX_IN_ROW, Decision, Past, at_ease, decide
from foldline.core.scale import Scale

ASKED = "asked for"
"""Why there is a fold that a program or a person wanted."""
REFUSED = "the provider refused the request as too long"
"""Why there is one after a refusal. A program may ask for one of the kind "emergency" although nobody refused."""


def needed(tally: Tally, ground: Ground, options: Options, scale: Scale) -> Decision:
    """What to do with a history whose view so far has this size."""
    budget = options.budget
    decision = decide(tally.tokens, budget, _past(tally, ground, scale), bytes_=tally.bytes)
    if options.force:
        target = options.to or budget.at(budget.target)
        reason = REFUSED if options.refused else ASKED
        return replace(decision, action="compact", reason=reason, target=target)
    if decision.action == "compact" or not _has_room_for_rules(tally, ground.plan, budget):
        return decision
    reason = f"{ground.plan.missing} of the user's rules found no room in the checkpoint, and have it now"
    return Decision("compact", reason, budget.at(budget.target), in_row=1, anew=True)


def _has_room_for_rules(tally: Tally, plan: ViewPlan, budget: Budget) -> bool:
    """Rules are missing in the checkpoint, and it was made in less than half of the room that there is now."""
    return plan.missing > 0 and max(plan.most, tally.tokens) * 2 <= budget.room


def _past(tally: Tally, ground: Ground, scale: Scale) -> Past:
    """What was done before. Of a view that was sent back to us there is no plan: its size after the fold is taken to be
    all but what stands behind its checkpoint."""
    if ground.shown is None:
        return Past()
    if ground.plan.tokens:
        return Past(ground.plan.in_row, ground.plan.tokens)
    return Past(MAX_IN_ROW, tally.tokens - scale.alone(ground.messages[ground.base.start :]))


def enough(decision: Decision, budget: Budget) -> int:
    """The tokens at which pruning is enough: the whole room while that is not exceeded, or where another fold would not
    help; otherwise less, so that the next turns have room."""
    return budget.room if decision.action == "prune" or decision.storm else at_ease(budget)


def but(decision: Decision, why: str) -> Decision:
    """To rest all the same, and why. That somebody asked for a fold does not tell why there is none."""
    return replace(decision, action="rest", reason=why if decision.reason == ASKED else f"{decision.reason}, but {why}")
