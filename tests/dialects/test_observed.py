"""What a program answers an agent without tool calls is a tool's word; what a person says there stays the person's."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline import read, write
from foldline.dialects.observed import observed
from foldline.model import Media, Message, Origin, Text, ToolCall
from foldline.reading import Reader

ACTS = "THOUGHT: I look.\n\n```bash\nls\n```"
ANSWERS = [
    "<returncode>0</returncode>\n<output>\na.py\n</output>",
    "<returncode>0</returncode>\n<warning>\nlong\n</warning><output_head>\na\n</output_head>\n<output_tail>\nb\n</output_tail>",
    "<returncode>-15</returncode>",
    "The last command <command>x</command> timed out and has been killed.\nThe output of the command was:\n"
    " <output>\n1\n</output>\nPlease try another command and make sure to avoid those requiring interactive input.",
    "Please always provide EXACTLY ONE action in triple backticks, found 2 actions.\n<response_example>\nx\n"
    "</response_example>\n(you will not be able to continue working on this task after that).",
]
"""As mini-swe-agent writes them."""
PROMPT = "(Open file: n/a)\n(Current directory: /repo)\nbash-$"
MINE = "Never touch vendor/; the real bug is in loader.py."


def says(text, *calls):
    return Message("assistant", Origin.ASSISTANT, (Text(text), *calls))


def user(text):
    return Message("user", Origin.USER, (Text(text),))


def origins(*messages):
    return [message.origin for message in observed(messages)]


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_behind_a_step_is_a_tools_word(text):
    assert origins(user("Mend it."), says(ACTS), user(text)) == [Origin.USER, Origin.ASSISTANT, Origin.TOOL]


@pytest.mark.parametrize("text", ANSWERS)
def test_the_first_message_is_the_users_whatever_it_looks_like(text):
    assert origins(user(text)) == [Origin.USER]
    assert origins(user("Look at this."), user(text)) == [Origin.USER, Origin.USER]


@pytest.mark.parametrize("text", ANSWERS)
def test_where_anything_is_called_nobody_answers_in_a_text(text):
    called = says("I look.", ToolCall("1", "shell", "{}"))
    assert origins(called, user("ok"), says(ACTS), user(text))[-1] is Origin.USER
    assert origins(says(ACTS), user(text), called)[1] is Origin.USER


@pytest.mark.parametrize("step", [ACTS, "I looked at all of it. Please run it on your machine.", "```python\nx\n```"])
@pytest.mark.parametrize(
    "text",
    [
        f"Observation: rows with umlauts vanish. {MINE}",
        f"Observation:\n{MINE}",
        f"OBSERVATION:\n{MINE}",
        f"OBSERVATION:\na.py\n{MINE}",
        f"EXECUTION RESULT of [execute_bash]:\na.py\n{MINE}",
        f"{MINE} Here is my terminal:\nKeyError\n{PROMPT}",
        f"Please always provide EXACTLY ONE action in triple backticks, found 0 actions. {MINE}",
        f"{ANSWERS[4]}\n{MINE}",
        f"OBSERVATIONS: {MINE}",
        f"It printed <returncode>0</returncode>. {MINE}",
        f"{ANSWERS[0]}\n\nThat is what I get. {MINE}",
        f"<returncode>1</returncode> is what I get. {MINE}",
        f"{MINE}\n$ make\n(Current directory: /repo)\nbash-$",
        f"{PROMPT}\n{MINE}",
        f"Please always provide EXACTLY ONE action per answer. {MINE}",
        f"The last command <command>make</command> you told me to run failed. {MINE}",
        f"Your command ran successfully and did not produce any output. {MINE}",
        f"{ANSWERS[0]}\n\nThat worked. {MINE} But this did not:\n{ANSWERS[0]}",
        f"<returncode>1</returncode>\n{MINE}\n<output>\nno\n</output>",
        f"<returncode>1</returncode>\n<output>\nno\n</output>\n{MINE}\n<output>\nno\n</output>",
        "Yes, go on.",
    ],
)
def test_what_a_person_says_stays_the_persons(step, text):
    """Also where it stands beside what a shell said: the words of a user are worth more than a label on a tool's."""
    assert origins(says(step), user(text))[-1] is Origin.USER


@pytest.mark.parametrize("text", ANSWERS)
def test_more_than_the_answer_is_not_an_answer(text):
    words, picture = Text(MINE), Media("image", url="data:image/png;base64,iVBORw0KGgo=")
    for beside in (words, picture):
        told = Message("user", Origin.USER, (Text(text), beside))
        assert origins(says(ACTS), told)[-1] is Origin.USER


@pytest.mark.parametrize("text", ANSWERS[:4])
def test_behind_a_step_that_runs_nothing_there_is_no_answer(text):
    assert origins(says("I have fixed it. Please run it."), user(text))[-1] is Origin.USER


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
