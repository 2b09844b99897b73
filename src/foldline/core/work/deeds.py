"""What the agent did: each call with its result, and how it ended by what the result says.

    messages, pairing ── deeds ──> Deed, Deed, …

Of agents without tool calls, mini-swe-agent is read: one command in a fence, answered by a return code. Where a shell
in the text does not say how a command ended, nothing is claimed. What tools are called is in tools.py; what a command
does to files, and which files it says it could not change, in shell.py; a result in an envelope is unpacked in
envelope.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

from foldline.core.history.cycles import Pairing, ToolCycle
from foldline.core.history.mend import NO_RESULT
from foldline.core.work.envelope import Unpacked, stated, unpacked
from foldline.core.work.shell import Touch, complaints, ended, spared
from foldline.core.work.shellwords import runs
from foldline.core.work.tools import call_touches, code_of, command_of, reads, searches
from foldline.model import Message, Origin, Text, ToolCall, ToolResult

Verdict: TypeAlias = Literal["ok", "failed", "unknown"]

_EXIT = re.compile(
    r"^(?:(?:process |command )?exit(?:ed)?(?: with)?(?: exit)? (?:code|status)[: ]{1,2}"
    r"|\[?the command completed with exit code |<returncode>)(-?\d{1,5})(?:</returncode>|[.\])]*[ \t]*$)",
    re.I | re.M,
)
_FAILED = re.compile(
    r"\s*(?:error:|error (?:executing|calling|running|reading|writing|editing)\b|traceback \(most recent|fatal:"
    r"|<tool_use_error>|failed to |no such file|file (?:does not|not)|string to replace not found|permission denied"
    r"|command (?:failed|aborted)|aborted by user|invalid arguments|the user doesn't want to)",
    re.I,
)
_REFUSED = re.compile(
    r"\s*(?:apply_patch verification failed:|(?:patch )?rejected by user|exec_command failed\b"
    r"|permission to use \S{1,80} [^\n]{0,300}\bdenied|claude requested permissions to "
    r"|file is in a directory that is denied by|\[request interrupted by user"
    r"|no changes to make: old_string|found \d{1,6} matches of the string to replace"
    r"|task (?:#?\S{1,20} )?not found\s*$|cancelled: parallel tool call|sibling tool call errored"
    r"|\w{1,40}:\S{1,80} hook (?:error|blocked)|execution stopped by \w{1,40} hook)",
    re.I,
)
"""How a client begins that did not let a call happen, or could not make it."""
_RAISED = re.compile(r"\s*[A-Z]\w{0,40}(?:Error|Exception): \S[^\n]*\s*$")
"""How an exception of a tool reads, where nothing else says that the call failed."""
_UNKNOWN = re.compile(
    r"(?:\S{0,40}sh: (?:line )?(?:\d{1,5}: )?)?(?P<any>\S{1,80}): command not found$|"
    r"zsh: command not found: (?P<zsh>\S{1,80})$|\S{0,40}sh: (?:line )?(?:\d{1,5}: )?(?P<sh>\S{1,80}): not found$|"
    r"'(?P<cmd>[^'\n]{1,200})' is not recognized as |"
    r"[^\n]{1,200}\n(?:[^\n]{0,300}\n){0,8}[ \t]{1,8}\+ CategoryInfo[ \t][^\n]*(?:\n[ \t]{1,8}\+[^\n]*){0,3}$"
)
"""The whole output of a shell that does not know a command, which it names; or of a PowerShell cmdlet that failed."""
_TRACEBACK = "Traceback (most recent call last)"
_LAST_RAISED = re.compile(r"[\w.]{0,80}(?:Error|Exception|Interrupt|Exit)\b")
"""The last line of code that was run and failed."""
_RUNNING = re.compile(
    r"^(?:Process running with session ID|Command running in background|Async agent launched|"
    r"Command [^\n]{0,120}?\bbackground(?:ed by user)? (?:with |\()ID\b)",
    re.M,
)
"""A receipt for something that goes on in the background: it does not say what comes of it."""
FRAME = re.compile(
    r"\s*(?:chunk id:|wall time:|process exited|original token count:|exit code|output:|<returncode>"
    r"|\[?the command completed|shell cwd was reset to|</?\w+>\s*$)",
    re.I,
)
"""Lines in which the tool reports on the run instead of showing its output."""
_LOOK = 400
"""Characters at either end of a result in which its outcome is sought."""
_SHORT = 2_000
"""Most characters of an output that may consist of a shell's complaint alone."""
_FENCE = re.compile(r"^```(?:bash|mswea_bash_command)[ \t]*\n(.*?)\n```", re.M | re.S)
ANSWERS = "<returncode>"
"""How the answer of a shell to a command in a text begins."""
_TESTS_FAILED = re.compile(r"\b[1-9]\d{0,4} failed\b")
_TESTS_LOOK = 600
"""Characters at the end of a command's output in which a test run or another check says how it went."""
_CHECK_FAILED = re.compile(
    r"^(?:[ \t]*[1-9]\d{0,4} failing\b[ \t]*(?:\(|$)|[1-9]\d{0,4} examples?, [1-9]\d{0,4} failures?\b|"
    r"(?:\[ERROR\] )?Tests(?: run)?: [^\n]{0,80}\b(?:Failures|Errors): [1-9]|"
    r"(?:=+ )?(?:[^\n]{0,80}, )?[1-9]\d{0,4} errors? in [\d.]{1,12}s\b|error: could not compile |"
    r"FAILED \((?:failures|errors)=|(?:\[INFO\] )?BUILD FAIL(?:ED|URE)\b|Failed! |"
    r"Found [1-9]\d{0,4} errors? in |make(?:\[\d{1,3}\])?: \*\*\* \[|\W{0,4}\d{1,5} problems? \([1-9]\d{0,4} errors?)",
    re.M,
)
"""How checks other than a plain test count say that they found something."""
_FAIL_LINE = re.compile(r"^(?:\[[\w:./-]{1,40}\][ \t]{1,4})?(?:--- FAIL: |FAIL[ \t]\S|ERROR task failed)", re.M)
_FAIL_LOOK = 40_000
"""Characters at the end of an output in which a check names each failure on its own line: a pipe behind the check
hides its exit code."""
_CHECKS = re.compile(
    r"\b(?:tests?|check|lint|build|vet|fmt|compile|typecheck|tsc|mypy|pyright|ruff|eslint|pytest|jest|vitest|tox|nox|make|"
    r"mocha|rspec|phpunit|unittest|ctest|dotnet|clippy|biome|ninja|cmake|gradlew?|mvn|cargo|go run)\b"
)
"""Words of commands that check the work."""
_SHOWS = frozenset(
    {
        *("awk", "bat", "cat", "cd", "chmod", "cp", "curl", "diff", "echo", "find", "gh", "git", "glab"),
        *("grep", "head", "jq", "less", "ls", "mkdir", "mv", "printf", "rg", "rm", "sed", "sort", "tail", "touch"),
        *("tree", "wc"),
    }
)
"""Commands that only show or move what such words are about."""


class Deed(NamedTuple):
    """A call in message `at`, its result in message `answer` (-1: none yet), and how it ended."""

    at: int
    call: ToolCall
    answer: int
    result: ToolResult | None
    verdict: Verdict
    command: str = ""
    """The shell command it ran, if it ran one."""
    touched: tuple[Touch, ...] = ()
    """What it did to files; empty unless it is known to have succeeded."""
    goal: str = ""
    """What would have to succeed for an error of this call to be gone: the command, the tool on the same files, or
    the very same call."""
    failed: bool = False
    """The tool says that it failed, or a test run in its output does."""

    def moved(self, by: int) -> Deed:
        """The deed as it is in a list with `by` more messages before it."""
        return self._replace(at=self.at + by, answer=self.answer + by if self.answer >= 0 else -1)


def deeds(messages: Sequence[Message], pairing: Pairing) -> Iterator[Deed]:
    """Everything the agent did, in order."""
    for cycle in pairing.cycles:
        yield from cycle_deeds(messages, cycle)


def cycle_deeds(messages: Sequence[Message], cycle: ToolCycle) -> Iterator[Deed]:
    """What the agent did in one step."""
    for place, answer in zip(cycle.calls, cycle.answers, strict=True):
        call = messages[place.message].calls[place.nth]
        result = messages[answer.message].results[answer.nth] if answer else None
        yield _deed(place.message, call, answer.message if answer else -1, result)
    if not cycle.calls and cycle.stop < len(messages):
        yield from _fenced(cycle.stop - 1, messages[cycle.stop - 1], messages[cycle.stop])


def _deed(at: int, call: ToolCall, answer: int, result: ToolResult | None) -> Deed:
    envelope, command, touches = _unpacked(call, result), command_of(call), tuple(call_touches(call))
    verdict = _verdict(call, result, envelope)
    if result is not None and envelope.said != result.text:
        result = replace(result, content=(Text(envelope.said),))
    goal = f"`{command.strip()}`" if command else _goal(call, touches)
    ran = command or code_of(call)
    failed = verdict == "failed" or (verdict == "ok" and bool(ran) and _tests_failed(ran, result))
    done = _done(command, touches, envelope.said) if verdict == "ok" else ()
    return Deed(at, call, answer, result, verdict, command, done, goal, failed)


def _done(command: str, touches: tuple[Touch, ...], said: str) -> tuple[Touch, ...]:
    """What a call did to files, without those it says it could not change."""
    complained = _complained(command, said) if command and touches else ()
    return tuple(touch for touch in touches if not spared(touch, complained)) if complained else touches


def _complained(command: str, said: str) -> tuple[str, ...]:
    """The lines in which a command says what it could not do, where it says nothing else; else none."""
    if len(said) > _SHORT:
        return ()
    return complaints(command, [line for line in said.splitlines() if line.strip() and not FRAME.match(line)])


def _goal(call: ToolCall, touches: Sequence[Touch]) -> str:
    return f"{call.name} {' '.join(touch.path for touch in touches) or call.arguments}"


def judges(command: str) -> bool:
    """The command checks the work, and is run again until all is well."""
    if not _CHECKS.search(command):  # most have no such word, and need not be split
        return False
    return any(_CHECKS.search(run) and run.split(" ", 1)[0] not in _SHOWS for run in runs(command))


def _tests_failed(command: str, result: ToolResult | None) -> bool:
    if result is None:
        return False
    text = result.text
    if _TESTS_FAILED.search(text[-_TESTS_LOOK:]):
        return True
    if not judges(command):
        return False
    return bool(_CHECK_FAILED.search(text[-_TESTS_LOOK:]) or _FAIL_LINE.search(text[-_FAIL_LOOK:]))


def _fenced(at: int, message: Message, answer: Message) -> Iterator[Deed]:
    """The one command of a text, when a shell answers with its return code."""
    if answer.origin is not Origin.TOOL or not answer.text.startswith(ANSWERS):
        return
    commands = _FENCE.findall(message.text)
    if len(commands) == 1:
        call = ToolCall("", "bash", json.dumps({"command": commands[0]}))
        result = ToolResult("", tuple(part for part in answer.parts if isinstance(part, Text)))
        yield _deed(at, call, at + 1, result)


def outcome(call: ToolCall, result: ToolResult | None) -> Verdict:
    """How a call ended, by what its result says. A file that was read may contain any words, so these do not count."""
    return _verdict(call, result, _unpacked(call, result))


def _unpacked(call: ToolCall, result: ToolResult | None) -> Unpacked:
    """What the result says, out of its envelope if a command was run: any other tool that returns JSON means the
    JSON itself."""
    text = result.text if result else ""
    return unpacked(text) if result and not result.is_error and (command_of(call) or code_of(call)) else Unpacked(text)


def _verdict(call: ToolCall, result: ToolResult | None, envelope: Unpacked) -> Verdict:
    if result is None or result.text == NO_RESULT:
        return "unknown"
    if result.is_error or envelope.well is False:
        return "failed"
    if envelope.well:
        return "ok"
    text = envelope.said
    said = None if reads(call) or searches(call) else _said_verdict(text)
    if said:
        return said
    if _FAILED.match(text[:_LOOK]) or _REFUSED.match(text[:_LOOK]) or _broke(call, text):
        return "failed"
    command = command_of(call)
    return ended(command, _complained(command, text)) if command else "ok"


def _said_verdict(text: str) -> Verdict | None:
    """What a shell or a JSON result states, if it states anything."""
    beginning, end = text[:_LOOK], text[_LOOK:][-_LOOK:].partition("\n")[2]
    code = _EXIT.search(beginning) or _EXIT.search(end)
    if code:
        return "ok" if code.group(1) == "0" else "failed"
    if _RUNNING.search(beginning):
        return "unknown"
    success = stated(text)
    return None if success is None else "ok" if success else "failed"


def _broke(call: ToolCall, text: str) -> bool:
    """A shell says that it does not know the command, or the code or the tool ended with an exception."""
    command = command_of(call)
    if command:
        unknown = _UNKNOWN.match(text.strip()) if len(text) <= _SHORT else None
        return unknown is not None and next(filter(None, unknown.groups()), "") in command
    if code_of(call):
        last = text.rstrip()[-_LOOK:].rpartition("\n")[2]
        return _TRACEBACK in text[-_FAIL_LOOK:] and _LAST_RAISED.match(last) is not None
    changes = any(touch.action != "read" for touch in call_touches(call))
    return changes and len(text) <= _LOOK and _RAISED.match(text) is not None
