"""A reply becomes a typed summary and its text becomes the same summary again; what is no summary is refused."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from foldline.core.asking import Reply
from foldline.core.summaries.headings import opens
from foldline.core.summaries.prompts import prompt
from foldline.core.summaries.styles import STYLES
from foldline.core.summaries.summary import Section, Summary, accept, parse, render, says_nothing
from foldline.core.summaries.unwrap import without_farewell
from foldline.core.words.markup import fenced
from foldline.errors import Empty, Truncated

CHECKPOINT, REPORT, FULL, BRIEF = STYLES["checkpoint"], STYLES["report"], STYLES["full"], STYLES["brief"]

HOSTILE = [
    "## Goal", "### Done", "**Goal**", "**Next Steps:**", "Goal: x", "Goal:", "```", "````", "```py", "~~~", "- ```",
    "\\", "\\## Goal", "  ## Goal", "<summary>", "</summary>", "<analysis>", "</analysis>", "- None", "(none)", "- x",
    "1. y", "{",
    "## Other Notes", "## Unknown", "\n", "\n\n", "\r\n", " ", "## Current State: foo", "## Goal: foo", "# Summary",
    "Here it is:", '{"goal": "x", "foo": [1, {"a": 2}]}',
]  # fmt: skip
fragments = st.one_of(st.text(max_size=8), st.sampled_from(HOSTILE))
texts = st.tuples(st.lists(fragments, max_size=12), st.sampled_from(["\n", "", " "])).map(
    lambda pair: pair[1].join(pair[0])
)
styles = st.sampled_from(list(STYLES.values()))


@st.composite
def summaries(draw):
    style = draw(styles)
    keys = draw(st.lists(st.sampled_from([*(heading.key for heading in style.headings), ""]), unique=True, max_size=5))
    summary = Summary(style.name, (), draw(st.sampled_from(["", "checkpoint/1"])))
    for key in keys:
        summary = summary.with_section(key, draw(texts))
    return summary


@given(summaries())
@settings(deadline=None)
def test_rendering_and_parsing_are_inverse(summary):
    assert parse(render(summary), STYLES[summary.style]) == replace(summary, version="")


@given(summaries())
@settings(deadline=None)
def test_a_summary_in_quotation_marks_or_indented_is_the_same(summary):
    assume(summary.sections)
    style, text = STYLES[summary.style], render(summary)
    for mark in ("> ", "    ", "\t"):
        lines = text.split("\n")
        assert parse("\n".join(mark + line for line in lines), style) == replace(summary, version="")
        assert parse("\n".join(mark + line if line else "" for line in lines), style) == replace(summary, version="")


@given(summaries())
@settings(deadline=None)
def test_a_summary_whose_headings_are_underlined_is_the_same(summary):
    style, text = STYLES[summary.style], render(summary)
    lines = text.split("\n")
    heads = [inside or opens(line, style) is None for line, inside in zip(lines, fenced(lines), strict=True)]
    assume(heads.count(False) > 1)
    for mark in "-=":
        shown = [
            line if other else f"{line.lstrip('# ')}\n{mark * len(line)}"
            for line, other in zip(lines, heads, strict=True)
        ]
        assert parse("\n".join(shown), style) == replace(summary, version="")


@pytest.mark.parametrize("inner", ["### {}", "**{}**"])
def test_underlined_headings_may_have_others_by_mark_inside(inner):
    done, active = inner.format("Done"), inner.format("In Progress")
    reply = f"Goal\n====\nship it\n\nProgress\n--------\n{done}\n- a\n{active}\n- b\n\nNext Steps\n----------\n1. test"
    assert {key: text for key, _, text in accept(Reply(reply), CHECKPOINT).sections} == {
        "goal": "ship it",
        "done": "- a",
        "active": "- b",
        "next": "1. test",
    }


@pytest.mark.parametrize("form", ["**{}**\n", "**{}:**\n", "{}:\n"])
def test_the_immediate_task_keeps_its_first_word_where_headings_have_no_marks(form):
    told = {"Goal": "Sort it.", "Next Steps": "1. test", "Immediate Task": "CONTINUE: the test\nContinue: and run it"}
    reply = "\n\n".join(form.format(title) + text for title, text in told.items())
    assert accept(Reply(reply), CHECKPOINT).immediate_task == told["Immediate Task"]


@given(texts, styles)
@settings(deadline=None)
def test_any_text_is_parsed_and_what_was_parsed_is_stable(text, style):
    summary = parse(text, style)
    assert parse(render(summary), style) == summary


@given(st.text(), styles)
@settings(deadline=None)
def test_a_text_without_headings_is_kept_whole(text, style):
    kept = parse(text, style)
    if not any(section.key for section in kept.sections) and not says_nothing(text) and "\n" in text.strip():
        assert kept.get("") in text


@given(summaries())
def test_a_summary_can_be_saved_and_loaded(summary):
    assert Summary.from_dict(json.loads(json.dumps(summary.to_dict()))) == summary


@given(summaries(), st.data())
def test_sections_stand_in_the_order_of_the_style(summary, data):
    style = STYLES[summary.style]
    order = [*(heading.key for heading in style.headings), ""]
    places = [order.index(section.key) for section in summary.sections]
    assert places == sorted(set(places))


def sections(text, style=CHECKPOINT):
    return {section.key: section.text for section in parse(text, style).sections}


WANTED = {"goal": "ship it", "next": "1. test\n2. push"}


@pytest.mark.parametrize(
    "text",
    [
        "## Goal\nship it\n\n## Next Steps\n1. test\n2. push",
        "# Goal\n\n\nship it\n# Next Steps\n\n1. test\n2. push\n",
        "## 1. Goal\nship it\n## 2. Next Steps\n1. test\n2. push",
        "**Goal**\nship it\n\n**Next Steps:**\n1. test\n2. push",
        "1. **Goal**\nship it\n2. **Next Steps**\n1. test\n2. push",
        "Goal: ship it\n\nNext steps:\n1. test\n2. push",
        "**Goal:** ship it\n**Next steps:**\n1. test\n2. push",
        "**Goal**: ship it\n\n**Next steps**\n1. test\n2. push",
        "## Objective\nship it\n## Upcoming steps\n1. test\n2. push",
        "## Goal: ship it\n## Next Step\n1. test\n2. push",
        "# Session Summary\n\n## Goal\nship it\n## Next Steps\n1. test\n2. push",
        "Here is the summary:\n\n## Goal\nship it\n## Next Steps\n1. test\n2. push",
        "## Next Steps\n1. test\n2. push\n## Goal\nship it",
        "## Goal\r\nship it\r\n\r\n## Next Steps\r\n1. test\n2. push",
        "<summary>\n## Goal\nship it\n## Blocked\n- None.\n## Next Steps\n1. test\n2. push\n</summary>",
        "```markdown\n## Goal\nship it\n## Next Steps\n1. test\n2. push\n```",
        '{"goal": "ship it", "next_steps": ["test", "push"]}',
        '{"summary": {"Goal": " ship it ", "blocked": null, "Next Steps": ["test", "push"]}}',
        '```json\n{"goal": "ship it", "next": ["test", "push"]}\n```',
        '{"summary": "## Goal\\nship it\\n## Next Steps\\n1. test\\n2. push"}',
        '{"analysis": "first …", "goal": "ship it", "next_steps": ["test", "push"]}',
        "Here it is:\n\n```markdown\n## Goal\nship it\n## Next Steps\n1. test\n2. push\n```\nAnything else?",
        'Here it is:\n```json\n{"goal": "ship it", "next": ["test", "push"]}\n```\n',
        "##Goal\nship it\n##Next Steps\n1. test\n2. push",
        "## I. Goal\nship it\n## II. Next Steps\n1. test\n2. push",
        "- **Goal**: ship it\n- **Next steps:**\n1. test\n2. push",
        "Goal\n----\nship it\n\nNext Steps\n==========\n1. test\n2. push",
        "> ## Goal\n> ship it\n>\n> ## Next Steps\n> 1. test\n> 2. push",
        "> <summary>\n> Goal\n> ----\n> ship it\n>\n> Next Steps\n> ----\n> 1. test\n> 2. push\n> </summary>",
        "<summary>\n    ## Goal\n    ship it\n\n    ## Next Steps\n    1. test\n    2. push\n</summary>",
        "```markdown\nGoal\n----\nship it\n\nNext Steps\n----\n1. test\n2. push\n```",
        "Here it is:\n\n> ## Goal\n> ship it\n>\n> ## Next Steps\n> 1. test\n> 2. push",
        "    ## Goal\n    ship it\n    ## Next Steps\n    1. test\n    2. push",
        "## Goal\nship it\n## Goal\nship it\n## Next Steps\n1. test\n2. push\n## Next Steps\n1. test\n2. push",
    ],
)
def test_what_models_really_send_is_understood(text):
    assert sections(text) == WANTED


def test_members_inside_members_are_sections_of_their_own():
    text = json.dumps({"progress": {"done": ["a", "b"], "in_progress": "c"}, "goal": {"main": "x", "other": ["y"]}})
    assert sections(text) == {"done": "- a\n- b", "active": "c", "goal": "main: x\nother: - y"}


def test_what_the_style_does_not_know_is_kept_among_the_other_notes():
    assert sections('{"goal": "x", "mood": "good", "tags": [1, [2, 3]]}')[""] == "mood: good\ntags: - 1\n- - 2\n  - 3"
    assert sections("one\ntwo\n## Goal\nx") == {"goal": "x", "": "one\ntwo"}
    assert sections("## Goal\nx\n## Weather\nfine") == {"goal": "x\n## Weather\nfine"}
    assert sections("no headings at all") == {"": "no headings at all"}
    assert sections('{"summary": "no heading", "goal": "x"}') == {"goal": "x", "": "summary: no heading"}
    assert sections("{broken json") == {"": "{broken json"}
    assert sections("{" * 50) == {"": "{" * 50}


def test_a_section_written_twice_becomes_one():
    assert sections("## Goal\na\n## Next Steps\n1. x\n## Goal\nb") == {"goal": "a\nb", "next": "1. x"}
    for again in ("a\nb", "b\na", "a"):
        longer = max("a", again, key=len)
        assert sections(f"## Goal\na\n## Goal\n{again}") == sections(f"## Goal\n{again}\n## Goal\na")
        assert sections(f"## Goal\na\n## Goal\n{again}") == {"goal": longer}


def test_headings_inside_code_are_code():
    text = "## Goal\nkeep\n```\n## Next Steps\n1. x\n```\n\n## Blocked\n- y"
    assert sections(text) == {"goal": "keep\n```\n## Next Steps\n1. x\n```", "blocked": "- y"}


def test_a_fence_that_is_never_closed_swallows_nothing():
    assert sections("## Goal\n```\nx\n## Next Steps\n1. y") == {"goal": "```\nx", "next": "1. y"}


def test_a_quoted_heading_is_guarded_when_rendered_and_comes_back():
    summary = (
        Summary("checkpoint", ()).with_section("goal", "the user wrote:\n## Goal\nwin").with_section("next", "1. a")
    )
    assert "\n\\## Goal\n" in render(summary)
    assert parse(render(summary), CHECKPOINT) == summary


def test_done_in_progress_and_blocked_are_rendered_under_progress():
    text = "## Goal\ng\n\n## Progress\n\n### Done\n- [x] a\n\n### In Progress\n- [ ] b\n\n## Next Steps\n1. c"
    assert render(parse(text, CHECKPOINT)) == text
    with_text = text.replace("## Progress\n", "## Progress\nhalf way\n")
    assert render(parse(with_text, CHECKPOINT)) == with_text


def test_a_report_always_shows_intent_and_state():
    assert render(Summary("report", ())) == "## User Intent\n(none)\n\n## Current State\n(none)"
    assert parse(render(Summary("report", ())), REPORT) == Summary("report", ())


def test_a_section_is_said_otherwise_taken_out_or_unknown():
    summary = Summary("checkpoint", ()).with_section("next", " b ").with_section("goal", "a")
    assert summary.sections == (Section("goal", "Goal", "a"), Section("next", "Next Steps", "b"))
    assert summary.with_section("goal", "(none)").sections == summary.sections[1:]
    assert summary.with_section("immediate", "CONTINUE: c").immediate_task == "CONTINUE: c"
    assert summary.get("blocked") == ""
    with pytest.raises(KeyError, match="no section 'weather'"):
        summary.with_section("weather", "fine")


@pytest.mark.parametrize(
    "text",
    ["", " \n", "none", "(None)", "- N/A", "1. none.", "- [ ] none", "- None\n- none", "-", "Not applicable.", "*None*",
     "- None identified.", "_None at this time_", "- [x] (none yet)", "Nothing pending so far", "无", "- Keine."],
)  # fmt: skip
def test_ways_to_say_nothing(text):
    assert says_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "42",
        "3.14",
        "2024",
        "none of the tests fail",
        "- none\n- one",
        "None is returned",
        "nothing but tests",
        "n/a is a value",
    ],
)
def test_numbers_and_sentences_say_something(text):
    assert not says_nothing(text)


GOOD = "## Goal\nship it\n\n## Next Steps\n1. test"


def test_a_good_reply_is_accepted_and_tidied():
    reply = Reply("<analysis>x</analysis>\n<summary>\n## Goal\nship\n\n\n\nit\n## Next Steps\n1. test\n</summary>")
    assert accept(reply, CHECKPOINT).get("goal") == "ship\n\nit"
    assert accept(Reply(GOOD, "other"), CHECKPOINT) == parse(GOOD, CHECKPOINT)


FAREWELLS = [
    "Hope this helps!",
    "I hope this summary helps.",
    "*Let me know if you need anything else.*",
    "Let me know if you'd like any changes or clarifications!",
    "Please don’t hesitate to reach out if you have any further questions.",
    "Feel free to ask! \U0001f60a",
    "I hope that helps! Let me know if there's anything else I can help with.",
    "Hope this helps!\n\nLet me know if you have any questions.\n",
]


@pytest.mark.parametrize("words", FAREWELLS)
@pytest.mark.parametrize(
    "form", ["{}\n\n{}", "{}\n{}", "{}\n\n---\n\n{}", "<summary>\n{}\n\n{}\n</summary>", "```markdown\n{}\n\n{}\n```"]
)
def test_a_farewell_is_no_part_of_a_summary(form, words):
    assert accept(Reply(form.format(GOOD, words)), CHECKPOINT) == accept(Reply(GOOD), CHECKPOINT)


@pytest.mark.parametrize("rule", ["---", "***", "\n---\n", "- - -"])
def test_a_rule_below_a_farewell_does_not_hide_it(rule):
    assert accept(Reply(f"{GOOD}\n\nHope this helps!\n{rule}"), CHECKPOINT) == accept(Reply(GOOD), CHECKPOINT)
    assert accept(Reply(f"{GOOD}\n\n---\nHope this helps!\n{rule}\n{rule}"), CHECKPOINT).get("next") == "1. test"
    table = "## Goal\nship it\n\n## Next Steps\n| a |\n---"
    assert accept(Reply(table), CHECKPOINT).get("next") == "| a |"


GERMAN = """# Übergabe
## Ziel
Den Import reparieren.
## Vorgaben
- „Niemals auf main pushen.“
## Stand
### Erledigt
- [x] carriers/nordfracht.py liest die Datei
### In Arbeit
- [ ] der Export
### Blockiert
(keine)
## Entscheidungen
- **ein Commit je Fund**: so gewünscht
## Nächste Schritte
1. make test
## Wichtiger Zusammenhang
- Zeile 40 der Datei
```
## Ziel
```
## Unmittelbare Aufgabe
CONTINUE: den Export schreiben"""
CHINESE = "\n\n".join(
    f"## {title}\n{title}的内容"
    for title in ["请求", "概念", "文件", "错误", "解决", "消息", "待办", "当前", "下一步", "立即"]
)


def test_sections_with_titles_of_another_language_are_known_by_their_order():
    found = accept(Reply(f"<analysis>\nKurz.\n</analysis>\n<summary>\n{GERMAN}\n</summary>"), CHECKPOINT)
    assert found.get("goal") == "Den Import reparieren."
    assert found.get("constraints") == "- „Niemals auf main pushen.“"
    assert found.get("active") == "- [ ] der Export"
    assert found.get("next") == "1. make test"
    assert found.immediate_task == "CONTINUE: den Export schreiben"
    assert "## Ziel" in found.get("context")
    assert accept(Reply(CHINESE), STYLES["full"]).get("pending") == "待办的内容"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("## Vorgaben\n", "## Vorgaben\n## Noch etwas\n"),
        ("## Entscheidungen", "### Entscheidungen"),
        ("## Stand", "## Next Steps"),
        ("## Nächste Schritte\n", ""),
    ],
)
def test_by_their_order_only_where_it_is_exactly_the_one_that_was_asked_for(before, after):
    with pytest.raises(Empty):
        accept(Reply(GERMAN.replace(before, after)), CHECKPOINT)
    english = GOOD + "\n\n## Ein Titel\nmore"
    assert accept(Reply(english), CHECKPOINT).get("next") == "1. test\n\n## Ein Titel\nmore"


def headed(*titles):
    return "\n".join(f"{title}\nbelow {title.strip('#* ')}" for title in titles)


SIX = ("## Alpha", "## Béta", "## Gamma", "## Delta", "## Epsilon", "## Zeta")


def test_english_headings_of_a_models_own_are_not_taken_for_those_that_were_asked_for():
    """They are as many by chance, and in another order: what was rejected would be read as what was decided."""
    own = ("## Remaining Work", "## Rejected Ideas", "## Said", "## Paths", "## Output", "## Where We Are")
    with pytest.raises(Empty):
        accept(Reply(headed(*own)), STYLES["brief"])
    titles = [f"## {heading.title}" for heading in STYLES["report"].headings]
    titles[1], titles[4] = "## Rejected Approaches", "## How the Café Was Tested"
    found = accept(Reply(headed(*titles)), STYLES["report"])
    assert "Rejected Approaches" in found.get("intent")
    assert (found.get("decisions"), found.get("debugging")) == ("", "")


def test_headings_within_sections_are_not_taken_for_those_that_were_asked_for():
    told = headed("**Key Decisions**", *SIX[:3], "**Facts and Context**", *SIX[3:])
    found = accept(Reply(told), STYLES["brief"])
    assert [section.key for section in found.sections] == ["decisions", "facts"]
    assert accept(Reply(headed(*SIX)), STYLES["brief"]).get("references") == "below Gamma"


def test_a_farewell_behind_a_quotation_does_not_hide_it():
    quoted = "\n".join(f"> {line}" for line in GOOD.split("\n"))
    assert accept(Reply(f"{quoted}\n\nHope this helps!"), CHECKPOINT) == accept(Reply(GOOD), CHECKPOINT)


@pytest.mark.parametrize(
    "line",
    [
        "Let me know if the migration fails.",
        "Let me know if you want me to proceed.",
        "Let me know if there is any regression in the tests.",
        "Let me know if you need anything else changed in src/api.py.",
        "Hope this helps the parser to recover.",
        "Happy to help was the title of the page.",
        "- Let me know if you need anything else.",
        "  Hope this helps!",
        "> Hope this helps!",
        "“Hope this helps!”",
        "WAIT: let me know if you have any questions",
        "2. Feel free to ask!",
    ],
)
def test_what_only_resembles_a_farewell_stays(line):
    assert accept(Reply(f"{GOOD}\n{line}"), CHECKPOINT).get("next") == f"1. test\n{line}"


def test_a_farewell_that_something_follows_stays():
    reply = "## Goal\nThe bot says:\nHope this helps!\n\n## Next Steps\nHappy to help\nis what it says then"
    told = accept(Reply(reply), CHECKPOINT)
    assert told.get("goal") == "The bot says:\nHope this helps!"
    assert told.get("next") == "Happy to help\nis what it says then"


def test_a_hostile_farewell_takes_linear_time():
    start = time.perf_counter()
    for line in ("hope this helps" * 16, "happy to help" + "." * 226 + "x"):
        without_farewell(f"{line}\n" * 2_000)
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize(
    ("reply", "error", "why"),
    [
        (Reply(GOOD, "length"), Truncated, "length limit"),
        (Reply(GOOD, "overflow"), Truncated, "length limit"),
        (Reply(GOOD, "tool"), Empty, "called a tool"),
        (Reply(GOOD, "refusal"), Empty, "refused"),
        (Reply(""), Empty, "no text"),
        (Reply(GOOD * 100_000), Empty, "no summary is that long"),
        (Reply(" \n\t"), Empty, "no text"),
        (Reply("I'm sorry, but I cannot help with that."), Empty, "refused"),
        (Reply("I can’t summarise this conversation."), Empty, "refused"),
        (Reply("As an AI, I have no memory."), Empty, "refused"),
        (Reply("Sure! The bug is in line 3: replace < by <=."), Empty, "sections of a summary"),
        (Reply("I have fixed it.\n\nNext steps:\n1. run the tests\n\nStatus: done"), Empty, "sections of a summary"),
        (Reply("## Goal\nonly one section"), Empty, "sections of a summary"),
        (Reply('{"tool": "bash", "arguments": {"command": "ls"}}'), Empty, "sections of a summary"),
        (Reply("<analysis>\nlong thoughts and no summary"), Empty, "sections of a summary"),
        (Reply("## Goal\n(none)\n## Next Steps\nNone"), Empty, "says nothing"),
    ],
)
def test_what_is_no_summary_is_refused_with_the_reason(reply, error, why):
    with pytest.raises(error, match=why):
        accept(reply, CHECKPOINT)


def test_sections_that_say_nothing_count_as_headings():
    assert sections("## Goal\nx\n## Blocked\n(none)") == {"goal": "x"}
    assert accept(Reply("## Goal\nx\n## Blocked\n(none)"), CHECKPOINT).get("goal") == "x"
    assert accept(Reply("## Key Decisions\n- use sqlite"), BRIEF).get("decisions") == "- use sqlite"


def test_bold_headings_make_a_summary_and_bare_labels_when_there_are_more_of_them():
    assert accept(Reply("**Goal**\nx\n**Blocked**\ny"), CHECKPOINT).get("blocked") == "y"
    with pytest.raises(Empty):
        accept(Reply("Goal: x\nBlocked: y"), CHECKPOINT)
    assert accept(Reply("Goal: x\nBlocked: y\nNext steps: z"), CHECKPOINT).get("blocked") == "y"


def test_rules_between_sections_belong_to_none():
    ruled = "## Goal\nship it\n\n---\n\n## Blocked\n(none)\n***\n## Next Steps\n1. test\n\n---\n\n2. push\n___\n"
    found = accept(Reply(ruled), CHECKPOINT)
    assert {section.key: section.text for section in found.sections} == {
        "goal": "ship it",
        "next": "1. test\n\n---\n\n2. push",
    }


@pytest.mark.parametrize("round_", ["- a\n", "{n}. run it\n", "- a\n  - b\n\n- c\n"])
def test_of_a_loop_only_the_first_round_stays(round_):
    looped = "".join(round_.format(n=number) for number in range(1, 300))
    found = accept(Reply(f"{GOOD}\n## Immediate Task\nCONTINUE: go\n{looped}- and"), CHECKPOINT)
    assert found.immediate_task == f"CONTINUE: go\n{round_.format(n=1)}- and"


def test_what_is_said_a_few_times_or_in_code_is_no_loop():
    said = "- go on\n- go on\n- go on\n- stop\n```\n}\n}\n}\n}\n}\n```"
    assert accept(Reply(f"{GOOD}\n## Critical Context\n{said}"), CHECKPOINT).get("context") == said


def test_a_model_that_repeats_its_notes_each_time_does_not_make_them_grow():
    notes = accept(Reply(GOOD), CHECKPOINT)
    for _ in range(5):
        notes = accept(Reply(f"{render(notes)}\n\n{render(notes)}"), CHECKPOINT)
    assert notes == accept(Reply(GOOD), CHECKPOINT)


@pytest.mark.parametrize("name", ["full", "from", "up-to", "checkpoint", "update", "report", "brief"])
def test_the_form_sent_back_unfilled_is_no_summary(name):
    style = STYLES.get(name, CHECKPOINT)
    for text in (prompt(name).text, prompt("analysis").text, f"{prompt(name).text}\n\n{prompt('analysis').text}"):
        with pytest.raises(Empty):
            accept(Reply(text), style)


def test_lines_of_the_form_between_real_ones_are_dropped():
    form = prompt("checkpoint").text
    filled = form.replace("What the user wants in the end. More than one thing if they want more than one.", "Ship it.")
    summary = accept(Reply(filled), CHECKPOINT)
    assert summary.sections == (Section("goal", "Goal", "Ship it."),)
    assert (
        accept(Reply(f"{GOOD}\n- [X] Finished work, with the files it is in\n2. go"), CHECKPOINT).get("next")
        == "1. test\n2. go"
    )


@pytest.mark.parametrize(
    "piece", ["<analysis>", "#", "# ", "# x\n", "```\n", "**a**\n", "\n", "( ", "{", "[", '{"a":', "Goal: ", "\\"]
)
@pytest.mark.parametrize("lead", ["", '{"goal": '])
def test_a_hostile_reply_is_parsed_in_linear_time(piece, lead):
    text = lead + piece * (50_000 // len(piece)) + "x"
    start = time.perf_counter()
    render(parse(text, CHECKPOINT))
    assert time.perf_counter() - start < 10


def test_deeply_nested_json_is_no_crash():
    deep = '{"goal": ' + "[" * 900 + "1" + "]" * 900 + "}"
    assert parse(deep, CHECKPOINT).sections
    assert parse('{"goal": ' + "[" * 90_000 + "}", CHECKPOINT).sections
