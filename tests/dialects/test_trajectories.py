"""Lists of trajectories: one is read, all are written."""

from __future__ import annotations

import json

import pytest

from foldline.dialects import jsontext, several
from foldline.dialects.base import Source
from foldline.dialects.trajectories import Trajectories
from foldline.errors import InputError, MalformedInput
from foldline.model import Text

MANY = Trajectories()
VALUE = [{"task_id": n, "reward": 1.0, "traj": [{"role": "user", "content": f"task {n}"}]} for n in range(3)]
DATA = json.dumps(VALUE, indent=1).encode()


def read(pick: int = 0):
    return MANY.read(Source(DATA, name="x"), jsontext.decode(DATA), pick)


@pytest.mark.parametrize("pick", range(3))
def test_one_of_them_is_chosen_and_the_document_is_written_whole(pick):
    conversation = read(pick)
    assert conversation.messages[0].text == f"task {pick}"
    assert MANY.write(conversation) == DATA


def test_how_many_there_are_is_said_and_how_another_is_read_from_python_and_from_the_command_line():
    text = read().notices[0].text
    assert all(said in text for said in ("0 of 3", "pick=N", "--pick N"))


def test_a_change_touches_the_chosen_one_alone():
    conversation = read(1)
    changed = conversation.with_messages([conversation.messages[0].with_parts([Text("other")])])
    after = json.loads(MANY.write(changed))
    assert after[1]["traj"] == [{"role": "user", "content": "other"}]
    assert (after[0], after[2]) == (VALUE[0], VALUE[2])
    assert (after[1]["task_id"], after[1]["reward"]) == (1, 1.0)


@pytest.mark.parametrize("pick", [3, -1])
def test_one_that_is_not_there_is_refused_with_their_number(pick):
    with pytest.raises(InputError, match="holds 3"):
        read(pick)


def test_what_is_no_list_of_trajectories_is_refused():
    with pytest.raises(MalformedInput):
        MANY.read(Source(b"[]"), [])


def test_a_single_one_needs_no_notice():
    data = jsontext.encode(VALUE[:1])
    assert MANY.read(Source(data), VALUE[:1]).notices == ()


def test_all_of_them_are_read_as_one_by_one_and_the_document_is_taken_apart_once(monkeypatch):
    apart = []
    elements = jsontext.elements
    monkeypatch.setattr(jsontext, "elements", lambda data: apart.append(data) or elements(data))
    found = list(several(read()))
    assert apart.count(DATA) == 2, "once for the first, which was there, and once for all"
    assert [(each.messages, each.layout, each.notices) for each in found] == [
        (one.messages, one.layout, one.notices) for one in map(read, range(3))
    ]
