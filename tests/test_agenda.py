"""An agent's plan outlives its conversation: nothing of it is lost, repeated, or seen in another project."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.nobody import NOBODY, as_nobody

from foldline.agenda import Agenda, Plan, Task, from_transcript, store
from foldline.agenda.asked import DETAILS, REMARK, REMARKS, TASKS, TITLE
from foldline.agenda.rules import OPERATIONS, PLANS
from foldline.agenda.show import ACTIVE, LIST, START
from foldline.agenda.show import tasks as tasks_shown
from foldline.agenda.state import Board, fold
from foldline.errors import ArchiveError, Busy, Corrupt, Full, InputError
from foldline.model import Conversation, Message, Origin, Text, ToolCall, ToolResult

FEW = settings(max_examples=30, deadline=None)


@pytest.fixture
def agenda(tmp_path):
    return Agenda(tmp_path / "agenda.db")


def planned(agenda, *tasks, scope=""):
    assert agenda.call("create", title="the plan", tasks=list(tasks), scope=scope).ok
    return agenda


# Properties: a model in a few lines, and the log


class Model:
    """What an agenda should hold for one project, told as plainly as possible."""

    def __init__(self):
        self.plans, self.order = [], []

    def call(self, operation, arguments):
        """True when the operation is to succeed."""
        if operation == "create":
            return self.create(**arguments)
        if operation == "archive" and "plan" not in arguments:
            if len(self.order) == 1:
                self.order.clear()
            return not self.order
        number = arguments.get("plan", self.order[-1] if self.order else 0)
        if not 1 <= number <= len(self.plans):
            return operation == "start" and "plan" not in arguments
        if operation in ("start", "archive"):
            return getattr(self, operation)(number)
        return number in self.order and getattr(self, operation)(self.plans[number - 1], arguments)

    def create(self, title, tasks):
        for number in reversed(self.order):
            if self.plans[number - 1]["made"] == (title, tasks):
                return self.start(number)
        self.plans.append({"title": title, "made": (title, tasks), "tasks": [self.task(t) for t in tasks], "notes": []})
        self.order.append(len(self.plans))
        return True

    def task(self, title):
        return {"title": title, "status": "open", "reason": "", "evidence": [], "notes": []}

    def start(self, number):
        self.order = [n for n in self.order if n != number] + [number]
        return True

    def archive(self, number):
        self.order = [n for n in self.order if n != number]
        return True

    def add(self, plan, asked):
        waiting = [t["title"] for t in plan["tasks"] if t["status"] in ("open", "in progress", "blocked")]
        plan["tasks"] += [self.task(title) for title in asked["tasks"] if title not in waiting]
        return True

    def note(self, plan, asked):
        target = plan["tasks"][asked["task"] - 1] if self.has(plan, asked) else plan
        if "task" in asked and target is plan:
            return False
        if asked["text"] not in target["notes"]:
            target["notes"].append(asked["text"])
        return True

    def has(self, plan, asked):
        return 1 <= asked.get("task", 0) <= len(plan["tasks"])

    def change(self, plan, asked, **values):
        if self.has(plan, asked):
            plan["tasks"][asked["task"] - 1].update({"reason": "", **values})
        return self.has(plan, asked)

    def update(self, plan, asked):
        return self.change(plan, asked, status=asked["status"])

    def block(self, plan, asked):
        return self.change(plan, asked, status="blocked", reason=asked["reason"])

    def complete(self, plan, asked):
        done = self.change(plan, asked, status="done")
        if done and asked["evidence"] not in plan["tasks"][asked["task"] - 1]["evidence"]:
            plan["tasks"][asked["task"] - 1]["evidence"].append(asked["evidence"])
        return done


def seen(board):
    """A board as the model would tell it."""
    plans = [
        (
            plan.title,
            [(t.title, t.status, t.reason, list(t.evidence), list(t.notes)) for t in plan.tasks],
            list(plan.notes),
        )
        for plan in board.plans.values()
    ]
    return plans, [plan.number for plan in reversed(board.open)]


def told(model):
    plans = [(p["title"], [tuple(t.values()) for t in p["tasks"]], p["notes"]) for p in model.plans]
    return plans, model.order


words = st.sampled_from(["one", "two", "a b", "größer", "三"])
numbers = st.integers(0, 4)
some_plan = st.fixed_dictionaries({}, optional={"plan": st.integers(1, 3)})


def asking(operation, **arguments):
    return st.tuples(st.just(operation), st.builds(lambda a, b: a | b, st.fixed_dictionaries(arguments), some_plan))


operations = st.one_of(
    st.tuples(st.just("create"), st.fixed_dictionaries({"title": words, "tasks": st.lists(words, min_size=1)})),
    asking("add", tasks=st.lists(words, min_size=1, max_size=3)),
    asking("update", task=numbers, status=st.sampled_from(["open", "in progress", "dropped"])),
    asking("complete", task=numbers, evidence=words),
    asking("block", task=numbers, reason=words),
    asking("note", text=words),
    asking("note", text=words, task=numbers),
    asking("start"),
    asking("archive"),
)
writings = st.lists(st.tuples(st.sampled_from(["here", "there"]), operations), max_size=14)


@FEW
@given(writings)
def test_any_operations_of_several_writers_give_what_a_simple_model_gives(writings):
    with tempfile.TemporaryDirectory() as folder:
        writers = [Agenda(f"{folder}/agenda.db") for _ in range(3)]
        models = {"here": Model(), "there": Model()}
        for nth, (scope, (operation, arguments)) in enumerate(writings):
            outcome = writers[nth % 3].call(operation, scope=scope, **arguments)
            assert outcome.ok == models[scope].call(operation, arguments), outcome.text
        for scope, model in models.items():
            assert seen(writers[0].board(scope)) == told(model)


@FEW
@given(writings, st.data())
def test_the_log_replayed_gives_the_same_state(writings, data):
    with tempfile.TemporaryDirectory() as folder:
        agenda = Agenda(f"{folder}/agenda.db")
        for scope, (operation, arguments) in writings:
            agenda.call(operation, scope=scope, **arguments)
        log = agenda.log("here")
        split = data.draw(st.integers(0, len(log)))
        assert fold(log[split:], fold(log[:split])) == agenda.board("here")
        assert [entry.id for entry in log] == sorted({entry.id for entry in log})


@FEW
@given(writings)
def test_a_request_repeated_at_once_changes_nothing(writings):
    with tempfile.TemporaryDirectory() as folder:
        agenda = Agenda(f"{folder}/agenda.db")
        for scope, (operation, arguments) in writings:
            first = agenda.call(operation, scope=scope, **arguments)
            board = agenda.board(scope)
            again = agenda.call(operation, scope=scope, **arguments)
            assert (again.ok, again.changed) == (first.ok, False)
            assert agenda.board(scope) == board


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from(["\ud800", "\0", "#1", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["title", "details", "x"]), inner),
    max_leaves=5,
)
odd = st.dictionaries(st.sampled_from(sorted({name for names in OPERATIONS.values() for name in names})), values)


@FEW
@given(st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), odd), max_size=8))
def test_whatever_an_agent_sends_it_is_answered_in_text_that_can_be_sent(asked):
    with tempfile.TemporaryDirectory() as folder:
        agenda = planned(Agenda(f"{folder}/agenda.db"), "one")
        for operation, arguments in asked:
            outcome = agenda.call(operation, **arguments)
            assert outcome.text.encode()
            assert json.dumps(outcome.data)
            assert "\0" not in outcome.text


# Operations


def test_a_start_brings_back_the_task_in_progress_its_details_and_the_count(agenda):
    """S4.3, S4.6"""
    planned(agenda, "read it", {"title": "write it", "details": "keep the old name\n## Done\n- nothing"}, "test it")
    agenda.call("complete", task=1, evidence="notes in docs/reading.md")
    agenda.call("update", task=2, status="in_progress")
    agenda.call("note", task=2, text="the parser is in lines.py")
    agenda.call("block", task=3, reason="no runner")
    assert agenda.call("start").text == (
        "# Plan 1: the plan\n"
        "1 of 3 done; 1 in progress, 1 blocked.\n"
        "\n"
        "## In progress\n"
        "**2. write it**\n"
        "> keep the old name\n"
        "> ## Done\n"
        "> - nothing\n"
        "- Note: the parser is in lines.py\n"
        "\n"
        "## Blocked\n"
        "- 3. test it (waits for: no runner)\n"
        "\n"
        "## Done\n"
        "- 1. read it (evidence: notes in docs/reading.md)"
    )


def test_a_start_with_nothing_in_progress_shows_what_to_begin(agenda):
    planned(agenda, {"title": "one", "details": "with care"}, "two")
    assert "Nothing is in progress." in agenda.call("start").text
    assert "**1. one**\n> with care" in agenda.call("start").text
    for task in (1, 2):
        agenda.call("complete", task=task, evidence="seen")
    assert "2 of 2 done.\n\nNothing is left to begin." in agenda.call("start").text


def test_without_a_plan_a_start_says_how_to_make_one_and_writes_nothing(agenda):
    outcome = agenda.call("start")
    assert outcome.ok
    assert '"create"' in outcome.text
    assert not os.path.exists(agenda.path)


def test_data_is_for_programs(agenda):
    data = planned(agenda, "one", "two").call("complete", task=2, evidence="ran it").data
    assert data["active"] == 1
    assert (data["plan"]["done"], data["plan"]["total"]) == (1, 2)
    assert data["plan"]["tasks"][1]["evidence"] == ("ran it",)
    assert [plan["number"] for plan in agenda.call("list").data["plans"]] == [1]


def test_completing_names_what_is_next(agenda):
    planned(agenda, "one", "two")
    assert agenda.call("complete", task=1, evidence="x").text == "Task 1 is done. 1 of 2 done; 1 open. Next: 2. two"
    assert agenda.call("complete", task=2, evidence="x").text.endswith('Nothing is left to begin; "archive" it.')


def test_a_dropped_task_is_neither_done_nor_left(agenda):
    planned(agenda, "one", "two")
    assert agenda.call("update", task=2, status="dropped").text == "Task 2 is dropped. 0 of 1 done; 1 open, 1 dropped."


def test_lists_show_plans_tasks_or_one_task_whole(agenda):
    planned(agenda, "one", {"title": "two", "details": "in full"})
    agenda.call("create", title="another", tasks="only one")
    assert agenda.call("list").text == (
        "- Plan 2 (active): another. 0 of 1 done; 1 open.\n- Plan 1 (open): the plan. 0 of 2 done; 2 open."
    )
    assert "- [open] 2. two" in agenda.call("list", plan=1).text
    assert agenda.call("list", plan=1, task=2).text == "**2. two**\n> in full\nStatus: open"
    agenda.call("archive", plan=1)
    assert "- Plan 1 (put away)" in agenda.call("list").text
    assert "(put away)" in agenda.call("list", plan=1).text
    assert Agenda(f"{agenda.path}.none").call("list").text == "There is no plan."


def test_a_task_is_shown_whole_or_with_its_newest_notes(agenda):
    planned(agenda, "one")
    for nth in range(1, 6):
        agenda.call("note", task=1, text=f"note {nth}")
    agenda.call("block", task=1, reason="no\nkey")
    whole = agenda.call("list", task=1).text
    assert [line for line in whole.split("\n") if "ote" in line] == [f"- Note: note {nth}" for nth in range(1, 6)]
    assert "Waits for: no key" in whole
    agenda.call("update", task=1, status="in progress")
    start = agenda.call("start").text
    assert "(2 older notes)\n- Note: note 3\n" in start
    assert "no key" not in start


def test_a_plan_put_away_gives_way_to_the_one_before_and_can_be_taken_up_again(agenda):
    planned(agenda, "one")
    agenda.call("create", title="another", tasks=["two"])
    assert "Other open plans: 1 (the plan)" in agenda.call("start").text
    agenda.call("archive", plan=2)
    assert "# Plan 1" in agenda.call("start").text
    assert "put away" in agenda.call("add", plan=2, tasks=["three"]).text
    assert "# Plan 2" in agenda.call("start", plan=2).text
    assert "# Plan 2" in agenda.call("start").text


def test_putting_away_twice_never_puts_away_the_next_plan(agenda):
    planned(agenda, "one")
    agenda.call("create", title="another", tasks=["two"])
    assert "say which plan: plan=<its number>; open are 2, 1" in agenda.call("archive").text
    assert agenda.call("archive", plan=2).text == "Plan 2 is put away. 0 of 1 done; 1 open."
    assert agenda.call("archive", plan=2).text.startswith("Plan 2 is put away already.")
    assert agenda.call("archive").changed
    assert agenda.call("archive").text == "No plan is open; there is nothing to put away."


def test_the_same_evidence_twice_is_one_piece_and_other_evidence_another(agenda):
    planned(agenda, "one")
    for evidence in ("ran it", "ran it", "read it"):
        agenda.call("complete", task=1, evidence=evidence)
    assert agenda.board("").plans[1].tasks[0].evidence == ("ran it", "read it")
    assert "nothing changed" in agenda.call("complete", task=1, evidence="read it").text


@pytest.mark.parametrize(
    ("operation", "arguments", "answer"),
    [
        ("complete", {"task": 9, "evidence": "x"}, "there is no task 9; the plan has 1-2"),
        ("complete", {"task": 1}, 'give evidence="…": what shows that it is done'),
        ("complete", {"evidence": "x"}, "say which task: task=<its number>"),
        ("complete", {"task": True, "evidence": "x"}, "say which task"),
        ("block", {"task": 1, "reason": " "}, 'give reason="…"'),
        ("note", {"text": 5}, 'text is text: text="…"'),
        ("update", {"task": 1}, "say what to change: title, details or status"),
        ("update", {"task": 1, "status": "done"}, 'use "complete"'),
        ("update", {"task": 1, "status": "blocked"}, 'use "block"'),
        ("update", {"task": 1, "status": "half"}, "there is no status 'half'; there are open, in progress, done"),
        ("update", {"task": 1, "owner": "me", "nth": 3}, "it knows nothing of nth, owner"),
        ("start", {"plan": 7}, "there is no plan 7; open are 1"),
        ("delete", {}, "there is no operation 'delete'; there are start, create, add"),
        ("create", {"title": "x"}, "give tasks=["),
        ("create", {"title": "x", "tasks": [["y"]]}, "a task is a title, or a title with details"),
        ("add", {"tasks": [{"title": "y", "status": "done"}]}, "its status is set afterwards"),
        ("add", {"tasks": ["x"] * (TASKS - 1)}, f"a plan holds {TASKS} and has 2"),
        ("create", {"title": "x", "tasks": ["x"] * (TASKS + 1)}, f"a plan holds {TASKS} and has 0"),
        ("create", {"title": "x" * (TITLE + 1), "tasks": ["y"]}, f"title has {TITLE + 1} characters; at most {TITLE}"),
        ("update", {"task": 1, "details": "x" * (DETAILS + 1)}, f"details has {DETAILS + 1:,} characters"),
        ("note", {"text": "x" * (REMARK + 1)}, f"at most {REMARK} are kept, so shorten it"),
    ],
)
def test_a_refusal_says_what_to_do_and_changes_nothing(agenda, operation, arguments, answer):
    before = planned(agenda, "one", "two").log("")
    outcome = agenda.call(operation, **arguments)
    assert not outcome.ok
    assert answer in outcome.text
    assert outcome.data["error"] in outcome.text
    assert agenda.log("") == before


def test_what_is_at_its_limit_is_kept_whole(agenda):
    planned(agenda, {"title": "x" * TITLE, "details": "y" * DETAILS})
    agenda.call("note", task=1, text="z" * REMARK)
    [task] = agenda.board("").plans[1].tasks
    assert (len(task.title), len(task.details), len(task.notes[0])) == (TITLE, DETAILS, REMARK)


def test_notes_and_plans_are_counted_too(agenda):
    planned(agenda, "one")
    outcomes = [agenda.call("note", task=1, text=str(nth)).ok for nth in range(REMARKS + 1)]
    assert outcomes == [True] * REMARKS + [False]
    made = [agenda.call("create", title=str(nth), tasks=["x"]).ok for nth in range(PLANS)]
    assert made == [True] * (PLANS - 1) + [False]
    agenda.call("archive", plan=1)
    assert agenda.call("create", title="more", tasks=["x"]).ok
    assert "plans are open" in agenda.call("start", plan=1).text


def test_texts_stay_within_their_bounds_and_say_what_they_leave_out(agenda):
    long = [{"title": "t" * TITLE, "details": "d" * DETAILS}] * TASKS
    planned(agenda, *long)
    for task in (1, 2, 3):
        agenda.call("update", task=task, status="in progress", title=f"{task}" * TITLE)
    start, listed, active = agenda.call("start").text, agenda.call("list", plan=1).text, agenda.active_text("")
    assert len(start) <= START
    assert len(listed) <= LIST
    assert len(active) <= ACTIVE
    assert all("more lines not shown" in text for text in (start, listed, active))


def test_a_list_leaves_out_only_what_has_no_room_for_it():
    plan = Plan(1, "Long", tuple(Task(number, "t") for number in range(1, 3_000)))
    shown = tasks_shown(plan)
    line = len("- [open] 1234. t\n")
    assert LIST - line < len(shown) <= LIST
    listed, missing = shown.count("\n"), int(re.search(r"\((\d+) more lines not shown; ", shown)[1])
    assert listed + missing == 2 + 2_999, "two lines of heading, and the tasks"


def test_the_active_text_is_a_few_lines(agenda):
    assert agenda.active_text("") == ""
    planned(agenda, "one", {"title": "two", "details": "by\nhand"})
    assert agenda.active_text("") == "Plan 1, 'the plan': 0 of 2 done; 2 open.\nNext: 1. one"
    agenda.call("update", task=2, status="in progress")
    expected = "Plan 1, 'the plan': 0 of 2 done; 1 in progress, 1 open.\nIn progress: 2. two (details: by hand)"
    assert agenda.active_text("") == expected
    agenda.call("create", title="newer", tasks=["x"])
    assert agenda.active_text("", plan=1) == expected
    assert agenda.active_text("", plan=9) == ""


@pytest.mark.parametrize("before", range(100, 170, 4))
def test_the_active_text_has_no_secret_nor_half_of_one(agenda, before):
    key = f"ghp_{'a8Fk2Lq9Zx0P' * 3}"
    agenda.call("create", title=f"use {key}", tasks=[{"title": "one", "details": f"{'d' * before} {key} {'d' * 99}"}])
    agenda.call("update", task=1, status="in progress")
    text = agenda.active_text("")
    assert "[masked github-token " in text
    assert all(key[at : at + 8] not in text for at in range(len(key) - 7))
    assert key in agenda.call("start").text


def test_one_projects_plan_never_shows_in_another(agenda):
    planned(agenda, "a secret", scope="/work/one")
    for scope in ("", "/work/two", "/work/on", "/work/one/", "/work/one\0", "\udcff"):
        assert agenda.active_text(scope) == ""
        assert "secret" not in agenda.call("list", scope=scope).text
    planned(agenda, "mine", scope="\udcff")
    assert "mine" in agenda.call("start", scope="\udcff").text
    with pytest.raises(InputError, match="scope has"):
        agenda.call("start", scope="x" * 10_000)


# From transcripts


def conversation(*steps):
    messages = []
    for number, (tool, arguments, answer) in enumerate(steps):
        messages.append(Message("assistant", Origin.ASSISTANT, (ToolCall(f"c{number}", tool, json.dumps(arguments)),)))
        messages.append(Message("user", Origin.TOOL, (ToolResult(f"c{number}", (Text(answer),)),)))
    return Conversation("anthropic", tuple(messages))


def todo(*items):
    return ("TodoWrite", {"todos": [{"content": text, "status": status} for text, status in items]}, "ok")


def made(number, subject, description=""):
    return ("TaskCreate", {"subject": subject, "description": description}, f"Task #{number} created: {subject}")


def moved(number, status):
    return ("TaskUpdate", {"taskId": str(number), "status": status}, "Updated")


def statuses(plan):
    return [(task.title, task.status) for task in plan.tasks]


def follow(agenda, *steps, source="session a"):
    return agenda.adopt("p", from_transcript(conversation(*steps)), source)


@pytest.mark.parametrize(
    "steps",
    [
        [todo(("read", "completed"), ("write", "in_progress"), ("test", "pending"), ("ship", "cancelled"))],
        [
            (
                "update_plan",
                {
                    "plan": [
                        {"step": "read", "status": "completed"},
                        {"step": "write", "status": "in_progress"},
                        {"step": "test", "status": "pending"},
                        {"step": "ship", "status": "cancelled"},
                    ]
                },
                "Plan updated",
            )
        ],
        [
            made(1, "read"),
            made(2, "write"),
            made(3, "test"),
            made(4, "ship"),
            moved(2, "in_progress"),
            moved(1, "completed"),
            moved(4, "deleted"),
        ],
    ],
)
def test_the_lists_of_real_agents_are_read(agenda, steps):
    expected = [("read", "done"), ("write", "in progress"), ("test", "open"), ("ship", "dropped")]
    assert statuses(from_transcript(conversation(*steps))) == expected
    assert follow(agenda, *steps).text == "Plan 1 takes over 4 from session a."
    assert statuses(agenda.board("p").active) == expected
    assert agenda.active_text("p").startswith("Plan 1, 'Tasks of session a': 1 of 3 done; 1 in progress, 1 open")


def test_a_conversation_without_tasks_has_no_plan():
    assert from_transcript(conversation(("Read", {"file_path": "a"}, "text"))) is None
    assert from_transcript(conversation(todo())) is None


def test_what_a_single_task_says_of_itself_becomes_its_details():
    assert from_transcript(conversation(made(1, "write", "all\nof it"))).tasks[0].details == "all\nof it"


def test_a_title_that_is_too_long_stands_whole_in_the_details():
    [task] = from_transcript(conversation(todo(("word " * 100, "pending")))).tasks
    assert len(task.title) == TITLE
    assert task.details == ("word " * 100).strip()


def test_a_second_run_changes_nothing(agenda):
    step = todo(("same", "pending"), ("same", "completed"), ("other", "in_progress"))
    follow(agenda, step)
    before = agenda.log("p")
    again = follow(agenda, step)
    assert (again.changed, again.text) == (False, "Plan 1 says so already.")
    assert agenda.log("p") == before
    follow(agenda, step, source="session b")
    assert len(agenda.board("p").plans) == 2


def test_a_later_state_is_followed(agenda):
    follow(agenda, todo(("read", "in_progress"), ("write", "pending"), ("ship", "pending")))
    follow(agenda, todo(("read", "completed"), ("test", "pending"), ("write", "in_progress")))
    [plan] = agenda.board("p").plans.values()
    assert statuses(plan) == [("read", "done"), ("write", "in progress"), ("ship", "dropped"), ("test", "open")]
    follow(agenda, todo(("ship", "pending")))
    [plan] = agenda.board("p").plans.values()
    assert statuses(plan) == [("read", "done"), ("write", "dropped"), ("ship", "open"), ("test", "dropped")]


def test_what_was_done_here_stands_until_the_agents_own_list_moves(agenda):
    step = todo(("read", "in_progress"), ("write", "pending"))
    follow(agenda, step)
    agenda.call("complete", task=1, evidence="read twice", scope="p")
    agenda.call("add", tasks=["mine"], scope="p")
    assert not follow(agenda, step).changed
    follow(agenda, todo(("read", "completed"), ("write", "in_progress")))
    [plan] = agenda.board("p").plans.values()
    assert statuses(plan) == [("read", "done"), ("write", "in progress"), ("mine", "open")]
    assert plan.tasks[0].evidence == ("read twice",)


def test_tasks_named_before_the_fold_are_known_by_their_number(agenda):
    follow(agenda, made(1, "read"), made(2, "write"))
    follow(agenda, moved(2, "completed"))
    [plan] = agenda.board("p").plans.values()
    assert statuses(plan) == [("read", "open"), ("write", "done")]
    unknown = follow(agenda, moved(7, "completed"), source="session b")
    assert unknown.text == "There is no task to take over. 1 without a title left out."


def test_a_plan_that_was_put_away_stays_away_unless_the_list_goes_on(agenda):
    step = todo(("read", "completed"))
    follow(agenda, step)
    agenda.call("archive", scope="p")
    assert not follow(agenda, step).changed
    follow(agenda, todo(("write", "pending")))
    assert [(plan.archived, statuses(plan)) for plan in agenda.board("p").plans.values()] == [
        (True, [("read", "done")]),
        (False, [("write", "open")]),
    ]


def test_a_full_plan_gives_way_to_a_new_one(agenda):
    follow(agenda, todo(*((f"old {nth}", "completed") for nth in range(TASKS))))
    assert follow(agenda, todo(("new", "pending"))).data["plan"]["number"] == 2
    assert [plan.archived for plan in agenda.board("p").plans.values()] == [True, False]
    more = follow(agenda, todo(*((f"{nth}", "pending") for nth in range(TASKS + 3))), source="session b")
    assert more.text == f"Plan 3 takes over {TASKS} from session b. 3 over the limit of {TASKS} left out."


def test_the_adopted_plan_left_alone_longest_makes_room(agenda):
    for nth in range(PLANS):
        follow(agenda, todo(("x", "pending")), source=f"s{nth}")
    follow(agenda, todo(("x", "completed")), source="s0")
    assert follow(agenda, todo(("x", "pending")), source="new").text.endswith("Plan 2 is put away to make room.")
    assert len(agenda.board("p").open) == PLANS


def test_plans_of_the_agent_itself_are_never_put_away_for_an_adopted_one(agenda):
    for nth in range(PLANS):
        agenda.call("create", title=str(nth), tasks=["x"], scope="p")
    assert "put one away" in follow(agenda, todo(("x", "pending"))).text


def test_a_plan_made_by_a_program_is_adopted_once(agenda):
    plan = Plan(0, "by hand", (Task(1, "one"), Task(2, "two", "done")))
    assert agenda.adopt("p", plan, "script").changed
    assert not agenda.adopt("p", plan, "script").changed
    assert agenda.adopt("p", replace(plan, tasks=(Task(1, "one", "done"), Task(2, "two", "done"))), "script").changed
    assert agenda.board("p").plans[1].done == 2
    with pytest.raises(InputError, match="give source"):
        agenda.adopt("p", plan, "")


lists = st.lists(
    st.lists(st.tuples(words, st.sampled_from(["pending", "in_progress", "completed"])), min_size=1, max_size=5),
    min_size=1,
    max_size=4,
)


@FEW
@given(lists)
def test_after_any_lists_the_plan_says_what_the_last_one_said(lists):
    with tempfile.TemporaryDirectory() as folder:
        agenda = Agenda(f"{folder}/agenda.db")
        for items in lists:
            follow(agenda, todo(*items))
            assert not follow(agenda, todo(*items)).changed
        [plan] = agenda.board("p").plans.values()
        names = {"pending": "open", "in_progress": "in progress", "completed": "done"}
        left = [pair for pair in statuses(plan) if pair[1] != "dropped"]
        for pair in [(text, names[status]) for text, status in lists[-1]]:
            left.remove(pair)
        assert all(status == "done" for _, status in left)


# Threads, processes, files

WRITER = """
import sys, threading
from foldline.agenda import Agenda
path, name = sys.argv[1:]
gate = threading.Barrier(11)
def work(nth):
    agenda = Agenda(path)
    gate.wait()
    agenda.call("create", title="shared", tasks=[f"first {nth}" for nth in range(10)])
    for turn in range(3):
        assert agenda.call("add", tasks=[f"{name} {nth} {turn}"]).changed
        assert agenda.call("note", task=nth + 1, text=f"{name} {turn}").ok
        assert agenda.call("create", title=str(turn), tasks=["x"], scope=f"{name} {nth}").changed
threads = [threading.Thread(target=work, args=(nth,)) for nth in range(10)]
[thread.start() for thread in threads]
print("ready", flush=True)
sys.stdin.readline()
gate.wait()
[thread.join() for thread in threads]
print("finished", flush=True)
"""


def running(script, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@contextmanager
def held(agenda):
    """Another process has the file open, so that the files beside it stay."""
    script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM entries').fetchall()"
    holder = running(f"{script}; print('ready', flush=True); sys.stdin.readline()", agenda.path)
    assert holder.stdout.readline() == "ready\n"
    yield
    holder.communicate("done\n")


def test_two_processes_of_ten_threads_lose_nothing(agenda):
    writers = [running(WRITER, agenda.path, name) for name in ("a", "b")]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        assert writer.communicate(timeout=60)[0] == "finished\n"
    [shared] = agenda.board("").plans.values()
    expected = {f"{name} {nth} {turn}" for name in "ab" for nth in range(10) for turn in range(3)}
    assert sorted(task.title for task in shared.tasks) == sorted(expected | {f"first {nth}" for nth in range(10)})
    assert [task.number for task in shared.tasks] == list(range(1, 71))
    notes = sorted(f"{name} {turn}" for name in "ab" for turn in range(3))
    assert [sorted(task.notes) for task in shared.tasks[:10]] == [notes] * 10
    for name in (f"{name} {nth}" for name in "ab" for nth in range(10)):
        assert [plan.title for plan in agenda.board(name).plans.values()] == ["0", "1", "2"]


class Overtaken(sqlite3.Connection):
    """Right after it has read the version of the file, another connection writes the first plan."""

    path: Path
    waiting = False

    def execute(self, statement, *parameters):
        cursor = super().execute(statement, *parameters)
        if Overtaken.waiting and "user_version" in statement:
            Overtaken.waiting = False
            with sqlite3.connect(Overtaken.path, isolation_level=None) as other:
                other.execute("BEGIN IMMEDIATE")
                store._create(other)
                other.execute("COMMIT")
        return cursor


def test_a_reader_overtaken_by_the_first_writer_sees_an_empty_agenda(agenda, monkeypatch):
    with sqlite3.connect(agenda.path) as other:
        other.execute("PRAGMA journal_mode=WAL")
    plain = sqlite3.connect
    monkeypatch.setattr(Overtaken, "path", agenda.path, raising=False)
    monkeypatch.setattr(Overtaken, "waiting", True)
    monkeypatch.setattr(store.sqlite3, "connect", lambda path, **named: plain(path, factory=Overtaken, **named))
    assert agenda.board("").plans == {}
    assert not Overtaken.waiting
    assert agenda.call("create", title="t", tasks=["x"]).changed


KILLED = """
import sys
from foldline.agenda import Agenda
agenda = Agenda(sys.argv[1])
agenda.call("create", title="t", tasks=["0"])
for nth in range(1, 190):
    agenda.call("add", tasks=[str(nth)])
    print(nth, flush=True)
"""


@pytest.mark.parametrize("acknowledged", [1, 7, 40])
def test_what_was_acknowledged_survives_kill_9(agenda, acknowledged):
    writer = running(KILLED, agenda.path)
    for _ in range(acknowledged):
        last = int(writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    rest = writer.communicate()[0].split()
    last = int(rest[-1]) if rest else last
    titles = [task.title for task in agenda.board("").plans[1].tasks]
    assert titles[: last + 1] == [str(nth) for nth in range(last + 1)]
    assert agenda.call("add", tasks=["after"]).changed


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not here")
def test_a_commit_is_synced_to_the_disk(agenda, tmp_path):
    """Fails under synchronous=OFF and NORMAL, which survive every kill of a process: the syncs themselves are seen."""
    planned(agenda, "one")
    script = f"from foldline.agenda import Agenda; assert Agenda({agenda.path!r}).call('add', tasks=['three']).changed"
    trace = ("strace", "-f", "-e", "trace=fsync,fdatasync", "-o", str(tmp_path / "trace"))
    with held(agenda):  # so that closing syncs nothing
        agenda.call("add", tasks=["two"])
        subprocess.run([*trace, sys.executable, "-c", script], check=True)
    assert "sync(" in (tmp_path / "trace").read_text()


FORKS = """
import os, sys, threading
from foldline.agenda import Agenda
agenda = Agenda(sys.argv[1])
agenda.call("create", title="t", tasks=["0"])
stop = threading.Event()
def busy(name):
    nth = 0
    while not stop.is_set():
        nth += 1
        agenda.call("update", task=1, title=f"{name} {nth}")
threads = [threading.Thread(target=busy, args=(n,)) for n in "ab"]
[thread.start() for thread in threads]
children = []
for nth in range(8):
    child = os.fork()
    if not child:
        os._exit(0 if agenda.call("add", tasks=[f"child {nth}"]).changed else 1)
    children.append(child)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
stop.set()
[thread.join() for thread in threads]
"""


def test_children_forked_in_the_middle_of_writing_write_too(agenda):
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS, agenda.path], check=True, timeout=60)
    titles = [task.title for task in agenda.board("").plans[1].tasks[1:]]
    assert sorted(titles) == [f"child {nth}" for nth in range(8)]


def test_the_file_is_its_owners_alone(tmp_path):
    agenda = planned(Agenda(tmp_path / "new" / "agenda.db"), "one")
    assert stat.S_IMODE(os.stat(tmp_path / "new").st_mode) == 0o700
    assert stat.S_IMODE(os.stat(agenda.path).st_mode) == 0o600
    os.chmod(agenda.path, 0o644)
    agenda.call("start")
    assert stat.S_IMODE(os.stat(agenda.path).st_mode) == 0o600
    with held(agenda):
        agenda.call("add", tasks=["two"])
        names = sorted(os.listdir(tmp_path / "new"))
        assert names == ["agenda.db", "agenda.db-shm", "agenda.db-wal"]
        assert {stat.S_IMODE(os.stat(tmp_path / "new" / name).st_mode) for name in names} == {0o600}


def test_the_place_is_beside_the_archive(monkeypatch, tmp_path):
    monkeypatch.setenv("FOLDLINE_HOME", str(tmp_path))
    assert Agenda().path == f"{tmp_path}/agenda.db"
    monkeypatch.delenv("FOLDLINE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert Agenda().path == "/home/someone/.local/share/foldline/agenda.db"
    assert Agenda("~/x.db").path == "/home/someone/x.db"


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "target").touch()
    (tmp_path / "agenda.db").symlink_to(tmp_path / "target")
    agenda = Agenda(tmp_path / "agenda.db")
    for attempt in (lambda: agenda.call("start"), lambda: agenda.adopt("", Plan(0, "", (Task(1, "x"),)), "a")):
        with pytest.raises(ArchiveError, match="symbolic link"):
            attempt()
    assert (tmp_path / "target").read_bytes() == b""


@pytest.mark.parametrize("place", ["folder", "file/agenda.db", "pipe"])
def test_what_is_no_file_is_refused(tmp_path, place):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ArchiveError, match="name another place"):
        planned(Agenda(tmp_path / place), "one")


def test_a_damaged_file_is_said_and_left_alone(agenda):
    planned(agenda, *(f"task {nth}" for nth in range(100)))
    whole = Path(agenda.path).read_bytes()
    for broken in (b"not a database, but long enough to look at" * 100, whole[:4096] + b"\xff" * (len(whole) - 4096)):
        Path(agenda.path).write_bytes(broken)
        for attempt in (lambda: agenda.call("start"), lambda: agenda.call("add", tasks=["x"])):
            with pytest.raises(Corrupt, match="move the file aside"):
                attempt()
        assert Path(agenda.path).read_bytes() == broken


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("change", '{"task": 9, "status": "done"}'),
        ("change", "{"),
        ("change", "[]"),
        ("add", "{}"),
        ("fly", "{}"),
        ("add", '{"tasks": [{"no title": 1}]}'),
    ],
)
def test_an_entry_that_makes_no_sense_is_said(agenda, kind, data):
    planned(agenda, "one")
    with sqlite3.connect(agenda.path) as connection:
        connection.execute(
            "INSERT INTO entries (scope, time, plan, kind, data) VALUES (?, 1, 1, ?, ?)", (b"", kind, data)
        )
    connection.close()
    with pytest.raises(Corrupt, match="damaged"):
        agenda.call("start")
    assert agenda.board("elsewhere") == Board()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("PRAGMA user_version = 2", "knows 1; upgrade"),
        ("CREATE TABLE entries (x); PRAGMA user_version = 2", "knows 1; upgrade"),
        ("CREATE TABLE other (x)", "a database of something else"),
        ("CREATE TABLE nodes (x); PRAGMA user_version = 4", "a database of something else"),
    ],
)
def test_a_later_format_or_another_database_is_left_alone(agenda, statement, message):
    connection = sqlite3.connect(agenda.path)
    connection.executescript(statement)
    connection.close()
    with pytest.raises(ArchiveError, match=message):
        agenda.call("create", title="t", tasks=["x"])
    with pytest.raises(ArchiveError, match=message):
        agenda.call("start")


def test_a_file_held_by_another_is_waited_for_then_told(agenda, monkeypatch):
    monkeypatch.setattr(store, "WAIT", 0.2)
    planned(agenda, "one")
    holder = sqlite3.connect(agenda.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert "one" in agenda.call("start").text
    with pytest.raises(Busy, match="held by another process"):
        agenda.call("add", tasks=["two"])
    holder.execute("ROLLBACK")
    holder.close()
    assert agenda.call("add", tasks=["two"]).changed


def test_what_is_refused_behind_the_lock_writes_nothing(agenda):
    def choose(entries):
        raise ValueError("too late")

    with pytest.raises(ValueError, match="too late"):
        store.Log(agenda.path).add("", choose)
    assert agenda.log("") == ()
    assert planned(agenda, "one").log("")[0].id == 1


def test_a_disk_without_room_loses_nothing(agenda):
    planned(agenda, "one")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limit[1]))
        with pytest.raises(ArchiveError, match="Nothing was changed"):
            agenda.call("add", tasks=["x" * TITLE] * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert [task.title for task in agenda.board("").plans[1].tasks] == ["one"]
    assert agenda.call("add", tasks=["two"]).changed


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_FULL, Full),
        (sqlite3.SQLITE_READONLY, Full),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, Busy),
        (sqlite3.SQLITE_PROTOCOL, Busy),
        (sqlite3.SQLITE_NOTADB, Corrupt),
        (sqlite3.SQLITE_IOERR_READ, ArchiveError),
    ],
)
def test_errors_of_sqlite_have_our_names(code, kind, tmp_path):
    error = sqlite3.OperationalError("trouble")
    error.sqlite_errorcode = code
    assert type(store._told(error, tmp_path)) is kind


def test_errors_of_the_disk_have_our_names(tmp_path):
    assert type(store._refused(OSError(28, "No space left on device"), tmp_path)) is Full


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_a_plan_in_a_folder_that_takes_no_files_can_be_read():
    with tempfile.TemporaryDirectory() as ours:  # a folder of pytest's own is root's alone
        Path(ours).chmod(0o755)
        another_user_reads(Path(ours) / "theirs")


def another_user_reads(folder):
    planned(Agenda(folder / "agenda.db"), "one", "two")
    (folder / "agenda.db").chmod(0o600)
    for path in (folder, folder / "agenda.db"):
        os.chown(path, NOBODY, NOBODY)
    folder.chmod(0o500)

    def work():
        agenda = Agenda(folder / "agenda.db")
        said = agenda.call("list", plan=1).text
        with pytest.raises(Full, match="cannot be written"):
            agenda.call("complete", task=1, evidence="seen")
        folder.chmod(0)
        with pytest.raises(Full, match="Permission denied"):
            agenda.call("list")
        return said

    assert "1. one" in as_nobody(work)


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_a_plan_of_another_user_can_be_read_and_stays_as_open_as_it_was(agenda, tmp_path):
    for parent in (tmp_path, *takewhile(lambda one: "pytest" in str(one), tmp_path.parents)):
        parent.chmod(0o755)
    agenda.call("create", title="shown", tasks=["one"])
    os.chmod(agenda.path, 0o644)
    assert "1. one" in as_nobody(lambda: Agenda(agenda.path).call("start").text)
    assert stat.S_IMODE(os.stat(agenda.path).st_mode) == 0o644
