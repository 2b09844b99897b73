"""Deeds that reach beyond the files at hand: commits, pushes, issues, messages. And what came of each.

    deeds ── reached ──> Reached (the line that tells what was made, what made it)

What was written to a file can be looked up there. That an issue was opened, and which one, only the tool's answer says:
an agent that does not know it opens another. Commits and things that were created are listed one by one; of the rest,
such as pushes and replies, only the last of each kind. How checks end is in ending.py, what went wrong in telling.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from foldline.core.words.masks import begun, ends_of
from foldline.core.words.text import head
from foldline.core.work.deeds import FRAME, Deed
from foldline.core.work.errors_seen import tried
from foldline.core.work.plans import plans
from foldline.core.work.shellwords import runs
from foldline.core.work.tools import call_touches
from foldline.model import ToolResult

LONGEST = 200
"""Characters of the line that is kept."""
_LOOK = 4_000
"""Characters at either end of a result in which that line is sought."""
_MOST_FIELDS = 2
_COMMANDS = re.compile(
    r"git (?:-\S+ (?:\S+ )?)?(?:push|commit|merge(?!-)|rebase|cherry-pick|revert|tag|reset)\b"
    r"|(?:gh|glab) (?:pr|mr|issue|release|repo|label|workflow|run) (?:create|merge|close|comment|edit|review|reopen|"
    r"ready|delete|run|rerun|note)\b"
    r"|(?:gh|glab) api\b.{0,400}?\s(?:-f|-F|-X|--field|--method|--raw-field)\b"
    r"|curl\b.{0,400}?\s(?:-X ?(?:POST|PUT|PATCH|DELETE)|-d|--data\S*)\b"
    r"|(?:npm|yarn|pnpm|cargo|poetry|uv|twine|gem) (?:publish|upload|push)\b"
    r"|(?:docker|podman) (?:push|compose up)\b|(?:kubectl|helm|terraform|pulumi|flyctl|vercel|wrangler) "
    r"(?:apply|delete|rollout|install|upgrade|destroy|up|deploy)\b",
    re.S,
)
"""Commands that change what others see."""
_ONLY_SHOWS = re.compile(r"--dry-run\b|^git tag(?:$| (?:-l|--list|-n)\b)")
"""Signs that such a command only shows what it would do, or what is there."""
_PROGRAMS = re.compile(
    r"\b(?:git|gh|glab|curl|npm|yarn|pnpm|cargo|poetry|uv|twine|gem|docker|podman|kubectl|helm|terraform|pulumi|flyctl|"
    r"vercel|wrangler)\b"
)
"""Programs of these commands: a command that names none of them need not be split."""
_VERBS = re.compile(
    r"(?:^|_)(?:create|update|delete|remove|send|post|publish|merge|reply|comment|close|reopen|assign|upload|deploy|"
    r"submit|add|save|schedule|cancel|approve|invite|transition|resolve_(?:issue|thread|comment|incident|alert))(?:_|$)"
)
"""Verbs in the names of tools that change what others see."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]+")
_EACH = re.compile(r"\b(?:commit|create|merge|release|publish|deploy)\b|(?:^|_)create(?:_|$)")
"""Deeds that are all listed, not only the last of their kind."""
_ALIKE = 3
"""Words that make the kind of any other command: `gh pr comment`."""
_COMMITS = re.compile(r"^git .*\b(?:commit|merge|cherry-pick|revert|rebase)\b")
_MOST_COMMITS = 4
"""Lines of one result that are kept as commits at most."""
_ITSELF = re.compile(r"\[[^\]]{1,160} [0-9a-f]{7,40}\] ")
"""A line that is understood without its command beside it."""
_JSON = re.compile(r'\s*(?:\{|\[\s*[{\["\]])')
_FIELDS = ("identifier", "key", "number", "id", "url", "permalink", "status", "state", "message")
"""Fields that name what was made in an answer in JSON, the surest first."""
_FIELD = re.compile(rf'"({"|".join(_FIELDS)})"[ \t]*:[ \t]*("(?:[^"\\\n]|\\.){{1,120}}"|\d{{1,20}})')
"""Such a field with its value."""
_TELLS = re.compile(
    r"^\s*[*+!]?\s*(?:[0-9a-f]{7,40}\.\.\.?[0-9a-f]{7,40}|\[(?:new|deleted|forced|rejected)[^\]]{0,40}\])\s.*->"
    r"|^\[[\w/. ()-]{1,80} [0-9a-f]{7,40}\]"
    r"|^Everything up-to-date|^Successfully |^HEAD is now at |^(?:CONFLICT|Fast-forward)"
    r"|https?://\S+/(?:pull|pulls|issues|merge_requests|releases|commit)/\S+"
)
"""A line in which a command says what came of it: what was pushed where, which commit it is, where to look."""


class Reached(NamedTuple):
    """A line of a result, the message that holds it, and what was run ("" where the line says it). Of one `kind`
    only the last deed counts; those without a kind all count."""

    text: str
    message: int
    by: str
    kind: str = ""


def reached(done: Sequence[Deed]) -> tuple[Reached, ...]:
    """What came of everything that succeeded, in order."""
    found: dict[str, Reached] = {}
    for number, deed in enumerate(done):
        if deed.result is None or deed.verdict != "ok" or not reaches(deed):
            continue
        by, kind, made, commits = tried(deed), _kind(deed), came_of(deed.result), _commits(deed)
        for line in commits:
            found[f"{number} {line}"] = Reached(line, deed.answer, "" if _is_git(deed, alone=True) else by)
        told = _TELLS.search(made) or not (deed.failed or _is_git(deed))
        if made and told and made not in commits:
            key = kind or f"{number}"
            found.pop(key, None)
            found[key] = Reached(made, deed.answer, by, kind)
    return tuple(found.values())


def _kind(deed: Deed) -> str:
    """The tool's name, or the first words of the last command; "" if any of the commands is to be listed each time."""
    matches = _matches(deed.command) if deed.command else [_named(deed.call.name)]
    if any(map(_EACH.search, matches)):
        return ""
    return " ".join([word for word in matches[-1].split() if word.replace("_", "").isalpha()][:_ALIKE])


def _matches(command: str) -> list[str]:
    """The parts of a command that reach beyond the files at hand."""
    if not _PROGRAMS.search(command):  # most have no such word, and need not be split
        return []
    found = ((run, _COMMANDS.match(run)) for run in runs(command))
    return [match[0] for run, match in found if match and not _ONLY_SHOWS.search(run)]


def _is_git(deed: Deed, *, alone: bool = False) -> bool:
    """Some part of the command is git's; with `alone`, every part is, so that the output can only be git's own."""
    if alone:
        return all(run.startswith(("git ", "cd ", "''")) for run in runs(deed.command))
    return any(match.startswith("git ") for match in _matches(deed.command))


def _commits(deed: Deed) -> list[str]:
    commits = any(map(_COMMITS.search, _matches(deed.command)))
    lines = begun(deed.result.text, _LOOK).splitlines() if deed.result and commits else ()
    return [head(line.strip(), LONGEST) for line in lines if _ITSELF.match(line)][:_MOST_COMMITS]


def _named(name: str) -> str:
    return _CAMEL.sub("_", name.rsplit("__", 1)[-1]).lower()


def reaches(deed: Deed) -> bool:
    """If it succeeded, it changed something other than a file at hand."""
    if deed.command:
        return bool(_matches(deed.command))
    is_named = _VERBS.search(_named(deed.call.name)) is not None
    return is_named and not plans(deed.call.name) and not any(call_touches(deed.call))


def came_of(result: ToolResult) -> str:
    """The line that says what was made, the last one if there are several; else the last line, or ""."""
    text = ends_of(result.text, _LOOK)
    if _JSON.match(text):
        first = {found[1]: found[0] for found in reversed(list(_FIELD.finditer(text)))}
        return ", ".join([first[name] for name in _FIELDS if name in first][:_MOST_FIELDS])
    lines = [line.strip() for line in text.splitlines() if line.strip() and not FRAME.match(line)]
    told = next((line for line in reversed(lines) if _TELLS.search(line)), lines[-1] if lines else "")
    return head(told, LONGEST)
