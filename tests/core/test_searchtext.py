"""What is indexed, what a query means, which text answers it best."""

import sqlite3
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.words.searchtext import MARKS, MAX_TERMS, SNIPPET, ask, humps, scores, snippet, spaced

TOKENIZER = "porter unicode61 remove_diacritics 2"


@pytest.fixture(scope="module")
def index():
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE f USING fts5(text, parts, tokenize='{TOKENIZER}')")
    return connection


def finds(index, text, query):
    """Whether an index that was told the text gives it for the query."""
    index.execute("DELETE FROM f")
    clean = text.encode("utf-8", "replace").decode()
    index.execute("INSERT INTO f VALUES (?, ?)", (spaced(clean), humps(clean)))
    asked = ask(query)
    return bool(asked.terms) and bool(index.execute("SELECT 1 FROM f WHERE f MATCH ?", (asked.match(),)).fetchone())


class TestIndexing:
    @pytest.mark.parametrize(
        ("text", "parts"),
        [
            ("call parseConfig now", "parse Config"),
            ("HTTPServer getHTTPResponse2 parseConfig parseConfig", "HTTP Server get HTTP Response2 parse Config"),
            ("plain words, UPPER and Title", ""),
            ("éParse", ""),
            ("a.fooBar/bazQux", "foo Bar baz Qux"),
        ],
    )
    def test_words_in_camel_case_are_taken_apart(self, text, parts):
        assert humps(text) == parts

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("def parse_config(path):", "parseConfig"),
            ("const x = parseConfig(path)", "parse_config"),
            ("const x = parseConfig(path)", "config"),
            ("<ParseConfig/>", "parse-config"),
            ("see src/core/view.py:12", "core/view.py"),
            ("see src/core/view.py:12", "view.py"),
            ("the parsers are running", "parser run"),
            ("TypeError: can't read 'x' (line 3)", "TypeError: can't read 'x'"),
            ("数据库连接失败", "连接"),
            ("エラーが発生しました", '"発生"'),
            ("서버오류입니다", "오류"),
            ("naïve café", "naive cafe"),
            ("exit code: -1", "-1"),
            ("NEAR the end AND so on", "NEAR AND on"),
        ],
    )
    def test_what_was_written_one_way_is_found_another(self, index, text, query):
        assert finds(index, text, query)

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("parse the config", '"config parse"'),
            ("数据库", "据数"),
            ("parse the config", "parser settings"),
            ("anything", "=== !!"),
            ("anything", ""),
        ],
    )
    def test_and_what_does_not_fit_is_not(self, index, text, query):
        assert not finds(index, text, query)

    def test_pictures_are_left_out_and_short_texts_stay(self):
        data = "iVBORw0KGgo" * 300
        assert spaced(f"before {data} after") == "before   after"
        assert spaced("short " + "a" * 300) == "short " + "a" * 300

    @given(
        st.text(),
        st.lists(st.sampled_from(['"', "*", "^", "(", ")", "NEAR(", "AND", "text:", "-", "\0", "{", "\ud800"])),
    )
    def test_no_query_is_a_syntax_error(self, index, text, signs):
        for query in (text, "".join(signs), text + " ".join(signs), f"{' '.join(signs)} {text}"):
            finds(index, "some text", query)
            asked = ask(query)
            if asked.terms:
                index.execute("SELECT 1 FROM f WHERE f MATCH ?", (asked.match("OR"),)).fetchall()

    @given(st.text(st.characters(categories=["Ll", "Lu", "Nd", "Zs", "Lo"]), min_size=1))
    def test_every_word_of_a_text_finds_it(self, index, text):
        for word in text.split():
            if ask(word).terms:
                assert finds(index, text, f'"{word}"'), word

    def test_a_pasted_log_is_cut_to_its_first_words(self):
        assert len(ask(" ".join(f"word{number}" for number in range(500))).terms) == MAX_TERMS

    def test_a_word_without_end_takes_no_longer_than_others(self):
        for piece in ("a", "aB", "A", "Ab", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaB"):
            text = piece * (400_000 // len(piece))
            before = time.process_time()
            humps(text), spaced(text)
            assert time.process_time() - before < 2


class TestRanking:
    def test_more_mentions_score_higher_and_long_texts_lower(self):
        asked = ask("widget")
        once, often, long = scores(
            asked, ["a widget here", "widget widget widget", "a widget here " + "and more " * 90]
        )
        assert often > once > long > 0

    def test_the_rarer_word_counts_more(self):
        asked = ask("widget flange")
        common, rare, *_ = scores(asked, ["a widget", "a flange", "a widget", "a widget", "a widget"])
        assert rare > common

    def test_another_spelling_counts_as_well(self):
        assert all(scores(ask("parse_config"), ["x parseConfig()", "x parse-config", "x parse_config"]))

    def test_no_texts_no_scores(self):
        assert scores(ask("x"), []) == []
        assert scores(ask("x"), [""]) == [0.0]


class TestSnippets:
    def test_the_place_is_shown_and_marked(self):
        text = "filler " * 100 + "the flange broke" + " filler" * 100
        shown = snippet(ask("flange"), text)
        assert "the ⟪flange⟫ broke" in shown
        assert shown.startswith("…")
        assert shown.endswith("…")

    def test_the_place_with_most_of_the_words_is_chosen(self):
        text = "a widget. " + "filler " * 100 + "widget and flange. " + "filler " * 100
        assert "⟪widget⟫ and ⟪flange⟫" in snippet(ask("widget flange"), text)

    def test_a_rare_word_leads_to_its_place_however_often_the_other_stands_before_it(self):
        text = "".join(f"line {number}\n" for number in range(3_000))
        for query in ("line 2718", "2718 line"):
            assert "⟪line⟫ ⟪2718⟫" in snippet(ask(query), text)

    def test_a_word_on_every_line_is_shown_from_the_first(self):
        assert snippet(ask("flange"), "flange line\n" * 90).startswith("⟪flange⟫ line ⟪flange⟫ line")

    def test_a_short_text_is_shown_whole(self):
        assert snippet(ask("parsing"), "we  parse\nit") == "we ⟪parse⟫ it"
        assert snippet(ask(""), "we parse it") == "we parse it"

    @given(st.text(), st.text())
    def test_a_snippet_is_short_and_of_the_text(self, query, text):
        shown = snippet(ask(query), text)
        bare = shown.replace(MARKS[0], "").replace(MARKS[1], "").strip("…")
        assert len(bare) <= SNIPPET
        plain = text.replace(MARKS[0], "").replace(MARKS[1], "")
        assert "".join(bare.split()).strip("…") in "".join(plain.split())

    def test_megabytes_are_no_matter(self):
        text = "word " * 400_000 + "flange"
        before = time.process_time()
        assert "⟪flange⟫" in snippet(ask("flange " + " ".join(f"someWord{n}" for n in range(31))), text)
        assert time.process_time() - before < 3
