"""Errors that tools reported, and what cured them.

    deeds ── troubles ──> Trouble (the telling line, what was done before it was gone)

A trouble is the telling line of a failed result, of a test with the line that says why. It is cured when the same
command succeeds later; the cure names what was changed in between. Where another check passed since a check failed,
or a rebase ended that had stopped, that is said; of other commands, that they were not tried again. Where a call was
refused, it is what was said then. To look for what is not there is no trouble, nor is a slip with a tool that the agent
made good. Which line tells it is in telling.py.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from foldline.core.deeds import Deed, judges
from foldline.core.ending import says_passed
from foldline.core.telling import LONGEST_LINE, first_line, named_alone, passes, telling_line
from foldline.core.text import beginning
from foldline.core.tools import code_of, reads, searches
from foldline.model import digest

LONGEST_GOAL, LONGEST_KEY = 80, 300
"""Characters of what was tried: enough to be understood, and to be known again."""
LONGEST_PROOF = 32
"""The same of what succeeded later: it was seen before, where it did not."""
_THEN = "&&"
"""Between commands of which each runs only where the one before it succeeded."""
MOST = 24
"""Troubles kept, the newest; those without a cure first."""
LATEST = 200
"""Deeds, the newest, among which a check that passed is sought."""
MOST_FILES = 4
"""Files that a cure names, the last ones changed."""
_REFUSED = re.compile(r"\s*the user doesn't want to\b", re.I)
"""How a client begins when the user refused a call …"""
_REMARK = re.compile(r"the user said:\s*(?=\S)", re.I)
"""… and what it puts before the reason."""
REFUSED = "refused"
"""In place of a cure: nothing failed."""
PERHAPS = "perhaps cured: "
"""How a cure begins that nobody can be sure of."""
LEFT = "not tried again"
"""In place of a cure: it was tried once, and the work went on."""
_PUT_ASIDE = re.compile(r"\bgit (?:stash|checkout|switch|restore|reset)\b")
"""With the changes put aside, a check says nothing of them."""
_STOPPED = re.compile(r"^(?:CONFLICT \(|error: could not apply )", re.M)
"""A rebase stops so in the middle, and is gone on with, perhaps to the next stop …"""
_REBASED = "Successfully rebased and updated "
"""… until it says this."""
FORGOTTEN = "forgotten"
"""In place of a cure: a slip with a tool that is no shell, made good since."""
MOVED_ON = 8
"""Deeds after which what was not tried again is left behind."""


class Trouble(NamedTuple):
    """A quoted error, the message whose result holds it, what was tried, and what was done before it was gone ("" while
    it is not)."""

    text: str
    message: int
    tried: str = ""
    cure: str = ""


class _Open(NamedTuple):
    deed: Deed
    changes: int
    """Files that had been changed when it was last seen."""
    acts: int
    """Deeds up to it that did not only look."""
    stops: bool
    """It is a rebase that stopped."""


def troubles(done: Sequence[Deed]) -> tuple[Trouble, ...]:
    """The errors in what was done, newest last, uncured ones kept before cured ones where there are too many."""
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
                cured += [_told(item)._replace(cure=f"{PERHAPS}the rebase ended well") for item in over]
            changed += [touch.path for touch in deed.touched if touch.action in ("edited", "written")]
    failed = any(judges(item.deed.command) for item in waiting.values())
    passed = next(filter(_passes, reversed(done[-LATEST:])), None) if failed else None
    left = [_since(item, passed, acts, done[-LATEST:] if failed else ()) for item in waiting.values()]
    open_ = [*(trouble for trouble in left if not trouble.cure), *refused]
    cured += [trouble for trouble in left if trouble.cure]
    in_order = attrgetter("message")
    return _kept(sorted(open_, key=in_order), sorted(cured, key=in_order))


def _passes(deed: Deed) -> bool:
    """A check that says that all is well, of the work as it is."""
    return _counts(deed) and deed.result is not None and says_passed(deed.result)


def _counts(deed: Deed) -> bool:
    """A check that did not fail, with no changes put aside."""
    return not deed.failed and judges(deed.command) and not _PUT_ASIDE.search(deed.command)


def _since(item: _Open, passed: Deed | None, acts: int, done: Sequence[Deed]) -> Trouble:
    """An error of something that was not tried again with success; for a check, the one that passed since, if any."""
    told = _told(item)
    if not judges(item.deed.command):
        return told._replace(cure=LEFT) if acts - item.acts > MOVED_ON else told
    alone = named_alone(item.deed.result) if item.deed.result else ""
    again = next((deed for deed in reversed(done) if alone and _passes_test(deed, alone, item.deed.at)), None)
    if again is not None:
        return told._replace(cure=f"{PERHAPS}it passed later in {_proof(again)}")
    if passed is None or passed.at <= item.deed.at:
        return told
    return told._replace(cure=f"{PERHAPS}{_proof(passed)} passed later")


def _passes_test(deed: Deed, name: str, after: int) -> bool:
    """It says of that test that it passed: another of that name may stand elsewhere."""
    return deed.at > after and _counts(deed) and deed.result is not None and passes(deed.result, name)


def _looks(deed: Deed) -> bool:
    """It reads a file or searches: that something is not there is an answer."""
    return reads(deed.call) or searches(deed.call)


def _kept(uncured: Sequence[Trouble], cured: Sequence[Trouble]) -> tuple[Trouble, ...]:
    most_urgent = [trouble for trouble in (*reversed(uncured), *reversed(cured)) if trouble.text][:MOST]
    return tuple(sorted(most_urgent, key=lambda trouble: trouble.message))


def _told(item: _Open) -> Trouble:
    result, ran = item.deed.result, item.deed.command or code_of(item.deed.call)
    line = "" if result is None else telling_line(result) if ran else first_line(result)
    return Trouble(line, item.deed.answer, tried(item.deed))


def is_refused(deed: Deed) -> bool:
    """The user did not let it be done. That the call failed is for the client to say: any tool may write such words."""
    return deed.result is not None and deed.result.is_error and _REFUSED.match(deed.result.text) is not None


def is_remark(words: str) -> bool:
    """More was said than that a call is refused."""
    return not _REFUSED.match(words)


def _refused(deed: Deed) -> Trouble:
    """What was said when a call was refused; a later one that succeeds does not take that back."""
    text = deed.result.text if deed.result else ""
    told = _REMARK.search(text)
    words = text[told.end() :].strip() if told else text.strip().partition(".")[0]
    return Trouble(beginning(words.partition("\n")[0], LONGEST_LINE), deed.answer, tried(deed), REFUSED)


def is_open(cure: str) -> bool:
    """It is not known to be cured."""
    return cure in ("", LEFT) or cure.startswith(PERHAPS)


class Since(NamedTuple):
    """What was tried since an error was seen, what of it with success, and how often something was done."""

    tried: frozenset[str]
    succeeded: frozenset[str]
    acts: int

    def cure(self, known: str, what: str) -> str:
        """The cure of an error that came when `what` was tried, known so far by `known`; "" where nothing changes."""
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
    """What was to be done, by which it is known again: a command stands in ticks."""
    goal = " ".join((deed.command or deed.goal).split())
    if len(goal) > LONGEST_KEY:  # by its beginning, and a hash of all of it
        goal = f"{beginning(goal, LONGEST_KEY)} {digest(goal.encode('utf-8', 'surrogatepass'))[:16]}"
    return f"`{goal}`" if deed.command else goal


def brief(what: str, length: int = LONGEST_GOAL) -> str:
    """The same in a few words; a file by its last names."""
    if what.startswith("`"):
        return f"`{beginning(what[1:-1], length)}`"
    tool, *files = what.split(" ")
    named = (tool, *("/".join(path.split("/")[-2:]) if path.startswith("/") else path for path in files))
    return beginning(" ".join(named), LONGEST_GOAL)


def _proof(deed: Deed) -> str:
    """A check in a few words: of several in a row the last, for what proves most stands there."""
    what = tried(deed)
    last = what.strip("`").rpartition(_THEN)[2].strip()
    long = what.startswith("`") and len(what) > LONGEST_PROOF and _THEN in what
    return f"`… {_THEN} {beginning(last, LONGEST_PROOF)}`" if long and last else brief(what, LONGEST_PROOF)


def _healed(item: _Open, changed: Sequence[str]) -> Trouble:
    files = list(dict.fromkeys(map(posixpath.basename, changed[item.changes :])))[-MOST_FILES:]
    how = f"after changes to {', '.join(files)}" if files else "on a later try"
    told = _told(item)
    return told._replace(cure=f"{brief(told.tried, LONGEST_PROOF)} succeeded {how}")
