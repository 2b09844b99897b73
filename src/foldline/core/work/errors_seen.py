"""Errors that tools reported, and what cured them.

    deeds ── troubles ──> Trouble (the telling line, what was done before it was gone)

A trouble is the telling line of a failed result; for a test, with the line that says why. It is cured when the same
command succeeds later, and the cure names what was changed in between. Where another check passed since a check failed,
or a rebase that had stopped came to its end, the cure says "perhaps"; other commands are said not to have been tried
again. For a call that the user refused, the trouble is what the user said. It is no trouble to look for what is not
there, nor to slip with a tool and make it good. Which line tells a trouble is decided in telling.py.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from foldline.core.words.masks import masked
from foldline.core.words.text import beginning
from foldline.core.work.deeds import Deed, judges
from foldline.core.work.ending import says_passed
from foldline.core.work.telling import LONGEST_LINE, first_line, named_alone, passes, telling_line
from foldline.core.work.tools import code_of, reads, searches
from foldline.model import digest

LONGEST_GOAL, LONGEST_KEY = 80, 300
"""Characters of what was tried: enough to be understood, and enough to be recognised."""
LONGEST_PROOF = 32
"""Characters of what succeeded later: it is short, since what failed is named in full before."""
_THEN = "&&"
"""Joins commands of which each runs only if the one before it succeeded."""
MOST = 24
"""Troubles that are kept: the newest, and those without a cure first."""
LATEST = 200
"""The newest deeds, among which a check that passed is sought."""
MOST_FILES = 4
"""Files that a cure names at most: the last ones changed."""
_REFUSED = re.compile(r"\s*the user doesn't want to\b", re.I)
"""How a client's message begins when the user refused a call."""
_REMARK = re.compile(r"the user said:\s*(?=\S)", re.I)
"""What the client puts before the user's reason."""
REFUSED = "refused"
"""Stands in place of a cure for a call that the user refused: nothing failed."""
PERHAPS = "perhaps cured: "
"""How a cure begins that is not certain."""
LEFT = "not tried again"
"""Stands in place of a cure for what was tried once and left behind as the work went on."""
_PUT_ASIDE = re.compile(r"\bgit (?:stash|checkout|switch|restore|reset)\b")
"""Commands that put the changes aside: a check that runs then says nothing about them."""
_STOPPED = re.compile(r"^(?:CONFLICT \(|error: could not apply )", re.M)
"""How a rebase says that it stopped in the middle. It is then continued, perhaps to the next stop."""
_REBASED = "Successfully rebased and updated "
"""How a rebase says that it came to its end."""
FORGOTTEN = "forgotten"
"""Stands in place of a cure for a slip with a tool other than the shell that was made good since."""
MOVED_ON = 8
"""Deeds after which something that was not tried again counts as left behind."""


class Trouble(NamedTuple):
    """A quoted error, the message whose result holds it, what was tried, and its cure ("" while it has none)."""

    text: str
    message: int
    tried: str = ""
    cure: str = ""


class _Open(NamedTuple):
    deed: Deed
    changes: int
    """How many changes to files had been made when it was last seen."""
    acts: int
    """How many deeds up to it did more than look."""
    stops: bool
    """It is a rebase that stopped."""


def troubles(done: Sequence[Deed]) -> tuple[Trouble, ...]:
    """The errors in what was done, oldest first. Where there are too many, those without a cure are kept before
    cured ones."""
    waiting: dict[str, _Open] = {}
    cured: list[Trouble] = []
    refused: list[Trouble] = []
    changed: list[str] = []
    acts = 0
    for deed in done:
        goal = deed.goal
        acts += not _looks(deed)
        if is_refused(deed):
            refused.append(_refused(deed))
        elif deed.result is not None and deed.failed and not _looks(deed):
            waiting.pop(goal, None)
            waiting[goal] = _Open(deed, len(changed), acts, _STOPPED.search(deed.result.text) is not None)
        elif deed.verdict == "ok":
            if goal in waiting:
                healed = _healed(waiting.pop(goal), changed)
                cured += [healed] if deed.command else []
            if deed.result is not None and _REBASED in deed.result.text:
                over = [waiting.pop(stop) for stop in [goal for goal, item in waiting.items() if item.stops]]
                cured += [_trouble_of(item)._replace(cure=f"{PERHAPS}the rebase ended well") for item in over]
            changed += [touch.path for touch in deed.touched if touch.action in ("edited", "written")]
    failed = any(judges(item.deed.command) for item in waiting.values())
    passed = next(filter(_passes, reversed(done[-LATEST:])), None) if failed else None
    left = [_since(item, passed, acts, done[-LATEST:] if failed else ()) for item in waiting.values()]
    open_ = [*(trouble for trouble in left if not trouble.cure), *refused]
    cured += [trouble for trouble in left if trouble.cure]
    in_order = attrgetter("message")
    return _kept(sorted(open_, key=in_order), sorted(cured, key=in_order))


def _passes(deed: Deed) -> bool:
    """A check that says that all is well with the work as it is."""
    return _counts(deed) and deed.result is not None and says_passed(deed.result)


def _counts(deed: Deed) -> bool:
    """A check that did not fail, with no changes put aside."""
    return not deed.failed and judges(deed.command) and not _PUT_ASIDE.search(deed.command)


def _since(item: _Open, passed: Deed | None, acts: int, done: Sequence[Deed]) -> Trouble:
    """The error of something that has not succeeded since; for a check, with the check that passed since, if any."""
    trouble = _trouble_of(item)
    if not judges(item.deed.command):
        return trouble._replace(cure=LEFT) if acts - item.acts > MOVED_ON else trouble
    alone = named_alone(item.deed.result) if item.deed.result else ""
    again = next((deed for deed in reversed(done) if alone and _passes_test(deed, alone, item.deed.at)), None)
    if again is not None:
        return trouble._replace(cure=f"{PERHAPS}it passed later in {_proof(again)}")
    if passed is None or passed.at <= item.deed.at:
        return trouble
    return trouble._replace(cure=f"{PERHAPS}{_proof(passed)} passed later")


def _passes_test(deed: Deed, name: str, after: int) -> bool:
    """The deed says that this very test passed. It must have come later: another test of that name may stand
    elsewhere."""
    return deed.at > after and _counts(deed) and deed.result is not None and passes(deed.result, name)


def _looks(deed: Deed) -> bool:
    """The deed reads a file or searches: not to find something is an answer, and no error."""
    return reads(deed.call) or searches(deed.call)


def _kept(uncured: Sequence[Trouble], cured: Sequence[Trouble]) -> tuple[Trouble, ...]:
    most_urgent = [trouble for trouble in (*reversed(uncured), *reversed(cured)) if trouble.text][:MOST]
    return tuple(sorted(most_urgent, key=lambda trouble: trouble.message))


def _trouble_of(item: _Open) -> Trouble:
    result, ran = item.deed.result, item.deed.command or code_of(item.deed.call)
    line = "" if result is None else telling_line(result) if ran else first_line(result)
    return Trouble(line, item.deed.answer, tried(item.deed))


def is_refused(deed: Deed) -> bool:
    """The user refused the call. The client must say that the call failed: any tool may print such words."""
    return deed.result is not None and deed.result.is_error and _REFUSED.match(deed.result.text) is not None


def is_remark(words: str) -> bool:
    """The user said more than that the call is refused."""
    return not _REFUSED.match(words)


def _refused(deed: Deed) -> Trouble:
    """What the user said when refusing a call. A later call that succeeds does not take that back."""
    text = deed.result.text if deed.result else ""
    trouble = _REMARK.search(text)
    words = text[trouble.end() :].strip() if trouble else text.strip().partition(".")[0]
    return Trouble(beginning(words.partition("\n")[0], LONGEST_LINE), deed.answer, tried(deed), REFUSED)


def is_open(cure: str) -> bool:
    """The error is not known to be cured."""
    return cure in ("", LEFT) or cure.startswith(PERHAPS)


class Since(NamedTuple):
    """What was tried since an error was seen, what of it succeeded, and how many deeds did more than look."""

    tried: frozenset[str]
    succeeded: frozenset[str]
    acts: int

    def cure(self, known: str, what: str) -> str:
        """The new cure of an error that came when `what` was tried and whose cure so far is `known`; "" where
        nothing changes."""
        if not is_open(known):
            return ""
        if what in self.succeeded:
            return f"{brief(what, LONGEST_PROOF)} succeeded later" if what.startswith("`") else FORGOTTEN
        moved_on = what and what not in self.tried and self.acts > MOVED_ON
        return LEFT if moved_on and not known and not judges(what.strip("`")) else ""


def since(done: Sequence[Deed]) -> Since:
    last = {tried(deed): deed for deed in done}
    succeeded = frozenset(what for what, deed in last.items() if deed.verdict == "ok" and not deed.failed)
    return Since(frozenset(last), succeeded, sum(not _looks(deed) for deed in done))


def tried(deed: Deed) -> str:
    """What was tried, as a key by which it is recognised: a command stands in ticks."""
    goal = " ".join((deed.command or deed.goal).split())
    if len(goal) > LONGEST_KEY:  # its beginning, and a hash of the whole
        goal = f"{beginning(goal, LONGEST_KEY)} {digest(goal.encode('utf-8', 'surrogatepass'))[:16]}"
    return f"`{goal}`" if deed.command else goal


def brief(what: str, length: int = LONGEST_GOAL) -> str:
    """What was tried in a few words, without secrets; a file by its last two names."""
    what = masked(what)
    if what.startswith("`"):
        return f"`{beginning(what[1:-1], length)}`"
    tool, *files = what.split(" ")
    named = (tool, *("/".join(path.split("/")[-2:]) if path.startswith("/") else path for path in files))
    return beginning(" ".join(named), LONGEST_GOAL)


def _proof(deed: Deed) -> str:
    """A check in a few words. Of several commands joined by `&&` the last is shown: the check itself mostly stands
    there."""
    what = masked(tried(deed))
    last = what.strip("`").rpartition(_THEN)[2].strip()
    long = what.startswith("`") and len(what) > LONGEST_PROOF and _THEN in what
    return f"`… {_THEN} {beginning(last, LONGEST_PROOF)}`" if long and last else brief(what, LONGEST_PROOF)


def _healed(item: _Open, changed: Sequence[str]) -> Trouble:
    files = list(dict.fromkeys(map(posixpath.basename, changed[item.changes :])))[-MOST_FILES:]
    how = f"after changes to {', '.join(files)}" if files else "on a later try"
    trouble = _trouble_of(item)
    return trouble._replace(cure=f"{brief(trouble.tried, LONGEST_PROOF)} succeeded {how}")
