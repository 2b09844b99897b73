"""A history is shown with the stubs of its plan, byte for byte as before; there are more only where that allows it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldline.core.effects import ViewPlan
from foldline.core.fold import Base
from foldline.core.ground import Given, Ground
from foldline.core.history.cycles import Pairing
from foldline.core.prune import PruneSettings
from foldline.core.showing import pruned, shown, spared
from foldline.model import Conversation, Message, Origin, Text, ToolResult

BULK = "a line of the log\n" * 400
OURS, PLANS = PruneSettings(worthwhile=0, protect=0), PruneSettings(worthwhile=0, protect=0, head=120, tail=40)
MESSAGES = tuple(Message("user", Origin.TOOL, (ToolResult(f"c{n}", (Text(f"{n}\n{BULK}"),)),)) for n in range(6))
NAMES = [
    stub.key
    for stub in pruned(Ground(Given(Conversation("anthropic", MESSAGES), MESSAGES, (), Pairing(()))), OURS).stubs
]


def ground(stubs, plans=None, pins=()):
    """Six bulky results, of which the plan names some as stubs, and says or does not say how they are made."""
    given = Given(Conversation("anthropic", MESSAGES), MESSAGES, (), Pairing(()), pins=tuple(pins))
    plan = ViewPlan("a", 6, stubs=frozenset(NAMES[at] for at in stubs), settings=plans)
    return Ground(given, Base(), plan, pinned=tuple(MESSAGES[pin] for pin in pins))


places = st.sets(st.integers(0, 5))


def test_every_result_has_a_name():
    assert len(NAMES) == len(MESSAGES)


@given(places, st.sampled_from([None, PLANS]))
def test_what_was_a_stub_is_the_same_bytes_once_there_are_more(stubs, plans):
    before = shown(ground(stubs, plans), OURS)
    assert {at for at, message in enumerate(before) if message != MESSAGES[at]} == stubs
    after = pruned(ground(stubs, plans), OURS)
    assert all(after.messages[at] == before[at] for at in stubs)


@given(places)
def test_where_the_plan_says_how_its_stubs_are_made_there_are_no_others(stubs):
    own = ground(stubs, PLANS)
    assert pruned(own, OURS).messages == shown(own, OURS)
    assert len(pruned(ground(stubs), OURS).stubs) == len(MESSAGES)


@given(places, places)
def test_a_view_is_another_only_where_a_stub_is_pinned_now(stubs, pins):
    before = ground(stubs, pins=pins)
    after = spared(before, OURS)
    if stubs & pins:
        assert (after.moved, after.plan.stubs) == (True, frozenset(NAMES[at] for at in stubs - pins))
    else:
        assert after is before
