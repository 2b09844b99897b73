"""`validate`: whatever form a request is given in, the same is found in it."""

from __future__ import annotations

import pytest

from foldline import validate
from foldline.errors import MalformedInput

SOUND = [
    {"role": "user", "content": "a"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t_1", "name": "read", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t_1", "content": "b"}]},
]


class Shown:
    """An SDK's object."""

    def __init__(self, fields):
        self._fields = fields

    def to_dict(self):
        return self._fields


def shown(message):
    return {**message, "content": [Shown(block) for block in message["content"]]}


@pytest.mark.parametrize("dialect", [None, "anthropic"])
def test_objects_of_sdks_and_tuples_are_judged_as_what_they_say(dialect):
    tools = [{"name": "read"}]
    messages = [SOUND[0], shown(SOUND[1]), Shown(SOUND[2])]
    for given in (messages, tuple(messages), {"messages": messages, "tools": tools}):
        assert validate(given, dialect) == []
    unanswered = validate({"messages": tuple(messages[:2]), "tools": tools}, dialect)
    assert [(found.rule, found.message) for found in unanswered] == [("call-unanswered", 1)]


def test_what_a_dialect_could_not_read_is_judged_where_it_is_named():
    assert [found.rule for found in validate({"messages": 7}, "anthropic")] == ["payload-shape"]
    with pytest.raises(MalformedInput):
        validate({"messages": [{"role": "user", "content": float("nan")}]}, "anthropic")
