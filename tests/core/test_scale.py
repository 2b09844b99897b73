"""A view is weighed as it is sent, and once."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter, Usage
from foldline.core.history.repair import repair
from foldline.core.history.repairer import Repairer
from foldline.core.policy import cache_cost
from foldline.core.scale import Scale
from foldline.testing import Session

TALK = Session().user("Sort the handlers.").tools(("Bash", '{"command": "ls"}', "a.py b.py")).user("And the rest.")


def scale(conversation):
    meter = Meter(Estimator())
    return Scale(conversation, meter, Repairer(conversation.grammar)), meter


def fresh(conversation, view):
    return Meter(Estimator()).count(conversation.with_messages(view))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=6))
def test_each_view_weighs_what_it_weighs_alone_whatever_was_weighed_before(slices):
    conversation = TALK.conversation()
    weighed, _ = scale(conversation)
    for start, stop in slices:
        view = conversation.messages[start:stop]
        mended = repair(view, conversation.grammar)
        assert weighed.count(view) == fresh(conversation, view)
        assert weighed.mended(view) == mended
        assert weighed.sized(view) == fresh(conversation, mended.messages)


def test_the_same_view_is_not_counted_again_until_others_may_have_taught_the_meter():
    conversation = TALK.conversation()
    weighed, meter = scale(conversation)
    before = weighed.count(conversation.messages)
    meter.learn(conversation, Usage(before.tokens + 20))
    assert weighed.count((*conversation.messages,)) is before
    weighed.count_anew()
    assert weighed.count(conversation.messages).tokens == before.tokens + 20


def test_the_cost_is_that_of_what_two_views_do_not_begin_with_in_common():
    conversation = TALK.conversation()
    weighed, _ = scale(conversation)
    last, view = conversation.messages, (*conversation.messages[:2], conversation.messages[3])
    sizes = [fresh(conversation, some).tokens for some in (last, view, last[:2])]
    assert weighed.cost(last, view) == cache_cost(*sizes)
    assert weighed.cost(last[1:], last) == cache_cost(fresh(conversation, last[1:]).tokens, sizes[0], 0)


def test_a_view_that_goes_on_where_the_last_one_ended_rewrites_only_what_is_new():
    conversation = TALK.conversation()
    weighed, _ = scale(conversation)
    view = conversation.messages
    alike = tuple(replace(message) for message in view[:2])  # read again, as each request is
    begun, whole = fresh(conversation, view[:2]).tokens, fresh(conversation, view).tokens
    for last in (view[:2], alike):
        assert weighed.cost(last, view) == cache_cost(begun, whole, begun)
    assert weighed.cost(view, alike) == cache_cost(whole, begun, begun)


def test_messages_alone_weigh_without_the_head():
    conversation = Session(system="Be brief. " * 50).user("hello").conversation()
    weighed, meter = scale(conversation)
    assert weighed.alone(conversation.messages) == meter.message(conversation.messages[0])
    assert weighed.alone(()) == 0


def test_messages_alone_weigh_what_the_provider_counts():
    conversation = TALK.conversation()
    weighed, meter = scale(conversation)
    before = weighed.alone(conversation.messages)
    meter.learn(conversation, Usage(round(meter.count(conversation).tokens * 1.5)))
    assert 1 < meter.ratio < 2
    assert weighed.alone(conversation.messages) == round(before * meter.ratio)
