"""Deeds that reach beyond the files at hand: commits, pushes, issues, messages. And what came of each.

    deeds ── reached ──> Reached (the line that tells what was made, what made it)

What was written to a file can be looked up there. That an issue was opened, and which, only the tool's answer tells: an
agent that does not know does it again. Commits and what was created are told one by one; of the rest, such as pushes
and replies, the last of its kind. How checks end and what went wrong is in errors_seen.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from foldline.core.deeds import FRAME, Deed
from foldline.core.errors_seen import tried
from foldline.core.plans import plans
from foldline.core.text import head
from foldline.core.tools import call_touches
from foldline.model import ToolResult

LONGEST = 200
"""Characters of the line."""
_LOOK = 4_000
"""Characters of a result, from either end, in which it is sought."""
_MOST_FIELDS = 2
_COMMANDS = re.compile(
    r"\bgit (?:-\S+ (?:\S+ )?)?(?:push|commit|merge(?!-)|rebase|cherry-pick|revert|tag|reset)\b"
    r"|\b(?:gh|glab) (?:pr|mr|issue|release|repo|label|workflow|run) (?:create|merge|close|comment|edit|review|reopen|"
    r"ready|delete|run|rerun|note)\b"
    r"|\b(?:gh|glab) api\b.{0,400}?\s(?:-f|-F|-X|--field|--method|--raw-field)\b"
    r"|\bcurl\b.{0,400}?\s(?:-X ?(?:POST|PUT|PATCH|DELETE)|-d|--data\S*)\b"
    r"|\b(?:npm|yarn|pnpm|cargo|poetry|uv|twine|gem) (?:publish|upload|push)\b"
    r"|\b(?:docker|podman) (?:push|run|compose up)\b|\b(?:kubectl|helm|terraform|pulumi|flyctl|vercel|wrangler) "
    r"(?:apply|delete|rollout|install|upgrade|destroy|up|deploy)\b",
    re.S,
)
"""Commands that change what others see."""
_VERBS = re.compile(
    r"(?:^|_)(?:create|update|delete|remove|send|post|publish|merge|reply|comment|close|reopen|assign|upload|deploy|"
    r"submit|add|save|schedule|cancel|approve|invite|transition|resolve_(?:issue|thread|comment|incident|alert))(?:_|$)"
)
"""What tools of that kind are named for."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]+")
_EACH = re.compile(r"\b(?:commit|create|merge|release|publish|deploy)\b|(?:^|_)create(?:_|$)")
"""What is told each time …"""
_ALIKE = 3
"""… and the words of another command by which it is of the same kind: `gh pr comment`."""
_ITSELF = re.compile(r"\[[^\]]{1,160} [0-9a-f]{7,40}\] ")
"""A line that needs no command beside it to be understood."""
_JSON = re.compile(r'\s*(?:\{|\[\s*[{\["\]])')
_FIELDS = ("identifier", "key", "number", "id", "url", "permalink", "status", "state", "message")
"""Where an answer in JSON names what was made, the surest name first …"""
_FIELD = re.compile(rf'"({"|".join(_FIELDS)})"[ \t]*:[ \t]*("(?:[^"\\\n]|\\.){{1,120}}"|\d{{1,20}})')
"""… and what it says there."""
_TELLS = re.compile(
    r"^\s*[*+!]?\s*(?:[0-9a-f]{7,40}\.\.\.?[0-9a-f]{7,40}|\[(?:new|deleted|forced|rejected)[^\]]{0,40}\])\s.*->"
    r"|^\[[\w/. ()-]{1,80} [0-9a-f]{7,40}\]"
    r"|^Everything up-to-date|^Successfully |^HEAD is now at |^(?:CONFLICT|Fast-forward)"
    r"|https?://\S+/(?:pull|pulls|issues|merge_requests|releases|commit)/\S+"
)
"""A line in which a command says it: what was pushed where, which commit it is, where to look at it."""


class Reached(NamedTuple):
    """A line of the result in a message, what was run ("" where the line says it), how many like it came before."""

    text: str
    message: int
    by: str
    before: int = 0


def reached(done: Sequence[Deed]) -> tuple[Reached, ...]:
    """What came of everything that succeeded, in order."""
    found: dict[str, Reached] = {}
    for number, deed in enumerate(done):
        if deed.result is None or deed.verdict != "ok" or deed.failed or not reaches(deed):
            continue
        line, kind = _line(deed), _kind(deed)
        if not line:
            continue
        key = f"{number} {kind}" if _EACH.search(kind) else kind
        like = found.pop(key, None)
        by = "" if _ITSELF.match(line) else tried(deed)
        found[key] = Reached(line, deed.answer, by, like.before + 1 if like else 0)
    return tuple(found.values())


def _kind(deed: Deed) -> str:
    """The command without what it is given; the tool's name."""
    command = _COMMANDS.search(deed.command) if deed.command else None
    return " ".join(list(filter(str.isalpha, command[0].split()))[:_ALIKE]) if command else _named(deed)


def _named(deed: Deed) -> str:
    return _CAMEL.sub("_", deed.call.name.rsplit("__", 1)[-1]).lower()


def reaches(deed: Deed) -> bool:
    """It changed, if it succeeded, what is not a file at hand."""
    if deed.command:
        return _COMMANDS.search(deed.command) is not None
    return _VERBS.search(_named(deed)) is not None and not plans(deed.call.name) and not any(call_touches(deed.call))


def came_of(result: ToolResult) -> str:
    """The line that tells what was made, the last one where several do; "" where none does."""
    text = result.text if len(result.text) <= 2 * _LOOK else f"{result.text[:_LOOK]}\n{result.text[-_LOOK:]}"
    if _JSON.match(text):
        first = {found[1]: found[0] for found in reversed(list(_FIELD.finditer(text)))}
        return ", ".join([first[name] for name in _FIELDS if name in first][:_MOST_FIELDS])
    lines = [line.strip() for line in text.splitlines() if line.strip() and not FRAME.match(line)]
    told = next((line for line in reversed(lines) if _TELLS.search(line)), lines[-1] if lines else "")
    return head(told, LONGEST)


def _line(deed: Deed) -> str:
    """What came of a deed. What git says otherwise may be of another command beside it: a log, a status."""
    line = came_of(deed.result) if deed.result else ""
    told = not _kind(deed).startswith("git ") or _TELLS.search(line)
    return line if told else ""
