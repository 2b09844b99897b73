"""Checks that passed: what the agent last ran to judge its work, and whether files were changed since.

    deeds ── checks ──> Check, Check, …    one for each kind, as it ended last

A check is known by its commands without what shortens their output: `make test | tail -5` is `make test`. It passed if
it says so at its end, or if nothing stands behind it that would hide that it did not. What a check that failed said is
in errors_seen.py; here it only ends what was known of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from foldline.core.deeds import Deed, judging
from foldline.core.errors_seen import passes
from foldline.core.text import beginning

LONGEST = 80
"""Characters of a check's name."""
STALE = "before later changes"
"""What is said of a check since which files were changed."""
_REDIRECTS = re.compile(r"\s*\d?[<>]+&?\s?\S*")
_HIDES = re.compile(r"[|;\n]")
"""What may end a command as if all were well: a pipe, another command, an alternative."""


class Check(NamedTuple):
    """A kind of check, the message with its result, whether it passed, and whether files were changed since."""

    name: str
    message: int
    passed: bool
    stale: bool = False


def checks(done: Sequence[Deed]) -> tuple[Check, ...]:
    """How each kind of check ended last, in order."""
    found: dict[str, tuple[Check, int]] = {}
    changes = 0
    for deed in done:
        changes += changes_files(deed)
        name = _name(deed.command)
        if name and deed.result is not None and (deed.failed or deed.verdict == "ok"):
            found.pop(name, None)
            found[name] = Check(name, deed.answer, _passed(deed)), changes
    return tuple(check._replace(stale=before < changes) for check, before in found.values())


def changes_files(deed: Deed) -> bool:
    return any(touch.action in ("edited", "written") for touch in deed.touched)


def _name(command: str) -> str:
    """The commands that judge, without where their output goes; what they were given in quotes is left out."""
    names = (_REDIRECTS.sub("", run).replace("''", "…").strip() for run in judging(command))
    return beginning(" && ".join(names), LONGEST)


def _passed(deed: Deed) -> bool:
    return not deed.failed and (passes(deed) or not _HIDES.search(deed.command.strip()))
