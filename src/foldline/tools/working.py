"""plan, memory_list, memory_read, context_status, compact_now: each asks the module that knows.

How the answers look is in shown.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from foldline import memory_files
from foldline.agenda.asked import Refused
from foldline.archive.base import SessionInfo
from foldline.archive.history import masked
from foldline.core.receipt import Receipt
from foldline.errors import InputError
from foldline.tools.desk import Desk
from foldline.tools.shown import ERROR, MEMORY, PAGE, PLAN, Answer, clock, failed, fenced, one_line

SESSIONS = 10
"""Sessions that a status lists: the newest, which are what one looks for after a fold."""
_NOTICES = 5
"""Skipped memory files that are named; the others are counted."""
_TITLE = 100


def plan(desk: Desk, operation: str, **arguments: Any) -> Answer:
    outcome = desk.agenda.call(operation, scope=desk.scope, **arguments)
    return fenced(f"plan: {operation} done.", outcome.text, desk.secret, PLAN) if outcome.ok else failed(outcome.text)


def memory_list(desk: Desk) -> Answer:
    memory = memory_files.find(desk.root)
    if not memory.files and not memory.notices:
        return Answer(f"This project has no memory files; sought were {', '.join(memory_files.NAMES)}.")
    skipped = [f"- not listed: {one_line(notice.text, 300)}" for notice in memory.notices[:_NOTICES]]
    more = len(memory.notices) - len(skipped)
    skipped += [f"- not listed: {more} more"] if more > 0 else []
    said = f'{len(memory.files)} memory files. memory_read(name="…", section="…") shows one.'
    return fenced(said, "\n".join((memory_files.listing(memory), *skipped)), desk.secret, MEMORY)


def memory_read(desk: Desk, name: str, section: str | None = None, start: int = 0) -> Answer:
    """A file or section. What it is called and what sections there are is the project's text, so that is fenced too."""
    try:
        file = memory_files.find(desk.root).named(name)
        loaded = memory_files.load(file, section, start=start, limit=PAGE)
    except InputError as error:
        said = "There is no such file or section; memory_list shows what there is."
        return replace(fenced(said, str(error)[:ERROR], desk.secret, MEMORY), ok=False)
    note = "" if not loaded.note else f" {one_line(loaded.note, 2 * ERROR)}"
    return fenced(f"memory_read: {len(loaded.text):,} characters.{note}", loaded.text, desk.secret, MEMORY)


def context_status(desk: Desk) -> Answer:
    if desk.live:
        return Answer(_fullness(desk.live.compactor.preview(desk.live.request())))
    sessions = desk.archive.sessions(**desk.filters, limit=SESSIONS)
    active = desk.agenda.active_text(desk.scope)
    if not sessions and not active:
        return Answer("Nothing is stored for this project yet, and there is no plan.")
    said = "How full the window is cannot be told from here. What is stored: the newest sessions, and the active plan."
    return fenced(said, "\n".join((*map(_session, sessions), active)).strip(), desk.secret)


def _session(session: SessionInfo) -> str:
    folds = f", {session.checkpoints} checkpoints" if session.checkpoints else ""
    title = f"  {one_line(masked(session.title[: 10 * _TITLE]), _TITLE)}" if session.title else ""
    return f"session {session.name}  {clock(session.updated)}  {session.messages:,} messages{folds}{title}"


def _fullness(receipt: Receipt) -> str:
    share = 100 * receipt.tokens_before / receipt.room if receipt.room else 100.0
    used = (
        f"{receipt.tokens_before:,} of {receipt.room:,} tokens are used ({share:.0f} %), {receipt.messages:,} messages."
    )
    after = f" It would bring them to {receipt.tokens_after:,}." if receipt.tokens_after < receipt.tokens_before else ""
    return f"{used} The next turn would do this: {receipt.action} ({receipt.reason}).{after}"


def compact_now(desk: Desk, focus: str = "") -> Answer:
    if desk.live is None:
        raise Refused("this program has bound no live session, so there is nothing to fold here; go on as you are")
    receipt = desk.live.compactor.compact(desk.live.request(), focus=focus).receipt
    if receipt.action != "compact":
        return Answer(f"Nothing was folded: {receipt.reason}. Go on as you are.")
    shrunk = f"{receipt.tokens_before:,} tokens became {receipt.tokens_after:,}"
    back = f' session_read(ref="{receipt.checkpoint}") shows what was folded.' if receipt.checkpoint else ""
    return Answer(
        f"Folded: {shrunk}, {receipt.folded:,} messages stand in the notes. It holds from the next turn on.{back}"
    )
