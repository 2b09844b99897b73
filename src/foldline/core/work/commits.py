"""Commits: whether the agent put its work into a repository, as far as the answers tell.

    deed ── commit_of ──> "sure", "open" (it may have committed), None (it did not)

Sure only where git says so itself, or where a quiet commit can have ended no other way. A command that may have
committed, or that takes changes back, leaves open what is committed: nothing is said until the next sure commit.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from foldline.core.work.deeds import Deed
from foldline.core.work.shellwords import runs

Commit: TypeAlias = Literal["sure", "open"]
"""The agent's changes up to here are committed; or nobody can tell whether they are."""

_SAYS_SO = re.compile(r"^[ \t]{0,4}\[[^\[\]\n]{1,160} [0-9a-f]{7,40}\] ", re.M)
"""How git reports a commit: `[main 1a2b3c4] What was done`."""
_LOOK = 20_000
"""Characters of an answer in which such a report is sought."""
_COMMITTING = re.compile(r"\b(?:commit|merge|cherry-pick|revert|rebase|am)\b")
"""The git commands that print such a report."""
_CHANGES = re.compile(
    r"(?:\S*/)?git (?:-\S+ (?:[^\s-]\S* )?){0,6}"
    r"(?:(?:commit|cherry-pick|revert|rebase|am|reset|restore|stash)(?![\w-])|checkout (?:.* )?(?:--|\.)(?:\s|$))"
)
"""A command that commits, or takes back what was changed or committed."""
_QUIET = re.compile(r"\s(?:-[a-pr-z]*q[a-z]*|--quiet)(?:\s|$)")
_ELSEWHERE = re.compile(r"\bgit (?:init|clone)\b")
"""Another repository is being made, so what is committed then is not the work."""


def commit_of(deed: Deed) -> Commit | None:
    """Whether the deed's changes, and all before them, are committed; None where the deed neither commits anything nor
    takes it back."""
    if not deed.command:
        return "open" if "commit" in deed.call.name.lower() else None
    if "git" not in deed.command or _ELSEWHERE.search(deed.command):  # as in most commands
        return None
    text = deed.result.text[:_LOOK] if deed.result else ""
    said = _COMMITTING.search(deed.command) is not None and _SAYS_SO.search(text) is not None
    changes = any(touch.action != "read" for touch in deed.touched)
    if said:
        return "open" if changes else "sure"  # what else the command changed may have come before or after
    found = [run for run in runs(deed.command) if _CHANGES.match(run)]
    if not found:
        return None
    quiet = [run for run in found if _COMMITTING.search(run) and _QUIET.search(run)]
    if deed.failed and not quiet:
        return None
    return "sure" if quiet == found and not changes and _is_sure(deed) else "open"


def _is_sure(deed: Deed) -> bool:
    """It succeeded, and nothing in the command can hide that a part of it did not."""
    joined = deed.command.strip().replace("&&", " ")
    return deed.verdict == "ok" and not deed.failed and not any(sign in joined for sign in "|;&\n")
