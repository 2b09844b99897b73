"""`foldline sessions` and `foldline search`: what is in the archive. Searching itself is in archive/search.py."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from foldline.cli.keeping import Asked, asking, line, masked, page, when
from foldline.cli.options import print_json
from foldline.cli.screen import count, say

if TYPE_CHECKING:
    from foldline.archive.base import Found, SessionInfo

TITLE = 120
"""Characters of a session's title."""
LONG = 5_000
"""Messages without codes from which on a first search by meaning takes so long that people are told."""


class Moment(click.ParamType[float]):
    """A day or a moment, as 2026-06-18 or 2026-06-18T09:30; where people are, unless it says otherwise."""

    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return value if isinstance(value, float) else datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError, OSError):
            self.fail(f"{value!r} is no time; write it as 2026-06-18 or 2026-06-18T09:30", param, ctx)


@click.command("sessions")
@asking
@click.option("--project", metavar="PATH", help="Only those of the agent that ran in this folder.")
@click.option("--scope", metavar="NAME", help="Only those of this scope.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    metavar="N",
    help="How many, the newest first.",
)
def sessions(asked: Asked, project: str | None, scope: str | None, limit: int) -> None:
    """List the sessions in the archive, the newest first.

    \b
    JSON: {"archive": PATH, "sessions": [{name, scope, project, title, opening,
    dialect, source, started, updated, messages, checkpoints, forked}]}; times are
    unix seconds, `forked` is the session it branched off.
    """
    from foldline.archive.listing import openings

    with asked.opened() as archive:
        found = archive.sessions(scope=scope, project=project, limit=limit)
        said = openings(archive, (session.name for session in found))
    if asked.json:
        print_json({"archive": str(archive.path), "sessions": [_session(one, said.get(one.name, "")) for one in found]})
        return
    if not found:
        say("no sessions; `foldline import` takes in what agents left on disk")
        return
    page("\n".join(_drawn(one, said.get(one.name, "")) for one in found))


def _drawn(one: SessionInfo, opening: str) -> str:
    folds = f"  {count(one.checkpoints, 'fold')}" if one.checkpoints else ""
    messages = f"{one.messages:>6,} {'message ' if one.messages == 1 else 'messages'}"
    figures = f"{one.name}  {when(one.updated)}  {messages}{folds}  {one.dialect}  {line(one.project)}"
    return f"{figures.rstrip()}\n  {line(one.title or opening)[:TITLE]}".rstrip()


def _session(one: SessionInfo, opening: str) -> dict[str, Any]:
    shown = {name: masked(getattr(one, name)) for name in ("project", "title", "source")}
    return {**asdict(one), **shown, "opening": masked(opening)}


@click.command("search")
@click.argument("query", nargs=-1)
@asking
@click.option("--session", metavar="NAME", help="Only in this session.")
@click.option("--project", metavar="PATH", help="Only in sessions of the agent that ran in this folder.")
@click.option("--scope", metavar="NAME", help="Only in sessions of this scope.")
@click.option("--role", type=click.Choice(["user", "assistant", "tool", "system"]), help="Only what they said.")
@click.option("--tool", metavar="NAME", help="Only calls of this tool, and their results.")
@click.option("--file", metavar="PATH", help="Only messages that touched this file; the end of its path is enough.")
@click.option("--after", type=Moment(), metavar="TIME", help="Only from then on, as 2026-06-18 or 2026-06-18T09:30.")
@click.option("--before", type=Moment(), metavar="TIME", help="Only before then.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="How many, the best first."
)
@click.option("--semantic", is_flag=True, help="Also what says it in other words; needs foldline[semantic].")
def search(asked: Asked, query: tuple[str, ...], semantic: bool, **filters: Any) -> None:
    """Find messages in the archive by what they say.

    Of QUERY, all words are looked for, or any if none has all; "words in quotes" stand together. Without one, the
    newest messages. What is found is fetched with `foldline show REF`.

    \b
    JSON: {"archive": PATH, "query": TEXT, "found": [{ref, session, project,
    position, role, origin, tool, time, snippet, score}]}; the best first.
    """
    words = " ".join(query)
    with asked.opened() as archive:
        if semantic and (unread := archive.uncoded()) >= LONG:
            say(f"reading {unread:,} messages for their meaning, this once; if stopped, the next search goes on")
        found = archive.search(words, semantic=semantic, **filters)
    if asked.json:
        hits = [{**asdict(hit), "project": masked(hit.project), "snippet": masked(hit.snippet)} for hit in found]
        print_json({"archive": str(archive.path), "query": words, "found": hits})
        return
    if not found:
        say("nothing was found; try fewer words, or leave out a filter")
        return
    page("\n".join(_hit(hit) for hit in found))


def _hit(hit: Found) -> str:
    who = f"{hit.origin} {hit.tool}".strip()
    return (
        f"{hit.ref}  {when(hit.time)}  {line(who)}  (session {hit.session}, {hit.position + 1})\n  {line(hit.snippet)}"
    )
