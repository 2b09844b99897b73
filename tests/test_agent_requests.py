"""Requests as coding agents send them, folded again and again: what they bring besides messages and calls stays.

The shapes are those of Claude Code and of Codex, written by hand; tests/agents plays the programs themselves.
"""

import json

import pytest

from foldline import Budget, Compactor, validate

RULE = "Count, and never touch the file of the goat."
REMINDER = "The task list was not used lately; use it, or leave it."
AGENTS = "These agents can be called: one that plans, and one that looks."
BUDGET = Budget(window=4_000, reserve=400)
NOTES = "# Notes on the conversation so far"


def words(number):
    return " ".join(f"line{number}-{word}" for word in range(60))


def claude_code(calls, *, later=""):
    """The list of agents stands behind the user's first words; every few calls a reminder comes, the same each time."""
    system = {"role": "system", "content": AGENTS}
    messages = [{"role": "user", "content": [{"type": "text", "text": RULE}]}, system]
    for number in range(calls):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": f"seq {number}"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": words(number)}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        if number % 3 == 2:
            messages.append({"role": "system", "content": REMINDER})
    if later:
        messages += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": later}]
    tools = [{"name": "Bash", "description": "Runs a command.", "input_schema": {"type": "object"}}]
    edits = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
    request = {"model": "claude-opus-4-8", "max_tokens": 300, "thinking": {"type": "adaptive"}, "tools": tools}
    return {**request, "system": "You are careful.", "context_management": edits, "messages": messages}


TOOLS = {"type": "additional_tools", "id": "at_1", "role": "developer", "tools": [{"type": "custom", "name": "exec"}]}
EFFORT = {"type": "configuration_update", "reasoning": {"effort": "low"}}
TASK = {
    "type": "agent_message",
    "id": "amsg_1",
    "author": "/root",
    "recipient": "/root/watch",
    "content": [
        {"type": "input_text", "text": "Message Type: NEW_TASK\nPayload:\n"},
        {"type": "encrypted_content", "encrypted_content": "the-sealed-task"},
    ],
}
COMPACTED = {"type": "compaction", "id": "cmp_1", "encrypted_content": "the-sealed-history"}


def codex(calls, *first):
    """Its tools and its task are items of the list, and the last of those before the work says how hard to think."""
    says = [{"type": "input_text", "text": "You are careful."}]
    items = [TOOLS, {"type": "message", "id": "msg_1", "role": "developer", "content": says}, *first, EFFORT]
    for number in range(calls):
        text = [{"type": "input_text", "text": words(number)}]
        call = {"call_id": f"call_{number}"}
        items += [
            {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "thought"},
            {"type": "custom_tool_call", "id": f"ctc_{number}", "name": "exec", **call, "input": f"seq({number})"},
            {"type": "custom_tool_call_output", **call, "output": text},
        ]
    return {"model": "gpt-5-codex", "store": False, "input": items}


def said(text, **more):
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}], **more}


def played(requests, budget=BUDGET):
    """The views of one conversation, turn after turn."""
    compactor = Compactor(budget)
    for request in requests:
        fitted = compactor.fit(request)
        assert validate(fitted.request) == []
        assert fitted.receipt.tokens_after <= budget.room
        yield fitted


def test_system_messages_of_claude_code_stay_and_stand_where_they_may():
    views = list(played(claude_code(calls) for calls in range(1, 120, 2)))
    folded = [view for view in views if NOTES in json.dumps(view.messages)]
    assert len(folded) > 40
    for view in folded:
        assert AGENTS in json.dumps(view.messages)
        assert RULE in json.dumps(view.messages)
        assert view.messages[0]["role"] == "user"
        assert not view.receipt.repairs, "it is made rightly, and not mended"


def test_a_reminder_that_is_repeated_all_day_does_not_fill_the_window():
    (view,) = played([claude_code(400)])
    assert 1 <= json.dumps(view.messages).count(REMINDER) <= 3


def test_a_tail_that_begins_with_the_user_has_the_system_behind_it():
    views = list(played(claude_code(40, later=f"And now number {number}.") for number in range(5)))
    assert all(view.messages[0]["role"] == "user" for view in views)
    assert all(AGENTS in json.dumps(view.messages) for view in views)


@pytest.mark.parametrize(
    "first",
    [(said(RULE),), (TASK,), (said(RULE), COMPACTED)],
    ids=["a task of the user", "a sealed task", "a sealed history"],
)
def test_what_codex_is_equipped_and_charged_with_is_in_every_view(first):
    views = list(played(codex(calls, *first) for calls in range(1, 120, 2)))
    assert sum(NOTES in json.dumps(view.messages) for view in views) > 40
    for view in views:
        assert view.messages[0] == TOOLS
        for item in (EFFORT, *first):
            assert view.messages.count(item) == 1


def test_sub_agents_that_begin_alike_do_not_get_each_others_notes():
    one, other = Compactor(BUDGET), Compactor(BUDGET)
    shared = Compactor(BUDGET)
    for calls in range(1, 60, 3):
        for alone, name in ((one, "a"), (other, "b")):
            request = json.loads(json.dumps(codex(calls, TASK)).replace("call_", f"call_{name}_"))
            assert shared.fit(request).messages == alone.fit(request).messages
