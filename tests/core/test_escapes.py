"""Nothing from data makes a terminal obey, and what it would not obey is left as it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldline.core.words.escapes import HARMFUL, safe, safe_text

OBEYED = {
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
}


@given(st.text(st.characters()) | st.text(sorted(OBEYED)))
def test_nothing_a_terminal_obeys_is_left(text):
    assert not OBEYED & set(safe(text))
    safe(text).encode("utf-8")


@given(st.text(st.characters()) | st.text(sorted(OBEYED)))
def test_text_of_several_lines_stays_so(text):
    shown = safe_text(text)
    assert not (OBEYED - {"\n", "\t"}) & set(shown)
    assert shown.split("\n") == ["\t".join(map(safe, line.split("\t"))) for line in text.split("\n")]


@given(st.text("abcäöß中文 .:/"))
def test_plain_text_is_left_as_it_is(text):
    assert safe(text) == text


@given(st.text())
def test_what_was_made_harmless_stays_as_it_is(text):
    assert safe(safe(text)) == safe(text)
    assert not HARMFUL.search(safe(text))


def test_an_escape_tells_which_character_it_was():
    assert safe("\x1b[31m\u202e\n") == "\\x1b[31m\\u202e\\x0a"
    assert safe_text("a\tb\n\x07") == "a\tb\n\\x07"
