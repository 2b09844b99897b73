"""Folds of folds."""

from __future__ import annotations

import json
import random

import pytest
from tests.evals.sessions import coding

from foldline.core.history.cycles import inside, pair
from foldline.evals.chain import FOLDS, can, chained, stages
from foldline.evals.splits import Session, faults, size, splits
from foldline.evals.strategies import strategies
from foldline.testing import Session as Builder

SPLIT = next(splits(Session("one", coding(4, 60).conversation()), 1, 0, 4_000))
ALL = strategies()


@pytest.mark.parametrize("folds", FOLDS)
def test_stages_are_about_equal_and_never_inside_a_cycle(folds):
    stops = stages(SPLIT.prefix, folds)
    assert len(stops) == folds
    assert stops[-1] == len(SPLIT.prefix)
    closed = inside((c.start, c.stop) for c in pair(SPLIT.prefix.messages, SPLIT.prefix.grammar).cycles)
    assert not closed.intersection(stops)
    sizes = [size(SPLIT.prefix.messages[a:b]) for a, b in zip([0, *stops], stops, strict=False)]
    assert max(sizes) < 1.6 * SPLIT.tokens / folds


def test_there_are_so_many_stages_where_one_message_is_most_of_it():
    session = coding(4, 4)
    session.tools(("Bash", json.dumps({"command": "cat log"}), "a line of the log\n" * 20_000), text="Let me see.")
    prefix = session.conversation()
    assert [len(set(stages(prefix, folds))) for folds in FOLDS] == list(FOLDS)


def test_a_prefix_of_one_cycle_cannot_be_folded_in_parts():
    session = Builder("anthropic").user("Go.").tools(("Bash", "{}", "done"), text="I will.")
    assert [can(session.conversation(), folds) for folds in FOLDS] == [True, False, False]


@pytest.mark.parametrize("name", ["foldline", "sliding window"])
@pytest.mark.parametrize("folds", FOLDS)
def test_what_is_left_after_many_folds_is_valid_and_within_the_room(name, folds):
    room = SPLIT.tokens // 8
    view = chained(SPLIT.prefix, ALL[name], room, folds, random.Random(0))
    assert not faults(view)
    assert size(view.messages) <= room * 1.02


def test_one_fold_is_the_plain_fold():
    room = SPLIT.tokens // 5
    plain = ALL["head + tail"].start()(SPLIT.prefix, room, random.Random(0))
    assert chained(SPLIT.prefix, ALL["head + tail"], room, 1, random.Random(0)) == plain


def test_each_fold_sees_what_the_last_one_left_and_the_new_part():
    seen = []

    class Watching:
        def start(self):
            def fold(given, room, draw):
                seen.append(len(given))
                return given.with_messages(given.messages[-2:])

            return fold

    chained(SPLIT.prefix, Watching(), 100, 3, random.Random(0))
    stops = stages(SPLIT.prefix, 3)
    assert seen == [stops[0], 2 + stops[1] - stops[0], 2 + stops[2] - stops[1]]
