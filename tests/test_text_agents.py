"""Agents without tool calls: they think aloud, write one command into a fence, and the shell answers as the user."""

from __future__ import annotations

import json

import pytest

from foldline import Archive, Budget, Compactor, read, validate

TASK = "Make the importer keep empty rows. Never touch the files under vendor/."
STEPS = 60


def step(number):
    """Every seventh command fails; every fifth thought ends with a question that nobody is asked."""
    why = f"Maybe `rows_{number}` drops them?" if number % 5 == 0 else f"I look at `rows_{number}` next."
    thought = (
        f"THOUGHT: Step {number} of the search.\n\n{why}\n\n```bash\ngrep -n rows_{number} src/table_{number}.py\n```"
    )
    code = 2 if number % 7 == 0 else 0
    shown = "\n".join(f"{line}: def rows_{number}_{line}(text):" for line in range(40))
    observed = f"<returncode>{code}</returncode>\n<output>\n{shown}\n</output>"
    return [{"role": "assistant", "content": thought}, {"role": "user", "content": observed}]


@pytest.fixture(scope="module")
def session():
    first = [{"role": "system", "content": "You are a programmer."}, {"role": "user", "content": TASK}]
    messages = first + [message for number in range(1, STEPS + 1) for message in step(number)]
    found = {"info": {"mini_version": "1.0"}, "messages": messages, "trajectory_format": "mini-swe-agent-1"}
    return read(json.dumps(found).encode())


def notes(session, to=4_000):
    folded = Compactor(Budget(window=1 << 30, reserve=0)).compact(session, to=to)
    return folded.checkpoint.text


def test_nobody_waits_for_an_answer_to_a_question_that_was_not_asked(session):
    """The last thought ends with a question, and so do others; the agent goes on by itself."""
    text = notes(session)
    assert "no answer yet" not in text
    assert "once the user has answered" not in text


def test_commands_stand_in_the_log_as_what_was_run(session):
    text = notes(session)
    assert f"command: grep -n rows_{STEPS - 1} src/table_{STEPS - 1}.py" in text
    assert f"[bash, failed] command: grep -n rows_{STEPS - 4} " in text
    assert "```" not in text


def test_a_question_behind_which_nothing_came_is_waited_for(session):
    asking = {"role": "assistant", "content": "Both would work. Shall I keep the empty rows, or drop them as well?"}
    told = [
        {"role": "user", "content": TASK},
        *(message for number in range(1, 40) for message in step(number)),
        asking,
    ]
    text = notes(read(json.dumps({"info": {"mini_version": "1.0"}, "messages": told}).encode()))
    assert "no answer yet: “Shall I keep the empty rows, or drop them as well?”" in text


def request(session_steps=STEPS):
    """The same as the agent's program sends it: nothing says whose the answers are."""
    first = [{"role": "system", "content": "You are a programmer."}, {"role": "user", "content": TASK}]
    return {"model": "m", "messages": first + [message for n in range(1, session_steps + 1) for message in step(n)]}


def test_through_an_api_answers_of_the_shell_are_not_the_users_words():
    folded = Compactor(Budget(window=1 << 30, reserve=0)).compact(request(), to=4_000)
    text = folded.checkpoint.text
    said = text.partition("What else the user said")[2].partition("\n## ")[0]
    assert "returncode" not in said
    assert f"command: grep -n rows_{STEPS - 1} src/table_{STEPS - 1}.py" in text
    assert {"role": "user", "content": TASK} in folded.messages
    assert validate(folded.request) == []


def test_the_task_stays_whole_however_often_the_agent_goes_on():
    """Each turn ends with a user message that is none; the newest that a user wrote is the task."""
    compactor = Compactor(Budget(window=12_000, reserve=1_000))
    for steps in range(1, STEPS):
        fitted = compactor.fit(request(steps))
        assert {"role": "user", "content": TASK} in fitted.messages
    assert fitted.checkpoint is not None


def test_an_archive_of_such_a_session_is_sound(tmp_path):
    """Whose word a message is depends on the one before it, and is kept with it."""
    archive = Archive(tmp_path / "a.db")
    compactor = Compactor(Budget(window=12_000, reserve=1_000), archive=archive)
    folded = compactor.compact(request(30), to=4_000)
    originals = archive.expand(folded.receipt.checkpoint)
    assert [json.loads(message.raw) for message in originals] == request(30)["messages"][: len(originals)]
    assert {message.origin.value for message in originals[2:]} == {"assistant", "tool"}
    compactor.fit(request(40))
    assert list(archive.verify()) == []


def test_a_person_among_the_shells_answers_is_heard():
    """Between two steps the user says something; and later steps come behind it."""
    asked = request(40)
    asked["messages"][40:40] = [{"role": "user", "content": "Stop using grep. The real bug is in loader_zebra.py."}]
    folded = Compactor(Budget(window=1 << 30, reserve=0)).compact(asked, to=4_000)
    assert any("loader_zebra.py" in message["content"] for message in folded.messages)


def test_a_view_that_comes_back_is_still_told_apart():
    """The tail begins with a step, never with an answer alone: fed back, that would be the user's newest word."""
    for to in range(1_500, 5_000, 250):
        folded = Compactor(Budget(window=1 << 30, reserve=0)).compact(request(40), to=to)
        again = Compactor(Budget(window=1 << 30, reserve=0)).compact(
            {"model": "m", "messages": [*folded.messages, *step(41)]}, to=1_500
        )
        assert TASK in json.dumps(again.request, ensure_ascii=False)
