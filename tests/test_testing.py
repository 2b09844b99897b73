"""The doubles and builders: what our own tests, and our users', stand on."""

import asyncio

import pytest

from foldline import Compactor, sources, validators
from foldline.core.asking import Ask, Reply
from foldline.core.counting.budget import Budget
from foldline.core.effects import Keep, Recall, Tell
from foldline.core.summaries.styles import STYLES
from foldline.core.summaries.summary import accept
from foldline.errors import Overloaded
from foldline.model import Notice
from foldline.testing import SUMMARY, FakeCaller, Session, play, without_bytes

DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini")
ASK = Ask("s", "p")


def test_the_usual_summary_is_one_that_is_accepted():
    assert accept(Reply(SUMMARY), STYLES["checkpoint"]).get("goal") == "The goal, as told."


def test_a_fake_caller_answers_in_turn_and_remembers_what_it_was_asked():
    caller = FakeCaller(["one", Reply("two", "length"), Overloaded("three"), lambda ask: ask.prompt * 2, "last"])
    assert caller.ask(ASK) == Reply("one", model="fake")
    assert asyncio.run(caller.aask(ASK)).stop == "length"
    with pytest.raises(Overloaded):
        caller.ask(ASK)
    assert [caller.ask(ASK).text for _ in range(3)] == ["pp", "last", "last"]
    assert caller.asked == [ASK] * 6


def test_a_fake_caller_serves_a_compactor():
    caller = FakeCaller(window=5_000, name="mine")
    session = Session().user("Go.")
    for number in range(8):
        session.tools(("Bash", "{}", f"{number} out put\n" * 200))
    assert Compactor(Budget(window=3_000), caller).fit(session.request()).receipt.author == "mine"


def talking():
    heard = yield Keep(Session().user("x").conversation())
    known = yield Recall(("a",))
    return heard, known


def test_a_play_ends_with_what_the_steps_return():
    assert play(talking(), [(Keep, "kept"), (Recall, lambda effect: effect.digests)]) == ("kept", ("a",))


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ([(Keep, None)], "the script is over, and it still asks for Recall"),
        ([(Keep, None), (Tell, None)], "step 2 was to be Tell and is Recall"),
        ([(Keep, None), (Recall, None), (Tell, None)], "it ended before step 3, Tell"),
    ],
)
def test_a_play_that_goes_otherwise_is_a_failure(script, said):
    with pytest.raises(AssertionError, match=said):
        play(talking(), script)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_session_writes_requests_that_providers_accept_and_are_told_apart(dialect):
    session = Session(dialect, system="Be kind.", model="m").user("hello").assistant("hi").user("go on")
    session.tools(("Bash", '{"command": "ls"}', "a b"), ("Read", '{"path": "a"}', "text"), text="Looking.", failed=True)
    request = session.request()
    slot = session.dialect.slot
    assert sources.read(request).dialect == dialect
    assert validators.check(request[slot], dialect) == []
    conversation = session.conversation()
    assert [call.name for message in conversation.messages for call in message.calls] == ["Bash", "Read"]
    assert [result.text for message in conversation.messages for result in message.results] == ["a b", "text"]
    said = [part.text for part in conversation.head.system] + [m.text for m in conversation.messages]
    assert "Be kind." in said


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_grows_without_changing_what_was_sent(dialect):
    session = Session(dialect).user("one")
    first = session.request()
    first[session.dialect.slot][0]["role"] = "changed"
    second = session.assistant("two").request()
    assert second[session.dialect.slot][0]["role"] == "user"
    assert len(second[session.dialect.slot]) == 2


def test_a_transcript_is_no_session():
    with pytest.raises(TypeError, match="pi is a transcript"):
        Session("pi")


def test_without_its_bytes_a_conversation_is_written_from_its_parts():
    conversation = Session().user("hello").conversation()
    bare = without_bytes(conversation)
    assert all(message.raw is None for message in bare.messages)
    assert sources.write(bare) == sources.write(conversation)


def test_notices_read_like_sentences():
    assert str(Notice("x", "said", line=3, offset=7)) == "line 3, offset 7: said"
