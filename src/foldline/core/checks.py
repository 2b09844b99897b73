"""Checks that passed: what the agent last ran to judge its work, and whether files were changed since.

    deeds ── checks ──> Check, Check, …    one for each kind, as it ended last

What a check is, and when it passed, is in errors_seen.py, and so is what one said that failed; here that only ends what
was known of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from foldline.core.deeds import Deed, judging
from foldline.core.errors_seen import kind_of, passed
from foldline.core.text import beginning

LONGEST = 80
"""Characters of a check's name."""
STALE = "before later changes"
"""What is said of a check since which files were changed."""


class Check(NamedTuple):
    """A check, the message with its result, whether it passed, and whether files were changed since. Of one kind only
    the last counts."""

    name: str
    kind: str
    message: int
    passed: bool
    stale: bool = False


def checks(done: Sequence[Deed]) -> tuple[Check, ...]:
    """How each kind of check ended last, in order."""
    found: dict[str, tuple[Check, int]] = {}
    changes = 0
    for deed in done:
        changes += changes_files(deed)
        kind = kind_of(deed.command)
        if kind and deed.result is not None and (deed.failed or deed.verdict == "ok"):
            found.pop(kind, None)
            name = beginning(" && ".join(judging(deed.command)), LONGEST)
            found[kind] = Check(name, kind, deed.answer, passed(deed)), changes
    return tuple(check._replace(stale=before < changes) for check, before in found.values())


def changes_files(deed: Deed) -> bool:
    return any(touch.action in ("edited", "written") for touch in deed.touched)
