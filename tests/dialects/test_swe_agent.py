"""SWE-agent's trajectories."""

from __future__ import annotations

import json
from dataclasses import replace

from foldline.dialects import jsontext
from foldline.dialects.base import Source
from foldline.dialects.swe_agent import SweAgent
from foldline.model import Message, Origin, Text, ToolCall, ToolResult

SWE = SweAgent()
PLAIN = [
    {"role": "system", "content": "You fix bugs.", "agent": "primary"},
    {"agent": "primary", "content": "A demonstration.", "is_demo": True, "role": "user"},
    {"role": "user", "content": "Fix it.", "agent": "primary"},
    {"role": "assistant", "content": "Look.\n```\nls\n```", "thought": "Look.", "action": "ls\n", "agent": "primary"},
    {"role": "user", "content": "a.py", "agent": "primary"},
]
CALLING = [
    {"role": "user", "content": [{"type": "text", "text": "Fix it."}], "message_type": "observation"},
    {
        "role": "assistant",
        "content": "Look.",
        "action": "ls",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}],
    },
    {"role": "tool", "content": "a.py", "agent": "main", "tool_call_ids": ["c1"]},
]


def load(history):
    value = {"environment": "x", "trajectory": [{"action": "ls"}], "history": history, "info": {}}
    data = json.dumps(value, indent=2).encode()
    conversation = SWE.read(Source(data), jsontext.decode(data))
    assert SWE.write(conversation) == data
    return conversation, value


def test_the_environments_answers_are_a_tools_word():
    conversation, _ = load(PLAIN)
    assert [m.origin for m in conversation.messages] == [
        Origin.SYSTEM,
        Origin.PROGRAM,
        Origin.USER,
        Origin.ASSISTANT,
        Origin.TOOL,
    ]


def test_calls_and_results_pair():
    conversation, _ = load(CALLING)
    assert conversation.messages[1].calls == (ToolCall("c1", "bash", "{}", conversation.messages[1].calls[0].extra),)
    assert conversation.messages[2].results[0].call_id == "c1"


def test_messages_built_from_their_parts_are_the_same_document():
    for history in (PLAIN, CALLING):
        conversation, value = load(history)
        bare = conversation.with_messages([replace(m, raw=None) for m in conversation.messages])
        assert json.loads(SWE.write(bare)) == value


def test_a_result_made_here_lists_its_call_as_the_file_does():
    conversation, _ = load(CALLING)
    made = Message("tool", Origin.TOOL, (ToolResult("c9", (Text("out"),)),))
    last = json.loads(SWE.write(conversation.append(made)))["history"][-1]
    assert last == {"role": "tool", "content": "out", "tool_call_ids": ["c9"]}


def test_a_summary_behind_a_step_is_still_one_when_it_is_read_again():
    conversation, _ = load(PLAIN)
    made = Message("user", Origin.SUMMARY, (Text("# Notes on the conversation so far"),))
    data = SWE.write(conversation.append(made))
    again = SWE.read(Source(data), jsontext.decode(data))
    assert again.messages[-1].origin is Origin.SUMMARY
    shorter = again.with_messages([*again.messages[:-1], again.messages[-1].with_parts([Text("shorter")])])
    data = SWE.write(shorter)
    assert SWE.read(Source(data), jsontext.decode(data)).messages[-1].origin is Origin.SUMMARY


def test_what_a_command_printed_is_no_summary_however_it_begins():
    conversation, _ = load([*PLAIN[:4], {"role": "user", "content": "# Notes on the conversation so far"}])
    assert conversation.messages[4].origin is Origin.TOOL


def test_it_is_known_by_its_history():
    assert SWE.fits({"history": [], "trajectory": []}) == 100
    assert SWE.fits({"history": []}) == 60
    assert SWE.fits({"messages": []}) == 0
