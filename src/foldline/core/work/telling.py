"""Which line of an output says what went wrong.

    result ── telling_line ──> "--- FAIL: TestStop (0.3s) ⏎ stop_test.go:26: output should say 'stopped'"

Test runners, compilers and linters are read by the shapes of their lines. A line that only sums up what others say
("error: could not compile `app`") is used only where there is no other. A test, a panic or an assertion takes in the
lines right behind it that say why. Lines stay as they were but for secrets, several of them with a mark between. How a
check ended is in ending.py, what became of an error in errors_seen.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile, islice, takewhile

from foldline.core.words.masks import begun, ends_of, masked
from foldline.core.words.text import head
from foldline.core.work.deeds import FRAME
from foldline.model import ToolResult

LONGEST_LINE = 300
"""Characters of an error line that are kept: longer ones carry dumps."""
SHORTEST_LINE = 8
"""A telling line has more characters than this: "FAIL" says nothing by itself."""
NEXT_LINE = " ⏎ "
"""The mark between two lines that are shown as one."""
_LOOK = 20_000
"""Characters at either end of a result that are searched."""
_TELLING = re.compile(
    r"(?:E[ \t]{2,}\S|FAILED[ \t]|(?:#\d{1,4} [\d.]{1,10} )?ERROR\b|error(?:\[\w{1,20}\])?:|fatal:|panic:|"
    r"Module not found:|[ \t]{0,12}\S{0,200}(?:Error|Exception|Failure)\b[^\n]{0,20}:|[ \t]! \[(?:remote )?rejected\]|"
    r"[ \t]{1,8}\d{1,6}:\d{1,5}[ \t]+error[ \t]|[ \t]{0,40}--- FAIL|thread '[^'\n]{1,200}'(?: \(\d{1,20}\))? panicked)"
)
_SUMS = re.compile(
    r"error: (?:could not compile|test failed|aborting due|failed to push some refs|build failed|fatalError)|FAILED \(|"
    r"(?:#\d{1,4} )?ERROR: (?:failed to solve|process \"|Build did NOT)|ERROR in \S|ERROR \S+$|"
    r"[ \t]?ERROR[ \t]{1,4}run failed|Failed!|Failed examples:|[ \t]+Error Trace:|make(?:\[\d{1,3}\])?: \*\*\* \["
)
"""A line that sums up: it says that something failed, and other lines name what."""
_PACKAGE = re.compile(r"FAIL\b")
"""A line that sums up a package: it says that some test of it failed."""
_INSTALLER = re.compile(r"npm (?:ERR!|error) (?!code\b|errno\b|syscall\b|path\b|A complete log|[ /])\S")
"""A line of npm that says something. The first such line says what went wrong."""
_LOCATED = re.compile(
    r"(?:\[[\w:./-]{1,40}\][ \t]{1,4})?[ \t]{0,40}[^\s:()`'\"]{1,200}\.\w{1,8}(?::\d|\(\d|:\[\d)[\d:,)\]]{0,16}"
    r"[ \t]{1,4}[^\s:#]"
)
"""A line that names a place in a file and what is wrong there, perhaps behind the name of the task that found it."""
_WRONG, _REMARKS = re.compile(r"\berror\b", re.I), re.compile(r"\b(?:warning|note|info)\b", re.I)
"""Words by which such a line calls itself an error, and words by which it calls itself less than that."""
_WELL = re.compile(r"\b(?:successfully|as expected)\b", re.I)
"""Words of such a line that a test logs when all is well: it names the place as a fault would. It is used only where
there is no other."""
_TEST = re.compile(
    r"[ \t]{0,40}--- FAIL: |FAILED[ \t]\S+::|[ \t]{0,8}● (?!Console$)\S|[ \t]{0,8}Failed \S+ \[|(?:FAIL|ERROR): \w+ \("
)
"""A line that names a test that failed."""
_NAMED = re.compile(
    r"[ \t]{0,40}(?:--- FAIL: (?P<go>\S{3,200}) \(|FAILED[ \t](?P<py>\S{1,200}::[^\n]{1,200}?)(?: - |\s*$))"
)
"""The name of a test in such a line, by which the test is recognised later."""
_BECAUSE = " - "
"""What stands between pytest's name of a test and the reason."""
_SHOWN = re.compile(r"E(?:[ \t]|$)")
"""A line in which pytest shows the reason in full."""
_REASONS = re.compile(
    r"\b(?:got|want(?:ed)?|expect(?:ed|s)?|should|must|assert\w*|not equal|mismatch|nil|null)\b", re.I
)
"""Words of a line that says why a test failed."""
_PANICS = re.compile(r"panic: ")
_PARTS = re.compile(r"[ \t]{0,40}(?:(?:---|FAIL|FAILED|PASS|ok)[ \t:]|={3})|FAIL$|PASS$")
"""A line with which another test begins, or the whole run ends."""
OF_A_TEST, BESIDE_TEST, OF_TESTS = 80, 6, 400
"""Lines below a failed test's name, and lines above it, in which the reason is sought; and lines above in which
tests that run side by side may have logged."""
_BLOCK = re.compile(r"=== (?:RUN|NAME|CONT)[ \t]+(?P<name>\S+)")
"""A line after which the test it names logs what it does."""
_ASSERTED = re.compile(r"[ \t]+(?P<what>Error|expected|actual|Messages)[ \t]*:[ \t]+\S[^\n]*")
OF_AN_ASSERTION = 20
"""Lines at the end in which an assertion says what is wrong."""
_COMPARED = re.compile(r"\s*(?:expected|received|actual|got|left|right)\b[^\n:]{0,40}:\s*\S", re.I)
_RAISED = re.compile(r"\s*\S{0,200}(?:Error|Exception)\b[^\n]{0,20}:\s*\S")
_PLACED = re.compile(r"\s*--> \S")
BEHIND, MOST_COMPARED = 8, 2
"""Lines behind a telling one in which expected and actual values are sought, and how many of them are shown."""
_INDENTED = re.compile(r"[ \t]{1,8}\d{1,6}:\d{1,5}[ \t]")
ABOVE = 60
"""Lines above a finding in which the name of its file is sought."""
_HINTING = re.compile(
    r"\b(?:error|failed|failure|cannot|can't|could not|unable|not found|no such|denied|refused|undefined|unknown|"
    r"invalid|missing|conflict|expected|unexpected|aborted|timed out)\b",
    re.I,
)
_WRAPPED = re.compile(r"</?tool_use_error>")
"""The tag that Claude Code puts around an error of its own tools."""
_SILENT = re.compile(
    r"\s*(?:[(\[<]?(?:\w+ completed with )?no (?:output|content|matches found)[)\]>]?\.?"
    r"|command exited with (?:exit )?code \d+"
    r"|(?:<tool_use_error>)?sibling tool call errored(?:</tool_use_error>)?)\s*$",
    re.I,
)
"""A line that only says that there is no output, that the command failed, or that a call beside it did."""


def telling_line(result: ToolResult) -> str:
    """The line that says what went wrong, with the lines that give the reason. In order of preference: the last that
    names a test, the last telling one, the first that names a place, the last that sums up, the last that hints at a
    fault, the first of all."""
    text = result.text
    searched = text if len(text) <= 2 * _LOOK else ends_of(text, _LOOK)
    lines = [line for line in searched.splitlines() if _is_told(line)]
    at = next(_candidates(lines), None)
    if at is None:
        return ""
    shown = (*_file(lines, at), lines[at].strip(), *_why(lines, at))
    return head(masked(NEXT_LINE.join(shown)), LONGEST_LINE)


def first_line(result: ToolResult) -> str:
    """The first line of what a tool other than a shell says: what follows mostly repeats its input."""
    text = _WRAPPED.sub("", result.text if len(result.text) <= _LOOK else begun(result.text, _LOOK))
    return head(masked(next((line.strip() for line in text.splitlines() if _is_told(line)), "")), LONGEST_LINE)


def named_alone(result: ToolResult) -> str:
    """The one test that failed; "" if there are several or none."""
    searched = result.text[-2 * _LOOK :]
    names = {_name(line) for line in searched.splitlines()} - {""}
    leaves = [name for name in names if not any(other.startswith(f"{name}/") for other in names)]
    return leaves[0] if len(leaves) == 1 else ""


def _name(line: str) -> str:
    """The test that a line says has failed; "" if it names none."""
    named = _NAMED.match(line)
    return (named["go"] or named["py"]) if named else ""


def passes(result: ToolResult, name: str) -> bool:
    """The output says that this test passed."""
    lines = map(str.strip, result.text[-2 * _LOOK :].splitlines())
    return any(line.startswith((f"--- PASS: {name} (", f"{name} PASSED")) for line in lines)


def names_place(line: str) -> bool:
    """The line says what is wrong at a place in a file."""
    return _LOCATED.match(line) is not None


def _is_told(line: str) -> bool:
    """The line says something about what was done."""
    return bool(line.strip()) and not FRAME.match(line) and not _SILENT.match(line)


def _candidates(lines: Sequence[str]) -> Iterator[int]:
    """The places of lines that may say what went wrong, the best first."""
    long = [at for at, line in enumerate(lines) if len(line.strip()) > SHORTEST_LINE]
    yield from (at for at in reversed(long) if _TEST.match(lines[at]))
    yield from (at for at in reversed(long) if _TELLING.match(lines[at]) and not _SUMS.match(lines[at]))
    found = [at for at in long if _INSTALLER.match(lines[at]) or _LOCATED.match(lines[at])]
    placed = [at for at in found if not _WELL.search(lines[at]) or _HINTING.search(lines[at])]
    yield from (at for at in placed if _WRONG.search(lines[at]))
    yield from (at for at in placed if not _REMARKS.search(lines[at]))
    summing = [at for at in reversed(long) if _SUMS.match(lines[at]) or _PACKAGE.match(lines[at])]
    yield from (at for at in summing if not lines[at].startswith("make"))
    yield from (at for at in reversed(long) if _HINTING.search(lines[at]) and at not in summing)
    yield from (*placed, *summing, *found)
    yield from (*long[:1], *range(len(lines))[:1])


def _file(lines: Sequence[str], at: int) -> Iterator[str]:
    """The file of a finding whose line does not name it, taken from above."""
    if _INDENTED.match(lines[at]):
        above = (line for line in reversed(lines[max(at - ABOVE, 0) : at]) if not line[0].isspace())
        yield from islice(above, 1)


def _why(lines: Sequence[str], at: int) -> Iterator[str]:
    """The lines that give the reason."""
    if lines[at].startswith("FAILED") and _BECAUSE in lines[at]:
        yield from _uncut(lines, at)
        return
    reason = _reason(lines, at) if _TEST.match(lines[at]) else ""
    yield from (reason,) if reason else _behind(lines, at)


def _uncut(lines: Sequence[str], at: int) -> Sequence[str]:
    """The reason in full where pytest cut it to the width of its terminal. Of the lines above, the last shown is
    that of the last test."""
    if not lines[at].rstrip().endswith("..."):
        return ()
    before = dropwhile(lambda line: not _SHOWN.match(line), reversed(lines[max(at - OF_TESTS, 0) : at]))
    return [line.strip() for line in takewhile(_SHOWN.match, before)][-1:]


def _reason(lines: Sequence[str], at: int) -> str:
    """The line that says why a test failed. The test's own lines below its name come first, the last of them that
    says so; if there are none, lines above it."""
    own = _own(lines, at)
    below = [line for line in own if _LOCATED.match(line) or _PANICS.match(line)][::-1]
    above = _logged(lines, at) or tuple(takewhile(_LOCATED.match, reversed(lines[max(at - BESIDE_TEST, 0) : at])))
    telling = (line for says in (_PANICS, _REASONS, _HINTING) for line in below or above if says.search(line))
    return next(telling, below[0] if len(below) == 1 else "").strip() or _asserted(own or lines[:at])


def _own(lines: Sequence[str], at: int) -> tuple[str, ...]:
    """The lines below a test's name that belong to it."""
    return tuple(takewhile(lambda line: not _PARTS.match(line), lines[at + 1 : at + 1 + OF_A_TEST]))


def _logged(lines: Sequence[str], at: int) -> list[str]:
    """What a test logged before it ended, in blocks that begin with its name; the last line first."""
    name, found, own = _name(lines[at]), list[str](), False
    for line in lines[max(at - OF_TESTS, 0) : at] if name else ():
        part = _BLOCK.match(line)
        own = part["name"] == name if part else own and not _PARTS.match(line)
        found += [line] if own and _LOCATED.match(line) else []
    return found[::-1]


def _asserted(lines: Sequence[str]) -> str:
    """The last assertion, as testify prints it: in lines of their own, without the place."""
    found = filter(None, map(_ASSERTED.match, lines[-OF_AN_ASSERTION:]))
    return NEXT_LINE.join({said["what"]: " ".join(said.group().split()) for said in found}.values())


def _behind(lines: Sequence[str], at: int) -> Iterator[str]:
    """The lines behind a line that only begins the account: what it announces or the place, then what was raised, or
    what was expected and what came."""
    behind = lines[at + 1 : at + 1 + BEHIND]
    if behind and (lines[at].rstrip().endswith(":") or _PLACED.match(behind[0])):
        yield behind[0].strip()
    own = _own(lines, at) if _TEST.match(lines[at]) else ()
    raised = next((line.strip() for line in own if _RAISED.match(line)), "")
    compared = (" ".join(line.split()) for line in behind if _COMPARED.match(line))
    yield from (raised,) if raised else islice(compared, MOST_COMPARED)
