"""What real agents call their tools, and how their results tell success from failure.

    messages, pairing ── deeds ──> Deed (a call, its result, how it ended)

Names and arguments as Claude Code, Codex, pi, opencode, Gemini CLI, Cline, Roo, Cursor, Copilot, Windsurf, OpenHands,
SWE-agent, Goose and the MCP file server use them. An unknown tool is no file tool; nothing is guessed from its
arguments. An agent without tool calls, which writes one command into its text, is read where its shell answers.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from foldline.core.cycles import Pairing
from foldline.core.shell import Touch, touches
from foldline.model import Message, Origin, ToolCall, ToolResult

Verdict: TypeAlias = Literal["ok", "failed", "unknown"]

_ACTIONS: Mapping[str, str] = {
    **dict.fromkeys(
        "read readfile view viewfile viewimage open openfile readtextfile readmediafile notebookread readmanyfiles "
        "readmultiplefiles".split(),
        "read",
    ),
    **dict.fromkeys("write writefile writetofile create createfile".split(), "written"),
    **dict.fromkeys(
        "edit multiedit notebookedit editfile replace replaceinfile replacefilecontent applydiff searchreplace "
        "strreplace insert insertcontent replacestringinfile multireplacestringinfile inserteditintofile "
        "editnotebookfile".split(),
        "edited",
    ),
    **dict.fromkeys("delete deletefile removefile".split(), "deleted"),
}
"""What each file tool does to the file it names. Names are bare: see `bare_name`."""
_EDITORS = frozenset({"strreplaceeditor", "strreplacebasededittool", "texteditor", "fileeditor", "editanthropic"})
_EDITOR_ACTIONS = {
    "view": "read",
    "create": "written",
    "write": "written",
    "str_replace": "edited",
    "insert": "edited",
    "undo_edit": "edited",
}
_OPERATIONS = {"create_file": "written", "update_file": "edited", "delete_file": "deleted"}
_PATCHERS = frozenset({"applypatch", "patch"})
_MOVERS = frozenset({"movefile", "renamefile"})
_SHELLS = frozenset(
    "bash shell shellcommand execcommand executebash executecommand runshellcommand runinterminal runterminalcmd "
    "runcommand localshell localshellcall container.exec terminal cmd execute".split()
)
_PATHS = (
    "file_path path filePath absolute_path target_file notebook_path filename filepath TargetFile AbsolutePath"
).split()
_LISTS = ("paths", "files", "replacements")
_COMMANDS = ("command", "cmd", "commands", "script", "CommandLine")
_FOLDERS = ("workdir", "cwd", "working_directory", "directory", "dir_path", "Cwd")
_PATCH_LINE = re.compile(r"^\*\*\* (?:(Update|Add|Delete) File: (.+)|Move to: (.+))$", re.M)
_PATCHING = re.compile(r"\s*(?:cd\s+(?P<folder>[^\s$*;&|]+)\s*&&\s*)?apply_patch\s(?=[^\n]{0,40}\n?\s*\*\*\* Begin Patch)")
_EXIT = re.compile(
    r"^(?:process |command |\[?the command )?(?:exit(?:ed)?|completed)?(?: with)?(?: ?exit)?[ _]?(?:code|status)"
    r"[: ]{1,2}(-?\d{1,5})\b|^<returncode>(-?\d{1,5})</returncode>",
    re.I | re.M,
)
_FAILED = re.compile(
    r"(?:error:|error (?:executing|calling|running|reading|writing|editing)\b|traceback \(most recent|fatal:"
    r"|<tool_use_error>|failed to |no such file|file (?:does not|not)|string to replace not found|permission denied"
    r"|command (?:failed|aborted)|aborted by user|invalid arguments|the user doesn't want to)",
    re.I,
)
_RUNNING = re.compile(r"^Process running with session ID", re.M)
_LOOK = 400
"""Characters at either end of a result in which its outcome is sought."""
_FENCE = re.compile(r"^```(?:bash|sh|mswea_bash_command)?\n(.*?)\n```$", re.M | re.S)
_SHELL_SAYS = re.compile(r"\s*<returncode>")


class Deed(NamedTuple):
    """Something the agent did: in message `at`, the call and its command; in message `answer`, what came of it."""

    at: int
    call: ToolCall
    answer: int | None
    result: ToolResult | None
    verdict: Verdict

    @property
    def command(self) -> str:
        return command_of(self.call)

    @property
    def touched(self) -> Iterator[Touch]:
        """What it did to files: nothing, unless it is known to have succeeded."""
        return call_touches(self.call) if self.verdict == "ok" else iter(())
