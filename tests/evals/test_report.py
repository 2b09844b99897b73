"""What people and programs are shown of a run."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from foldline.evals.markup import Markup, join, tag
from foldline.evals.page import page
from foldline.evals.report import Cell, failures, replays, scope, short, summary, tables, title, to_json
from foldline.evals.run import Run
from foldline.evals.settings import Settings
from foldline.evals.stats import Figure

EVIL = '<script src="https://evil.example/x.js">alert(1)</script>'


def row(session: str, strategy: str, kind: str, budget: str, xf: float) -> dict:
    scores = dict.fromkeys(("frr", "gfrr", "far", "vas", "uir", "kept", "faithful", "valid"), xf)
    about = {"session": session, "at": 3, "strategy": strategy, "kind": kind, "budget": budget, "asked": 100}
    return {**about, "share": 0.1, "tokens": 100.0, "prefix": 1000, "xf": xf, **scores}


@pytest.fixture
def measured() -> Run:
    rows = [
        row(session, strategy, kind, budget, xf)
        for budget in ("10%", "25%", "1 folds", "3 folds")
        for strategy, kind, xf in (("foldline", "ours", 0.6), (EVIL, "plugin", 0.3), ("random messages", "floor", 0.2))
        for session in ("a", EVIL)
    ]
    costs = [{"session": "a", "strategy": name, "kind": kind, "replay": cost}
             for name, kind, cost in (("sliding window", "baseline", 0.7), ("foldline", "ours", 0.5))]  # fmt: skip
    return Run(tuple(rows), tuple(costs), 2, 2, ("held",), (("short.json", EVIL),), Settings(("10%", "25%")))


class Seen(HTMLParser):
    """Elements and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


def test_cells_come_by_budget_and_ours_first(measured):
    cells = summary(measured)
    assert [cell.strategy for cell in cells[:3]] == ["foldline", EVIL, "random messages"]
    assert list(dict.fromkeys(cell.budget for cell in cells)) == ["10%", "25%", "1 folds", "3 folds"]
    assert cells[0].figures["xf"].mean == pytest.approx(0.6)


def test_the_cheapest_comes_first(measured):
    assert [name for name, _, _ in replays(measured)] == ["foldline", "sliding window"]


def test_the_terminal_has_a_table_for_each_budget_and_one_for_the_cost(measured):
    lines = list(tables(measured, summary(measured)))
    assert sum(line.startswith("foldline ") for line in lines) == 5
    assert any(".60±.00" in line for line in lines)
    assert lines[0] == "at 10% (2 sessions, 2 cuts)"


def test_a_narrow_terminal_has_the_means_alone(measured):
    lines = list(tables(measured, summary(measured), 93))
    assert max(map(len, lines)) <= 93
    assert not any("±" in line or "not shown" in line for line in lines)


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 119, 125, 126, 140])
def test_no_line_of_a_table_is_longer_than_the_terminal_and_what_is_missing_is_told(measured, columns):
    lines = list(tables(measured, summary(measured), columns))
    figures = [line for line in lines if line.startswith(("foldline ", "random ", "      "))]
    assert max(map(len, figures)) <= max(columns, 27 + 4 * 6)
    assert all(" XF" in line and "VAS" in line and "UIR" in line for line in figures if "XF" in line)
    assert lines[-1].startswith("not shown for want of room: ") == (columns <= 80)


def test_a_wide_figure_is_not_cut():
    run = Run((), (), 1, 1, (), (), Settings())
    cell = Cell("10%", "foldline", "ours", 2, Figure(1.0, 1.0, 1.0, 2), {"xf": Figure(-1.05, -2.07, 0.0, 2)})
    assert "-1.05±1.03 " in "".join(f"{line} " for line in tables(run, [cell]))


def test_each_strategy_has_a_colour_of_its_own():
    cells = [Cell("10%", f"plug-in {n}", "plugin", 1, Figure(0.1, None, None, 1), {}) for n in range(40)]
    colours = re.findall(r"--c:([^}]+)}", page(Run((), (), 1, 1, (), (), Settings()), cells))
    assert len(colours) == len(set(colours)) == 40


def test_no_two_colours_of_the_strategies_look_alike():
    cells = [Cell("10%", f"row {n}", "baseline", 1, Figure(0.1, None, None, 1), {}) for n in range(16)]
    found = re.findall(r"--c:#(\w{6})}", page(Run((), (), 1, 1, (), (), Settings()), cells))
    assert len(found) == 16
    for one, other in itertools.combinations(map(bytes.fromhex, found), 2):
        assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) > 60


def test_json_has_the_figures_and_every_row(measured):
    found = json.loads(json.dumps(to_json(measured, summary(measured))))
    assert len(found["rows"]) == len(measured.rows)
    assert found["figures"][0]["xf"]["mean"] == pytest.approx(0.6)
    assert found["cost"][0]["strategy"] == "foldline"
    assert found["left_out"] == [{"session": "short.json", "why": EVIL}]


def test_gaps_are_ours_less_theirs(measured):
    found = {(gap["budget"], gap["strategy"]): gap for gap in to_json(measured, summary(measured))["gaps"]}
    assert found["10%", "random messages"]["xf"]["mean"] == pytest.approx(0.4)
    assert ("10%", "foldline") not in found


def test_the_page_asks_nobody_for_anything_and_lets_nothing_in(measured):
    text = page(measured, summary(measured))
    seen = Seen(text)
    assert not {"script", "link", "img", "iframe", "object"}.intersection(seen.tags)
    assert not [value for name, value in seen.attributes if name in ("src", "href", "onload", "onclick")]
    assert not re.search(r"url\(|@import", text)
    assert "&lt;script" in text


def test_the_page_has_a_plot_for_each_metric_with_intervals(measured):
    seen = Seen(page(measured, summary(measured)))
    assert seen.tags.count("svg") >= 7
    assert seen.tags.count("table") >= 5
    assert ("class", "bar") in seen.attributes


def test_a_run_without_chains_costs_or_generic_text_has_a_page_too(measured):
    bare = Run(tuple(r for r in measured.rows if "folds" not in r["budget"]), (), 2, 2, (), (), measured.settings)
    text = page(bare, summary(bare))
    assert "too few sessions" in text
    assert "folds of" not in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Figure(0.5234, 0.49, 0.55, 9), ".52±.03"),
        (Figure(1.0, 1.0, 1.0, 9), "1.00±.00"),
        (None, "–"),
        (Figure(0.5, None, None, 1), ".50"),
    ],
)
def test_a_figure_is_short(value, text):
    assert short(value) == text


def test_a_budget_is_named_in_words():
    assert title("real") == "at the size of the agent's own summaries"
    assert title("3 folds") == "after 3 folds of 10 % each"
    assert title("1 folds") == "after one fold of 10 %"


def test_what_was_measured_once_is_told_as_one():
    assert scope(Cell("10%", "foldline", "ours", 1, Figure(1.0, None, None, 1), {})) == "1 session, 1 cut"
    assert scope(Cell("10%", "foldline", "ours", 3, Figure(1.0, 1.0, 1.0, 2), {})) == "2 sessions, 3 cuts"


def test_markup_escapes_what_it_did_not_make():
    assert tag("p", "1 < 2", Markup("<b/>"), title='"x"') == '<p title="&quot;x&quot;">1 &lt; 2<b/></p>'
    assert join(["<", tag("line", x1=0)]) == '&lt;<line x1="0"/>'


def test_of_one_session_no_interval_is_shown_anywhere(measured):
    alone = replace(measured, rows=tuple(row for row in measured.rows if row["session"] == "a"))
    cells = summary(alone)
    assert not any("±" in line for line in tables(alone, cells))
    found = to_json(alone, cells)["figures"][0]["xf"]
    assert (found["mean"], found["low"], found["high"]) == (pytest.approx(0.6), None, None)
    text = page(alone, cells)
    assert "±" not in text
    assert ("class", "bar") not in Seen(text).attributes


def failing(measured: Run) -> Run:
    about = {"session": "a", "at": 3, "strategy": "mine", "kind": "plugin", "asked": 100, "prefix": 1000}
    rows = [{**about, "budget": budget, "failed": "ValueError: out of tea"} for budget in ("10%", "25%")]
    cost = {"session": "a", "strategy": "mine", "kind": "plugin", "replay": None, "failed": "ValueError: out of milk"}
    return replace(measured, rows=(*measured.rows, *rows), replays=(*measured.replays, cost))


def test_what_failed_is_told_once_and_counted(measured):
    found = failing(measured)
    assert failures(found) == [("mine", "ValueError: out of tea", 3)]
    assert to_json(found, summary(found))["failed"] == [
        {"strategy": "mine", "why": "ValueError: out of tea", "rows": 3}
    ]
    assert page(found, summary(found)).count("out of tea") == 1
    assert summary(found) == summary(measured)


def test_what_has_no_cost_in_one_session_has_none_and_comes_last(measured):
    refused = [{"session": name, "strategy": "cheap", "kind": "baseline", "replay": cost}
               for name, cost in (("a", 0.1), ("b", None))]  # fmt: skip
    found = replace(measured, replays=(*refused, *measured.replays))
    assert [name for name, _, _ in replays(found)] == ["foldline", "sliding window", "cheap"]
    assert [line.split() for line in tables(found, [])][-1] == ["cheap", "–"]
    assert to_json(found, [])["cost"][-1] == {"strategy": "cheap", "kind": "baseline", "mean": None}
    assert "–" in page(found, [])
