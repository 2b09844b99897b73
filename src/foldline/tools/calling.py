"""One call: a name and arguments in, an answer out. Whatever an agent does wrong is answered, never raised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from foldline.agenda.asked import Refused
from foldline.errors import ArchiveError, FoldlineError
from foldline.tools import reading, searching, working
from foldline.tools.asked import checked
from foldline.tools.desk import Desk
from foldline.tools.shown import Answer, failed
from foldline.tools.table import BY_NAME

_DOES: Mapping[str, Callable[..., Answer]] = {
    "session_search": searching.search,
    "session_read": reading.read,
    "plan": working.plan,
    "memory_list": working.memory_list,
    "memory_read": working.memory_read,
    "context_status": working.context_status,
    "compact_now": working.compact_now,
}


def call(name: str, arguments: Mapping[str, Any] | str | None, desk: Desk) -> str:
    """What a tool answers, as text for the agent. `arguments` may be JSON text, as some providers give it."""
    return answer(name, arguments, desk).text


def answer(name: str, arguments: Mapping[str, Any] | str | None, desk: Desk) -> Answer:
    """The same, with whether it was done."""
    tool = BY_NAME.get(name)
    if tool is None:
        return failed(
            f"Not done: there is no tool {ascii(name)[:80]}; there are {', '.join(t.name for t in desk.tools)}."
        )
    try:
        return _DOES[name](desk, **checked(tool, arguments))
    except Refused as refused:
        return failed(f"Not done: {str(refused).rstrip('.')}.")
    except ArchiveError as error:
        advice = " Find references with session_search." if name == "session_read" else ""
        return failed(f"Not done: {error}.{advice}")
    except FoldlineError as error:
        return failed(f"Not done: {error}.")
