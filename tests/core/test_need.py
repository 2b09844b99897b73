"""What a turn has to do follows from the size of its view, from what was asked for, and from what an earlier fold left
out."""

from __future__ import annotations

import pytest

from foldline.core.checkpoints.checkpoint import Checkpoint, Recipe
from foldline.core.counting.budget import Budget
from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter, Tally
from foldline.core.effects import ViewPlan
from foldline.core.facts import Facts
from foldline.core.fold import Base
from foldline.core.ground import Given, Ground
from foldline.core.history.cycles import Pairing
from foldline.core.history.repairer import Repairer
from foldline.core.need import ASKED, REFUSED, but, enough, needed
from foldline.core.options import Options
from foldline.core.policy import MAX_IN_ROW, Decision, at_ease
from foldline.core.scale import Scale
from foldline.core.summaries.summary import Summary
from foldline.core.work.ledger import Ledger
from foldline.model import Conversation, Grammar, Message, Origin, Text

BUDGET = Budget(window=100_000, reserve=0, max_bytes=1_000_000)
ROW = Checkpoint("notes", "skeleton", 0, 1, Recipe(), Summary("checkpoint", ()), Facts(), Ledger())
MESSAGES = tuple(Message("user", Origin.USER, (Text("word " * 12_000),)) for _ in range(3))


def decided(tokens, plan=None, shown=None, start=0, bytes_=0, **asked):
    """The decision on a view of this size, which an earlier turn showed by this plan."""
    given = Given(Conversation("anthropic", MESSAGES), MESSAGES, ("a", "b", "c"), Pairing(()))
    ground = Ground(given, Base((), start), plan or ViewPlan("a", 0), shown)
    scale = Scale(given.conversation, Meter(Estimator()), Repairer(Grammar()))
    return needed(Tally(tokens, tokens, tokens, tokens, bytes_), ground, Options(BUDGET, secret=b"s", **asked), scale)


@pytest.mark.parametrize(("bytes_", "action"), [(1_000_000, "rest"), (1_000_001, "compact")])
def test_a_request_with_too_many_bytes_is_folded_however_few_tokens_it_has(bytes_, action):
    assert decided(10, bytes_=bytes_).action == action


def test_what_somebody_asked_for_is_done_whatever_the_size_and_said_to_be_asked_for():
    asked = decided(10, force=True, to=3_000)
    assert (asked.action, asked.reason, asked.target) == ("compact", ASKED, 3_000)
    assert decided(10, force=True).target == BUDGET.at(BUDGET.target)
    assert decided(10, force=True, refused=True).reason == REFUSED
    assert but(asked, "there is nothing to fold").reason == "there is nothing to fold"
    assert but(decided(200_000), "there is nothing to fold").reason.endswith("0, but there is nothing to fold")


@pytest.mark.parametrize(
    ("tokens", "missing", "most", "anew"),
    [
        (10_000, 2, 50_000, True),
        (10_000, 2, 50_001, False),
        (50_001, 2, 10_000, False),
        (10_000, 0, 10_000, False),
    ],
)
def test_rules_that_found_no_room_get_it_once_there_is_twice_as_much(tokens, missing, most, anew):
    plan = ViewPlan("a", 2, start=2, tokens=tokens, in_row=3, missing=missing, most=most)
    decision = decided(tokens, plan, ROW)
    assert (decision.action == "compact", decision.anew) == (anew, anew)
    assert decision.in_row == anew
    if anew:
        assert decision.reason.startswith("2 of the user's rules found no room")


def test_folds_in_a_row_are_counted_from_what_the_plan_says_of_the_last():
    again = ViewPlan("a", 2, start=2, tokens=99_000, in_row=2)
    assert decided(100_001, again, ROW).in_row == 3
    assert decided(100_001, again).in_row == 1, "nothing is folded in what is shown"
    assert decided(120_000, again, ROW).in_row == 1, "many new tokens came since"


@pytest.mark.parametrize(("start", "in_row"), [(3, MAX_IN_ROW + 1), (2, 1)])
def test_of_a_view_that_was_sent_back_only_what_stands_behind_its_checkpoint_is_new(start, in_row):
    decision = decided(100_001, ViewPlan("", 0), ROW, start)
    assert decision.in_row == in_row
    assert decision.storm == (start == 3)


def test_pruning_must_leave_room_for_the_next_turns_unless_another_fold_would_not():
    assert enough(Decision("prune", ""), BUDGET) == BUDGET.room
    assert enough(Decision("compact", "", storm=True), BUDGET) == BUDGET.room
    assert enough(Decision("compact", ""), BUDGET) == at_ease(BUDGET) < BUDGET.room
