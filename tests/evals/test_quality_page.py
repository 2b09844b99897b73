"""How the figures get into docs/quality.md: between its marks, with a plot for each headline."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

from foldline.evals.bench import REAL
from foldline.evals.report import Cell, summary
from foldline.evals.run import Run
from foldline.evals.settings import Settings
from foldline.evals.stats import Figure

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "quality.md").read_text("utf-8")
QUALITY = runpy.run_path(str(ROOT / "bench" / "quality.py"))
MARKS = ("second half", "first half", "costs")
placed = QUALITY["placed"]


def row(strategy: str, budget: str) -> dict:
    scores = dict.fromkeys(("xf", "gxf", "frr", "gfrr", "far", "vas", "uir", "kept", "faithful", "valid"), 0.5)
    about = {"session": "s", "at": 3, "strategy": strategy, "kind": "ours", "budget": budget, "asked": 100}
    return {**about, "share": 0.1, "tokens": 100.0, "prefix": 1000, **scores}


@pytest.fixture
def measured() -> Run:
    budgets = (*QUALITY["BUDGETS"], REAL, "1 folds", "5 folds")
    rows = [row(strategy, budget) for budget in budgets for strategy in ("placebo", "foldline", "not in the table")]
    costs = [{"session": "s", "strategy": "foldline", "kind": "ours", "replay": 0.5}]
    return Run(tuple(rows), tuple(costs), 1, 1, (), (), Settings())


def between(page: str, name: str) -> str:
    return page.split(f"<!-- {name} -->\n")[1].split("<!-- end -->")[0]


def test_what_is_measured_replaces_what_stands_between_its_marks_and_nothing_else():
    page = PAGE
    for name in MARKS:
        page = placed(page, name, ["\\1 of", name])
    assert [between(page, name) for name in MARKS] == [f"\n\\1 of\n{name}\n\n" for name in MARKS]
    outside = re.compile(r"<!-- [a-z ]+ -->.*?<!-- end -->", re.S)
    assert outside.sub("", page) == outside.sub("", PAGE)
    assert placed(page, MARKS[0], ["\\1 of", MARKS[0]]) == page


def test_a_page_without_the_marks_is_not_written():
    with pytest.raises(ValueError, match="put them where the figures belong"):
        placed("# Figures\n", "costs", ["a"])


def test_there_is_a_table_for_each_budget_in_one_order(measured):
    lines = list(QUALITY["tables"](measured, summary(measured)))
    headings = [line.split("**")[1] for line in lines if line.startswith("\n**")]
    assert len(headings) == len(QUALITY["BUDGETS"]) + 2
    rows = [line.split(" | ")[0] for line in lines if line.startswith("| ") and "---" not in line]
    assert rows == ["| ", "| **foldline**", "| placebo"] * 5 + ["| ", "| **foldline**", "| **foldline**"]
    cells = [line.count("|") for line in lines if line.startswith("| ")]
    assert cells == [10] * 4 * 4 + [11] * 4 + [8] * 4


def test_a_plot_is_a_picture_that_names_its_lines_and_loads_nothing():
    points = [
        Cell(budget, name, "ours", 1, Figure(share, None, None, 1), {"xf": Figure(0.4, 0.3, 0.5, 2)})
        for name in QUALITY["DRAWN"]
        for budget, share in zip(QUALITY["BUDGETS"], (0.02, 0.05, 0.1, 0.25), strict=True)
    ]
    drawn = QUALITY["plot"](points, "xf")
    ElementTree.fromstring(drawn)
    assert [name for name in QUALITY["DRAWN"] if f">{name}</text>" not in drawn] == []
    assert not re.search(r"<script|href|url\(|@import", drawn)


@pytest.mark.parametrize("name", MARKS)
def test_the_page_has_its_figures(name):
    assert "| **foldline** |" in between(PAGE, name)


def test_the_page_shows_its_plots():
    shown = re.findall(r"!\[[^\]]+\]\((plots/[^)]+)\)", PAGE)
    assert shown == [f"plots/{metric}.svg" for metric in QUALITY["PLOTTED"]]
    for path in shown:
        ElementTree.parse(ROOT / "docs" / path)
