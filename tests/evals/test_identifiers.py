"""The ruler's own identifiers."""

from __future__ import annotations

import pytest

from foldline.evals.identifiers import find, identifiers, kind_of, occurrences, stands


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("see src/app/main.go now", "src/app/main.go", "path"),
        ("open /etc/hosts.", "/etc/hosts", "path"),
        ("in notes.md it says", "notes.md", "file"),
        ("call parse_rows(x)", "parse_rows", "symbol"),
        ("the getUserName part", "getUserName", "symbol"),
        ("a RowParser here", "RowParser", "symbol"),
        ("set MAX_ROWS to", "MAX_ROWS", "symbol"),
        ("json.loads fails", "json.loads", "symbol"),
        ("raised KeyError there", "KeyError", "error"),
        ("commit 9fceb02d0ae5", "9fceb02d0ae5", "hash"),
        ("at https://example.org/a?b=1, then", "https://example.org/a?b=1", "url"),
        ("ticket ENT-109 is", "ENT-109", "id"),
        ("port 7431 is", "7431", "number"),
        ("with --dry-run on", "--dry-run", "flag"),
        ("id 123e4567-e89b-12d3-a456-426614174000 ok", "123e4567-e89b-12d3-a456-426614174000", "uuid"),
    ],
)
def test_each_kind_is_found_whole(text, name, kind):
    assert identifiers(text) == {name}
    assert kind_of(name) == kind


def test_plain_words_and_short_numbers_are_none():
    assert identifiers("We will look at 12 of the 300 files and then go on.") == set()


def test_a_place_is_where_it_stands():
    text = "first parse_rows, then KeyError"
    assert [text[start:stop] for _, start, stop in find(text)] == ["parse_rows", "KeyError"]


def test_a_name_inside_a_longer_word_does_not_stand_there():
    assert not stands("row_id", "narrow_ids are here")
    assert list(occurrences("row_id", "row_id, borrow_id, row_id")) == [0, 19]
