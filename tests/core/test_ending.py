"""How a check ended is read from its last lines."""

from __future__ import annotations

import pytest

from foldline.core.work.ending import LONGEST_LAST, closing_line, last_line
from foldline.model import Text, ToolResult


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("all 9 passed\n\n", "all 9 passed"),
        ("building\n[main 1a2b3c4] Mend the parser\n 2 files changed", " 2 files changed"),
        ("src/a.py:3: x = 1\nsrc/b.py", ""),
        ("9 passed\n" + "later output\n" * 100, ""),
    ],
)
def test_the_line_that_says_how_a_check_ended_is_the_last_of_its_kind(text, line):
    assert closing_line(ToolResult("x", (Text(text),))) == line.strip()


@pytest.mark.parametrize("behind", range(540, 640))
def test_a_secret_that_begins_before_what_is_looked_at_is_masked_whole(behind):
    key = f"ghp_{'a8Fk2Lq9Zx0P' * 3}"
    said = closing_line(ToolResult("x", (Text(f"start {key} {('ab ' * 220)[: behind - 10]} 12 passed"),)))
    shown = last_line(ToolResult("x", (Text(f"start {key}{' ' * behind}x"),)))
    assert "12 passed" in said or len(said) == 300
    assert all(key[at : at + 6] not in said + shown for at in range(len(key) - 5))


def test_a_line_of_a_private_key_that_was_cut_off_is_no_last_line():
    lines = "\n".join(f"{'a8Fk2Lq9Zx0P' * 5}{number:04}" for number in range(20))
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{lines}"
    assert last_line(ToolResult("x", (Text(text),))).startswith("[masked private-key ")


@pytest.mark.parametrize(("text", "line"), [("", ""), ("ok\n\n", "ok"), ("x" * LONGEST_LAST, "x" * LONGEST_LAST)])
def test_a_quiet_check_is_told_by_its_last_line_unless_that_is_part_of_a_dump(text, line):
    assert last_line(ToolResult("x", (Text(f"begun\n{text}" if text else ""),))) == line
    assert last_line(ToolResult("x", (Text(f"begun\n{text}\n{'y' * (LONGEST_LAST + 1)}"),))) == ""
