"""Results in an envelope of JSON: what the command said, and whether it went well."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.work.envelope import LONGEST, Unpacked, stated, unpacked


@pytest.mark.parametrize(
    ("envelope", "said", "well"),
    [
        ({"output": "boom\n", "exit_code": 1}, "boom", False),
        ({"output": "fine", "metadata": {"exit_code": 0, "wall_time": 0.1}}, "fine", True),
        ({"returncode": 0, "stdout": "one\n", "stderr": "two\n"}, "one\ntwo", True),
        ({"exitCode": "2", "stdout": "", "stderr": "no such file"}, "no such file", False),
        ({"Exit-Code": -9, "Output": "killed"}, "killed", False),
        ({"success": False, "exit_code": 0, "output": "so"}, "so", False),
        ({"stdout": "half", "exit_code": None, "success": True, "timedOut": True}, "half", False),
        (
            {"exit_code": 1, "output": "[1/3] compiling", "error": "ld: no -lssl"},
            "[1/3] compiling\nld: no -lssl",
            False,
        ),
        ({"exit_code": 1, "exitCode": 0, "output": "twice"}, "twice", False),
        ({"exit_code": 0, "output": ""}, "", True),
        ({"exit_code": 1, "stdout": "", "message": "permission denied"}, "permission denied", False),
    ],
)
def test_what_a_command_said_is_taken_out_and_how_it_ended_is_known(envelope, said, well):
    assert unpacked(json.dumps(envelope)) == Unpacked(said, well)
    assert unpacked(f"\n{json.dumps(envelope, indent=2)}\n") == Unpacked(said, well)


@pytest.mark.parametrize(
    "record",
    [
        {"id": 7, "status": "failed", "customer": "Ada"},
        {"status": "error", "message": "as it should be"},
        {"error": "no such order"},
        {"exit_code": 1},
        {"exitCode": 137, "reason": "OOMKilled"},
        {"id": "ABC-17", "output": "Issue created", "success": True},
        {"output": "export", "basePath": "/docs"},
        {"status": 200, "output": "page"},
        {"output": 3, "exit_code": 0},
        {"returncode": 0, "stdout": ["a", "b"], "stderr": ""},
        {"exit_code": 1, "stdout": "", "error": {"message": "disk full"}},
        {"output": "x", "exit_code": True},
        {"output": "x", "exit_code": None},
        {"output": "x", "metadata": "exit_code 0"},
        {"output": "x", "success": True},
        {"output": "x", "ok": False, "status": "done"},
        {},
        [],
        [{"output": "x", "exit_code": 1}],
        "output",
        12,
    ],
)
def test_data_is_no_envelope(record):
    text = json.dumps(record)
    assert unpacked(text) == Unpacked(text)


def test_half_a_character_is_not_handed_on():
    assert unpacked('{"exit_code": 1, "output": "cut \\ud83d here"}').said == "cut \ufffd here"


@pytest.mark.parametrize(
    ("text", "well"),
    [
        ('{"success": false}', False),
        ('{"metadata": {"exit_code": 0}}', True),
        ('{"ok": false, "error": "db down"}', None),
        ('{"success": "no"}', None),
        ('[{"success": false}]', None),
        ("plain words", None),
    ],
)
def test_any_tool_may_state_success(text, well):
    assert stated(text) is well


@pytest.mark.parametrize("text", ["", "{", '{"output": 1', '{"output":' * 5_000, "plain words", "[main 1a2b] x"])
def test_what_is_no_json_is_left_as_it_is(text):
    assert unpacked(text) == Unpacked(text)
    assert stated(text) is None


def test_what_is_huge_is_not_taken_apart():
    text = json.dumps({"exit_code": 1, "output": "y" * LONGEST})
    assert unpacked(text) == Unpacked(text)


KEYS = st.sampled_from(
    ["exit_code", "output", "stdout", "error", "status", "isError", "content", "result", "metadata", "x"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_nothing_is_made_up(value):
    """Every word that is said stands in the envelope; whatever it holds, it is opened without a fault."""
    found = unpacked(json.dumps(value, ensure_ascii=False))
    assert found.well in (True, False, None)
    strings = _strings(value)
    assert found.said == json.dumps(value, ensure_ascii=False) or all(
        any(line in text for text in strings) for line in found.said.split("\n")
    )


def _strings(value):
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _strings(each)]
