"""What goes on in the background: shells and agents that were started, until they are seen to end.

    deeds ── running ──> Running, …          text ── ended_by ──> the name of what a client says has ended

They have names, by which alone the agent can ask what became of them, and which stand nowhere but in the answer to the
call that started them. Whether one that nobody asked after is still at work is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from foldline.core.work.deeds import Deed
from foldline.core.work.tools import bare_name, hands_over

_LOOK = 1_000
"""Characters at the beginning of a result in which a name or an end is sought."""
_NAME = r"(?P<name>[\w-]{1,40})"
_SHELL = re.compile(
    rf"\s*Command [^\n]{{0,120}}?\bbackground(?:ed by user)? (?:with |\()ID:? {_NAME}"
    r"|(?:.*\n){0,4}Process running with session ID:? (?P<number>\d{1,20})"
)
"""How an answer of a shell begins whose command goes on. Lines further down are what the command printed."""
_MOVED = re.compile(
    rf"\nCommand was manually backgrounded by user with ID: {_NAME}\. "
    r"Output is being written to: [^\n]*\b(?P=name)\.output\.?\s*\Z"
)
"""How an answer of Claude Code's shell ends whose command had printed something before the user moved it. Its name
stands there twice, so that a file with such a line is hardly taken for it."""
_SHOWS = re.compile(r"\s*(?:cat|head|tail|less|more|grep|rg|sed|awk|jq)\b")
"""A command that shows a file, which may have such a line."""
_TAIL = 1_000
"""Characters at the end of an answer in which that is sought."""
_AGENT = re.compile(rf"\s*Async agent launched[^\n]*\n\s*agent ?Id: {_NAME}", re.I)
_HELPER = re.compile(rf'\s*\{{[^{{}}]{{0,300}}?"(?:agent|thread)_?id"\s*:\s*"{_NAME}"', re.I)
"""How the answer of a tool begins that hands work to another agent, and does not wait for its report. A report may
quote the same."""
_BY_NAME = (
    "bash_id",
    "shell_id",
    "task_id",
    "agent_id",
    "agentId",
    "session_id",
    "ids",
    "agent_ids",
    "target",
    "targets",
)
"""Arguments that name what runs."""
_STOPS = frozenset({"killshell", "killbash", "taskstop", "killtask", "closeagent", "stopagent", "killsession"})
_BY_ID = _STOPS | {"wait"}
"""Tools of Codex whose argument `id` is such a name. Other tools have ids of other things."""
_ENDS = "completed|failed|killed|stopped|cancelled|error"
_ENDED = rf"<status>(?:{_ENDS})</status>"
_STATUS = re.compile(r"<status>(?P<status>\w{1,20})</status>")
_OUTPUT = "\nOutput:"
"""The line under which Codex shows what a process printed: above it stands what became of the process."""
_RUNS = re.compile(r"^Process running with ", re.M)
_ANSWER = r'"(?:completed|errored|shutdown|not_found)"'
_UNKNOWN = (
    r"No (?:shell|task|process|session|agent)\b[^\n]{0,80}\bfound"
    r"|(?:Shell|Task) [\w-]{1,40} is not running\b|write_stdin failed: Unknown (?:process|session) id\b"
)
_OVER = re.compile(rf"^Process exited with |{_ANSWER}|^(?:<tool_use_error>)?(?:Error: )?(?:{_UNKNOWN})", re.M)
NOTICE = "<task-notification>"
_NOTICE = re.compile(rf"{NOTICE}\s*<task-id>{_NAME}</task-id>(?:(?!</?task-notification>).){{0,2000}}?{_ENDED}", re.S)
"""How Claude Code tells that something in the background has ended."""
_TOLD = ("description", "task_name", "name", "message", "prompt")
"""Arguments that say what another agent is to do, the shortest first."""


class Running(NamedTuple):
    """What runs under a name, and the message that says so; `what` is "" once it has ended."""

    name: str
    what: str
    message: int


def running(done: Iterable[Deed]) -> tuple[Running, ...]:
    """Everything that was started or has ended, each name once, as it was last seen."""
    found: dict[str, Running] = {}
    for deed in done:
        if deed.result is None:
            continue
        asked, text = tuple(_asked_after(deed)), deed.result.text[:_LOOK]
        if asked:
            found.update((name, Running(name, "", deed.answer)) for name in _over(deed, asked, text))
        elif name := _started(deed, text):
            found[name] = Running(name, _what(deed), deed.answer)
    return tuple(found.values())


def _asked_after(deed: Deed) -> Iterator[str]:
    """The names in the arguments of a call."""
    arguments = deed.call.parsed()
    names = (*_BY_NAME, "id") if bare_name(deed.call.name) in _BY_ID else _BY_NAME
    for value in [arguments[key] for key in names if key in arguments]:
        yield from (
            str(name) for name in (value if isinstance(value, list) else [value]) if isinstance(name, str | int)
        )


def _over(deed: Deed, asked: Sequence[str], text: str) -> Iterator[str]:
    """Which of those that a call names have ended. Of several, each is told of by itself."""
    if (bare_name(deed.call.name) in _STOPS and not deed.failed) or (len(asked) == 1 and _is_over(text)):
        yield from asked
    elif len(asked) > 1 and deed.result:
        told = deed.result.text
        yield from (name for name in asked if re.search(rf'"{re.escape(name)}"\s*:\s*\{{?\s*{_ANSWER}', told))


def _is_over(text: str) -> bool:
    """What the client says of it comes first: what it printed may read the same."""
    above = text.partition(_OUTPUT)[0]
    status = _STATUS.search(above)
    if status:
        return status["status"] in _ENDS.split("|")
    return not _RUNS.search(above) and _OVER.search(above) is not None


def _started(deed: Deed, text: str) -> str:
    """The name of what the call started; "" if nothing goes on. The answer of another tool may quote such a line."""
    above, line, _ = text.partition(_OUTPUT)
    if deed.command and (shell := _SHELL.match(above)) and (shell["name"] or line):
        return shell["name"] or shell["number"]
    if deed.command and deed.result and (moved := _MOVED.search(deed.result.text[-_TAIL:])):
        return "" if _SHOWS.match(deed.command) else moved["name"]
    helps = hands_over(deed.call) and not deed.failed
    helper = _AGENT.match(text) or _HELPER.match(text) if helps else None
    return helper["name"] if helper else ""


def _what(deed: Deed) -> str:
    arguments = deed.call.parsed()
    told = (arguments.get(key) for key in _TOLD)
    return deed.command.strip() or next((text for text in told if text and isinstance(text, str)), deed.call.name)


def ended_by(text: str) -> Iterator[str]:
    """The names of what a client's notice says has ended."""
    yield from (notice["name"] for notice in _NOTICE.finditer(text)) if NOTICE in text else ()
