"""How the agent goes on: five kinds, voiced or silent, with what it really has."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from foldline.core.resume import KINDS, LATEST, SNAPSHOT, TASK, Abilities, Manner, naming, resume, tersely
from foldline.core.summaries.prompts import prompt

ALL = Abilities(search=True, plan=True, memory_files=("TOOLS.md", "USER.md"), standards=("CODE.md",))
NONE = Abilities()
every = list(product(KINDS, (True, False), (True, False), (True, False)))
kinds = list(product(KINDS, (True, False)))

TABLE = {
    # kind: (search named, memory files named, snapshot named)
    "regular": (True, True, True),
    "mid-loop": (True, False, True),
    "emergency": (True, False, False),
    "post-tool": (True, False, False),
    "manual": (False, False, False),
}

VOICE = {
    # (kind, silent): what must be in it, what must not
    ("regular", False): (
        ["Read the notes and the snapshot", "immediate task at once", "open no other topic"],
        ["remark"],
    ),
    ("regular", True): (
        ["as though there had been no break", "Say nothing about the fold", "without remark", "one short line"],
        [],
    ),
    ("mid-loop", False): (
        ["Go over the notes and the snapshot", "No question", "no new topic unless the user brings one"],
        ["short line"],
    ),
    ("mid-loop", True): (
        ["do not mention the fold", "Do not start over", "do not ask", "only when the user wants it"],
        ["short line"],
    ),
    ("emergency", False): (["one light remark", "do none of it again"], ["short line"]),
    ("emergency", True): (
        ["without a word about it", "stays finished", "Read again, quietly", "one short line"],
        ["light remark"],
    ),
    ("post-tool", False): (["one light remark", "nothing done twice"], ["short line"]),
    ("post-tool", True): (["do not mention the fold", "nothing done twice"], ["light remark", "short line"]),
    ("manual", False): (["pass no remark", "The user knows"], ["light remark"]),
    ("manual", True): (["quietly", "the user asked for these notes"], ["light remark"]),
}


@pytest.mark.parametrize(("kind", "silent"), kinds)
def test_the_table_of_what_each_kind_names(kind, silent):
    text = resume(Manner(kind, silent), ALL)
    named = ("`session_search`" in text, "TOOLS.md, USER.md" in text, "snapshot" in text)
    assert named == TABLE[kind]


@pytest.mark.parametrize(("kind", "silent"), kinds)
def test_the_table_of_voices(kind, silent):
    text = resume(Manner(kind, silent), ALL)
    wanted, unwanted = VOICE[kind, silent]
    assert [phrase for phrase in wanted if phrase not in text] == []
    assert [phrase for phrase in unwanted if phrase in text] == []
    assert ("immediate task" in text) is ((kind, silent) != ("emergency", False))


@pytest.mark.parametrize(("kind", "silent", "approval", "questions"), every)
def test_tools_are_named_only_when_they_are_there(kind, silent, approval, questions):
    text = resume(Manner(kind, silent, approval, questions), NONE)
    assert not any(name in text for name in ("session_search", "memory_read", "`plan`", "standards"))
    assert resume(Manner(kind, silent, approval, questions)) == text


@pytest.mark.parametrize(("kind", "silent"), kinds)
def test_recovery_of_the_plan_and_the_standards_ends_every_kind(kind, silent):
    text = resume(Manner(kind, silent), ALL)
    assert text.endswith("read the project's coding standards (CODE.md) before you edit.")
    assert prompt("resume-plan").text in text
    assert 'call `plan` with the operation "start" and no arguments' in text
    assert "standards" not in resume(Manner(kind, silent), Abilities(plan=True))


@pytest.mark.parametrize(("kind", "silent", "approval", "questions"), every)
def test_approval_is_strict_and_comes_before_going_on_without_questions(kind, silent, approval, questions):
    text = resume(Manner(kind, silent, approval, questions), ALL)
    strict, free = prompt("resume-approval").text, prompt("resume-no-questions").text
    assert text.endswith(strict) is approval
    assert text.endswith(free) is (not approval and not questions)
    assert (strict in text, free in text) == (approval, not approval and not questions)


@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_that_is_to_go_on_without_questions_is_not_told_to_ask_one(kind):
    asked = prompt("resume-unclear").text
    assert asked not in resume(Manner(kind, silent=True, questions=False))
    assert (asked in resume(Manner(kind, silent=True))) is (kind in ("regular", "emergency"))
    assert (asked in resume(Manner(kind, True, approval=True, questions=False))) is (kind in ("regular", "emergency"))


def test_approval_says_to_wait_before_every_execution_and_to_batch_nothing():
    text = prompt("resume-approval").text
    assert "Before every single execution, wait" in text
    assert "Do not send several calls at once" in text


@pytest.mark.parametrize(
    ("abilities", "numbers"),
    [(ALL, 4), (Abilities(search=True), 3), (Abilities(memory_files=("A.md",)), 3), (NONE, 2)],
)
def test_the_steps_are_numbered_without_gaps(abilities, numbers):
    text = resume(Manner("regular", silent=False), abilities)
    steps = [line.split(".")[0] for line in text.split("\n") if line[:1].isdigit()]
    assert steps == [str(number) for number in range(1, numbers + 1)]
    assert text.index("1. Read the notes") < text.index(f"{numbers}. Take up the immediate task")


@pytest.mark.parametrize(("kind", "silent", "approval", "questions"), every)
@pytest.mark.parametrize("abilities", [ALL, NONE])
def test_no_place_and_no_gap_is_left(kind, silent, approval, questions, abilities):
    text = resume(Manner(kind, silent, approval, questions), abilities)
    assert "$" not in text
    assert "\n\n\n" not in text
    assert text == text.strip()


def test_what_the_notes_lack_is_not_named():
    texts = [resume(Manner(kind, silent), ALL) for kind, silent in kinds] + [tersely(Manner())]
    for name in (TASK, LATEST, SNAPSHOT):
        assert any(name in text for text in texts)
    for text in texts:
        bare = naming(text, task=False, latest=False)
        assert not any(word in bare for word in ("immediate", "snapshot", "log"))
        assert len(bare) <= len(text)
        assert naming(text, task=True, latest=True) == text


def test_all_ten_differ():
    assert len({resume(Manner(kind, silent), ALL) for kind, silent in kinds}) == 10


@pytest.mark.parametrize(("kind", "silent", "approval", "questions"), every)
def test_one_who_has_asked_waits_unless_no_question_may_be_asked(kind, silent, approval, questions):
    waiting = resume(Manner(kind, silent, approval, questions, waits=True), ALL)
    plain = resume(Manner(kind, silent, approval, questions), ALL)
    assert (waiting == plain) is not questions
    assert ("wait for it" in waiting) is questions
    assert ("wait for it" in tersely(Manner(kind, silent, approval, questions, waits=True))) is questions
    assert ("immediate task" in waiting) is ("immediate task" in plain and not questions)


@pytest.mark.parametrize(("kind", "silent", "approval", "questions"), every)
def test_one_who_was_stopped_does_not_go_on_unless_no_question_may_be_asked(kind, silent, approval, questions):
    manner = Manner(kind, silent, approval, questions, stopped=True)
    plain = Manner(kind, silent, approval, questions)
    assert (resume(manner, ALL) == resume(plain, ALL)) is not questions
    for text in (resume(manner, ALL), tersely(manner)):
        assert text.startswith("The user stopped the work here.") is questions
        assert "immediate task" not in text or not questions
    assert resume(replace(manner, waits=True), ALL) == resume(manner, ALL)
