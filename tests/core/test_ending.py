"""How a check ended is read from its last lines."""

from __future__ import annotations

import pytest

from foldline.core.work.ending import closing_line
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
