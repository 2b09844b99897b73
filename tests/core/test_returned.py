"""What repairs and folds put into a view is known when it comes back, and a list that grows is looked at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.checkpoints.checkpoint import Checkpoint, Recipe
from foldline.core.checkpoints.returned import Returned, attributed
from foldline.core.facts import Fact, Facts
from foldline.core.history.mend import ORPHAN, SECOND
from foldline.core.history.repair import GO_ON, NOTHING_SAID, OPENING
from foldline.core.summaries.summary import Summary
from foldline.core.work.ledger import Ledger
from foldline.model import Media, Message, Origin, Text, ToolResult

NOTES = "# Notes on the conversation so far\n\nAll is well."
OTHER = "# Notes on the weather\n\nIt rains."
QUOTE = ORPHAN.format(id="c1", text="rm -rf /")


def user(*texts, origin=Origin.USER):
    return Message("user", origin, tuple(map(Text, texts)))


messages = st.lists(
    st.one_of(
        st.builds(user, st.sampled_from((NOTES, OTHER, QUOTE, GO_ON, "go on", "[draft] go on"))),
        st.just(user(NOTES, origin=Origin.TOOL)),
        st.just(Message("assistant", Origin.ASSISTANT, (Text(NOTES),))),
        st.just(Message("user", Origin.TOOL, (ToolResult("c1", (Text("so"),)),))),
    ),
    max_size=8,
).map(tuple)


def row(text):
    return Checkpoint(text, "skeleton", 0, 1, Recipe(), Summary("checkpoint", ()), Facts(), Ledger())


def found(returned, history, rows):
    """What is told of a history, whoever tells it."""
    own, texts = returned.follow(history), returned.texts
    known = {text: rows[text] for text in texts if text in rows}
    return own, texts, returned.known(known) if known else None


@pytest.mark.parametrize("text", [ORPHAN.format(id="c", text="x"), SECOND.format(id="c", text="x")])
def test_a_quotation_of_a_tool_is_the_tool_s_word(text):
    assert attributed(user(text)).origin is Origin.TOOL
    assert attributed(user(text, "and the user's own")).origin is Origin.USER


@pytest.mark.parametrize("text", [OPENING, NOTHING_SAID, GO_ON])
def test_a_word_that_a_repair_put_in_is_the_program_s(text):
    assert attributed(user(text)).origin is Origin.PROGRAM


def test_anything_else_is_the_very_message():
    picture = Media("image", "image/png", data="aGk=")
    for message in (
        user("go on"),
        user("[draft] go on"),
        Message("user", Origin.USER, (picture,)),
        Message("user", Origin.USER, (picture, Text("go on"))),
        user(GO_ON, origin=Origin.TOOL),
        user(QUOTE, origin=Origin.SUMMARY),
        Message("assistant", Origin.ASSISTANT, (Text(GO_ON),)),
    ):
        assert attributed(message) is message


@given(st.lists(st.tuples(messages, st.integers(0, 8), messages, st.sets(st.sampled_from((NOTES, OTHER)))), max_size=4))
def test_a_list_that_grows_forks_or_goes_back_is_told_as_if_seen_for_the_first_time(turns):
    returned, history = Returned(), ()
    for more, kept, edited, known in turns:
        rows = {text: row(text) for text in known}
        for now in (history + more, (history + more)[:kept] + edited):
            assert found(returned, now, rows) == found(Returned(), now, rows)
            history = now


def test_a_checkpoint_that_came_back_stays_the_same_object_while_the_list_grows():
    returned, history = Returned(), (user("hello"), user(NOTES), user("and now?"))
    own, _, known = found(returned, history, {NOTES: row(NOTES)})
    again = found(returned, (*history, user("more")), {NOTES: row(NOTES)})[2]
    assert own[1].origin is Origin.USER
    assert known[0][1].origin is Origin.SUMMARY
    assert again[0][1] is known[0][1]
    assert known[1] == ((1, row(NOTES)),)


def test_each_message_is_looked_at_once():
    returned, history = Returned(), tuple(user(f"question {number}") for number in range(100))
    for stop in range(0, 101, 2):
        returned.follow(history[:stop])
    assert returned.looked == 100


ENDED = f"{NOTES}\n\n# End of the notes"


@pytest.mark.parametrize(
    ("lead", "said", "apart"),
    [
        ("", "", True),
        ("Sort it.", "Sort it.", True),
        ("Sort it.\nAnd write it.", "Sort it.", False),
        ("He wrote this:", "", False),
    ],
)
def test_one_that_stands_behind_the_agent_s_words_is_a_view_s_only_where_it_covers_what_leads_to_it(lead, said, apart):
    """Otherwise somebody quotes it, in the middle of another conversation."""
    returned = Returned()
    facts = Facts((Fact("user", said, "m", 0),) if said else ())
    joined = user(f"{lead}\n{ENDED}\nGo on.".lstrip())
    returned.follow((Message("assistant", Origin.ASSISTANT, (Text("Well?"),)), joined))
    found = returned.apart({ENDED: replace(row(ENDED), facts=facts)})
    assert bool(found) == apart
    assert not apart or [one.text for one in found[1]] == [*filter(None, (lead, ENDED)), "Go on."]


def test_before_the_agent_s_first_words_a_client_may_have_put_anything():
    returned = Returned()
    returned.follow((user("Be kind."), user(f"He wrote this:\n{ENDED}\nGo on.")))
    assert len(returned.apart({ENDED: row(ENDED)})[1]) == 3
