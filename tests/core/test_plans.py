"""The tasks of an agent are those of its last list, or of its single tasks as they were last changed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.history.cycles import pair
from foldline.core.work.deeds import deeds
from foldline.core.work.plans import Task, latest_tasks
from foldline.model import Grammar, Message, Origin, Text, ToolCall, ToolResult


def tasks(*steps):
    """Each step: tool, arguments, and what it answered (an error when it begins with "!")."""
    messages = []
    for number, (tool, arguments, answer) in enumerate(steps):
        call = ToolCall(f"c{number}", tool, arguments if isinstance(arguments, str) else json.dumps(arguments))
        messages.append(Message("assistant", Origin.ASSISTANT, (call,)))
        if answer is not None:
            result = ToolResult(f"c{number}", (Text(answer),), answer.startswith("!"))
            messages.append(Message("user", Origin.TOOL, (result,)))
    return latest_tasks(deeds(messages, pair(messages, Grammar())))


def create(subject, number):
    return ("TaskCreate", {"subject": subject, "description": "at length"}, f"Task #{number} created: {subject}")


def update(number, status):
    return ("TaskUpdate", {"taskId": number, "status": status}, f"Updated task #{number}")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (
            "TodoWrite",
            {"todos": [{"content": "one", "status": "completed"}, {"content": "two", "status": "in_progress"}]},
        ),
        (
            "todowrite",
            {"todos": [{"content": "one", "status": "completed"}, {"content": "two", "status": "in_progress"}]},
        ),
        ("update_plan", {"plan": [{"step": "one", "status": "completed"}, {"step": "two", "status": "in_progress"}]}),
        (
            "write_todos",
            {"todos": [{"description": "one", "status": "completed"}, {"description": "two", "status": "in_progress"}]},
        ),
        (
            "manage_todo_list",
            {"todoList": [{"title": "one", "status": "completed"}, {"title": "two", "status": "in-progress"}]},
        ),
        (
            "task_tracker",
            {"task_list": [{"title": "one", "status": "done"}, {"title": "two", "status": "in_progress"}]},
        ),
    ],
)
def test_whole_lists_of_real_agents(tool, arguments):
    assert tasks((tool, arguments, "ok")) == (Task("one", "completed", 0), Task("two", "in progress", 0))


def test_the_last_list_counts():
    first, second = {"todos": [{"content": "one"}]}, {"todos": [{"content": "two"}]}
    assert tasks(("TodoWrite", first, "ok"), ("TodoWrite", second, "ok")) == (Task("two", "pending", 2),)
    assert tasks(("TodoWrite", first, "ok"), ("TodoWrite", second, "!rejected")) == (Task("one", "pending", 0),)
    assert tasks(("TodoWrite", first, "ok"), ("TodoWrite", {"todos": []}, "ok")) == ()
    assert tasks(("TodoWrite", first, "ok"), ("TodoWrite", {"todos": "- [ ] two"}, "ok")) == (
        Task("one", "pending", 0),
    )


def listed(*items, tool="todo_write", merge=False):
    return (
        tool,
        {"merge": merge, "todos": [dict(zip(("id", "content", "status"), item, strict=False)) for item in items]},
        "ok",
    )


@pytest.mark.parametrize("merge", [True, "true"])
def test_a_list_that_is_merged_changes_its_own_tasks_and_no_others(merge):
    whole = listed(("1", "one", "pending"), ("2", "two", "pending"))
    found = tasks(whole, listed(("2", "two", "completed"), ("3", "three", "pending"), merge=merge))
    assert found == (
        Task("one", "pending", 0, "*1"),
        Task("two", "completed", 0, "*2"),
        Task("three", "pending", 2, "*3"),
    )


def test_what_a_merged_list_does_not_say_stays_as_it_was():
    whole = listed(("1", "one", "in_progress"), ("2", "two", "pending"))
    status_only = ("todo_write", {"merge": True, "todos": [{"id": "2", "status": "completed"}]}, "ok")
    words_only = ("todo_write", {"merge": True, "todos": [{"id": "1", "content": "one, and well"}]}, "ok")
    assert tasks(whole, status_only, words_only) == (
        Task("one, and well", "in progress", 4, "*1"),
        Task("two", "completed", 0, "*2"),
    )


def test_without_ids_a_merged_list_goes_by_the_words():
    first = ("todo_write", {"todos": [{"content": "one"}, {"content": "two"}]}, "ok")
    second = ("todo_write", {"merge": True, "todos": [{"content": "two", "status": "done"}, {"status": "done"}]}, "ok")
    assert tasks(first, second) == (Task("one", "pending", 0), Task("two", "completed", 0))


def test_a_merged_list_whose_first_part_lies_before_these_messages_is_known_by_ids():
    update_ = ("todo_write", {"merge": True, "todos": [{"id": 2, "status": "completed"}]}, "ok")
    assert tasks(update_) == (Task("", "completed", 0, "*2"),)


def test_a_list_that_is_not_merged_takes_the_place_of_the_last():
    assert tasks(listed(("1", "one", "pending")), listed(("2", "two", "pending"))) == (Task("two", "pending", 2, "*2"),)


@given(st.lists(st.tuples(st.booleans(), st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz"))))))
def test_merging_is_writing_into_a_table(calls):
    table = {}
    for merge, items in calls:
        table = {**(table if merge else {}), **dict(items)}
    steps = [listed(*((key, f"do {key}", status) for key, status in items), merge=merge) for merge, items in calls]
    found = tasks(*steps)
    assert {task.key.removeprefix("*"): task.status for task in found} == table


@pytest.mark.parametrize(
    ("tool", "name"), [("TodoWrite", "todos"), ("update_plan", "plan"), ("manage_todo_list", "todoList")]
)
def test_a_list_may_come_as_json_text(tool, name):
    items = json.dumps([{"content": "one", "status": "completed"}, {"step": "two"}])
    assert tasks((tool, {name: items}, "ok")) == (Task("one", "completed", 0), Task("two", "pending", 0))


def test_single_tasks_are_known_by_the_number_the_tool_gave_them():
    found = tasks(create("write it", 7), create("test it", 8), update("8", "in_progress"), update("7", "completed"))
    assert found == (Task("write it", "completed", 0, "7"), Task("test it", "in progress", 2, "8"))


def test_without_a_number_they_are_counted():
    unnumbered = ("TaskCreate", {"subject": "write it"}, "ok")
    assert tasks(unnumbered, ("TaskCreate", {"subject": "test it"}, None), update("2", "done")) == (
        Task("write it", "pending", 0, "1"),
        Task("test it", "completed", 2, "2"),
    )


def test_a_task_named_before_these_messages_is_known_by_its_number_alone():
    assert tasks(update(3, "completed")) == (Task("", "completed", 0, "3"),)


def test_an_answer_that_shows_all_tasks_tells_how_they_stand():
    shown = ("TaskList", {}, "#2 [completed] Paint it\n#1 [in_progress] Build it (blocked)\n#7 [pending] Sell it")
    found = tasks(create("Build the boat", 1), create("Paint it", 2), shown)
    assert [(task.key, task.text, task.status) for task in found] == [
        ("1", "Build the boat", "in progress"),
        ("2", "Paint it", "completed"),
        ("7", "", "pending"),  # worded before these messages, if ever: never by the answer
    ]
    assert tasks(("TaskList", {}, "No tasks found")) == ()
    assert tasks(("TaskList", {}, "!#1 [completed] not so")) == ()
    for other in ("Grep", "mcp__jira__task_list", "mcp__tracker__TaskList"):
        assert tasks((other, {}, "#1 [completed] of somebody else's")) == ()
    many = "\n".join(f"#{number} [pending] x" for number in range(1, 900))
    assert len(tasks(("TaskList", {}, many))) == 100


@pytest.mark.parametrize(
    ("given_status", "status"),
    [
        ("deleted", "cancelled"),
        ("canceled", "cancelled"),
        ("cancelled", "cancelled"),
        ("todo", "pending"),
        ("not-started", "pending"),
        ("blocked", "blocked"),
        ("", "pending"),
        (None, "pending"),
        (5, "5"),
    ],
)
def test_statuses_have_one_name_each(given_status, status):
    [task] = tasks(("TodoWrite", {"todos": [{"content": "x", "status": given_status}]}, "ok"))
    assert task.status == status


@pytest.mark.parametrize(
    "step",
    [
        ("TaskUpdate", {"taskId": "1"}, "ok"),
        ("TaskUpdate", {"status": "completed"}, "ok"),
        ("TaskUpdate", {"taskId": "1", "status": "completed"}, "!no such task"),
        ("TaskUpdate", {"taskId": "1", "status": "completed"}, "Task not found"),
        ("TodoWrite", {"todos": [{"content": " "}, {"status": "pending"}, "text", 5]}, "ok"),
        ("TodoWrite", "not json", "ok"),
        ("Read", {"todos": [{"content": "x"}]}, "ok"),
    ],
)
def test_what_tells_of_no_task(step):
    assert tasks(step) == ()


@given(
    st.dictionaries(
        st.sampled_from(["todos", "plan", "taskId", "status", "subject"]),
        st.none() | st.text() | st.lists(st.integers()),
    )
)
def test_odd_arguments_break_nothing(arguments):
    for tool in ("TodoWrite", "update_plan", "TaskCreate", "TaskUpdate"):
        assert isinstance(tasks((tool, arguments, "ok")), tuple)
