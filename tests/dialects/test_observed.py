"""What a program answers an agent without tool calls is a tool's word; what a person says there stays the person's."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline import read, write
from foldline.dialects.observed import observed
from foldline.model import Message, Origin, Text, ToolCall
from foldline.reading import Reader

ACTS = "THOUGHT: I look.\n\n```bash\nls\n```"
ANSWERS = [
    "<returncode>0</returncode>\n<output>\na.py\n</output>",
    "<returncode>-15</returncode>",
    "The last command <command>sleep 99</command> timed out and has been killed.",
    "Please always provide EXACTLY ONE action in triple backticks, found 2 actions.",
    "EXECUTION RESULT of [execute_bash]:\na.py",
    "a.py\n\n(Open file: n/a)\n(Current directory: /repo)\nbash-$",
    "OBSERVATION:\na.py",
    "Observation: a.py",
]


def says(text, *calls):
    return Message("assistant", Origin.ASSISTANT, (Text(text), *calls))


def user(text):
    return Message("user", Origin.USER, (Text(text),))


def origins(*messages):
    return [message.origin for message in observed(messages)]


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_behind_a_step_is_a_tools_word(text):
    assert origins(user("Mend it."), says(ACTS), user(text)) == [Origin.USER, Origin.ASSISTANT, Origin.TOOL]


@pytest.mark.parametrize(
    "step", ["Thought: so\nAction: search\nAction Input: rows", "I look.\n<command>\nls\n</command>"]
)
def test_a_step_may_end_in_other_ways(step):
    assert origins(says(step), user("Observation: nothing"))[-1] is Origin.TOOL


@pytest.mark.parametrize("text", ANSWERS)
def test_the_first_message_is_the_users_whatever_it_looks_like(text):
    assert origins(user(text)) == [Origin.USER]
    assert origins(user("Look at this."), user(text)) == [Origin.USER, Origin.USER]


@pytest.mark.parametrize("text", ANSWERS)
def test_behind_a_real_call_nobody_answers_in_a_text(text):
    assert origins(says(ACTS, ToolCall("1", "shell", "{}")), user(text))[-1] is Origin.USER


@pytest.mark.parametrize(
    "text",
    [
        "Observation: the page is slow since Monday.",
        "OBSERVATIONS: see above",
        "It printed <returncode>0</returncode>, why?",
        "I see (Current directory: /repo) there\nbash-$ and then nothing",
        "Please always provide one example.",
        "Yes, go on.",
    ],
)
def test_what_a_person_says_stays_the_persons(text):
    assert origins(says("I looked at all of it. What do you see?"), user(text))[-1] is Origin.USER
    if "bservation" not in text.lower():
        assert origins(says(ACTS), user(text))[-1] is Origin.USER


@pytest.mark.parametrize("slot", ["chat", "anthropic", "responses", "gemini"])
def test_it_is_known_in_every_form_of_request(slot):
    told = [
        ("user", "Mend it."),
        ("assistant", ACTS),
        ("user", ANSWERS[0]),
        ("assistant", "Done."),
        ("user", "Thanks."),
    ]
    blocks = {
        "chat": {"messages": [{"role": role, "content": text} for role, text in (("system", "You help."), *told)]},
        "anthropic": {
            "max_tokens": 9,
            "messages": [{"role": r, "content": [{"type": "text", "text": t}]} for r, t in told],
        },
        "responses": {"input": [{"role": role, "content": text} for role, text in told]},
        "gemini": {"contents": [{"role": "model" if r == "assistant" else r, "parts": [{"text": t}]} for r, t in told]},
    }
    body = json.dumps({"model": "m", **blocks[slot]}).encode()
    found = read(body)
    assert [m.origin for m in found.messages if m.role == "user"] == [Origin.USER, Origin.TOOL, Origin.USER]
    assert write(found) == body


@given(
    st.lists(
        st.sampled_from([("assistant", ACTS), ("assistant", "ok"), *(("user", text) for text in (*ANSWERS, "hm"))])
    )
)
def test_a_list_that_grows_is_read_as_the_whole_one(said):
    """Whose word a message is depends on the one before it alone, however much of the list was read before."""
    messages = [{"role": "user", "content": "Mend it."}, *({"role": role, "content": text} for role, text in said)]
    reader = Reader()
    for count in range(1, len(messages) + 1):
        grown = reader.read(messages[:count], "openai-chat")
    assert [m.origin for m in grown.messages] == [m.origin for m in read(messages, "openai-chat").messages]
