"""Measures what a fold keeps on the sessions beside this checkout, and writes the figures into docs/quality.md.

    python bench/quality.py      `make eval` does it

Both halves of the sessions are measured, from the cache where they were measured before. Tables go between the marks in
the page, plots into docs/plots. Without ../shared/corpus nothing is written. What is measured stands in foldline.evals.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from foldline.evals import plots, report
from foldline.evals.bench import REAL
from foldline.evals.cache import home
from foldline.evals.report import Cell, percent, short
from foldline.evals.run import Run, run
from foldline.evals.settings import Half, Settings

ROOT = Path(__file__).parents[1]
CORPUS = ROOT.parent / "shared" / "corpus"
PAGE = ROOT / "docs" / "quality.md"
PLOTS = ROOT / "docs" / "plots"
HALVES: tuple[Half, ...] = ("second", "first")
"""The one that is reported comes first; extraction was fitted while looking at the other."""
BUDGETS = ("2%", "5%", "10%", "25%")
STRATEGIES = (
    "foldline",
    "old results masked",
    "clipped 500+200",
    "user, paths, errors, tail",
    "sliding window",
    "head + tail",
    "agent's own words",
    "user's and agent's words",
    "random messages",
    "placebo",
    "attack: identifiers",
    "attack: identifiers, words",
    "attack: shuffled lines",
)
"""The rows of the tables. All strategies stand in the report that `foldline eval --report` writes."""
DRAWN = (
    "foldline",
    "old results masked",
    "user, paths, errors, tail",
    "sliding window",
    "random messages",
    "user's and agent's words",
)
"""The lines of the plots: more cannot be told apart."""
CHAINED = ("foldline", "old results masked", "user's and agent's words")
COLOURS = ("#c2410c", "#2563eb", "#059669", "#7c3aed", "#64748b", "#ca8a04")
PLOTTED = ("xf", "gfrr", "vas", "uir")
COLUMNS = ("xf", "gfrr", "far", "vas", "uir", "kept", "faithful")
SURE = frozenset({"xf", "vas", "uir"})
"""The columns with intervals: with them in all, nobody reads the table."""
_STYLE = """svg{background:#fff}text{font:10px system-ui,sans-serif;fill:#667085;stroke:none}.grid{stroke:#d9dee7}
.way{fill:none;stroke-width:1.5}.bar{opacity:.5}.k-ours .way{stroke-width:3}"""
_LEGEND_LINE = 13
_OWN_SUMMARY = "the agent's own summary"


def main() -> int:
    if not CORPUS.is_dir():
        print(f"there are no sessions in {CORPUS}; the page is left as it is", file=sys.stderr)
        return 1
    found = {half: run([CORPUS], Settings(cache=home(), half=half)) for half in HALVES}
    cells = {half: report.summary(found[half]) for half in HALVES}
    text = PAGE.read_text("utf-8")
    for half in HALVES:
        text = placed(text, f"{half} half", tables(found[half], cells[half]))
    text = placed(text, "costs", costs(found))
    PAGE.write_text(text, "utf-8")
    PLOTS.mkdir(exist_ok=True)
    for metric in PLOTTED:
        (PLOTS / f"{metric}.svg").write_text(plot(cells[HALVES[0]], metric), "utf-8")
    print(f"written: {PAGE.relative_to(ROOT)} and {len(PLOTTED)} plots beside it")
    return 0


def placed(text: str, name: str, lines: Iterable[str]) -> str:
    """The page with these lines between the marks of that name. Raises ValueError where they are missing."""
    marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.S)
    if not marks.search(text):
        raise ValueError(f"{PAGE} has no <!-- {name} --> … <!-- end -->; put them where the figures belong")
    inside = "\n".join(("", *lines, "", ""))
    return marks.sub(lambda match: match[1] + inside + match[2], text)


def tables(found: Run, cells: Sequence[Cell]) -> Iterator[str]:
    """Every budget, the size of real summaries, and the chains."""
    yield f"{found.sessions} sessions, {found.splits} cuts, seed {found.settings.seed}."
    for budget in (*BUDGETS, REAL):
        names = (*STRATEGIES[:1], *((_OWN_SUMMARY,) if budget == REAL else ()), *STRATEGIES[1:])
        here = [cell for name in names for cell in cells if (cell.budget, cell.strategy) == (budget, name)]
        columns = (*COLUMNS[:1], "gxf", *COLUMNS[1:]) if budget == REAL else COLUMNS
        if here:
            heading = report.title(budget)
            yield f"\n**{heading[0].upper()}{heading[1:]}** ({report.scope(here[0])})\n"
            rows = ((bold(cell.strategy), percent(cell.share), *figures(cell, columns)) for cell in here)
            yield from table(("", "kept %", *(report.TITLES[name] for name in columns)), rows)
    yield "\n**After one, three and five folds of 10 %**\n"
    folds = [cell for cell in cells if cell.strategy in CHAINED and "folds" in cell.budget]
    yield from table(
        ("", "folds", *(report.TITLES[name] for name in COLUMNS[:5])),
        ((bold(cell.strategy), cell.budget.split()[0], *figures(cell, COLUMNS[:5])) for cell in folds),
    )


def figures(cell: Cell, columns: Sequence[str]) -> list[str]:
    return [short(cell.figures.get(name), wide=name in SURE) for name in columns]


def bold(name: str) -> str:
    return f"**{name}**" if name == STRATEGIES[0] else name


def costs(found: Mapping[Half, Run]) -> Iterator[str]:
    """What each way costs, in both halves, the cheapest in the first of them first."""
    told = {half: {name: short(cost) for name, _, cost in report.replays(found[half])} for half in HALVES}
    rows = ((bold(name), *(told[half].get(name, "–") for half in HALVES)) for name in told[HALVES[0]])
    return table(("", *(f"{half} half" for half in HALVES)), rows)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for cells in (head, ["---"] * len(head), *rows):
        yield "| " + " | ".join(cells) + " |"


def plot(cells: Sequence[Cell], metric: str) -> str:
    """One figure against the tokens kept, as a picture of its own, with its legend below."""
    lines = []
    for number, name in enumerate(DRAWN):
        own = [cell for cell in cells if cell.strategy == name and cell.budget in BUDGETS and metric in cell.figures]
        points = [plots.Point(cell.share.mean, cell.figures[metric]) for cell in own]
        lines.append(plots.Line(name, own[0].kind, number, points))
    drawn = plots.retention(lines, f"{report.TITLES[metric]} against the share of tokens kept")
    height = plots.HEIGHT + _LEGEND_LINE * (len(DRAWN) + 1)
    legend = "".join(
        f'<g class="c{number}"><circle cx="{plots.LEFT}" cy="{at - 3.5}" r="3"/>'
        f'<text x="{plots.LEFT + 8}" y="{at}">{name}</text></g>'
        for number, name in enumerate(DRAWN)
        for at in (plots.HEIGHT + _LEGEND_LINE * (number + 1),)
    )
    title = f'<text x="{plots.LEFT}" y="{plots.TOP - 3}">{report.TITLES[metric]}</text>'
    colours = "".join(f".c{n}{{stroke:{colour}}}.c{n} circle{{fill:{colour}}}" for n, colour in enumerate(COLOURS))
    size = f'viewBox="0 0 {plots.WIDTH} {plots.HEIGHT}"'
    whole = drawn.replace(size, f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {plots.WIDTH} {height}"', 1)
    return whole.replace("</svg>", f"{title}{legend}<style>{_STYLE}{colours}</style></svg>") + "\n"


if __name__ == "__main__":
    sys.exit(main())
