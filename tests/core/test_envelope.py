"""Results in an envelope of JSON: what the command said, and whether it went well."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.envelope import LONGEST, Opened, opened


@pytest.mark.parametrize(
    ("envelope", "said", "well"),
    [
        ({"output": "boom\n", "exit_code": 1}, "boom", False),
        ({"output": "fine", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}, "fine", True),
        ({"returncode": 0, "stdout": "one\n", "stderr": "two\n"}, "one\ntwo", True),
        ({"exitCode": "2", "stdout": "", "stderr": "no such file"}, "no such file", False),
        ({"Exit-Code": -9, "Output": "killed"}, "killed", False),
        ({"result": {"stdout": "inside", "exit_status": 0}}, "inside", True),
        ({"status": 0, "stdout": "as a number"}, "as a number", True),
        ({"status": "failed", "output": "why"}, "why", False),
        ({"success": True, "output": "so"}, "so", True),
        ({"ok": False, "stderr": "not so"}, "not so", False),
        ({"output": "", "error": "timed out"}, "timed out", False),
        ({"isError": True, "content": [{"type": "text", "text": "refused"}, {"type": "image"}]}, "refused", False),
        ([{"output": "alone in a list", "exit_code": 0}], "alone in a list", True),
    ],
)
def test_what_a_command_said_is_taken_out_and_how_it_ended_is_known(envelope, said, well):
    assert opened(json.dumps(envelope)) == Opened(said, well)
    assert opened(f"\n{json.dumps(envelope, indent=2)}\n") == Opened(said, well)


@pytest.mark.parametrize(
    "record",
    [
        {"id": 7, "status": "failed", "customer": "Ada"},  # an order that failed was found
        {"user": "ada", "error": "last login failed"},
        {"status": "completed", "total": 12},
        {"status": 404, "path": "/x"},
        {"output": 3},
        {"success": "yes"},
        {"exit_code": True},
        {"exit_code": None},
        {},
        [],
        [{"status": "failed"}, {"status": "ok"}],
        "status",
        12,
    ],
)
def test_a_record_that_was_looked_up_is_no_envelope(record):
    text = json.dumps(record)
    assert opened(text) == Opened(text)


def test_an_error_alone_is_told_as_it_stands():
    text = '{"error": "no such order"}'
    assert opened(text) == Opened(text, well=False)


@pytest.mark.parametrize("code", ["0", "'0'"])
def test_a_dict_as_python_prints_it_tells_how_it_ended(code):
    text = "{'output': 'fine', 'returncode': " + code + "}"
    assert opened(text) == Opened(text, well=True)
    assert opened(text.replace("0", "1")).well is False
    assert opened("{'output': 'fine'}").well is None


@pytest.mark.parametrize("text", ["", "{", '{"exit_code": 1', '{"exit_code":' * 5_000, "plain words", "[main 1a2b] x"])
def test_what_is_no_json_is_left_as_it_is(text):
    assert opened(text) == Opened(text)


def test_what_is_huge_is_not_taken_apart():
    text = json.dumps({"exit_code": 1, "output": "y" * LONGEST})
    assert opened(text) == Opened(text)


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
    found = opened(json.dumps(value, ensure_ascii=False))
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
