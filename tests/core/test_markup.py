"""Code fences are found, any line can be guarded and comes back as it was, and tidying only takes empty lines."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.words.markup import bare, fenced, guard, guarded, opens_fence, tidy, unguarded

pieces = st.sampled_from(
    ["```", "````", "```py", "~~~", "- ```", "\\", "\\\\", "#", "# x", " ", "  ", "a", "", "\t", "\r"]
)
lines_ = st.lists(pieces, max_size=4).map("".join)
texts = st.lists(lines_, max_size=12).map("\n".join)


def is_hash(line):
    return line.lstrip().startswith("#")


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("a\n```\nb\n```\nc", "01110"),
        ("```py\nb\n```", "111"),
        ("````\n```\n````\nx", "1110"),
        ("~~~\n```\n~~~", "111"),
        ("```\nnever closed", "00"),
        ("```x\n```y\nz", "000"),
        ("- ```\n  x\n  ```", "111"),
        ("1. ```\nx\n```  ", "111"),
        ("```inline``` code\n```\n```", "011"),
        ("", "0"),
    ],
)
def test_code_fences_are_found(text, inside):
    assert "".join("1" if line else "0" for line in fenced(text.split("\n"))) == inside


@given(texts)
def test_a_guarded_text_has_no_special_line_outside_code_and_comes_back(text):
    def special(line):
        return is_hash(line) or opens_fence(line)

    kept = guard(text, special)
    lines = kept.split("\n")
    inside = fenced(lines)
    assert not any(special(line) for line, within in zip(lines, inside, strict=True) if not within)
    back = [line if within else unguarded(line, special) for line, within in zip(lines, inside, strict=True)]
    assert "\n".join(back) == text


@given(lines_)
def test_a_guarded_line_comes_back(line):
    assert unguarded(guarded(line, is_hash), is_hash) == line
    assert not is_hash(guarded(line, is_hash))


def test_only_special_lines_are_changed():
    assert guard("a\n# b\n\\# c\n\\d\n```\n# e\n```", is_hash) == "a\n\\# b\n\\\\# c\n\\d\n```\n# e\n```"


@given(texts)
def test_tidying_takes_empty_lines_and_nothing_else(text):
    tidied = tidy(text)
    assert tidy(tidied) == tidied
    full = [line for line in re.sub(r"\r+\n", "\n", text).strip().split("\n") if line.strip()]
    assert [line for line in tidied.split("\n") if line.strip()] == full


def test_empty_lines_inside_code_stay():
    assert tidy("\n\na\r\n\n\n\nb\n```\n\n\n\n```\n") == "a\n\nb\n```\n\n\n\n```"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("- [x] done", "done"),
        ("1. step", "step"),
        ("12) step", "step"),
        ("  * a", "a"),
        ("-", ""),
        ("42", "42"),
        ("-x", "-x"),
        ("[ ] y", "y"),
    ],
)
def test_a_line_without_its_marks(line, words):
    assert bare(line) == words


@pytest.mark.parametrize("line", ["```", "```x", "~~~", "`" * 50, "- ```", "a", " " * 40, "````x\n```"])
def test_a_long_text_takes_linear_time(line):
    lines = (f"{line}\n" * (100_000 // (len(line) + 1))).split("\n")
    start = time.perf_counter()
    fenced(lines)
    assert time.perf_counter() - start < 3


def test_fences_that_grow_shorter_take_linear_time():
    """Each opens a fence that nothing closes, and none is an end for the one before."""
    opening = [("`" if length % 2 else "~") * length + "x" for length in range(1_000, 2, -1)]
    lines = [*opening, *["a"] * 200_000]
    start = time.perf_counter()
    assert not any(fenced(lines))
    assert time.perf_counter() - start < 3


def test_carriage_returns_that_no_line_end_follows_take_linear_time():
    start = time.perf_counter()
    assert tidy("a" + "\r" * 200_000 + "b\r\r\n") == "a" + "\r" * 200_000 + "b"
    assert time.perf_counter() - start < 3
