"""A run in figures: for every budget and strategy the means with their intervals; as a table, and as JSON.

    summary(run) ──> Cell, Cell, …        tables(cells) for a terminal        to_json(run, cells) for programs

The page with plots is made in page.py; nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from foldline.evals.bench import FAILED, OWN, REAL
from foldline.evals.metrics import SCORES
from foldline.evals.run import Run
from foldline.evals.stats import Figure, difference, figure
from foldline.evals.strategies import OURS

KINDS = ("ours", "real", "plugin", "baseline", "floor", "attack")
"""The order of rows."""
HEADLINES = ("xf", "vas", "uir")
"""What a strategy must win at once."""
SHOWN = ("xf", "gxf", "gfrr", "frr", "far", "vas", "uir", "kept", "faithful", "valid")
"""The columns of a table; JSON has them all."""
SPARED = ("frr", "valid", "faithful", "far", "gxf", "gfrr", "kept")
"""What a terminal without room for all of them is spared, the first first."""
NAME = 27
"""Columns for the name of a strategy."""
TITLES: Mapping[str, str] = {
    "share": "% kept",
    "xf": "XF",
    "gxf": "gXF",
    "frr": "FRR",
    "gfrr": "gFRR",
    "far": "far",
    "vas": "VAS",
    "uir": "UIR",
    "kept": "planted",
    "kept_early": "early",
    "kept_middle": "middle",
    "kept_late": "late",
    "faithful": "faithful",
    "valid": "valid",
    "replay": "cost",
}
MEANINGS: Mapping[str, str] = {
    "share": "tokens kept, of the history's",
    "xf": "explained future: how much of what the agent then wrote the view makes foreseeable; 1 is the whole history",
    "gxf": "the same of what the view says in the history's own words: those that a summary coins make the future",
    "gfrr": "identifiers the agent then needed that stand in the view with words they stood beside",
    "frr": "identifiers the agent then needed that stand in the view at all",
    "far": "the same of those that were last seen over a quarter of the history ago",
    "vas": "lines the agent then wrote again that stand in the view word for word",
    "uir": "the user's sentences that stand in the view word for word",
    "kept": "of 15 planted side constraints, those that stand in the view",
    "faithful": "identifiers of the view that stand in the history",
    "valid": "views that the provider would accept; one it would refuse scores 0",
    "replay": "input cost of the whole session under prompt caching, against no management",
}


@dataclass(frozen=True)
class Cell:
    """One strategy at one budget."""

    budget: str
    strategy: str
    kind: str
    cuts: int
    share: Figure
    figures: Mapping[str, Figure]


def summary(run: Run) -> list[Cell]:
    """The cells in the order of tables."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in run.rows:
        if FAILED not in row:
            groups.setdefault((row["budget"], row["strategy"], row["kind"]), []).append(row)
    cells = [_cell(*key, rows, run.settings.seed) for key, rows in groups.items()]
    return sorted(cells, key=lambda cell: (_rank(cell.budget, run), KINDS.index(cell.kind), cell.strategy))


def _cell(budget: str, strategy: str, kind: str, rows: Sequence[Mapping[str, Any]], seed: int) -> Cell:
    found = {name: figure(rows, name, seed) for name in ("share", *SCORES, "valid")}
    known = {name: value for name, value in found.items() if value is not None}
    return Cell(budget, strategy, kind, len(rows), known.pop("share"), known)


def _rank(budget: str, run: Run) -> tuple[int, str]:
    order = [*run.settings.budgets, OWN]
    return (order.index(budget) if budget in order else len(order), budget)


def failures(run: Run) -> list[tuple[str, str, int]]:
    """Each strategy that failed, why it first did, and in how many rows."""
    found: dict[str, list[str]] = {}
    for row in (*run.rows, *run.replays):
        if FAILED in row:
            found.setdefault(row["strategy"], []).append(row[FAILED])
    return [(name, reasons[0], len(reasons)) for name, reasons in sorted(found.items())]


def replays(run: Run) -> list[tuple[str, str, Figure | None]]:
    """Strategy, kind and cost, the cheapest first. What failed in a session, or was refused by its provider, has no
    cost: that of the other sessions would not be comparable."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in run.replays:
        groups.setdefault((row["strategy"], row["kind"]), []).append(row)
    found = [
        (name, kind, None if any(row["replay"] is None for row in rows) else figure(rows, "replay"))
        for (name, kind), rows in groups.items()
    ]
    return sorted(found, key=lambda item: (item[2] is None, item[2].mean if item[2] else 0.0))


def gaps(run: Run, ours: str = OURS) -> Iterator[tuple[str, str, dict[str, Figure]]]:
    """Budget, strategy, and how much more ours has than it of each headline, session by session."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in run.rows:
        groups.setdefault((row["budget"], row["strategy"]), []).append(row)
    for (budget, name), theirs in groups.items():
        mine = groups.get((budget, ours))
        if mine and name != ours:
            found = {metric: difference(mine, theirs, metric, run.settings.seed) for metric in HEADLINES}
            yield budget, name, {metric: gap for metric, gap in found.items() if gap is not None}


def title(budget: str) -> str:
    """A budget, for people."""
    if budget == REAL:
        return "at the size of the agent's own summaries"
    if budget == OWN:
        return "at the size the strategy comes to"
    if "folds" not in budget:
        return f"at {budget}"
    return "after one fold of 10 %" if budget == "1 folds" else f"after {budget} of 10 % each"


def scope(cell: Cell) -> str:
    """How much was measured, for people."""
    return f"{counted(cell.share.sessions, 'session')}, {counted(cell.cuts, 'cut')}"


def counted(number: int, name: str) -> str:
    """So many of something; the name is that of one."""
    return f"{number} {name}{'' if number == 1 else 's'}"


def tables(run: Run, cells: Sequence[Cell], columns: int | None = None) -> Iterator[str]:
    """The lines of one table for each budget, and one for the cost, in a terminal of so many columns: with half the
    width of each interval where there is room for all, and without what matters least where there is little."""
    left: dict[str, None] = {}
    for budget in dict.fromkeys(cell.budget for cell in cells):
        here = [cell for cell in cells if cell.budget == budget]
        names, wide = _fitting(shown(here), columns)
        left |= dict.fromkeys(name for name in shown(here) if name not in names)
        yield f"{title(budget)} ({scope(here[0])})"
        yield _columns("", [TITLES[name][: _width(wide=wide) - 1] for name in ("share", *names)], wide)
        for cell in here:
            figures = [short(cell.figures.get(name), wide=wide) for name in names]
            yield _columns(cell.strategy, [percent(cell.share), *figures], wide)
        yield ""
    if run.replays:
        wide = _fitting([], columns)[1]
        yield "cost of the whole session under prompt caching, against no management"
        yield from (_columns(name, [short(cost, wide=wide)], wide) for name, _, cost in replays(run))
    if left:
        missing = ", ".join(TITLES[name] for name in left)
        yield f"not shown for want of room: {missing}; --json has all, and so has --report"


def _fitting(names: Sequence[str], columns: int | None) -> tuple[Sequence[str], bool]:
    """Which of the figures a line has room for, and whether for their intervals too."""
    if columns is None or NAME + _width(wide=True) * (len(names) + 1) <= columns:
        return names, True
    most = max((columns - NAME) // _width(wide=False) - 1, 1)
    spared = [name for name in SPARED if name in names][: max(len(names) - most, 0)]
    return [name for name in names if name not in spared], False


def shown(cells: Sequence[Cell]) -> list[str]:
    """The columns in which these cells have a figure; gXF is only measured beside an agent's own summaries."""
    return [name for name in SHOWN if name != "gxf" or any(name in cell.figures for cell in cells)]


def _width(*, wide: bool) -> int:
    return 9 if wide else 6


def _columns(name: str, texts: Sequence[str], wide: bool) -> str:
    return f"{name:<{NAME}.{NAME}}" + "".join(f" {text:>{_width(wide=wide) - 1}}" for text in texts)


def short(value: Figure | None, *, wide: bool = True) -> str:
    """A mean and half of its interval's width: .52±.03; or the mean alone, of one session always."""
    if value is None:
        return "–"
    spread = f"±{_bare(value.half)}" if wide and value.half is not None else ""
    return f"{_bare(value.mean)}{spread}"


def percent(value: Figure) -> str:
    return f"{100 * value.mean:.1f}"


def _bare(number: float) -> str:
    text = f"{number:.2f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def _cost(cost: Figure | None) -> dict[str, Any]:
    return {"mean": None} if cost is None else cost._asdict()


def to_json(run: Run, cells: Sequence[Cell]) -> dict[str, Any]:
    """Everything: the figures, and every row they were made of."""
    return {
        "sessions": run.sessions,
        "cuts": run.splits,
        "settings": {**asdict(run.settings), "cache": str(run.settings.cache or "")},
        "held_out": list(run.held_out),
        "left_out": [{"session": name, "why": why} for name, why in run.left_out],
        "notes": list(run.notes),
        "failed": [{"strategy": name, "why": why, "rows": rows} for name, why, rows in failures(run)],
        "figures": [
            {
                **{name: getattr(cell, name) for name in ("budget", "strategy", "kind", "cuts")},
                "share": cell.share._asdict(),
                **{name: value._asdict() for name, value in cell.figures.items()},
            }
            for cell in cells
        ],
        "cost": [{"strategy": name, "kind": kind, **_cost(cost)} for name, kind, cost in replays(run)],
        "gaps": [
            {"budget": budget, "strategy": name, **{metric: gap._asdict() for metric, gap in found.items()}}
            for budget, name, found in gaps(run)
        ],
        "rows": list(run.rows),
        "replays": list(run.replays),
    }
