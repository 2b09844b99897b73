"""`foldline handoff`: one text that fits, says what matters, and can be pasted anywhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.conversations import anthropic, chat, claude_code
from cli.provider import NAME, asks, model  # noqa: F401  # model is a fixture
from foldline import read
from foldline.handoff import LATEST, TOKENS
from foldline.model import Origin
from foldline.testing import Session
from foldline.tokens import meter_for

EXAMPLES = Path(__file__).parents[2] / "examples"
DAY = EXAMPLES / "coding-session.claude-code.jsonl"
OBEYED = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))} - {"\n", "\t"}


def size(text: str, name: str = "claude-sonnet-4-5") -> int:
    meter = meter_for(name)
    return round(meter.text(text) * meter.ratio)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*-session.*.json*")), ids=lambda path: path.name)
def test_it_prints_the_text_and_nothing_else(foldline, path):
    ran = foldline("handoff", path)
    text = ran.out.decode()
    assert ran.code == 0
    assert ran.err == ""
    assert text.startswith("# Notes on the conversation so far\n")
    assert text.endswith("\n")
    assert f"These notes stand for {len(read(path)):,} messages." in text
    assert "The latest messages follow" not in text
    assert not set(text) & OBEYED
    assert size(text, read(path).head.model) <= TOKENS


def test_the_input_is_no_output_and_no_option_is_named_that_is_not_there(foldline, tmp_path):
    path = tmp_path / "session.json"
    path.write_bytes(DAY.read_bytes())
    ran = foldline("handoff", path, "-o", path, "--force")
    assert ran.code == 2
    assert "is the input itself; give another name" in ran.err
    assert path.read_bytes() == DAY.read_bytes()


def test_the_help_says_how_large_it_is_unless_told(foldline):
    assert f"[default: {TOKENS}]" in " ".join(foldline("handoff", "--help").out.decode().split())


def test_the_same_session_gives_the_same_bytes(foldline):
    assert foldline("handoff", DAY).out == foldline("handoff", DAY).out


@pytest.mark.parametrize("to", [1_500, 3_000, 12_000])
def test_it_fits_where_it_is_told_to(foldline, to):
    told = json.loads(foldline("handoff", DAY, "--to", to, "--json").out)
    assert to // 2 < told["tokens"] <= to
    assert told["tokens"] == size(told["text"])


def test_the_smaller_it_is_the_more_is_left_out_and_that_is_counted(foldline):
    left = [sum(json.loads(foldline("handoff", DAY, "--to", to, "--json").out)["left_out"].values())
            for to in (1_500, 3_000, 12_000)]  # fmt: skip
    assert left == sorted(left, reverse=True)
    assert left[0] > left[-1]


def test_what_was_being_done_is_in_the_smallest_too(foldline):
    text = foldline("handoff", DAY, "--to", 1_500).out.decode()
    assert "waybill export-cod --older-than 14" in text
    assert "[ ] Days open: calendar days at the desk" in text


def test_less_than_the_least_is_an_error_that_says_how_much_it_is(foldline):
    ran = foldline("handoff", DAY, "--to", 50)
    assert (ran.code, ran.out) == (4, b"")
    found = re.fullmatch(r"foldline: the shortest continuation has ([\d,]+) tokens, and 50 are allowed; .*\n", ran.err)
    least = int(found[1].replace(",", ""))
    assert foldline("handoff", DAY, "--to", least + 200).code == 0


def test_a_short_conversation_can_be_handed_over_too(foldline):
    text = foldline("handoff", "-", stdin=chat(steps=1)).out.decode()
    assert "What is the weather?" in text
    assert "And now?" in text


def test_a_long_last_message_follows_word_for_word(foldline, tmp_path):
    wish = "Please do this. " + " ".join(f"Then step {number}, with care." for number in range(80))
    session = Session("anthropic").user("Begin.").assistant("Begun.").user(wish)
    (tmp_path / "a.json").write_text(json.dumps(session.request()))
    text = foldline("handoff", tmp_path / "a.json").out.decode()
    assert text.endswith(f"{LATEST}\n{wish}\n")
    assert size(text, "") <= TOKENS


def test_one_that_would_take_most_of_the_room_does_not(foldline, tmp_path):
    wish = "Please do this. " + " ".join(f"Then step {number}, with care." for number in range(2_000))
    session = Session("anthropic").user("Begin.").assistant("Begun.").user(wish)
    (tmp_path / "a.json").write_text(json.dumps(session.request()))
    text = foldline("handoff", tmp_path / "a.json").out.decode()
    assert LATEST not in text
    assert "Please do this." in text
    assert size(text, "") <= TOKENS


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=200), min_size=1, max_size=6))
def test_nothing_in_it_makes_a_terminal_obey(foldline, tmp_path, words):
    session = Session("openai-chat", system="Be careful.")
    for text in words:
        session.user(text + "\x1b[31m").tools(("run", json.dumps({"command": text}), f"{text}\x1b]0;x\x07 failed"))
    (tmp_path / "a.json").write_text(json.dumps(session.request()))
    ran = foldline("handoff", tmp_path / "a.json")
    assert ran.code == 0
    assert not set(ran.out.decode()) & OBEYED
    assert "\\x1b[31m" in ran.out.decode()


def test_a_summary_that_is_not_carried_over_is_not_passed_over_in_silence(foldline):
    path = EXAMPLES / "compacted-session.claude-code.jsonl"
    told = json.loads(foldline("handoff", path, "--json").out)
    summary = next(message.text for message in read(path).messages if message.origin is Origin.SUMMARY)
    carried = any(line in told["text"] for line in summary.splitlines() if len(line) > 30)
    assert carried != any(notice["code"] == "summary-lost" for notice in told["notices"])


def test_escapes_are_counted_too(foldline, tmp_path):
    session = Session("anthropic").user("Begin, and mind the noise." + "\x07 beep" * 400)
    for number in range(12):
        session.tools(("run", "{}", "error: \x1b[31mno\x1b[0m\x08\x08 " * 20)).user(
            f"Go on {number}." + "\x9b1m.\x07" * 90
        )
    (tmp_path / "a.json").write_text(json.dumps(session.request()))
    told = json.loads(foldline("handoff", tmp_path / "a.json", "--to", 4_000, "--json").out)
    assert told["tokens"] == size(told["text"], "") <= 4_000


def test_it_can_be_written_to_a_file(foldline, tmp_path):
    out = tmp_path / "on.md"
    ran = foldline("handoff", "-", "-o", out, stdin=claude_code())
    assert (ran.code, ran.out) == (0, b"")
    assert re.fullmatch(rf"12 messages in [\d,]+ tokens, written to {out}\n", ran.err)
    assert out.read_bytes() == foldline("handoff", "-", stdin=claude_code()).out
    assert foldline("handoff", "-", "-o", out, stdin=claude_code()).code == 2
    assert foldline("handoff", "-", "-o", out, "--force", "--json", stdin=claude_code()).code == 0


def test_the_json_has_the_documented_fields(foldline):
    told = json.loads(foldline("handoff", "-", "--json", stdin=anthropic()).out)
    page = (EXAMPLES.parent / "docs" / "cli.md").read_text("utf-8")
    section = page[page.index("## handoff") : page.index("## validate")]
    assert all(f"`{name}`" in section for name in told)
    assert told["output"] is None
    assert told["text"].encode() == foldline("handoff", "-", stdin=anthropic()).out
    assert told["author"] == "extraction, without a model"


def test_a_model_writes_the_summary(foldline, model):  # noqa: F811
    told = json.loads(foldline("handoff", DAY, *asks(model), "--focus", "the export", "--json").out)
    assert told["author"] == NAME
    assert told["attempts"] == [{"who": NAME, "outcome": "written", "input_tokens": 420, "output_tokens": 42}]
    assert "The goal, as told." in told["text"]
    assert "the export" in "".join(heard.body.decode() for heard in model.heard)
    assert told["tokens"] <= TOKENS


def test_a_session_without_messages_ends_with_an_error_that_says_so(foldline):
    """Claude Code leaves such a file behind when it is closed at once."""
    row = json.dumps({"type": "summary", "summary": "A title", "leafUuid": "1"}) + "\n"
    ran = foldline("handoff", "-", stdin=row.encode())
    assert (ran.code, ran.out) == (3, b"")
    assert "no messages" in ran.err
