"""FRR, gFRR, far and VAS, each computed by hand on a prefix of a few lines."""

from __future__ import annotations

from tests.evals.sessions import says

from foldline.evals.references import References, needed, words_beside

PREFIX = (
    "The old ledger lives in src/ledger.py and opens slowly.\n"
    + "Nothing of interest stands on this line at all.\n" * 12
    + "The function open_ledger raised KeyError while loading rows.\n"
    + "    total = sum(row.amount for row in rows)\n"
)


def test_what_is_needed_is_what_the_agent_writes_first():
    future = [*says("Edit src/ledger.py"), *says("here is open_ledger again", role="user"), *says("open_ledger fails")]
    assert needed(future, PREFIX, "", frozenset()) == ["src/ledger.py"]


def test_what_the_agent_wrote_before_it_was_shown_again_counts():
    future = [*says("open_ledger it is"), *says("open_ledger", role="user"), *says("open_ledger")]
    assert needed(future, PREFIX, "", frozenset()) == ["open_ledger"]


def test_what_is_new_in_the_system_prompt_or_everywhere_does_not_count():
    future = says("src/ledger.py open_ledger KeyError brand_new_name")
    assert needed(future, PREFIX, "see KeyError", {"open_ledger"}) == ["src/ledger.py"]


def test_words_beside_are_plain_words_within_ninety_characters():
    assert words_beside("KeyError", "open_ledger raised KeyError while loading") == {"raised", "while", "loading"}
    assert words_beside("KeyError", f"far{' ' * 90}KeyError") == frozenset()


def test_hand_computed_recall():
    references = References(
        says("open_ledger KeyError src/ledger.py\n  total = sum(row.amount for row in rows)"), PREFIX
    )
    assert sorted(references.names) == ["KeyError", "open_ledger", "row.amount", "src/ledger.py"]
    view = "The function open_ledger raised something. Also src/ledger.py."
    found = references.recall(view)
    assert found["frr"] == 2 / 4  # open_ledger and the path stand there
    assert found["gfrr"] == 1 / 4  # the path has none of its words beside it: "function", "raised" are the other's
    assert found["far"] == 1 / 1  # only the path was last seen in the first three quarters
    assert found["vas"] == 0 / 1
    assert references.recall(PREFIX) == {"frr": 1.0, "gfrr": 1.0, "far": 1.0, "vas": 1.0}


def test_a_piece_of_a_longer_word_is_not_seen():
    prefix = "The tool foo_bar lives here alone.\n" + "x y z " * 400 + "\nfoo_bar_baz and prefoo_bar are other things."
    assert References(says("use foo_bar"), prefix).far == ["foo_bar"]
    assert References(says("use foo_bar"), f"{prefix} So is foo_bar.").far == []


def test_a_line_counts_when_it_is_long_enough_was_there_and_stands_verbatim():
    line = "total = sum(row.amount for row in rows)"
    references = References(says(f"{line}\nreturn total\na line that never stood there before"), PREFIX)
    assert references.lines == [line]
    assert references.recall(f"  12→    {line}  # kept")["vas"] == 1.0
    assert references.recall(line.replace("row.amount", "row.value"))["vas"] == 0.0


def test_where_nothing_was_needed_there_is_no_share():
    assert References(says("Fine."), PREFIX).recall(PREFIX) == {"frr": None, "gfrr": None, "far": None, "vas": None}
