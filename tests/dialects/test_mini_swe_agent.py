"""mini-swe-agent's trajectories."""

from __future__ import annotations

import json
from dataclasses import replace

from foldline.dialects import jsontext
from foldline.dialects.base import Source
from foldline.dialects.mini_swe_agent import MiniSweAgent
from foldline.model import Message, Origin, Text

MINI = MiniSweAgent()
VALUE = {
    "info": {"mini_version": "1", "config": {"model": {"model_name": "some/model"}}},
    "messages": [
        {"role": "system", "content": "You fix bugs."},
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": "ls", "extra": {"response": {"id": "x", "usage": {"total_tokens": 5}}}},
        {"role": "user", "content": "<output>a.py</output>"},
        {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}},
    ],
    "trajectory_format": "mini-swe-agent-1",
}
DATA = json.dumps(VALUE, indent=2).encode()


def test_the_shells_output_is_a_tools_word():
    conversation = MINI.read(Source(DATA), jsontext.decode(DATA))
    origins = [Origin.SYSTEM, Origin.USER, Origin.ASSISTANT, Origin.TOOL, Origin.PROGRAM]
    assert [m.origin for m in conversation.messages] == origins
    assert conversation.head.model == "some/model"


def test_the_providers_response_stays_where_it_is():
    conversation = MINI.read(Source(DATA), jsontext.decode(DATA))
    assert MINI.write(conversation) == DATA
    bare = [replace(m, raw=None) for m in conversation.messages]
    assert json.loads(MINI.write(conversation.with_messages(bare))) == VALUE
    bare[3] = bare[3].with_parts([Text("[cleared]")])
    after = json.loads(MINI.write(conversation.with_messages(bare)))
    assert after["messages"][2] == VALUE["messages"][2]
    assert after["messages"][3]["content"] == "[cleared]"


def test_a_summary_behind_a_step_is_still_one_when_it_is_read_again():
    conversation = MINI.read(Source(DATA), jsontext.decode(DATA))
    made = Message("user", Origin.SUMMARY, (Text("# Notes on the conversation so far"),))
    answer = replace(conversation.messages[3], raw=None, origin=Origin.SUMMARY)
    data = MINI.write(conversation.with_messages([*conversation.messages[:3], answer, made]))
    again = MINI.read(Source(data), jsontext.decode(data))
    assert [m.origin for m in again.messages[3:]] == [Origin.SUMMARY, Origin.SUMMARY]
    bare = [replace(m, raw=None) for m in again.messages]
    assert json.loads(MINI.write(again.with_messages(bare))) == json.loads(data)


def test_a_model_that_is_not_named_is_none():
    assert MINI.head({"info": {"config": "x"}}).model == ""


def test_it_is_known_by_its_format():
    assert MINI.fits(VALUE) == 100
    assert MINI.fits({"messages": [], "info": {"mini_version": "1"}}) == 100
    assert MINI.fits({"messages": VALUE["messages"]}) == 0
    assert MINI.fits({"trajectory_format": "x"}) == 0
