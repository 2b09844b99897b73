"""Names that can be looked up are found in a line, and in the source as whole words."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from foldline.core.words.identifiers import Source, identifiers

FOUND = [
    ("see https://a.example/x?y=1.", "url", "https://a.example/x?y=1"),
    ("mail ops+1@a-b.example now", "mail", "ops+1@a-b.example"),
    ("in src/app/main.py:12", "path", "src/app/main.py"),
    ("in `/etc/hosts`", "path", "/etc/hosts"),
    ("in ~/notes", "path", "~/notes"),
    ("in ./run.sh and", "path", "./run.sh"),
    ("in src/app/handlers", "path", "src/app/handlers"),
    ("open setup.cfg.", "file", "setup.cfg"),
    ("open test_api.py", "file", "test_api.py"),
    ("call parse_date()", "symbol", "parse_date"),
    ("call _private_one", "symbol", "_private_one"),
    ("set MAX_RETRIES", "symbol", "MAX_RETRIES"),
    ("use readFile here", "symbol", "readFile"),
    ("use HttpClient", "symbol", "HttpClient"),
    ("commit 3fa9c1d", "hash", "3fa9c1d"),
    ("48,213 rows", "number", "48,213"),
    ("port 8471", "number", "8471"),
    ("9'876'543 rows", "number", "9'876'543"),
    ("9 876 543 rows", "number", "9 876 543"),
    ("9.876.543 rows", "number", "9.876.543"),
    ("9_876 rows", "number", "9_876"),
    ("at 10.1.2.3 now", "dotted", "10.1.2.3"),
    ("needs libfoo 3.14.15", "dotted", "3.14.15"),
    ("ticket ABC-12", "ticket", "ABC-12"),
    ("with --no-verify-ssl", "symbol", "--no-verify-ssl"),
    ("call bypass() there", "symbol", "bypass"),
    (r"in C:\Users\bob\secret.key", "folder", r"C:\Users\bob\secret.key"),
]


@pytest.mark.parametrize(("line", "kind", "name"), FOUND)
def test_names_are_found(line, kind, name):
    assert list(identifiers(line)) == [(kind, name)]


@pytest.mark.parametrize(
    "line",
    [
        "and/or",
        "read/write/execute",
        "TCP/IP and CI/CD",
        "in 2024",
        "JavaScript and Node.js on GitHub",
        "defaced",
        "12 of 345",
        "e.g. this",
        "v1.2.3",
        "UTF-8 and SHA-256",
        "2.1.3 Write the parser",
        "12 345 of them",
        "24/7",
        "plain words",
        "Capital Words",
        "a.b",
        "",
    ],
)
def test_ordinary_words_are_not_looked_up(line):
    assert list(identifiers(line)) == []


@pytest.mark.parametrize(
    ("kind", "name", "text", "there"),
    [
        ("file", "app.py", "edit app.py:3", True),
        ("file", "app.py", "edit myapp.py", False),
        ("file", "App.PY", "edit app.py", True),
        ("path", "src/a/b.py", "cd src/a && cat b.py", True),
        ("path", "src/a/c.py", "cd src/a && cat b.py", False),
        ("path", "~/x/../b.py", "x b.py", True),
        ("hash", "3fa9c1d", "commit 3fa9c1d77e", True),
        ("hash", "3fa9c1d", "commit 03fa9c1d", False),
        ("number", "4096", "size 4,096", True),
        ("number", "4,096", "size 4096", True),
        ("number", "4096", "size 4_096", True),
        ("number", "4096", "size 14096", False),
        ("number", "9.876.543", "size 9876543", True),
        ("number", "9 876 543", "size 9876544", False),
        ("ticket", "ABC-12", "see abc 12", True),
        ("ticket", "ABC-12", "see ABC-123", False),
        ("dotted", "10.1.2.3", "host 10.1.2.33", False),
        ("folder", r"C:\Users\bob", r"cd C:\\Users\\bob\\x", True),
        ("folder", r"C:\Users\eve", r"cd C:\\Users\\bob\\x", False),
        ("symbol", "parse_date", "reparse_date parse_date2", False),
        ("symbol", "parse_date", "reparse_date(parse_date)", True),
    ],
)
def test_a_name_stands_in_the_source_as_a_whole(kind, name, text, there):
    assert Source(text).has(kind, name) is there


def test_one_planned_symbol_among_known_ones_is_no_invention():
    source = Source("parse_date and read_month in src/dates.py")
    assert not source.lacks("Add parse_year beside parse_date and read_month")
    assert source.lacks("Add parse_year and parse_hour beside parse_date")
    assert source.lacks("Add src/years.py beside parse_date and read_month")
    assert not source.lacks("no names at all")


NAMES = [name for _, _, name in FOUND]
SIGNS = [" ", " ", "\n", ", ", "/", "-", ".", "_", "`", "()", "\\", ":"]
UNSPACED = [*"编辑函数ファイルを열기เปิด", "万", "，", "。"]
pieces = st.sampled_from(NAMES) | st.sampled_from(SIGNS + UNSPACED) | st.text(max_size=5)


@given(st.lists(pieces, min_size=2, max_size=12).map("".join))
def test_what_a_text_names_it_has(text):
    assume(any(identifiers(text)))
    assert not Source(text).lacks(text)


unspaced = st.text("编辑函数ファイルを열기เปิด", min_size=1)


@given(st.sampled_from(NAMES), unspaced, unspaced)
def test_letters_of_scripts_without_blanks_are_no_part_of_a_name(name, before, behind):
    text, alone = f"{before}{name}{behind}", list(identifiers(name))
    assume(alone and name != "/etc/hosts")
    assert list(identifiers(text)) == alone
    assert not Source(text).lacks(name)


@pytest.mark.parametrize(
    ("line", "source"),
    [
        ("见https://a.example/x，然后", "see https://a.example/x"),
        ("see https://a.example/x", "请看https://a.example/x。"),
        ("see https://a.example/x", r"\nhttps://a.example/x"),
        ("edit app.py", "请编辑app.py文件"),
        ("请编辑app.py文件", "edit app.py"),
        ("修改src/app.py", "edit src/app.py"),
        ("打开/etc/hosts", "open /etc/hosts"),
        ("call parse_date", "parse_date函数"),
        ("see parse_date", "parse_date를 보라"),
        ("port 8471", "端口8471打开"),
        ("fell to 12.75 ms", "降到12.75毫秒"),
        ("支持读/write和read/写", "both"),
        ("共1200万行", "12 million rows"),
        ("共有 3.5万行", "35,000 rows"),
        ("见第 2.1 节和第3.2步", "nothing"),
        ("--" + "long-option-" * 6 + "x", "--" + "long-option-" * 6 + "x"),
    ],
)
def test_a_name_beside_other_letters_is_no_invention(line, source):
    assert not Source(source).lacks(line)


@pytest.mark.parametrize(
    ("line", "source"),
    [
        ("请编辑app.py文件", "edit main.py"),
        ("端口8471打开", "port 8472"),
        ("port 1200", "共1200万行"),
        ("edit app.py", "请编辑myapp.py文件"),
        ("--" + "long-option-" * 6 + "x", "--" + "long-option-" * 6 + "y"),
    ],
)
def test_an_invention_beside_other_letters_is_one(line, source):
    assert Source(source).lacks(line)


def test_names_that_stand_together_are_found_and_had():
    text = "`src/app/main.py` 48,213\nMAX_RETRIES-3fa9c1d, ops+1@a-b.example"
    assert [kind for kind, _ in identifiers(text)] == ["path", "number", "symbol", "hash", "mail"]
    assert not Source(text).lacks(text)


ALIKE = [
    *("parse_date", "reparse_date", "parse_year", "4096", "4,096", "14096", "12.75", "12.8", "3fa9c1d", "3fa9c1d77e"),
    *("src/a/b.py", "src/a", "b.py", "ab.py", "ABC-12", "ABC-123", "10.1.2.3", "10.1.2.33", "https://a.example/x"),
]
lines = st.lists(st.sampled_from(ALIKE), min_size=1, max_size=3).map(" ".join)
sources = st.lists(st.sampled_from(ALIKE) | st.sampled_from(SIGNS), max_size=12).map("".join) | lines


@given(lines, sources, sources)
def test_more_source_never_makes_an_invention(line, source, more):
    assume(Source(f"{more}\n{source}\n{more}").lacks(line))
    assert Source(source).lacks(line)


def test_of_names_that_are_alike_one_may_stand_in_more_of_the_source():
    assert Source("reparse_date").lacks("parse_date")
    assert not Source("reparse_date\nparse_date").lacks("parse_date")
    assert not Source("parse_date\nreparse_date").lacks("parse_date")


@pytest.mark.parametrize(
    ("line", "lacks"),
    [
        ("Latency fell to 12.75 ms", False),
        ("Latency fell to 12.6 ms or so", True),
        ("Latency fell to 12.8 ms", False),
        ("The score is 0.90", False),
        ("The score is 0.97.", True),
        ("2.1 Write the parser", False),
        ("- **3.4** Write the parser", False),
        ("Go on with step 4.2", False),
        ("Runs on Python 3.11", False),
        ("Version v7.7 and 10.0.0.66 are no decimals", False),
    ],
)
def test_a_decimal_stands_in_the_source_perhaps_with_more_places(line, lacks):
    assert Source("took 12.75 ms\nscore=0.9; accuracy 0.8666 of 1; 10.0.0.66 v7.7").lacks(line) is lacks


@given(st.decimals(0, 1_000_000, places=5), st.integers(1, 4))
@example(Decimal("2157.82355"), 4)
def test_a_number_that_was_rounded_is_no_invention(number, places):
    assert not Source(f"measured {number} s").lacks(f"It took {round(number, places)} s")
