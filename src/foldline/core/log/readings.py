"""Lines of files that the agent read: it copies from there what it changes.

    deeds ── seen ──> LogLine, LogLine, …

Only a call that shows one file and nothing else counts. Line numbers, the shell's frame and a client's reminders are
taken off, and lines with secrets are left out: notes outlive results. What the agent wrote, and what other tools
answered, is in worklog.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from foldline.core.log.loglines import GAP, TOOL, LogLine
from foldline.core.log.worklog import HIDDEN, MOST_LINES, NUMBERED, are_numbered, cleaned, subject, without_secrets
from foldline.core.prune import without_reminders
from foldline.core.work.deeds import Deed
from foldline.core.work.tools import command_of, reads
from foldline.model import ToolCall

PART = 80
"""Lines of a reading up to which each counts in full: an agent that reads a part looked for that place, and is about
to work there."""
WHOLE_FILE = 0.3
"""The weight of a line of a longer reading."""
MOST_SEEN = 3_000
"""Lines of files that are considered at most: more than any log has room for."""
_SHOWS = re.compile(
    r"(?:cd [^\s;&|<>]+ && )?(?:(?:cat|nl|head|tail|bat)(?:[ \t][^;&|<>\n]*)?|sed -n ['\"]?\d[^;&|<>\n]*)"
    r"(?:\|[ \t]*(?:cat|nl|head|tail)\b[^;&|<>\n]*){0,4}"
)
"""A command that shows a file or a part of it, and nothing else."""
_BEGINS = re.compile(
    r"Chunk ID: |Wall time: |Process exited with |Original token count: |Exit code:? \d|<returncode>\d", re.I
)
_BEGINS_TOO = ("Output:", "<output>")
_ENDS = re.compile(r"\[?The command completed with |Shell cwd was reset to |</output>$", re.I)
"""Lines in which a shell reports on the run, before and behind what it shows."""
_STUB = re.compile(r"\[… [\d,]{1,12} characters left out here; original [0-9a-f]{8}")
"""The mark where a result was shortened."""


def seen(done: Sequence[Deed], start: int) -> Iterator[LogLine]:
    """The lines of files that were read, the newest readings only: the agent copies from there what it changes."""
    for number, lines in reversed(list(_newest_read(done))):
        call, at = done[number].call, done[number].answer - start
        label, weight = f"{TOOL}: {subject(call)}", 1.0 if len(lines) <= PART else WHOLE_FILE
        yield from (LogLine(line, label, at, weight, "seen", call=number, times=0) for line in lines)


def _newest_read(done: Sequence[Deed]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The deeds that only read files, with what these said, from the last one back until enough lines are found."""
    most = MOST_SEEN
    for number in range(len(done) - 1, -1, -1):
        deed = done[number]
        if deed.result is None or not _shows_file(deed):
            continue
        lines = tuple(_of_file(without_reminders(deed.result.text), shell=bool(deed.command)))
        most -= len(lines)
        if most < 0:
            return
        yield number, lines


def _shows_file(deed: Deed) -> bool:
    """The deed read one file, and shows nothing else."""
    return len(deed.touched) == 1 and deed.touched[0].action == "read" and shows(deed.call)


def shows(call: ToolCall) -> bool:
    """The call shows a file, and nothing else."""
    return reads(call) or _SHOWS.fullmatch(command_of(call).strip()) is not None


def _of_file(text: str, shell: bool) -> Iterator[str]:
    """The lines of a file as they are, without empty ones and without the shell's frame, with a mark where some are
    missing."""
    lines = [line for line in text.splitlines() if line.strip()]
    lines = _unframed(lines) if shell else lines
    if are_numbered(lines, least=2 if shell else 1) and all(map(NUMBERED.match, lines)):
        lines = [NUMBERED.sub("", line, count=1) for line in lines]
    shown = [line for line in map(cleaned, without_secrets("\n".join(lines)).split("\n")) if line.strip()]
    if len(shown) > MOST_LINES:
        shown = [*shown[: MOST_LINES * 3 // 4], GAP, *shown[-MOST_LINES // 4 :]]
    yield from (GAP if _STUB.match(line.strip()) or HIDDEN in line else line for line in shown)


def _unframed(lines: Sequence[str]) -> list[str]:
    """The lines without the shell's report on the run. A file may have such lines too, but hardly ever begins with
    them."""
    first, last = 0, len(lines)
    while first < last and (_BEGINS.match(lines[first]) or (first and lines[first].strip() in _BEGINS_TOO)):
        first += 1
    while last > first and _ENDS.match(lines[last - 1]):
        last -= 1
    return list(lines[first:last])
