"""Plans as an agent reads them: plain markdown, never longer than said. Decides nothing, writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from foldline.agenda.state import Board, Plan, Status, Task
from foldline.core.words.masks import masked
from foldline.core.words.text import head

START = 8_000
"""Characters of a start: the task in progress whole, and the rest by titles."""
LIST = 20_000
"""Characters of a list: every title of a large plan."""
ACTIVE = 800
"""Characters of the reminder that goes into a checkpoint: a few lines."""
GLANCE = 160
"""Characters by which evidence and reasons are shown beside a title."""
NOTES = 3
"""Notes of a task that a start shows: the newest."""
_MORE = '"list" with plan={0} shows all titles, with task=<number> a whole task'


def start(board: Board, plan: Plan) -> str:
    """Where the work stands: what is in progress, with its details; what is next, waits, is done."""
    lines = [f"# Plan {plan.number}: {plan.title}", count(plan), *_others(board, plan), *_now(plan)]
    lines += _section("Next", [_title(task) for task in plan.of("open")])
    lines += _section("Blocked", [_with(task, "waits for", task.reason) for task in plan.of("blocked")])
    lines += _section("Notes", plan.notes[-NOTES:])
    lines += _section(
        "Done", [_with(task, "evidence", " | ".join(task.evidence)) for task in reversed(plan.of("done"))]
    )
    return _bounded(lines, START, _MORE.format(plan.number))


_REST: tuple[Status, ...] = ("in progress", "open", "blocked", "dropped")


def count(plan: Plan) -> str:
    """3 of 7 done; 1 in progress, 3 open."""
    rest = [f"{len(found)} {status}" for status in _REST if (found := plan.of(status))]
    return f"{plan.done} of {plan.total} done{'; ' if rest else ''}{', '.join(rest)}."


def _others(board: Board, plan: Plan) -> list[str]:
    others = [f"{other.number} ({_one(other.title)})" for other in board.open if other.number != plan.number]
    return [f'Other open plans: {", ".join(others)}; "start" with plan=<number> changes over.'] if others else []


def _now(plan: Plan) -> Iterator[str]:
    doing = plan.of("in progress")
    for task in doing:
        yield from ("", "## In progress", *_task(task, NOTES))
    if doing:
        return
    coming = plan.of("open")
    yield from ("", "Nothing is in progress." if coming else "Nothing is left to begin.")
    if coming:
        yield 'Mark what you begin: "update" with task=<number>, status="in progress". The first open task:'
        yield from _task(coming[0], NOTES)


def whole(task: Task) -> str:
    """Everything about one task."""
    return "\n".join((*_task(task), f"Status: {task.status}"))


def _task(task: Task, notes: int = 0) -> Iterator[str]:
    """A task with what is written about it; quoted, so that no line of it passes for one of ours."""
    yield f"**{_title(task)}**"
    yield from (f"> {line}" for line in task.details.split("\n") if task.details)
    if task.reason:
        yield f"Waits for: {_one(task.reason, len(task.reason))}"
    shown = task.notes[-notes:]
    if len(shown) < len(task.notes):
        yield f"({len(task.notes) - len(shown)} older notes)"
    yield from (f"- Note: {_one(note, len(note))}" for note in shown)
    yield from (f"- Evidence: {_one(each, len(each))}" for each in task.evidence)


def _title(task: Task) -> str:
    return f"{task.number}. {task.title}"


def _with(task: Task, what: str, text: str) -> str:
    return f"{_title(task)} ({what}: {_one(text)})" if text else _title(task)


def _one(text: str, length: int = GLANCE) -> str:
    """On one line, and short."""
    text = " ".join(text.split())
    return text if len(text) <= length else f"{head(text, length)}…"


def _section(heading: str, items: Iterable[str]) -> list[str]:
    lines = [f"- {_one(item, len(item))}" for item in items]
    return ["", f"## {heading}", *lines] if lines else []


def _bounded(lines: Sequence[str], limit: int, more: str) -> str:
    """As many lines as there is room for; how many are missing is said, and how to have them."""
    kept, room = list[str](), limit - len(_missing(len(lines), more))
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return "\n".join((*kept, _missing(len(lines) - len(kept), more)))
        kept.append(line)
    return "\n".join(kept)


def _missing(count: int, more: str) -> str:
    return f"({count} more lines not shown; {more})"


def plans(board: Board) -> str:
    """All plans of the project, the newest first."""
    if not board.plans:
        return "There is no plan."
    active = board.active.number if board.active else 0
    lines = [_plan(plan, active) for plan in sorted(board.plans.values(), key=lambda plan: -plan.number)]
    return _bounded(lines, LIST, '"list" with plan=<number> shows one')


def _plan(plan: Plan, active: int) -> str:
    state = "active" if plan.number == active else "put away" if plan.archived else "open"
    return f"- Plan {plan.number} ({state}): {plan.title}. {count(plan)}"


def tasks(plan: Plan) -> str:
    """Every task of a plan by its title."""
    lines = [f"# Plan {plan.number}: {plan.title}{' (put away)' if plan.archived else ''}", count(plan)]
    lines += [f"- [{task.status}] {_title(task)}" for task in plan.tasks]
    return _bounded(lines, LIST, '"list" with task=<number> shows a task')


def active(plan: Plan) -> str:
    """A few lines for a checkpoint, which holds no secrets: the plan, how far it is, what is in progress."""
    doing, coming = plan.of("in progress"), plan.of("open")
    lines = [f"Plan {plan.number}, {plan.title!r}: {count(plan)}"]
    lines += [f"In progress: {_with(task, 'details', masked(task.details))}" for task in doing]
    lines += [f"Next: {_title(coming[0])}"] if coming and not doing else []
    return _bounded([masked(line) for line in lines], ACTIVE, "the tool `plan` has them")
