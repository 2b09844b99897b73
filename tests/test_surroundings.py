"""What the agent keeps beside its conversation goes into the checkpoint: its plan, and what memory files there are."""

from __future__ import annotations

import json

import pytest

from foldline import Budget, Compactor
from foldline.agenda import Agenda
from foldline.errors import Busy
from foldline.testing import FakeCaller, Session

TODOS = [
    {"content": "Read the loader", "status": "completed"},
    {"content": "Mend the cache", "status": "in_progress"},
    {"content": "Write the changelog", "status": "pending"},
]


@pytest.fixture
def agenda(tmp_path):
    return Agenda(tmp_path / "kept" / "agenda.db")


def busy(turns=60):
    session = Session(model="m").user("Clean up the handlers. Never touch legacy.py.")
    for number in range(turns):
        session.tools(("Bash", json.dumps({"command": f"cat part{number}.py"}), f"text {number} " * 60))
    return session.user("And now the rest.")


def folded(session, **more):
    return Compactor(Budget(window=12_000, reserve=1_000), **more).fit(session.request())


def test_the_active_task_stands_in_the_checkpoint_and_the_tool_in_the_continuation(agenda):
    agenda.call("create", scope="here", title="Speed", tasks=["Measure", "Mend"])
    agenda.call("update", scope="here", task=1, status="in progress", details="with the small file")
    fitted = folded(busy(), agenda=agenda, scope="here")
    text = fitted.checkpoint.text
    assert "## Your plan" in text
    assert "Measure" in text.split("## Your plan")[1]
    assert "`plan`" in text.split("## How to go on")[1]


def test_one_projects_plan_never_enters_anothers_checkpoint(agenda):
    agenda.call("create", scope="elsewhere", title="Secret work", tasks=["Not for here"])
    text = folded(busy(), agenda=agenda, scope="here").checkpoint.text
    assert "Secret work" not in text
    assert "## Your plan" not in text


def test_a_list_the_agent_keeps_in_its_own_tool_becomes_the_plan(agenda):
    session = busy(30).tools(("TodoWrite", json.dumps({"todos": TODOS}), "ok")).user("Go on.")
    for number in range(40):
        session.tools(("Bash", "{}", f"more {number} " * 60))
    maker = Compactor(Budget(window=12_000, reserve=1_000), agenda=agenda, scope="s")
    text = maker.fit(session.request()).checkpoint.text
    assert "Mend the cache" in text.split("## Your plan")[1]
    again = agenda.log("s")
    maker.compact(session.request())
    assert agenda.log("s") == again, "the same list is taken over once"


def test_a_preview_takes_nothing_over(agenda):
    session = busy(30).tools(("TodoWrite", json.dumps({"todos": TODOS}), "ok")).user("Go on.")
    Compactor(Budget(window=12_000, reserve=1_000), agenda=agenda).preview(session.request(), to=4_000)
    assert agenda.log("") == ()


def test_views_extend_one_another_although_the_plan_goes_on(agenda):
    agenda.call("create", title="Speed", tasks=["Measure", "Mend"])
    maker = Compactor(Budget(window=12_000, reserve=1_000), agenda=agenda)
    session = busy()
    before = maker.fit(session.request())
    agenda.call("complete", task=1, evidence="0.3 s")
    after = maker.fit(session.assistant("Done.").request())
    assert not after.receipt.rebased
    assert after.messages[: len(before.messages)] == before.messages


def test_an_agenda_that_cannot_be_read_costs_a_notice_and_not_the_turn(agenda, monkeypatch):
    def unread(*_, **__):
        raise Busy("another process holds agenda.db")

    monkeypatch.setattr(agenda, "active_text", unread)
    receipt = folded(busy(), agenda=agenda).receipt
    assert receipt.action == "compact"
    assert [notice.code for notice in receipt.notices] == ["plan-unread"]


def test_memory_files_are_listed_and_not_told_and_changes_are_said(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("# House\n## Style\nTabs.\n## Compact Instructions\nKeep the port numbers.\n")
    model = FakeCaller(window=100_000)
    maker = Compactor(Budget(window=12_000, reserve=1_000), model=model, root=tmp_path)
    first = maker.fit(busy().request())
    assert "CLAUDE.md" in first.checkpoint.text
    assert "Tabs." not in first.checkpoint.text
    assert "Keep the port numbers." in model.asked[0].prompt, "instructions for compaction are obeyed"
    (tmp_path / "CLAUDE.md").write_text("# House\n## Style\nSpaces.\n")
    second = maker.compact(busy(61).request(), to=5_000, kind="regular")
    assert "memory-changed" in [notice.code for notice in second.receipt.notices]
    assert "changed since" in second.checkpoint.text


def test_a_folder_that_is_not_there_costs_nothing(tmp_path):
    receipt = folded(busy(), root=tmp_path / "nowhere").receipt
    assert receipt.action == "compact"
