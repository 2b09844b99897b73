"""session_search: what was said, by its words.

What queries mean is in core/words/searchtext.py; answering them is the archive's matter.
"""

from __future__ import annotations

from typing import Any

from foldline.agenda.asked import Refused
from foldline.archive.base import Found, SessionInfo
from foldline.errors import ArchiveError
from foldline.tools.asked import moment
from foldline.tools.desk import Desk
from foldline.tools.shown import Answer, clock, fenced, one_line

HITS = 10
"""Hits that are shown where no number is given."""
_NAME, _SNIPPET = 80, 320
"""Characters of a tool's name, and of a snippet, in a hit."""


def search(desk: Desk, query: str = "", limit: int = HITS, **asked: str) -> Answer:
    """The hits, each with its reference, the best first."""
    filters: dict[str, Any] = {**asked, **desk.filters}
    filters |= {name: moment(name, asked[name]) for name in ("after", "before") if name in asked}
    if "session" in asked:
        filters["session"] = known_session(desk, asked["session"]).name
    found = desk.archive.search(query, limit=limit, **filters)
    if not found:
        narrowed = f" with {', '.join(asked)} as given" if asked else ""
        return Answer(f"Nothing was found{narrowed}. Try fewer or other words, or fewer conditions.")
    many = f"{len(found)} message{'s' * (len(found) > 1)}"
    full = f"; there may be more, limit={limit} was reached" if len(found) == limit else ""
    said = f'{many} found{full}. session_read(ref="…") shows one whole.'
    return fenced(said, "\n".join(map(_hit, found)), desk.secret)


def known_session(desk: Desk, name: str) -> SessionInfo:
    """The session of that name, if it can be found from here. Raises Refused."""
    try:
        found = desk.archive.get(name)
    except ArchiveError:
        found = ""
    if not isinstance(found, SessionInfo) or not desk.reaches(found):
        raise Refused(f"there is no session {name[:40]!a}; context_status lists the sessions by name")
    return found


def _hit(found: Found) -> str:
    speaker = f"{found.origin} {one_line(found.tool, _NAME)}".strip()
    where = f"session {found.session} message {found.position + 1}"
    return f"{found.ref}  {clock(found.time)}  {speaker}  ({where})\n    {one_line(found.snippet, _SNIPPET)}"
