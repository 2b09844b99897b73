"""The project as the tools see it: files and the todo list, as a value that each call leads to the next.

Read, Edit, Write, Glob, Grep and TodoWrite are worked out here. A shell command is not: its answer and the files it
changed come as a Take, recorded once from a real run (see `record`).
"""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from session.script import ROOT, Call

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Take:
    """What a shell command printed and did. A file that is None afterwards is gone."""

    command: str
    text: str
    code: int = 0
    changes: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What the model is told, and what the client keeps about it (`toolUseResult`)."""

    text: str
    detail: Any
    failed: bool = False


@dataclass(frozen=True)
class Stage:
    files: Files
    todos: tuple[Mapping[str, Any], ...] = ()

    def with_files(self, changes: Mapping[str, bytes | None]) -> Stage:
        merged = {**self.files, **changes}
        return replace(self, files={path: data for path, data in sorted(merged.items()) if data is not None})


Shell = Callable[[Stage, Call], Take]


def play(stage: Stage, call: Call, shell: Shell) -> tuple[Stage, Outcome]:
    """The stage after the call, and the call's answer."""
    if call.answer is not None:
        return stage, _scripted(call)
    if call.tool == "Bash":
        return _bash(stage, call, shell)
    return TOOLS[call.tool](stage, call.input)


def _scripted(call: Call) -> Outcome:
    text = call.answer or ""
    if call.failed:
        return Outcome(text, f"Error: {text}", failed=True)
    if call.tool == "Bash":
        return Outcome(text, _streams(text))
    return Outcome(text, {"bytes": len(text.encode()), "code": 200, "codeText": "OK", "result": text})


def _streams(text: str) -> Mapping[str, Any]:
    return {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}


def _bash(stage: Stage, call: Call, shell: Shell) -> tuple[Stage, Outcome]:
    take = shell(stage, call)
    after = stage.with_files({p: None if t is None else t.encode("utf-8") for p, t in take.changes.items()})
    if take.code:
        text = f"Exit code {take.code}\n{take.text}".rstrip("\n")
        return after, Outcome(text, f"Error: {text}", failed=True)
    return after, Outcome(take.text or "(no output)", _streams(take.text))


def _error(stage: Stage, text: str) -> tuple[Stage, Outcome]:
    return stage, Outcome(f"<tool_use_error>{text}</tool_use_error>", f"Error: {text}", failed=True)


def _local(path: str) -> str:
    return path.removeprefix(ROOT + "/")


def _text(stage: Stage, path: str) -> str:
    return stage.files[path].decode("utf-8", "replace")


def _read(stage: Stage, args: Mapping[str, Any]) -> tuple[Stage, Outcome]:
    path = _local(args["file_path"])
    if path not in stage.files:
        return _error(stage, "File does not exist.")
    lines = _text(stage, path).replace("\r\n", "\n").split("\n")
    start = args.get("offset", 1)
    shown = lines[start - 1 : start - 1 + args.get("limit", 2000)]
    numbered = "\n".join(f"{n:>6}→{line}" for n, line in enumerate(shown, start))
    file = {"filePath": args["file_path"], "content": "\n".join(shown), "numLines": len(shown)}
    file |= {"startLine": start, "totalLines": len(lines)}
    return stage, Outcome(numbered, {"type": "text", "file": file})


def _write(stage: Stage, args: Mapping[str, Any]) -> tuple[Stage, Outcome]:
    path, full, content = _local(args["file_path"]), args["file_path"], args["content"]
    old = _text(stage, path) if path in stage.files else None
    after = stage.with_files({path: content.encode("utf-8")})
    detail = {"type": "update" if old is not None else "create", "filePath": full, "content": content}
    detail |= {"structuredPatch": _hunks(old, content) if old is not None else [], "originalFile": old}
    said = f"The file {full} has been updated." if old is not None else f"File created successfully at: {full}"
    return after, Outcome(said, detail)


def _edit(stage: Stage, args: Mapping[str, Any]) -> tuple[Stage, Outcome]:
    path, old, new = _local(args["file_path"]), args["old_string"], args["new_string"]
    before = _text(stage, path)
    found, everywhere = before.count(old), args.get("replace_all", False)
    if not found:
        return _error(stage, f"String to replace not found in file.\nString: {old}")
    if found > 1 and not everywhere:
        return _error(
            stage, f"The string occurs {found} times and replace_all is false. Give more of its surroundings."
        )
    content = before.replace(old, new)
    after = stage.with_files({path: content.encode("utf-8")})
    detail = {"filePath": args["file_path"], "oldString": old, "newString": new, "originalFile": before}
    detail |= {"structuredPatch": _hunks(before, content), "userModified": False, "replaceAll": everywhere}
    return after, Outcome(f"The file {args['file_path']} has been updated successfully.", detail)


def _hunks(old: str, new: str) -> list[dict[str, Any]]:
    hunks: list[dict[str, Any]] = []
    for line in list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm=""))[2:]:
        if line.startswith("@@"):
            numbers = re.findall(r"[-+](\d+)(?:,(\d+))?", line)
            (a, b), (c, d) = ((int(at), int(n or 1)) for at, n in numbers)
            hunks.append({"oldStart": a, "oldLines": b, "newStart": c, "newLines": d, "lines": []})
        else:
            hunks[-1]["lines"].append(line)
    return hunks


def _glob(stage: Stage, args: Mapping[str, Any]) -> tuple[Stage, Outcome]:
    names = [f"{ROOT}/{path}" for path in stage.files if fnmatch.fnmatch(path, args["pattern"].replace("**/", "*"))]
    detail = {"filenames": names, "durationMs": 11, "numFiles": len(names), "truncated": False}
    return stage, Outcome("\n".join(names) or "No files found", detail)


def _grep(stage: Stage, args: Mapping[str, Any]) -> tuple[Stage, Outcome]:
    wanted, mask = re.compile(args["pattern"]), args.get("glob", "*")
    hits = [
        (path, f"{path}:{n}:{line}")
        for path in stage.files
        if fnmatch.fnmatch(path, mask) or fnmatch.fnmatch(path.rsplit("/", 1)[-1], mask)
        for n, line in enumerate(_text(stage, path).splitlines(), 1)
        if wanted.search(line)
    ]
    names = list(dict.fromkeys(path for path, _ in hits))
    if args["output_mode"] == "content":
        text = "\n".join(line for _, line in hits)
        detail = {"mode": "content", "numFiles": 0, "filenames": [], "content": text, "numLines": len(hits)}
        return stage, Outcome(text or "No matches found", detail)
    head = f"Found {len(names)} file{'s' if len(names) != 1 else ''}\n"
    detail = {"mode": "files_with_matches", "filenames": names, "numFiles": len(names)}
    return stage, Outcome(head + "\n".join(names) if names else "No files found", detail)


def _todo(stage: Stage, args: Mapping[str, Any]) -> tuple[Stage, Outcome]:
    todos = tuple(args["todos"])
    left = sum(entry["status"] != "completed" for entry in todos)
    said = f"Todo list saved: {len(todos)} items, {left} not done yet."
    return replace(stage, todos=todos), Outcome(said, {"oldTodos": list(stage.todos), "newTodos": list(todos)})


TOOLS = {"Read": _read, "Write": _write, "Edit": _edit, "Glob": _glob, "Grep": _grep, "TodoWrite": _todo}
