"""The wrapping of a reply comes off, and nothing inside the summary is taken for wrapping."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldline.core.summaries.styles import STYLES
from foldline.core.summaries.summary import parse, render
from foldline.core.summaries.unwrap import opens_working, unwrap

CHECKPOINT = STYLES["checkpoint"]
BODY = "## Goal\nship it\n\n## Next Steps\n1. test"


def unwrapped(text):
    return unwrap(text, CHECKPOINT)


WRAPPINGS = [
    "{}",
    "\n\n{}\n\n",
    "<summary>\n{}\n</summary>",
    "<summary>{}</summary>",
    "<SUMMARY>\n{}\n</SUMMARY>\n",
    "<summary>\n{}",
    "<analysis>\nI think\n</analysis>\n\n<summary>\n{}\n</summary>",
    "<analysis>I think</analysis>{}",
    "<analysis>one</analysis>\n<analysis>two</analysis>\n<summary>\n{}\n</summary>",
    "<analysis>one</analysis>\n<thinking>two</thinking>\n{}",
    "<think>one</think>\n\n{}",
    "<analysis>\nnever closed\n<summary>\n{}\n</summary>",
    "<analysis>\nnever closed\n\n{}",
    "<analysis>\nnever closed\n## Goal\na draft\n<summary>\n{}\n</summary>",
    "<analysis>\n## Goal\na draft\n</analysis>\n\n<summary>\n{}\n</summary>",
    "<analysis>\n<summary>\n## Goal\na draft\n</summary>\n</analysis>\n\n<summary>\n{}\n</summary>",
    "<analysis>the tag </analysis> is closed like that\n</analysis>\n<summary>\n{}\n</summary>",
    "Sure, here it is:\n<analysis>\nhm\n</analysis>\n<summary>\n{}\n</summary>",
    "Sure, here it is:\n\n<summary>\n{}\n</summary>\nI hope that helps!",
    "I thought about it for a while.\nAll is clear.\n<summary>\n{}\n</summary>",
    "<analysis>a</analysis>\nHere:\n<summary>\n{}\n</summary>",
    "```markdown\n{}\n```",
    "```\n{}\n```",
    "~~~~\n{}\n~~~~",
    "```md\n{}",
    "```\n<summary>\n{}\n</summary>\n```",
    "<summary>\n```markdown\n{}\n```\n</summary>",
    "```xml\n<analysis>\nhm\n</analysis>\n<summary>\n{}\n</summary>\n```",
    "\ufeff{}",
    '<thinking type="long">hm</thinking>\n<summary lang="en">\n{}\n</summary>',
    "I thought about it.\n</think>\n\n{}",
    "## Goal\na draft\n</think>\n\n{}",
    "<analysis>\none\n<analysis>\ntwo\n</analysis>\nthree\n</analysis>\n{}",
    "{}\n<analysis>\nafterthoughts\n</analysis>",
    "{}\n<think>\nafterthoughts\n</think>\n",
    "<summary>\n{}\n<analysis>\nafterthoughts\n</analysis>\n</summary>",
    "<summary>\n## Goal\na draft\n</summary>\nBetter:\n<summary>\n{}\n</summary>",
    "<summary>\n## Goal\na draft\n<summary>\n{}\n</summary>",
    "Here is the summary:\n\n```markdown\n{}\n```\nLet me know!",
    "Here:\n```\n{}\n```",
    "<thought>\none\n</thought>\n{}",
    "<reasoning>\none\n</reasoning>\n{}",
    "<reflection>one</reflection>\n{}",
    "# Analysis\n\nThe user asked.\n\n# Summary\n\n{}",
    "**Analysis:**\n\n1. one\n\n**Final Summary:**\n\n{}",
]

BODIES = {
    "plain": BODY,
    "code": f"{BODY}\n```py\n## Goal\nx = 1\n```",
    "tags in words": f"{BODY}\n2. keep the <summary> tag and </analysis> in the parser",
    "tags on lines": f"{BODY}\n<summary>\nquoted\n</summary>\nand more",
    "tags in code": f"{BODY}\n```html\n<details>\n<summary>\nmore\n</summary>\n<analysis>\n</analysis>\n```",
    "the end of an analysis": f"{BODY}\n2. close it\n</analysis>\nand more",
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_a_wrapping_comes_off(wrapping):
    assert unwrapped(wrapping.format(BODY)) == BODY


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize(
    "wrapping",
    ["{}", "<summary>\n{}\n</summary>", "<analysis>\nhm\n</analysis>\n\n<summary>\n{}\n</summary>",
     "<analysis>\nnever closed\n<summary>\n{}\n</summary>", "<analysis>hm</analysis>\n{}"],
)  # fmt: skip
def test_a_literal_tag_in_the_summary_stays(wrapping, body):
    if body == BODIES["the end of an analysis"] and "never closed" in wrapping:
        pytest.skip("whether that closes the one never closed cannot be told")
    assert unwrapped(wrapping.format(body)) == body


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<analysis>\nonly thoughts", ""),
        ("<analysis>only thoughts</analysis>", ""),
        ("## Goal\nship it\n<analysis>\nI think", "## Goal\nship it\n<analysis>\nI think"),
        ("well\n<analysis>\nonly thoughts", "well"),
        ("no tags\n<summary>at all</summary>", "no tags\n<summary>at all</summary>"),
        ("<summary>\nclosed </summary> inside", "closed </summary> inside"),
        ("<summary>\na\n</summary>\n## Goal\nb", "a\n</summary>\n## Goal\nb"),
        ("```py\nx = 1\n```", "```py\nx = 1\n```"),
        ("```\nx = 1\n```", "```\nx = 1\n```"),
        ("```md\n## Goal\na\n```\n## Blocked\nb", "## Goal\na\n## Blocked\nb"),
        ("Ran\n```\n## Goal\n```\n## Goal\nb", "Ran\n```\n## Goal\n```\n## Goal\nb"),
        ("**Goal**\na\n```md\n## Goal\n```", "**Goal**\na\n```md\n## Goal\n```"),
        ("# Analysis\n## Goal\na\n# Summary\nb", "# Analysis\n## Goal\na\n# Summary\nb"),
        ("# Summary\n## Goal\na\n# Analysis\nb", "# Summary\n## Goal\na\n# Analysis\nb"),
        ("", ""),
    ],
)
def test_what_is_left(text, kept):
    assert unwrapped(text) == kept


def test_working_between_two_sections_comes_out():
    text = "## Goal\nship it\n<analysis>\nwhat next?\n</analysis>\n## Next Steps\n1. test"
    assert unwrapped(text) == "## Goal\nship it\n## Next Steps\n1. test"


def test_a_section_that_stands_nowhere_else_is_no_working():
    text = "## Goal\nkeep the tags:\n<analysis>\n## Next Steps\n1. test\n</analysis>"
    assert unwrapped(text) == text


def test_of_two_summaries_sections_that_only_the_first_has_stay():
    text = "<summary>\n## Goal\nold\n## Key Decisions\n- a\n</summary>\n<summary>\n## Goal\nnew\n</summary>"
    kept = unwrapped(text)
    assert "## Key Decisions\n- a" in kept
    assert kept.endswith("## Goal\nnew")


@pytest.mark.parametrize("line", ["<analysis>", "  <think>", '<thinking a="b">', "<SCRATCHPAD> "])
def test_a_line_that_would_be_thrown_away_survives_a_summary(line):
    assert opens_working(line)
    summary = parse("## Goal\nship it", CHECKPOINT).with_section("goal", f"quote\n{line}\nit\n</analysis>")
    assert parse(render(summary), CHECKPOINT) == summary


@pytest.mark.parametrize("line", ["</analysis>", "the <analysis> tag", "<analysis>hm", "<summary>"])
def test_any_other_line_opens_no_working(line):
    assert not opens_working(line)


tags = [
    "<analysis>",
    "</analysis>",
    "<analysis>\n",
    "</analysis>\n",
    "<summary>",
    "</summary>",
    "<think>",
    "</think>",
    "## Goal",
    "x",
    "```",
    "\n",
    " ",
]


@given(st.lists(st.sampled_from(tags), max_size=30).map("".join))
@settings(deadline=None)
def test_unwrapping_only_ever_takes_away(text):
    kept = unwrapped(text)
    rest = iter("".join(text.split()))
    assert all(character in rest for character in "".join(kept.split()))
    assert kept == kept.strip()


@pytest.mark.parametrize(
    "piece", [*tags, "<analysis>\n", "<analysis></analysis>\n", "<summary>\n", "</summary> ", "# "]
)
@pytest.mark.parametrize("lead", ["", "<analysis>\n", "<summary>\n", "hi\n"])
def test_a_hostile_reply_takes_linear_time(piece, lead):
    text = lead + piece * (100_000 // len(piece)) + "x"
    start = time.perf_counter()
    unwrapped(text)
    assert time.perf_counter() - start < 5


@pytest.mark.speed
def test_time_grows_with_the_fences_in_a_reply_and_no_faster():
    def seconds(size):
        before = time.process_time()
        unwrapped("```\n" * (size // 4))
        return time.process_time() - before

    small, large = (min(seconds(size) for _ in range(2)) for size in (50_000, 400_000))
    assert large < small * 16, f"{small:.3f} s, then {large:.3f} s for eight times the text"
