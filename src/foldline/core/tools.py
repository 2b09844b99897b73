"""What real agents call their tools, and how their results tell success from failure.

Names and arguments as Claude Code, Codex, pi, opencode, Gemini CLI, Cline, Cursor, Copilot, OpenHands, SWE-agent, Goose
and the MCP file server use them. An unknown tool is no file tool; nothing is guessed from its arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from foldline.core.shell import Touch
from foldline.model import ToolCall, ToolResult

_PATH_NAMES = ("file_path", "path", "filePath", "absolute_path", "target_file", "notebook_path", "filename", "file")
_READ = frozenset(
    {
        "read",
        "read_file",
        "view",
        "view_file",
        "view_image",
        "open",
        "open_file",
        "cat",
        "read_text_file",
        "read_media_file",
        "notebookread",
        "read_many_files",
        "read_multiple_files",
        "readfile",
    }
)
_WRITE = frozenset({"write", "write_file", "write_to_file", "create", "create_file", "writefile"})
_EDIT = frozenset(
    {
        "edit",
        "multiedit",
        "notebookedit",
        "edit_file",
        "replace",
        "replace_in_file",
        "apply_diff",
        "search_replace",
        "str_replace",
        "insert",
        "insert_content",
        "replace_string_in_file",
        "multi_replace_string_in_file",
        "insert_edit_into_file",
        "edit_notebook_file",
    }
)
_DELETE = frozenset({"delete", "delete_file", "remove_file", "remove"})
_MOVE = frozenset({"move_file", "rename_file", "move", "rename"})
_SHELL = frozenset(
    {
        "bash",
        "shell",
        "exec_command",
        "execute_bash",
        "execute_command",
        "run_shell_command",
        "run_in_terminal",
        "run_terminal_cmd",
        "local_shell",
        "local_shell_call",
        "container.exec",
        "run_command",
        "terminal",
        "cmd",
    }
)
_EDITORS = frozenset({"str_replace_editor", "str_replace_based_edit_tool", "text_editor", "edit_anthropic", "editor"})
_EDITOR_ACTIONS = {
    "view": "read",
    "create": "written",
    "write": "written",
    "str_replace": "edited",
    "insert": "edited",
    "undo_edit": "edited",
}
_PATCHERS = frozenset({"apply_patch", "patch"})
_PATCH_LINE = re.compile(r"^\*\*\* (Update|Add|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.M)
_EXIT_CODE = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?: exit)?[ _](?:code|status)|returncode)[:>= ]{1,3}(-?\d{1,5})", re.I
)
_FAILED = re.compile(
    r"^(?:error|traceback \(most recent|fatal|<tool_use_error>|failed to|no such file|file (?:does not|not)"
    r"|string to replace not found|permission denied|command failed|the user doesn't want to proceed)",
    re.I,
)
_LOOK = 400
"""Characters at either end of a result in which its outcome is sought."""


def bare_name(name: str) -> str:
    """The tool's own name: without an MCP server's prefix, in lower case."""
    return name.rsplit("__", 1)[-1].lower()


def is_shell(call: ToolCall) -> bool:
    return bare_name(call.name) in _SHELL


def command_of(call: ToolCall) -> str:
    """The shell command a call runs; "" when it runs none."""
    if not is_shell(call):
        return ""
    arguments = call.parsed()
    for name in ("command", "cmd", "script", "input"):
        value = arguments.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            return value[-1] if value[:2] and value[0] in ("bash", "sh", "zsh") else " ".join(value)
    action = arguments.get("action")
    return " ".join(action["command"]) if isinstance(action, dict) and isinstance(action.get("command"), list) else ""


def file_touches(call: ToolCall) -> Iterator[Touch]:
    """What a file tool does to which files."""
    name, arguments = bare_name(call.name), call.parsed()
    if name in _PATCHERS:
        yield from patch_touches(_patch_text(call, arguments))
    elif name in _MOVE:
        old, new = (
            _first(arguments, *names) for names in (("source", "old_path", "from"), ("destination", "new_path", "to"))
        )
        if old and new:
            yield Touch("moved", old, new)
    else:
        action = _action(name, arguments)
        yield from (Touch(action, path) for path in _paths(arguments) if action)


def _action(name: str, arguments: Mapping[str, Any]) -> str:
    if name in _EDITORS:
        return _EDITOR_ACTIONS.get(str(arguments.get("command", "")), "")
    for action, names in (("read", _READ), ("written", _WRITE), ("edited", _EDIT), ("deleted", _DELETE)):
        if name in names:
            return action
    return ""


def _paths(arguments: Mapping[str, Any]) -> list[str]:
    many = arguments.get("paths") or arguments.get("files")
    if isinstance(many, list):
        return [path for path in many if isinstance(path, str)]
    one = _first(arguments, *_PATH_NAMES)
    return [one] if one else []


def _first(arguments: Mapping[str, Any], *names: str) -> str:
    return next((arguments[name] for name in names if isinstance(arguments.get(name), str) and arguments[name]), "")


def _patch_text(call: ToolCall, arguments: Mapping[str, Any]) -> str:
    return _first(arguments, "input", "patch", "patchText") or call.arguments


def patch_touches(patch: str) -> Iterator[Touch]:
    """The files of an apply_patch envelope."""
    last = ""
    for verb, path, to in _PATCH_LINE.findall(patch):
        if to:
            yield Touch("moved", last, to.strip())
        else:
            last = path.strip()
            yield Touch({"Update": "edited", "Add": "written", "Delete": "deleted"}[verb], last)


def outcome(result: ToolResult | None) -> Literal["ok", "failed", "unknown"]:
    """How a call ended, by what its result says."""
    if result is None:
        return "unknown"
    if result.is_error:
        return "failed"
    text = result.text
    code = _EXIT_CODE.search(text[:_LOOK]) or _EXIT_CODE.search(text[-_LOOK:])
    if code:
        return "ok" if code.group(1) == "0" else "failed"
    status = _structured(text)
    if status is not None:
        return "ok" if status else "failed"
    return "failed" if _FAILED.match(text.lstrip()[:_LOOK]) else "ok"


def _structured(text: str) -> bool | None:
    """Success as a JSON result states it: {"metadata": {"exit_code": 1}} or {"success": false}."""
    if not text.startswith("{") or len(text) > 100_000:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    inner = value.get("metadata") if isinstance(value.get("metadata"), dict) else value
    if isinstance(inner.get("exit_code"), int):
        return bool(inner["exit_code"] == 0)
    return inner["success"] if isinstance(inner.get("success"), bool) else None
