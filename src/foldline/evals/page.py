"""The report as one HTML file that opens without a network: what was measured, plots, tables, sessions.

Styles stand in the file, plots are drawn by plots.py, everything from data is escaped by markup.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foldline.evals import plots
from foldline.evals.bench import OWN, REAL
from foldline.evals.markup import Markup, join, style, tag
from foldline.evals.report import (
    HEADLINES,
    MEANINGS,
    TITLES,
    Cell,
    counted,
    failures,
    percent,
    replays,
    scope,
    shown,
    title,
)
from foldline.evals.run import Run
from foldline.evals.stats import Figure
from foldline.evals.strategies import OURS

PLOTTED = ("xf", "gfrr", "vas", "uir", "kept", "frr", "far")
CAVEAT = (
    "None of these figures has been checked against an agent's success at its task. They compare strategies on the "
    "same cuts; gFRR counts only where XF beats random messages, since identifiers with a few words beside them please "
    "it and mean nothing to a reader. Intervals are 95 %, by drawing sessions again."
)
_STYLE = """
:root{color-scheme:light dark;--ink:#1d2330;--soft:#667085;--line:#d9dee7;--paper:#fff;--ours:#c2410c}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#98a2b3;--line:#344054;--paper:#12151c;--ours:#fb923c}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);
  max-width:1240px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}p.note,td.soft{color:var(--soft)}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),1fr));gap:1rem}figure{margin:0}
figcaption{color:var(--soft);font-size:.85rem}svg{width:100%;height:auto}svg text{font-size:10px;fill:var(--soft)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.85rem}
th,td{padding:.2rem .55rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left}tr.ours td{color:var(--ours);font-weight:600}
tr.attack td,tr.floor td{color:var(--soft)}
.grid{stroke:var(--line)}.way{fill:none;stroke:var(--c);stroke-width:1.5}.bar{stroke:var(--c);opacity:.45}
circle{fill:var(--c)}
.dot{fill:var(--ours);opacity:.7}.mean{stroke:var(--soft)}.strip{max-height:34px}
.k-ours .way{stroke-width:3}.k-attack .way,.k-floor .way{stroke-dasharray:4 3}
.legend span{display:inline-block;margin-right:1rem;color:var(--c);font-size:.85rem}.legend span::before{content:"● "}
"""
_COLOURS = ("#c2410c", "#2563eb", "#059669", "#7c3aed", "#db2777", "#0891b2", "#a16207", "#4d7c0f", "#f59e0b",
            "#9f1239", "#1e40af", "#115e59", "#6b7280", "#a8a29e", "#84cc16", "#d946ef")  # fmt: skip
_TURN = 137
"""Degrees from one colour to the next: the golden angle comes back to none of them for long."""


def page(run: Run, cells: Sequence[Cell]) -> str:
    """The whole file."""
    names = list(dict.fromkeys(cell.strategy for cell in cells))
    body = [_opening(run), _legend(names), _retention(cells, names), _chains(cells, names), *_tables(cells), _cost(run)]
    body += [_sessions(run), _failed(run), _left_out(run)]
    colours = "".join(f".c{number}{{--c:{_colour(number)}}}" for number in range(len(names)))
    head = join((
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; style-src 'unsafe-inline'"),
        tag("title", "What each strategy keeps"),
        style(_STYLE + colours),
    ))  # fmt: skip
    return "<!doctype html>\n" + tag("html", tag("head", head), tag("body", *body), lang="en")


def _colour(number: int) -> str:
    """One of those that go together; of further ones each has its own."""
    return _COLOURS[number] if number < len(_COLOURS) else f"hsl({_TURN * number % 360} 60% 45%)"


def _opening(run: Run) -> Markup:
    told = f"{counted(run.sessions, 'session')}, {counted(run.splits, 'cut')}, seed {run.settings.seed}. "
    held = counted(len(run.held_out), "further session")
    generic = f"Generic text from {held}." if run.held_out else "No generic text: there were too few sessions."
    return join((tag("h1", "What each strategy keeps"), tag("p", told + generic), tag("p", CAVEAT, class_="note")))


def _legend(names: Sequence[str]) -> Markup:
    return tag("p", *(tag("span", name, class_=f"c{number}") for number, name in enumerate(names)), class_="legend")


def _retention(cells: Sequence[Cell], names: Sequence[str]) -> Markup:
    """A plot for each metric, over the budgets that are shares or tokens."""
    here = [cell for cell in cells if "folds" not in cell.budget]
    found = [_figure(plots.retention(_lines(here, names, metric), TITLES[metric]), metric) for metric in PLOTTED]
    return join((tag("h2", "Retention against tokens kept"), tag("div", *found, class_="plots")))


def _lines(cells: Sequence[Cell], names: Sequence[str], metric: str) -> list[plots.Line]:
    found = []
    for number, name in enumerate(names):
        own = [cell for cell in cells if cell.strategy == name and metric in cell.figures]
        own = [cell for cell in own if cell.budget not in (REAL, OWN)] or own  # those were taken at other cuts
        points = [plots.Point(max(cell.share.mean, 1e-4), cell.figures[metric]) for cell in own]
        if points:
            found.append(plots.Line(name, own[0].kind, number, points))
    return found


def _figure(plot: Markup, metric: str) -> Markup:
    return tag("figure", plot, tag("figcaption", f"{TITLES[metric]}: {MEANINGS[metric]}")) if plot else Markup("")


def _chains(cells: Sequence[Cell], names: Sequence[str]) -> Markup:
    here = [cell for cell in cells if "folds" in cell.budget]
    if not here:
        return Markup("")
    found = []
    for metric in HEADLINES:
        lines = [line._replace(points=_folds(here, line.name, metric)) for line in _lines(here, names, metric)]
        found.append(_figure(plots.steps(lines, TITLES[metric]), metric))
    return join((tag("h2", "After one, three and five folds of 10 %"), tag("div", *found, class_="plots")))


def _folds(cells: Sequence[Cell], name: str, metric: str) -> list[plots.Point]:
    own = [cell for cell in cells if cell.strategy == name and metric in cell.figures]
    return [plots.Point(float(cell.budget.split()[0]), cell.figures[metric]) for cell in own]


def _tables(cells: Sequence[Cell]) -> Iterator[Markup]:
    for budget in dict.fromkeys(cell.budget for cell in cells):
        here = [cell for cell in cells if cell.budget == budget]
        names = shown(here)
        top = tag("tr", tag("th", ""), *(tag("th", TITLES[name], title=MEANINGS[name]) for name in ("share", *names)))
        rows = [_row(cell, names) for cell in here]
        heading = f"{title(budget)} ({scope(here[0])})"
        yield join((tag("h2", heading[0].upper() + heading[1:]), tag("div", tag("table", top, *rows), class_="wide")))


def _row(cell: Cell, names: Sequence[str]) -> Markup:
    figures = [tag("td", _number(cell.figures.get(name)), title=_interval(cell.figures.get(name))) for name in names]
    return tag("tr", tag("td", cell.strategy), tag("td", percent(cell.share)), *figures, class_=cell.kind)


def _number(value: Figure | None) -> str:
    if value is None:
        return "–"
    return f"{value.mean:.3f}" if value.half is None else f"{value.mean:.3f} ±{value.half:.3f}"


def _interval(value: Figure | None) -> str:
    if value is None:
        return "not applicable"
    return "one session" if value.half is None else f"{value.low:.3f} to {value.high:.3f}, {value.sessions} sessions"


def _cost(run: Run) -> Markup:
    if not run.replays:
        return Markup("")
    rows = [tag("tr", tag("td", name), tag("td", _number(cost)), class_=kind) for name, kind, cost in replays(run)]
    return join((tag("h2", "Cost"), tag("p", MEANINGS["replay"], class_="note"), tag("table", *rows)))


def _sessions(run: Run) -> Markup:
    """A strip of dots for each strategy of ours and each headline metric, one dot for each session and budget."""
    found = []
    for budget in run.settings.budgets:
        ours = [row for row in run.rows if row["strategy"] == OURS and row["budget"] == budget]
        for metric in HEADLINES:
            values = [(f"{row['session']} at {row['at']}", row[metric]) for row in ours if row.get(metric) is not None]
            if values:
                plot = plots.strip(values, f"{TITLES[metric]} at {budget}")
                found.append(tag("figure", plot, tag("figcaption", f"{TITLES[metric]}, {title(budget)}")))
    return join((tag("h2", "Cut by cut: foldline"), tag("div", *found, class_="plots"))) if found else Markup("")


def _failed(run: Run) -> Markup:
    found = failures(run)
    rows = [
        tag("tr", tag("td", name), tag("td", f"{count}"), tag("td", why, class_="soft")) for name, why, count in found
    ]
    return (
        join((tag("h2", "Failed: rows, and why"), tag("div", tag("table", *rows), class_="wide")))
        if rows
        else Markup("")
    )


def _left_out(run: Run) -> Markup:
    if not run.left_out:
        return Markup("")
    rows = [tag("tr", tag("td", name), tag("td", why, class_="soft")) for name, why in run.left_out]
    return join((tag("h2", f"Not measured ({len(run.left_out)})"), tag("div", tag("table", *rows), class_="wide")))
