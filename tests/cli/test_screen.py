"""Nothing from data makes a terminal obey."""

from __future__ import annotations

import json
import re
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.cli import screen
from foldline.cli.screen import safe_json, working

OBEYED = {
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
}


@given(st.recursive(st.text(st.characters(exclude_categories=["Cs"])), lambda inner: st.lists(inner), max_leaves=5))
def test_a_document_made_harmless_says_the_same(value):
    data = json.dumps(value, ensure_ascii=False).encode()
    shown = safe_json(data)
    assert json.loads(shown) == value
    assert not (OBEYED - {"\n", "\t"}) & set(shown.decode())


class Terminal:
    """A stream that says it is a terminal, and keeps what it was sent."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.sent = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.sent += text
        return len(text)

    def flush(self) -> None:
        pass


@pytest.fixture
def open_terminal(monkeypatch):
    """Puts a terminal in the place of stderr; from inside the test, since pytest sets its own before."""

    def put(patience: float = 0.05) -> Terminal:
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setattr(screen, "PATIENCE", patience)
        monkeypatch.setenv("TERM", "xterm")
        return terminal

    return put


def test_long_work_shows_a_sign_of_life_and_takes_it_away(open_terminal):
    terminal = open_terminal()
    with working("reading \x1b]0;evil") as life:
        wait_for(lambda: "reading" in terminal.sent)
        life.step("counting")
        wait_for(lambda: re.search(r"counting · \d s", terminal.sent))
    assert "\x1b]0;evil" not in terminal.sent
    sent = terminal.sent
    time.sleep(0.2)
    assert terminal.sent == sent


def wait_for(fact) -> None:
    end = time.monotonic() + 10
    while not fact():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_short_work_shows_nothing(open_terminal):
    terminal = open_terminal(patience=60)
    with working("reading"):
        pass
    assert terminal.sent == ""


def test_quiet_work_shows_nothing(open_terminal):
    terminal = open_terminal()
    with working("reading", quiet=True):
        time.sleep(0.2)
    assert terminal.sent == ""


def test_without_a_terminal_nothing_is_shown(capsys, monkeypatch):
    monkeypatch.setattr(screen, "PATIENCE", 0.01)
    with working("reading"):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_a_terminal_that_does_not_know_its_width_is_drawn_on_all_the_same(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "0")
    screen.console(sys.stdout).print("as wide as is usual")
    assert capsys.readouterr().out == "as wide as is usual\n"
