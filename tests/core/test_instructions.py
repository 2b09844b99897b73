"""A section of compaction instructions is honoured where a user or a project wrote it, and nowhere else."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.summaries.instructions import LONGEST, compact_instructions
from foldline.model import Message, Origin, Text, ToolResult

SECTION = "# Project\nhello\n\n## Compact Instructions\nKeep SQL.\n- and paths\n\n## Other\nno"


def user(text, origin=Origin.USER, role="user"):
    return Message(role, origin, (Text(text),))


def found(*texts):
    return compact_instructions([], texts)


@pytest.mark.parametrize(
    "heading",
    [
        "# Compact Instructions",
        "## compact instructions",
        "###### COMPACT INSTRUCTIONS",
        "## Compact instructions:",
        "## Summary instructions",
        "## Summary Instructions ##",
        "## **Compact Instructions**",
        "### Compaction instructions",
        "   # Summarization instructions",
        "## Compact instruction",
        "**Compact Instructions**",
        "**Compact instructions:**",
        "## 3. Compact Instructions",
        "## Compacting instructions",
        "## When compacting",
    ],
)
def test_the_heading_may_have_any_level_case_and_mark(heading):
    assert found(f"x\n{heading}\nKeep SQL.\n# Next\ny") == "Keep SQL."
    assert compact_instructions([user(f"x\n{heading}\nKeep SQL.")]) == "Keep SQL."


@pytest.mark.parametrize(
    "text",
    [
        "Compact Instructions\nKeep SQL.",
        "## Compact Instructions for humans\nx",
        "```\n## Compact Instructions\nKeep SQL.\n```",
        "    ## Compact Instructions\nx",
        "## Compact Instructions",
        "## Compact Instructions\n\n# Next\nx",
        "#Compact Instructions\nx",
        "",
    ],
)
def test_other_texts_have_none(text):
    assert found(text) == ""


def test_a_section_goes_to_the_next_heading_of_its_level():
    assert found(SECTION) == "Keep SQL.\n- and paths"
    text = "## Compact Instructions\na\n### Detail\nb\n```\n## no heading\n```\n# Up\nc"
    assert found(text) == "a\n### Detail\nb\n```\n## no heading\n```"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("When compacting, always keep the list of changed files.", None),
        ("- When compacting, keep:\n  - ports\n  - paths", None),
        ("When you are compacting the conversation, keep the SQL\nand the paths.", None),
        ("1. **When summarizing this session:** be short", None),
        ("* when you compact: be short", None),
        ("When compacting the database, run VACUUM.", ""),
        ("Say so when compacting, please.", ""),
        ("```\nWhen compacting, keep SQL.\n```", ""),
    ],
)
def test_a_sentence_may_be_an_instruction_by_itself(text, said):
    expected = text if said is None else said
    assert found(f"# Project\n\n- Use tabs.\n{text}\n\nMore.\n") == expected
    assert found(f"{text}\n- Use tabs." if text[0] in "-1*" else text) == expected
    assert found(f"## Compact Instructions\n{text}") == text.strip()


@pytest.mark.parametrize(
    "message",
    [
        Message("user", Origin.TOOL, (ToolResult("c", (Text(SECTION),)),)),
        Message("tool", Origin.TOOL, (Text(SECTION),)),
        user(SECTION, Origin.ASSISTANT, "assistant"),
        user(SECTION, Origin.SUMMARY),
        user(SECTION, Origin.PROGRAM),
        user(f"<system-reminder>\n{SECTION}\n</system-reminder>"),
        user(f"<local-command-stdout>\n{SECTION}\n</local-command-stdout>"),
    ],
)
def test_tools_models_and_reminders_give_none(message):
    assert compact_instructions([message]) == ""


def test_memory_files_come_first_and_each_section_once():
    later = user("## Summary instructions\nBe short.")
    assert compact_instructions([later, later], [SECTION]) == "Keep SQL.\n- and paths\n\nBe short."


def test_length_is_bounded_the_latest_count_and_the_rest_is_said():
    long = f"## Compact Instructions\n{'a' * 5_000}"
    text = compact_instructions([user("## Compact Instructions\nBe short.")], [long, SECTION])
    assert text.endswith("Keep SQL.\n- and paths\n\nBe short.")
    assert "aaa … (" in text
    assert "more characters)" in text
    assert len(text) < LONGEST + 100
    newest = user(f"## Compact Instructions\n{'b' * 5_000}")
    assert compact_instructions([newest], [SECTION, long]).startswith("(2 older sections left out)\n\nbbb")


@given(st.lists(st.text(max_size=300), max_size=5), st.sampled_from(["#", "##", "######"]))
def test_whatever_is_written_it_is_bounded_and_taken_from_there(texts, marks):
    memory = [f"{marks} Compact Instructions\n{text}\n{text * 20}" for text in texts]
    text = compact_instructions([], memory)
    assert len(text) <= LONGEST + 60 * (len(texts) + 1)


@pytest.mark.parametrize("piece", ["# ", "#", "```\n", "## Compact Instructions\n", " ", "# a\n", "When compacting,\n"])
def test_a_hostile_file_takes_linear_time(piece):
    start = time.perf_counter()
    found(piece * (200_000 // len(piece)))
    assert time.perf_counter() - start < 3


@pytest.mark.parametrize(
    "sent",
    [
        "<system-reminder>\nAs you answer, use this:\n# claudeMd\nContents of /p/CLAUDE.md (project):\n\n{}\n\n"
        "      IMPORTANT: this context may or may not be relevant.\n</system-reminder>",
        "<system-reminder>\nAs you answer, use this:\n# claudeMd\nContents of /p/CLAUDE.md:\n\n{}\n"
        "Contents of /p/sub/CLAUDE.md:\n\nmore\n</system-reminder>\n",
        "# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>\n{}\n</INSTRUCTIONS>",
    ],
)
def test_a_projects_file_that_a_coding_agent_sends_along_is_one(sent):
    section = "# Project\nhello\n\n## Compact Instructions\nKeep SQL.\n- and paths"
    assert compact_instructions([user(sent.format(section))]) == "Keep SQL.\n- and paths"
    assert compact_instructions([user(f"It printed:\n{sent.format(section)}")]) == ""
