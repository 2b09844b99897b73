"""What real agents call their tools, and what those do to files.

    ToolCall ── call_touches ──> Touch, Touch, …    as far as it succeeds, which is the matter of deeds.py

Names and arguments are those of Claude Code, Codex, pi, opencode, Gemini CLI, Cline, Roo, Cursor, Copilot, Windsurf,
OpenHands, SWE-agent, Goose and the MCP file server. An unknown tool does not count as a file tool; nothing is guessed
from its arguments. A shell, or a tool that runs code, is also recognised by the words of its name, where it is given a
command or code.
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from foldline.core.work.shell import Touch, touches
from foldline.model import ToolCall

_READ = (
    "read readfile view viewfile viewimage open openfile readtextfile readmediafile notebookread readmanyfiles "
    "readmultiplefiles"
)
_WRITE = "write writefile writetofile create createfile"
_EDIT = (
    "edit multiedit notebookedit editfile editnotebookfile replace replaceinfile replacefilecontent "
    "replacestringinfile multireplacestringinfile applydiff searchreplace strreplace insert insertcontent "
    "inserteditintofile"
)
_ACTIONS: Mapping[str, str] = {
    **dict.fromkeys(_READ.split(), "read"),
    **dict.fromkeys(_WRITE.split(), "written"),
    **dict.fromkeys(_EDIT.split(), "edited"),
    **dict.fromkeys(("delete", "deletefile", "removefile"), "deleted"),
}
"""What each file tool, by its bare name, does to the file it names."""
_EDITORS = frozenset({"strreplaceeditor", "strreplacebasededittool", "texteditor", "fileeditor"})
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
    {
        *("bash", "shell", "shellcommand", "localshell", "terminal", "cmd", "exec", "execute", "execcommand"),
        *("executebash", "executecommand", "runcommand", "runshellcommand", "runinterminal", "runterminalcmd"),
    }
)
_SHELL_WORDS = frozenset({"bash", "sh", "zsh", "shell", "terminal", "powershell", "pwsh"})
_CODE_WORDS = frozenset({"python", "ipython", "jupyter", "code", "repl", "notebook"})
_RUN_WORDS = frozenset({"run", "exec", "execute", "in", "a", "the", "command", "cmd", "script", "cell", "tool"})
"""The other words that the name of such a tool may have: a tool that explains, checks or looks up a command does not
run it."""
_NAME_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_HELPERS = frozenset(
    {"task", "agent", "subagent", "runsubagent", "dispatchagent", "spawnagent", "delegate", "delegatetask", "newtask"}
)
_SEARCHES = frozenset(
    {
        *("grep", "glob", "ripgrep", "search", "grepsearch", "filesearch", "searchfiles", "findfiles"),
        *("codebasesearch", "websearch", "listdir", "ls"),
    }
)
_PATHS = (
    *("file_path", "path", "filePath", "absolute_path", "target_file", "notebook_path", "filename", "filepath"),
    *("TargetFile", "AbsolutePath"),
)
_LISTS = ("paths", "files", "replacements")
LONGEST_KNOWN = 1_000
"""Characters of a shell command up to which its touches are remembered."""
_COMMANDS = ("command", "cmd", "script", "CommandLine", "commandLine", "shell_command", "bash_command")
_FOLDERS = ("workdir", "cwd", "working_directory", "directory", "dir_path", "cd", "Cwd")
_ELSEWHERE = frozenset({"repo", "owner", "repository", "dryRun", "dry_run"})
"""Arguments that show that a tool changes a file on a server, or none at all."""
_PATCH_LINE = re.compile(r"^\*\*\* (?:(Update|Add|Delete) File:(?: (.+))?|Move to: (.+))$", re.M)
_PATCHING = re.compile(r"\s*(?:cd (?P<folder>[^\s$*;&|]+) && )?apply_patch\s[^\n]{0,40}?\n?\*\*\* Begin Patch")


@lru_cache(maxsize=1_024)  # an agent has few tools, and calls them all day
def bare_name(name: str) -> str:
    """The tool's own name in lower case, without the name of a server or module, and without `_` and `-`."""
    own = name.rsplit("__", 1)[-1].rsplit(".", 1)[-1]
    return own.lower().replace("_", "").replace("-", "")


def as_list(value: Any) -> list[Any] | None:
    """An argument that is a list, or the JSON text of one (models send that too); None for anything else."""
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, list) else None


def command_of(call: ToolCall) -> str:
    """The shell command that a call runs; "" if it runs none."""
    if not _is_shell(call.name):
        return ""
    arguments = call.parsed()
    several = as_list(arguments.get("commands"))
    if several is not None:
        return "\n".join(line for line in several if isinstance(line, str))
    return next(filter(None, (_line(arguments.get(name)) for name in _COMMANDS)), "")


def code_of(call: ToolCall) -> str:
    """The code that a call runs, other than a shell's; "" if it runs none."""
    code = call.parsed().get("code") if _runs(call.name, _CODE_WORDS) else None
    return code if isinstance(code, str) else ""


def _is_shell(name: str) -> bool:
    return bare_name(name) in _SHELLS or _runs(name, _SHELL_WORDS)


def _runs(name: str, what: frozenset[str]) -> bool:
    """The tool's name says that it runs such things, and nothing else."""
    words = _words(name)
    return not what.isdisjoint(words) and words <= what | _RUN_WORDS


@lru_cache(maxsize=1_024)
def _words(name: str) -> frozenset[str]:
    """The words of a tool's own name."""
    return frozenset(map(str.lower, _NAME_WORDS.findall(name.rsplit("__", 1)[-1].rsplit(".", 1)[-1])))


def _line(value: Any) -> str:
    """A command as one line of shell: the text itself, the script handed to a shell, or the words joined."""
    words = as_list(value)
    if not words or not all(isinstance(word, str) for word in words):
        return value if isinstance(value, str) else ""
    if len(words) > 2 and words[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh") and words[1] in ("-c", "-lc"):
        return str(words[2])
    return shlex.join(words)


def call_touches(call: ToolCall) -> Iterator[Touch]:
    """What a call does to which files, if it succeeds."""
    name, arguments = bare_name(call.name), call.parsed()
    if _is_shell(call.name):
        yield from _shell_touches(command_of(call), _first(arguments, *_FOLDERS))
    elif any(arguments.get(key) for key in _ELSEWHERE):
        return
    elif name in _PATCHERS:
        yield from _patch_call(call, arguments)
    elif name in _MOVERS:
        old, new = _first(arguments, "source", "old_path"), _first(arguments, "destination", "new_path")
        yield from (Touch("moved", old, new),) if old and new else ()
    else:
        action = _action(name, arguments)
        yield from (Touch(action, path) for path in _paths(arguments) if action)


def _shell_touches(command: str, folder: str) -> Iterator[Touch]:
    patching = _PATCHING.match(command)
    if not patching:
        yield from _known(command, folder) if len(command) <= LONGEST_KNOWN else touches(command, folder)
        return
    folder = posixpath.join(folder, patching["folder"] or "")
    for action, *paths in patch_touches(command):
        path, to = (posixpath.join(folder, path) if path else "" for path in paths)
        yield Touch(action, path, to)


@lru_cache(maxsize=4_096)  # one fold asks three times about each, and agents repeat themselves
def _known(command: str, folder: str) -> tuple[Touch, ...]:
    return tuple(touches(command, folder))


def _patch_call(call: ToolCall, arguments: Mapping[str, Any]) -> Iterator[Touch]:
    """A patch in an envelope, or one operation on one file."""
    operation = _OPERATIONS.get(_first(arguments, "type"))
    if operation:
        yield from (Touch(operation, path) for path in _paths(arguments))
    else:
        yield from patch_touches(_first(arguments, "input", "patch", "patchText") or call.arguments)


def patch_touches(patch: str) -> Iterator[Touch]:
    """The files of an apply_patch envelope."""
    path = ""
    for verb, named, new in _PATCH_LINE.findall(patch):
        path, to = named.strip() if verb else path, new.strip()
        if path and verb:
            yield Touch({"Update": "edited", "Add": "written", "Delete": "deleted"}[verb], path)
        elif path and to:
            yield Touch("moved", path, to)


def searches(call: ToolCall) -> bool:
    """The call searches for something, and may not find it."""
    return bare_name(call.name) in _SEARCHES


def hands_over(call: ToolCall) -> bool:
    """The call hands work to another agent, which answers with a report."""
    return bare_name(call.name) in _HELPERS


def reads(call: ToolCall) -> bool:
    """The call shows a file: its result is that file's text."""
    return _action(bare_name(call.name), call.parsed()) == "read"


def _action(name: str, arguments: Mapping[str, Any]) -> str:
    if name in _EDITORS:
        return _EDITOR_ACTIONS.get(str(arguments.get("command", "")), "")
    return _ACTIONS.get(name, "")


def _paths(arguments: Mapping[str, Any]) -> Iterator[str]:
    many = next((found for name in _LISTS if (found := as_list(arguments.get(name))) is not None), None)
    named = [_first(arguments, *_PATHS)] if many is None else [_named(item) for item in many]
    yield from (path for path in dict.fromkeys(named) if path and "*" not in path and "://" not in path)


def _named(item: Any) -> str:
    return item if isinstance(item, str) else _first(item, *_PATHS) if isinstance(item, dict) else ""


def _first(arguments: Mapping[str, Any], *names: str) -> str:
    return next((arguments[name] for name in names if isinstance(arguments.get(name), str) and arguments[name]), "")
