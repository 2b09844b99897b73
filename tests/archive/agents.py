"""Folders as agents leave them on disk, written by this code: Claude Code, Codex, pi, opencode old and new."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from pathlib import Path

import zstandard

LONG_AGO = time.time() - 86_400
"""Files that old are no longer being written."""


def put(path: Path, rows: list[dict], age: float | None = LONG_AGO) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)
    path.write_bytes(zstandard.ZstdCompressor().compress(data) if path.suffix == ".zst" else data)
    if age is not None:
        os.utime(path, (age, age))
    return path


def stamp(number: int) -> str:
    return f"2026-06-18T09:{number // 60:02d}:{number % 60:02d}.000Z"


def claude(turns: int, name: str = "one", *, side: bool = False) -> list[dict]:
    """A row for each block; each turn asks, calls twice in one answer, has two results, and ends with words."""
    rows: list[dict] = []

    def row(kind: str, message: dict) -> None:
        rows.append(
            {
                "parentUuid": rows[-1]["uuid"] if rows else None,
                "isSidechain": side,
                "userType": "external",
                "cwd": "/home/mara/code/waybill",
                "sessionId": name,
                "version": "2.0.0",
                "type": kind,
                "message": message,
                "uuid": f"{name}-{len(rows)}",
                "timestamp": stamp(len(rows)),
            }
        )

    for number in range(turns):
        row("user", {"role": "user", "content": f"{name}: look at part {number}, please"})
        for call in ("a", "b"):
            made = f"toolu_{name}{number}{call}"
            use = {"type": "tool_use", "id": made, "name": "Read", "input": {"file_path": call}}
            row("assistant", {"id": f"msg_{name}{number}", "role": "assistant", "model": "m", "content": [use]})
            result = {"type": "tool_result", "tool_use_id": made, "content": f"text {number}"}
            row("user", {"role": "user", "content": [result]})
        done = [{"type": "text", "text": f"part {number} is fine"}]
        row("assistant", {"id": f"msg_{name}{number}z", "role": "assistant", "model": "m", "content": done})
    return rows


def codex(turns: int, name: str = "two") -> list[dict]:
    rows = [{"timestamp": stamp(0), "type": "session_meta", "payload": {"id": name, "cwd": "/home/mara/code/ledger"}}]
    for number in range(turns):
        said = (
            ("user", "input_text", f"{name}: sum up page {number}"),
            ("assistant", "output_text", f"page {number} adds up"),
        )
        for role, kind, text in said:
            item = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
            rows.append({"timestamp": stamp(len(rows)), "type": "response_item", "payload": item})
    return rows


def pi(turns: int, name: str = "three") -> list[dict]:
    rows = [{"type": "session", "version": 3, "id": name, "timestamp": stamp(0), "cwd": "/home/mara/code/pier"}]
    for number in range(turns):
        said = (("user", f"{name}: moor boat {number}"), ("assistant", f"boat {number} is moored"))
        for role, text in said:
            parent = rows[-1]["id"] if len(rows) > 1 else None
            message = {"role": role, "content": [{"type": "text", "text": text}], "timestamp": 1}
            entry = {"type": "message", "id": f"{len(rows):08x}", "parentId": parent, "timestamp": stamp(len(rows))}
            rows.append({**entry, "message": message})
    return rows


def opencode(turns: int, name: str = "ses_four") -> dict:
    """An export."""
    messages = []
    for number in range(turns):
        for role, text in (("user", f"{name}: paint wall {number}"), ("assistant", f"wall {number} is painted")):
            made = f"msg_{len(messages):04d}{name}"
            part = {"id": f"prt_{made}", "sessionID": name, "messageID": made, "type": "text", "text": text}
            info = {"id": made, "sessionID": name, "role": role, "time": {"created": 1_780_000_000_000 + len(messages)}}
            messages.append({"info": info, "parts": [part]})
    info = {"id": name, "directory": "/home/mara/code/walls", "title": "Walls, all of them"}
    return {"info": info, "messages": messages}


def opencode_storage(root: Path, export: dict) -> Path:
    """A file for each session, message and part."""
    storage, name = root / "storage", export["info"]["id"]
    put_json(storage / "session" / "project" / f"{name}.json", export["info"])
    for message in export["messages"]:
        put_json(storage / "message" / name / f"{message['info']['id']}.json", message["info"])
        for part in message["parts"]:
            put_json(storage / "part" / message["info"]["id"] / f"{part['id']}.json", part)
    return root


def put_json(path: Path, value: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    os.utime(path, (LONG_AGO, LONG_AGO))


def opencode_database(path: Path, export: dict) -> Path:
    """The tables of newer versions; ids stand in columns, the rest in `data`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    info = export["info"]
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE session(id, directory, title, time_created, time_updated)")
        connection.execute("CREATE TABLE message(id, session_id, time_created, time_updated, data)")
        connection.execute("CREATE TABLE part(id, message_id, session_id, time_created, time_updated, data)")
        last = 1_780_000_000_000 + len(export["messages"])
        connection.execute(
            "INSERT INTO session VALUES (?, ?, ?, 1, ?)", (info["id"], info["directory"], info["title"], last)
        )
        for at, message in enumerate(export["messages"]):
            data = {key: value for key, value in message["info"].items() if key not in ("id", "sessionID")}
            row = (message["info"]["id"], info["id"], at, at, json.dumps(data))
            connection.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", row)
            for part in message["parts"]:
                data = {key: part[key] for key in part if key not in ("id", "sessionID", "messageID")}
                row = (part["id"], message["info"]["id"], info["id"], at, at, json.dumps(data))
                connection.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
    connection.close()
    return path
