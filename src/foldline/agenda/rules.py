"""What an agent asks for → entries for the log, or a refusal that says what to do instead.

Pure: it sees the board as it is and says what would be written. Every operation may be repeated: what is already so
gives no entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from foldline.agenda import asked
from foldline.agenda.asked import DETAILS, REMARK, Given, Refused
from foldline.agenda.state import Board, Entry, Plan, Task

PLANS = 20
"""Plans that are not put away, in one project: a start names them all."""

OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "start": ("plan",),
    "create": ("title", "tasks"),
    "add": ("tasks", "plan"),
    "update": ("task", "title", "details", "status", "plan"),
    "complete": ("task", "evidence", "plan"),
    "block": ("task", "reason", "plan"),
    "note": ("text", "task", "plan"),
    "list": ("plan", "task"),
    "archive": ("plan",),
}
"""Every operation, and the arguments it takes."""
_EMPTY: tuple[object, ...] = ("", [], {})
"""What some models give for arguments that they do not mean to give."""
_NONE = 'there is no plan; make one with "create": a title and its tasks'


class Ruling(NamedTuple):
    """The entries to write, the plan they concern (0: none), and what to say of it."""

    entries: tuple[Entry, ...] = ()
    plan: int = 0
    said: str = ""


def decide(board: Board, operation: str, arguments: Given) -> Ruling:
    """What to write. Raises Refused."""
    if operation not in OPERATIONS:
        raise Refused(f"there is no operation {asked.line(str(operation))!r}; there are {', '.join(OPERATIONS)}")
    takes = OPERATIONS[operation]
    meant = {name: value for name, value in arguments.items() if name in takes or value not in _EMPTY}
    given = {name: value for name, value in meant.items() if value is not None}
    unknown = asked.line(", ".join(sorted(set(given) - set(OPERATIONS[operation]))))
    if unknown:
        raise Refused(f'"{operation}" takes {", ".join(OPERATIONS[operation])}; it knows nothing of {unknown[:200]}')
    return _RULES[operation](board, given)


def plan_of(board: Board, given: Given) -> Plan:
    """The plan that is named, else the active one."""
    if "plan" not in given:
        if board.active is None:
            raise Refused(_NONE)
        return board.active
    number = asked.number(given, "plan")
    if number not in board.plans:
        there = ", ".join(str(plan.number) for plan in board.open)
        raise Refused(f"there is no plan {number}; {f'open are {there}' if there else _NONE}")
    return board.plans[number]


def task_of(plan: Plan, given: Given) -> Task:
    number = asked.number(given, "task")
    if not 1 <= number <= len(plan.tasks):
        raise Refused(f"there is no task {number}; the plan has 1-{len(plan.tasks)}")
    return plan.tasks[number - 1]


def _live(board: Board, given: Given) -> Plan:
    plan = plan_of(board, given)
    if plan.archived:
        raise Refused(f'plan {plan.number} is put away; "start" with plan={plan.number} takes it up again')
    return plan


def _start(board: Board, given: Given) -> Ruling:
    """Shows the active plan; a plan that is named becomes the active one."""
    if not given and board.active is None:
        return Ruling(said=_NONE.capitalize() + ".")
    plan = plan_of(board, given)
    if plan.archived:
        _space(board)
    return Ruling(() if plan is board.active else (Entry("choose", plan.number, {}),), plan.number)


def _space(board: Board) -> None:
    if len(board.open) >= PLANS:
        raise Refused(f'{PLANS} plans are open; put one away with "archive" (plan=<its number>) first')


def _create(board: Board, given: Given) -> Ruling:
    title, tasks = asked.title(given), asked.tasks(given)
    made = tuple((task["title"], task.get("details", "")) for task in tasks)
    same = next((plan for plan in board.open if (plan.title, plan.made) == (title, made)), None)
    if same:
        return _start(board, {"plan": same.number})._replace(said=f"This is plan {same.number} already.")
    _space(board)
    number = len(board.plans) + 1
    said = f"Plan {number} made, with {len(tasks)} task{'s' * (len(tasks) > 1)}."
    return Ruling((Entry("create", number, {"title": title, "tasks": tasks}),), number, said)


def _add(board: Board, given: Given) -> Ruling:
    """Tasks that wait there already, word for word, are not added again."""
    plan = _live(board, given)
    waiting = {(task.title, task.details): str(task.number) for task in plan.of("open", "in progress", "blocked")}
    tasks = asked.tasks(given)
    there = [waiting.get((task["title"], task.get("details", ""))) for task in tasks]
    new = [task for task, known in zip(tasks, there, strict=True) if not known]
    asked.room(len(plan.tasks), len(new))
    first, last = len(plan.tasks) + 1, len(plan.tasks) + len(new)
    said = [f"Added {first}." if first == last else f"Added {first}-{last}."] if new else []
    known = ", ".join(filter(None, there))
    said += [f"Already there: {known}."] if known else []
    return Ruling((Entry("add", plan.number, {"tasks": new}),) if new else (), plan.number, " ".join(said))


def _update(board: Board, given: Given) -> Ruling:
    plan = _live(board, given)
    task = task_of(plan, given)
    wanted: dict[str, Any] = {"title": asked.title(given)} if "title" in given else {}
    wanted |= {"details": asked.optional(given, "details", DETAILS)} if "details" in given else {}
    wanted |= {"status": asked.status(given["status"], task)} if "status" in given else {}
    if not wanted:
        raise Refused("say what to change: title, details or status")
    return _changed(plan, task, **wanted)


def _complete(board: Board, given: Given) -> Ruling:
    plan = _live(board, given)
    task = task_of(plan, given)
    evidence = asked.words(given, "evidence", REMARK, "what shows that it is done (a test run, a file, a commit)")
    new = asked.is_new(task.evidence, evidence, "pieces of evidence")
    return _changed(plan, task, status="done", **({"evidence": evidence} if new else {}))


def _block(board: Board, given: Given) -> Ruling:
    plan = _live(board, given)
    task = task_of(plan, given)
    reason = asked.words(given, "reason", REMARK, "what it waits for, and who can help")
    return _changed(plan, task, status="blocked", reason=reason)


def _note(board: Board, given: Given) -> Ruling:
    plan = _live(board, given)
    text = asked.words(given, "text", REMARK, "what is worth remembering")
    task = task_of(plan, given) if "task" in given else None
    new = asked.is_new(task.notes if task else plan.notes, text, "notes")
    where = f"task {task.number}" if task else f"plan {plan.number}"
    entry = (
        Entry("change", plan.number, {"task": task.number, "notes": text})
        if task
        else Entry("note", plan.number, {"text": text})
    )
    return Ruling((entry,) if new else (), plan.number, f"Noted for {where}{'' if new else ' already'}.")


def _changed(plan: Plan, task: Task, **wanted: Any) -> Ruling:
    """Only what is different from what is there; evidence that comes here is new."""
    new = {name: value for name, value in wanted.items() if getattr(task, name) != value}
    entries = (Entry("change", plan.number, {"task": task.number, **new}),) if new else ()
    status = wanted.get("status", task.status)
    said = f"Task {task.number} is {status}." if new else f"Task {task.number} is {status} already; nothing changed."
    return Ruling(entries, plan.number, said)


def _list(board: Board, given: Given) -> Ruling:
    plan = plan_of(board, given) if given else None
    if plan and "task" in given:
        task_of(plan, given)
    return Ruling(plan=plan.number if plan else 0)


def _archive(board: Board, given: Given) -> Ruling:
    """Where several plans are open it must be said which, or a repeated request would put away the next one."""
    if not given and len(board.open) != 1:
        open_ = ", ".join(str(plan.number) for plan in board.open)
        if open_:
            raise Refused(f"say which plan: plan=<its number>; open are {open_}")
        return Ruling(said="No plan is open; there is nothing to put away.")
    plan = plan_of(board, given)
    said = f"Plan {plan.number} is put away{' already' if plan.archived else ''}."
    return Ruling(() if plan.archived else (Entry("archive", plan.number, {}),), plan.number, said)


_RULES: Mapping[str, Callable[[Board, Given], Ruling]] = {
    "start": _start,
    "create": _create,
    "add": _add,
    "update": _update,
    "complete": _complete,
    "block": _block,
    "note": _note,
    "list": _list,
    "archive": _archive,
}
