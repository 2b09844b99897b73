"""Every style has its sections in order, and every name of a section means that section alone."""

from __future__ import annotations

import pytest

from foldline.core.summaries.headings import named
from foldline.core.summaries.styles import OFFERED, OTHER, STYLES, plain

FIRST_EIGHT = [
    "Primary Request and Intent",
    "Key Technical Concepts",
    "Files and Code Sections",
    "Errors and Fixes",
    "Problem Solving",
    "All User Messages",
    "Pending Tasks",
    "Current Work",
]
every = [(style, heading) for style in STYLES.values() for heading in style.headings]


@pytest.mark.parametrize(("style", "heading"), every, ids=lambda value: getattr(value, "key", None) or value.name)
def test_a_section_answers_to_its_title_and_its_other_names(style, heading):
    for name in (heading.title, *heading.aliases):
        assert named(name, style) is heading
        assert named(name.upper(), style) is heading
    assert style.heading(heading.key) is heading


@pytest.mark.parametrize("style", STYLES.values(), ids=lambda style: style.name)
def test_keys_are_unique_and_the_immediate_task_comes_last(style):
    keys = [heading.key for heading in style.headings]
    assert len(set(keys)) == len(keys)
    assert keys[-1] == "immediate"
    assert style.always <= set(keys)
    assert style.heading("") is OTHER
    assert all(heading.under in ("", *keys) for heading in style.headings)


def test_titles_of_several_words_are_known_by_their_words():
    words = {heading.key: set(found) for found, heading in STYLES["checkpoint"].words}
    assert words["constraints"] == {"constraints", "preferences"}
    assert "goal" not in words


def test_an_unknown_section_is_an_error_that_names_it():
    with pytest.raises(KeyError, match="brief has no section 'weather'"):
        STYLES["brief"].heading("weather")


def test_the_full_styles_have_nine_sections_and_differ_in_the_ninth():
    for name, ninth in (
        ("full", "Optional Next Step"),
        ("from", "Optional Next Step"),
        ("up-to", "Context for Continuing Work"),
    ):
        titles = [heading.title for heading in STYLES[name].headings]
        assert titles == [*FIRST_EIGHT, ninth, "Immediate Task"]


def test_a_checkpoint_has_done_in_progress_and_blocked_under_progress():
    under = {heading.title for heading in STYLES["checkpoint"].headings if heading.under == "progress"}
    assert under == {"Done", "In Progress", "Blocked"}


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("## 3. **Key Decisions** (updated):", "key decisions"),
        ("Section 4: Next Steps", "next steps"),
        ("IV. Next Steps", "next steps"),
        ("b) Next Steps", "next steps"),
        ("A Goal", "a goal"),
        ("🎯 Goal", "goal"),
        ("Constraints & Preferences", "constraints and preferences"),
        ("next_steps", "next steps"),
        ("目标", ""),
    ],
)
def test_a_title_in_bare_words(title, words):
    assert plain(title) == words


def test_all_can_be_asked_for_but_those_that_are_for_a_part_of_a_history():
    assert set(OFFERED) == set(STYLES) - {"from", "up-to"}
