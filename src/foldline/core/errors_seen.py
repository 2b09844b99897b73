"""Errors that tools reported, and what cured them.

    deeds ── troubles ──> Trouble (the telling line, what was done before it was gone)

A trouble is the telling line of a failed result, of a test with the line that says why. It is cured when the same
command succeeds later; the cure names what was changed in between. Where another check passed since a check failed,
that is said; of other commands, that they were not tried again. Where a call was refused, it is what was said then. To
look for what is not there is no trouble, nor is a slip with a tool that the agent made good. Lines stand as they were.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from operator import attrgetter
from typing import NamedTuple

from foldline.core.deeds import FRAME, Deed, judges
from foldline.core.text import beginning, head
from foldline.core.tools import reads, searches
from foldline.model import ToolResult, digest

LONGEST_LINE = 300
"""Characters of an error line that are kept: longer ones carry dumps."""
SHORTEST_LINE = 8
"""A telling line has more characters than this: "FAIL" says nothing by itself."""
LONGEST_GOAL, LONGEST_KEY = 80, 300
"""Characters of what was tried: enough to be understood, and to be known again."""
LONGEST_PROOF = 32
"""The same of what succeeded later: it was seen before, where it did not."""
MOST = 24
"""Troubles kept, the newest; those without a cure first."""
LATEST = 200
"""Deeds, the newest, among which a check that passed is sought."""
NEXT_LINE = " ⏎ "
"""Between two lines that are shown as one."""
MOST_FILES = 4
"""Files that a cure names, the last ones changed."""
_TELLING = re.compile(
    r"(?:E[ \t]{2,}\S|FAILED[ \t]|ERROR\b|error(?:\[\w{1,20}\])?:|\S{0,200}(?:Error|Exception|Failure)\b[^\n]{0,20}:|"
    r"fatal:|panic:|npm ERR!|[ \t]{0,40}--- FAIL|thread '[^'\n]{1,60}' panicked)"
)
_LOCATED = re.compile(
    r"(?:\[[\w:./-]{1,40}\][ \t]{1,4})?[ \t]{0,40}[^\s:()`'\"]{1,200}\.\w{1,8}(?::\d|\(\d)[\d:,)]{0,16}"
    r"[ \t]{1,4}[^\s:#]"
)
"""A place in a file and what is wrong there, perhaps behind the name of the task that found it."""
_TEST = re.compile(r"[ \t]{0,40}--- FAIL: |FAILED[ \t]\S+::")
"""A line that names a test, …"""
_NAMED = re.compile(r"(?:--- FAIL: |FAILED[ \t])(?P<name>\S{3,200})")
"""… by which it is known again, …"""
_BECAUSE = " - "
"""… perhaps with the reason behind this, …"""
_REASONS = re.compile(
    r"\b(?:got|want(?:ed)?|expect(?:ed|s)?|should|must|assert\w*|not equal|mismatch|nil|null)\b", re.I
)
"""… and words of the one that says why it failed."""
_PANICS = re.compile(r"panic: ")
_PARTS = re.compile(r"[ \t]{0,40}(?:(?:---|FAIL|FAILED|PASS|ok)[ \t:]|={3})|FAIL$|PASS$")
"""A line with which another test begins, or all of them end."""
_ASSERTED = re.compile(r"[ \t]+(?P<what>Error|Messages):[ \t]+\S[^\n]*")
OF_AN_ASSERTION = 12
"""Lines in which an assertion says what is wrong."""
_BLOCK = re.compile(r"=== (?:RUN|NAME|CONT)[ \t]+(?P<name>\S+)")
"""A line behind which a test speaks that tells what it does."""
OF_A_TEST, BESIDE_TEST, OF_TESTS = 80, 6, 400
"""Lines below a test's name, or above it, in which that is sought; and in which tests run side by side have spoken."""
_SUMMING = re.compile(r"FAIL\b")
"""A line that says of a whole package that something in it failed: told where no other line tells more."""
_HINTING = re.compile(
    r"\b(?:error|failed|failure|cannot|can't|could not|unable|not found|no such|denied|refused|undefined|unknown|"
    r"invalid|missing|conflict|expected|unexpected|aborted|timed out)\b",
    re.I,
)
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
FORGOTTEN = "forgotten"
"""In place of a cure: a slip with a tool that is no shell, made good since."""
MOVED_ON = 8
"""Deeds after which what was not tried again is left behind."""
_WRAPPED = re.compile(r"</?tool_use_error>")
"""What Claude Code puts around what a tool of its own says."""
_SILENT = re.compile(
    r"\s*(?:[(\[<]?(?:\w+ completed with )?no (?:output|content|matches found)[)\]>]?\.?"
    r"|command exited with (?:exit )?code \d+"
    r"|(?:<tool_use_error>)?sibling tool call errored(?:</tool_use_error>)?)\s*$",
    re.I,
)
"""A line that says only that there is nothing to say, or that the command failed, or another one beside it."""
_ENDED = re.compile(
    r"\b\d{1,6} (?:passed|failed|failures?|errors?|warnings?|problems?|issues?|tests?|specs?|files? changed)\b"
    r"|^(?:ok|OK|PASS|Success|BUILD)\b|^\[[\w/.-]{1,80} [0-9a-f]{7,40}\]"
    r"|\b(?:up to date|successfully|succeeded|clean)\b"
)
"""A line in which a check, a build or a commit says how it ended."""
_PASSED = re.compile(
    r"\b[1-9]\d{0,5} passed\b|^(?:ok|OK|PASS|Success)(?=[\s:]|$)|\bsucceeded\b"
    r"|\b0 (?:failed|failures?|errors?|problems?|issues?)\b"
)
"""… and in which a check says that it passed."""
_BROKE = re.compile(
    r"error|fail|fatal|panic|killed|fault|interrupt|\bnot (?:ok|met|succeeded)\b|would (?:be )?reformat|did not run|"
    r"\b0 passed",
    re.I,
)
"""… or that something is wrong: so no line near its end may, …"""
_NONE = re.compile(
    r"\b(?:0|no) (?:failed|failing|failures?|errors?|problems?|issues?)\b|\b(?:failed|failures|errors): 0\b", re.I
)
"""… but for one that says that nothing is."""
_ALL_WELL = re.compile(r"ok[ \t]+\S+[ \t]+(?:\d[\d.]*m?s|\(cached\))")
"""The last line of a check that prints it only when nothing failed: places that its log names are no faults then."""
_ENDS = 600
"""Characters at the end of an output in which that is sought."""
_LOOK = 20_000
"""Characters at either end of a result that are searched."""


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
            waiting[goal] = _Open(deed, len(changed), acts)
        elif deed.verdict == "ok":
            if goal in waiting:
                healed = _healed(waiting.pop(goal), changed)
                cured += [healed] if deed.command else []
            changed += [touch.path for touch in deed.touched if touch.action in ("edited", "written")]
    failed = any(judges(item.deed.command) for item in waiting.values())
    passed = next(filter(_passes, reversed(done[-LATEST:])), None) if failed else None
    left = [_since(item, passed, acts, done[-LATEST:] if failed else ()) for item in waiting.values()]
    open_ = [*(trouble for trouble in left if not trouble.cure), *refused]
    cured += [trouble for trouble in left if trouble.cure]
    in_order = attrgetter("message")
    return _kept(sorted(open_, key=in_order), sorted(cured, key=in_order))


def _passes(deed: Deed) -> bool:
    """A check that says at its end that all is well."""
    if deed.result is None or deed.failed or not judges(deed.command):
        return False
    lines = deed.result.text[-_ENDS:].rstrip().splitlines()
    well = bool(lines) and _ALL_WELL.match(lines[-1]) is not None
    ill = (_BROKE.search(_NONE.sub("", line)) or (not well and _LOCATED.match(line)) for line in lines)
    return any(map(_PASSED.search, lines)) and not any(ill)


def _since(item: _Open, passed: Deed | None, acts: int, done: Sequence[Deed]) -> Trouble:
    """An error of something that was not tried again with success; for a check, the one that passed since, if any."""
    told = _told(item)
    if not judges(item.deed.command):
        return told._replace(cure=LEFT) if acts - item.acts > MOVED_ON else told
    test = _NAMED.match(told.text)
    again = (
        next((deed for deed in reversed(done) if _passes_test(deed, test["name"], item.deed.at)), None)
        if test
        else None
    )
    if again is not None:
        return told._replace(cure=f"it passed later in {brief(tried(again), LONGEST_PROOF)}")
    if passed is None or passed.at <= item.deed.at:
        return told
    return told._replace(cure=f"{PERHAPS}{brief(tried(passed), LONGEST_PROOF)} passed later")


def _passes_test(deed: Deed, name: str, after: int) -> bool:
    """It says of that test that it passed."""
    if deed.at <= after or deed.result is None or not judges(deed.command):
        return False
    text = deed.result.text
    return f"--- PASS: {name} (" in text or f"{name} PASSED" in text


def _looks(deed: Deed) -> bool:
    """It reads a file or searches: that something is not there is an answer."""
    return reads(deed.call) or searches(deed.call)


def _kept(uncured: Sequence[Trouble], cured: Sequence[Trouble]) -> tuple[Trouble, ...]:
    most_urgent = [trouble for trouble in (*reversed(uncured), *reversed(cured)) if trouble.text][:MOST]
    return tuple(sorted(most_urgent, key=lambda trouble: trouble.message))


def _told(item: _Open) -> Trouble:
    result = item.deed.result
    line = "" if result is None else telling_line(result) if item.deed.command else _first_line(result)
    return Trouble(line, item.deed.answer, tried(item.deed))


def _first_line(result: ToolResult) -> str:
    """What a tool that is no shell says first; behind it stands what it was given."""
    text = _WRAPPED.sub("", head(result.text, _LOOK))
    return head(next((line.strip() for line in text.splitlines() if _is_told(line)), ""), LONGEST_LINE)


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


def telling_line(result: ToolResult) -> str:
    """The line that says what went wrong: the last that names a test, else the last telling one, else the first that
    names a place, else the last that hints at it, else the first. To a test belongs the line with the reason."""
    text = result.text
    searched = text if len(text) <= 2 * _LOOK else text[:_LOOK] + "\n" + text[-_LOOK:]
    lines = [line for line in searched.splitlines() if _is_told(line)]
    at = next(_candidates(lines), None)
    return "" if at is None else head(f"{lines[at].strip()}{_why(lines, at)}", LONGEST_LINE)


def _why(lines: Sequence[str], at: int) -> str:
    """Why a test failed, in a line that names a place: the last of the test's own that says so, as it ends there; where
    it has none below its name, one above."""
    if not _TEST.match(lines[at]) or (lines[at].startswith("FAILED") and _BECAUSE in lines[at]):
        return ""
    own = tuple(takewhile(lambda line: not _PARTS.match(line), lines[at + 1 : at + 1 + OF_A_TEST]))
    below = [line for line in own if _LOCATED.match(line) or _PANICS.match(line)][::-1]
    above = _logged(lines, at) or tuple(takewhile(_LOCATED.match, reversed(lines[max(at - BESIDE_TEST, 0) : at])))
    telling = (line for says in (_PANICS, _REASONS, _HINTING) for line in below or above if says.search(line))
    found = next(telling, below[0] if len(below) == 1 else "").strip() or _asserted(own or lines[:at])
    return f"{NEXT_LINE}{found}" if found else ""


def _asserted(lines: Sequence[str]) -> str:
    """What was asserted last, as testify tells it: in lines of their own, and none with the place."""
    found = filter(None, map(_ASSERTED.match, lines[-OF_AN_ASSERTION:]))
    return NEXT_LINE.join({said["what"]: " ".join(said.group().split()) for said in found}.values())


def _logged(lines: Sequence[str], at: int) -> list[str]:
    """What a test said before it ended, in parts that begin with its name; the last first."""
    name, found, own = _NAMED.match(lines[at].strip()), list[str](), False
    for line in lines[max(at - OF_TESTS, 0) : at] if name else ():
        part = _BLOCK.match(line)
        own = (name is not None and part["name"] == name["name"]) if part else own and not _PARTS.match(line)
        found += [line] if own and _LOCATED.match(line) else []
    return found[::-1]


def closing_line(result: ToolResult) -> str:
    """The last line near the end that says how a check ended, if one does: that all passed, what was committed."""
    lines = result.text[-_ENDS:].splitlines()
    return next((head(line.strip(), LONGEST_LINE) for line in reversed(lines) if _ENDED.search(line)), "")


def last_line(result: ToolResult) -> str:
    """The last line of an output, if it is no dump's: of a check that says nothing, that it said nothing."""
    lines = result.text[-_ENDS:].strip().splitlines()
    return lines[-1].strip() if lines and len(lines[-1]) <= LONGEST_GOAL else ""


def _is_told(line: str) -> bool:
    """It says something of what was done."""
    return bool(line.strip()) and not FRAME.match(line) and not _SILENT.match(line)


def _candidates(lines: Sequence[str]) -> Iterator[int]:
    """The places of lines that may tell it, the best first."""
    long = [at for at, line in enumerate(lines) if len(line.strip()) > SHORTEST_LINE]
    yield from (at for at in reversed(long) if _TEST.match(lines[at]))
    yield from (at for at in reversed(long) if _TELLING.match(lines[at]))
    yield from (at for at in long if _LOCATED.match(lines[at]))
    yield from (at for at in reversed(long) if _SUMMING.match(lines[at]))
    yield from (at for at in reversed(long) if _HINTING.search(lines[at]))
    yield from (*long[:1], *range(len(lines))[:1])


def _healed(item: _Open, changed: Sequence[str]) -> Trouble:
    files = list(dict.fromkeys(map(posixpath.basename, changed[item.changes :])))[-MOST_FILES:]
    how = f"after changes to {', '.join(files)}" if files else "on a later try"
    told = _told(item)
    return told._replace(cure=f"{brief(told.tried, LONGEST_PROOF)} succeeded {how}")
