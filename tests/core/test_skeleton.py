"""A history is found again whatever a client does to its wrapping, and not when its words were changed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.history.skeleton import Chain, chain
from foldline.model import Media, Message, Opaque, Origin, Text, Thinking, ToolCall, ToolResult


def user(*parts):
    return Message("user", Origin.USER, tuple(Text(part) if isinstance(part, str) else part for part in parts))


def says(*parts):
    return Message(
        "assistant", Origin.ASSISTANT, tuple(Text(part) if isinstance(part, str) else part for part in parts)
    )


def result(id_, text):
    return ToolResult(id_, (Text(text),))


CALL = ToolCall("c1", "edit", '{"path": "a.py", "old": "x  y", "new": "z"}')
HISTORY = (
    Message("system", Origin.SYSTEM, (Text("Be kind."),)),
    user("fix the parser", "please"),
    says(Thinking("hm", "seal"), "I look at it.", CALL, ToolCall("c2", "read", "{}")),
    user(result("c1", "a long output"), result("c2", "another")),
    says("It is done."),
    user("now the lexer", Media("image", "image/png", "AAAA")),
    says("On it."),
)
REMINDER = "<system-reminder>The time is 12:00.</system-reminder>"


def with_message(index, message):
    return (*HISTORY[:index], message, *HISTORY[index + 1 :])


def end(messages):
    return chain(messages)[-1]


KEPT = {
    "cache marks moved": with_message(
        1, user(Text("fix the parser", {"cache_control": {"type": "ephemeral"}}), "please")
    ),
    "string for blocks": with_message(1, user("fix the parser\nplease")),
    "blocks for a string": with_message(4, says("It is", "done.")),
    "thinking dropped": with_message(2, says("I look at it.", *HISTORY[2].calls)),
    "results cleared": with_message(3, user(result("c1", "[cleared]"), ToolResult("c2", ()))),
    "results as messages of their own": (
        *HISTORY[:3],
        Message("tool", Origin.TOOL, (result("c1", "a"),)),
        Message("tool", Origin.TOOL, (result("c2", "b"),)),
        *HISTORY[4:],
    ),
    "a trailing newline": with_message(4, says("It is done.\n\n")),
    "white space": with_message(4, says("It  is\n\tdone.")),
    "key order": with_message(
        2, says("I look at it.", replace(CALL, arguments='{"new":"z","old":"x  y","path":"a.py"}'), HISTORY[2].calls[1])
    ),
    "no arguments said otherwise": with_message(2, says("I look at it.", CALL, ToolCall("c2", "read", ""))),
    "escapes said otherwise": with_message(
        2,
        says(
            "I look at it.", replace(CALL, arguments=CALL.arguments.replace("a.py", "\\u0061.py")), HISTORY[2].calls[1]
        ),
    ),
    "user messages divided": (HISTORY[0], user("fix the parser"), user("please"), *HISTORY[2:]),
    "reminder added as a block": with_message(1, user("fix the parser", "please", REMINDER)),
    "reminder added before": with_message(1, user(REMINDER, "fix the parser", "please")),
    "reminder inside the text": with_message(1, user(f"{REMINDER}\nfix the parser\nplease")),
    "reminders merged": with_message(1, user("fix the parser", "please", REMINDER + REMINDER)),
    "reminder beside results": with_message(3, user(*HISTORY[3].parts, REMINDER)),
    "reminder as a message": (*HISTORY[:4], user(REMINDER), *HISTORY[4:]),
    "interruption noted": (*HISTORY[:5], user("[Request interrupted by user]"), *HISTORY[5:]),
    "another system prompt": with_message(0, Message("system", Origin.SYSTEM, (Text("Be brief."),))),
    "no system prompt": HISTORY[1:],
    "picture re-encoded": with_message(5, user("now the lexer", Media("image", "image/webp", "BBBB"))),
    "picture dropped": with_message(5, user("now the lexer")),
    "opaque parts": with_message(6, says("On it.", Opaque("server", {"x": 1}))),
    "steps divided": (*HISTORY[:2], says("I look at it."), says(CALL), says(HISTORY[2].calls[1]), *HISTORY[3:]),
    "ids of messages": with_message(6, replace(HISTORY[6], id="m7", raw=b"{}", form="blocks")),
}
CHANGED = {
    "a word": with_message(1, user("fix the lexer", "please")),
    "a letter's case": with_message(1, user("Fix the parser", "please")),
    "words joined": with_message(1, user("fix theparser", "please")),
    "an added sentence": with_message(5, user("now the lexer", "and quickly")),
    "a removed sentence": with_message(1, user("fix the parser")),
    "the assistant's words": with_message(4, says("It is not done.")),
    "an argument": with_message(
        2, says("I look at it.", replace(CALL, arguments='{"path": "b.py"}'), HISTORY[2].calls[1])
    ),
    "white space in an argument": with_message(
        2, says("I look at it.", replace(CALL, arguments=CALL.arguments.replace("x  y", "x y")), HISTORY[2].calls[1])
    ),
    "a call's name": with_message(2, says("I look at it.", replace(CALL, name="write"), HISTORY[2].calls[1])),
    "a call's id": with_message(2, says("I look at it.", replace(CALL, id="c9"), HISTORY[2].calls[1])),
    "a call removed": with_message(2, says("I look at it.", CALL)),
    "calls reordered": with_message(2, says("I look at it.", *reversed(HISTORY[2].calls))),
    "a turn removed": (*HISTORY[:4], *HISTORY[6:]),
    "turns reordered": (*HISTORY[:1], HISTORY[5], *HISTORY[2:5], HISTORY[1], HISTORY[6]),
    "a user message removed": (*HISTORY[:5], HISTORY[6]),
    "another speaker": with_message(4, user("It is done.")),
    "an added turn": (*HISTORY, user("more")),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_clients_change_is_found_again(name):
    assert end(KEPT[name]) == end(HISTORY)


@pytest.mark.parametrize("name", CHANGED)
def test_what_people_change_is_not(name):
    assert end(CHANGED[name]) != end(HISTORY)


def test_a_change_changes_every_digest_from_there_on():
    changed = chain(CHANGED["the assistant's words"])
    assert changed[:4] == chain(HISTORY)[:4]
    assert not set(changed[4:]) & set(chain(HISTORY)[4:])


def test_words_run_on_across_messages_but_do_not_grow_together():
    assert end([user("foo bar")]) == end([user("foo"), user("bar")]) == end([user("foo", "bar")])
    assert end([user("foobar")]) != end([user("foo"), user("bar")])
    assert end([user("a b")]) != end([user("a"), says("b")]) != end([says("a b")])


@pytest.mark.parametrize("sign", ["\x01", "\n", "\x00", "\x1f", "\x1c", " "])
@pytest.mark.parametrize("speaker", "uac")
def test_no_text_can_pass_for_a_change_of_speaker(sign, speaker):
    assert end([user(f"x{sign}{speaker} y")]) != end([user("x"), says("y")])
    assert end([user(f"x {sign}{speaker} y")]) != end([user("x"), says("y")])
    forged = json.dumps(["c1", "edit", "x"])
    assert end([says(f"x{sign}c{forged}")]) != end([says("x", ToolCall("c1", "edit", "x"))])


def test_free_text_and_json_arguments_are_told_apart():
    texts = ["x", '"x"', '["x"]', '["text","x"]', '["json","x"]', "{}", "[]", "null", "{", "1", "1 1"]
    assert len({end([says(ToolCall("1", "t", text))]) for text in texts}) == len(texts)
    deep = "[" * 50_000
    assert end([says(ToolCall("1", "t", deep))]) != end([says(ToolCall("1", "t", deep + "["))])


words = st.text(st.sampled_from("ab \n\x01u"), max_size=5)
calls = st.builds(ToolCall, st.sampled_from("12"), st.just("t"), st.sampled_from(['{"a": 1}', "free", ""]))
histories = st.lists(
    st.one_of(
        st.lists(words, max_size=2).map(lambda texts: user(*texts)),
        st.lists(words | calls, max_size=3).map(lambda parts: says(*parts)),
        st.just(user(result("1", "x"))),
    ),
    max_size=8,
).map(tuple)


def meaning(messages):
    """What the skeleton stands for, spelled out: runs of one speaker's words, and calls."""
    stream = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                stream.append(("call", part.id, part.name, part.arguments or "{}"))
            elif isinstance(part, Text):
                for word in part.text.split():
                    if stream and stream[-1][0] == message.role:
                        stream[-1] = (message.role, *stream[-1][1:], word)
                    else:
                        stream.append((message.role, word))
    return stream


@given(histories, histories)
def test_two_histories_share_a_digest_exactly_when_they_mean_the_same(one, other):
    same = end((*one, user("end"))) == end((*other, user("end")))
    assert same == (meaning((*one, user("end"))) == meaning((*other, user("end"))))


@given(histories, st.lists(st.integers(0, 8), max_size=4))
def test_a_chain_that_grows_gives_what_one_pass_gives_and_hashes_only_the_new(messages, cuts):
    growing = Chain()
    for cut in [*sorted(cuts), len(messages)]:
        assert growing.digests(messages[:cut]) == chain(messages[:cut])
    assert growing.hashed == len(messages)


@given(histories, histories)
def test_a_fork_is_hashed_anew_and_rightly(one, other):
    growing = Chain()
    growing.digests(one)
    assert growing.digests(other) == chain(other)
    assert growing.digests(one) == chain(one)


def test_there_is_a_digest_for_every_message():
    assert chain(()) == ()
    assert len(chain(HISTORY)) == len(HISTORY)
    assert len(set(chain(HISTORY)[1:3])) == 2
    assert chain(HISTORY)[2] == chain(HISTORY)[3]  # results say nothing


def test_lone_surrogates_are_hashed():
    assert end([user("\ud800")]) != end([user("\ud801")])


@given(st.lists(st.text(st.sampled_from("ab \n"), max_size=6), min_size=1, max_size=6), st.booleans())
def test_what_was_the_end_of_a_history_is_a_stop_once_it_stands_within_a_message(said, as_parts):
    """And what stands between two paragraphs is hashed as it is between two messages."""
    together = user(*said) if as_parts else user("\n\n".join(said))
    grown = Chain()
    digests = grown.digests((*HISTORY, together, says("Yes.")))
    for length in range(1, len(said) + 1):
        assert end((*HISTORY, *map(user, said[:length]))) in grown.stops
    assert set(digests) <= set(grown.stops)
