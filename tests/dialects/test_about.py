"""What transcripts say about themselves: folder, title, times. What they do not say is left empty."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline import sources
from foldline.dialects.about import About, about

MORNING = 1_781_773_200.0
"""2026-06-18T09:00:00Z."""


def claude(number: int, said: str, **more) -> dict:
    row = {"type": "user", "uuid": f"u{number}", "parentUuid": None, "sessionId": "s", "isSidechain": False}
    return {**row, "message": {"role": "user", "content": said}, **more}


def told(*rows: object) -> About:
    data = b"".join(
        row if isinstance(row, bytes) else json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows
    )
    return about(sources.read(data, history="all"))


def test_the_folder_is_the_first_that_is_named():
    assert told(claude(0, "a"), claude(1, "b", cwd="/w"), claude(2, "c", cwd="/x")).project == "/w"


def test_codex_names_it_in_its_header():
    meta = {"timestamp": "2026-06-18T09:00:00Z", "type": "session_meta", "payload": {"id": "x", "cwd": "/w"}}
    text = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}
    found = told(meta, {"timestamp": "2026-06-18T09:00:05Z", "type": "response_item", "payload": text})
    assert found == About("/w", "", (MORNING + 5,))


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ([{"type": "custom-title", "customTitle": "One"}, {"type": "custom-title", "customTitle": "Two"}], "Two"),
        ([{"type": "custom-title", "customTitle": "Mine"}, {"type": "ai-title", "aiTitle": "Its own"}], "Mine"),
        ([{"type": "ai-title", "aiTitle": "Its own"}], "Its own"),
        ([{"type": "summary", "summary": "This one", "leafUuid": "u0"}], "This one"),
        ([{"type": "summary", "summary": "Another", "leafUuid": "elsewhere"}], ""),
        ([{"type": "custom-title", "customTitle": 7}], ""),
        ([], ""),
    ],
)
def test_the_title_is_the_users_else_the_agents(rows, title):
    assert told(claude(0, "hello"), *rows).title == title


def test_a_message_that_speaks_of_titles_gives_none():
    assert told(claude(0, '{"type":"custom-title","customTitle":"no"}')).title == ""


def test_a_message_without_a_time_has_that_of_the_one_before():
    rows = [claude(n, "x", **({"timestamp": stamp} if stamp else {})) for n, stamp in enumerate(_STAMPS)]
    assert told(*rows).times == (MORNING, MORNING, MORNING + 3_600, MORNING + 3_600)


_STAMPS = ("", "2026-06-18T09:00:00", "2026-06-18T12:00:00+02:00", "some day")


def test_without_any_time_there_are_none():
    assert told(claude(0, "x"), claude(1, "y")).times == ()


def test_torn_rows_say_nothing():
    assert told(b'{"cwd":"/wro\n', claude(0, "x", cwd="/w"), b'{"type":"custom-title","custom').project == "/w"


def test_a_request_says_nothing_of_all_this():
    assert about(sources.read([{"role": "user", "content": "x"}], "anthropic")) == About()


def test_an_export_of_opencode_says_everything():
    info = {"id": "m", "role": "user", "time": {"created": MORNING * 1000}, "path": {"cwd": "/w"}}
    turn = {"info": info, "parts": [{"type": "text", "text": "x"}]}
    found = about(sources.read({"info": {"title": "T"}, "messages": [turn, turn]}, "opencode"))
    assert found == About("/w", "T", (MORNING, MORNING))
    assert about(sources.read({"info": {"directory": "/d"}, "messages": [turn]}, "opencode")).project == "/d"


@given(st.lists(st.one_of(st.none(), st.integers(0, 2**33), st.text(max_size=8)), max_size=6))
def test_there_is_a_time_for_every_message_or_for_none(stamps):
    rows = [claude(n, "x", **({} if stamp is None else {"timestamp": stamp})) for n, stamp in enumerate(stamps)]
    if rows:
        assert len(told(*rows).times) in (0, len(rows))
