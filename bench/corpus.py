"""Reads and writes every real session beside the checkout, and prints what came of it.

    python bench/corpus.py            the table, and the figures for 50 MB of one transcript
    python bench/corpus.py FOLDER     the figures of one folder as JSON (how the table is made: one process each)

Ends with 1 when a file cannot be read, is not written back byte for byte, or is not rebuilt from its parts.
"""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from foldline import sources
from foldline.dialects import mending
from foldline.dialects.base import Lined
from foldline.errors import FoldlineError, MalformedInput

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
LARGE = 50_000_000
"""The size for which the time and the memory are promised: below one second, below 200 MB."""
SKIPS = frozenset({"malformed", "truncated", "nul", "too-deep", "not-understood"})


def measure(folder: Path) -> dict[str, Any]:
    """The figures of one folder, read in this process."""
    figures = {"files": 0, "bytes": 0, "records": 0, "messages": 0, "skipped": 0, "seconds": 0.0}
    wrong = []
    for path in sorted(folder.glob("*.gz")):
        data = gzip.decompress(path.read_bytes())
        try:
            figures = {key: figures[key] + value for key, value in one(data).items()}
        except (FoldlineError, AssertionError) as error:
            wrong.append(f"{path.name}: {error}")
    return {**figures, "memory": peak(), "wrong": wrong}


def one(data: bytes) -> dict[str, float]:
    start = time.process_time()
    conversation = sources.read(data, history="all")
    written = sources.write(conversation)
    seconds = time.process_time() - start
    assert written == data, "not written back byte for byte"
    bare = conversation.with_messages([replace(message, raw=None) for message in conversation.messages])
    rebuilt = sources.write(bare)
    assert rebuilt == data or values(rebuilt) == values(data), "not rebuilt from its parts"
    layout = conversation.layout
    return {
        "files": 1,
        "bytes": len(data),
        "records": len(layout.rows) if isinstance(layout, Lined) else 1,
        "messages": len(conversation),
        "skipped": sum(notice.code in SKIPS for notice in conversation.notices),
        "seconds": seconds,
    }


def values(data: bytes) -> list[Any]:
    """A document, or its lines where it is one of lines."""
    try:
        return [mending.decode(data)]
    except MalformedInput:
        return [value(line) for line in data.splitlines()]


def value(line: bytes) -> Any:
    try:
        return mending.decode(line)
    except MalformedInput:
        return line


def peak() -> float:
    """The most memory this process ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def table(folders: list[Path]) -> list[str]:
    """Prints a line for each folder; what went wrong comes back."""
    print(f"{'folder':<16}{'files':>6}{'MB':>8}{'records':>9}{'messages':>10}{'skipped':>9}{'CPU s':>8}{'peak MB':>9}")
    wrong = []
    for folder in folders:
        f = fresh(str(folder))
        print(
            f"{folder.name:<16}{f['files']:>6}{f['bytes'] / 1e6:>8.1f}{f['records']:>9}{f['messages']:>10}"
            f"{f['skipped']:>9}{f['seconds']:>8.2f}{f['memory']:>9.0f}"
        )
        wrong += f["wrong"]
    return wrong


def fresh(*arguments: str) -> dict[str, Any]:
    """This script in a process of its own."""
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def large(folder: Path) -> None:
    """Sessions one after the other until they are 50 MB, read as one, as they would be and whole."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        size = 0
        for path in sorted(folder.glob("*.gz")):
            if size < LARGE:
                size += file.write(gzip.decompress(path.read_bytes()).rstrip(b"\n") + b"\n")
        file.flush()
        for history in ("live", "all"):
            f = fresh("--large", file.name, history)
            print(
                f"{size / 1e6:.1f} MB of {folder.name}, history={history}: {f['messages']} messages, "
                f"{f['seconds']:.2f} s CPU, peak {f['memory']:.0f} MB"
            )


def read_large(name: str, history: str) -> dict[str, float]:
    start = time.process_time()
    conversation = sources.read(name, history="all" if history == "all" else "live")
    return {"messages": len(conversation), "seconds": time.process_time() - start, "memory": peak()}


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--large"]:
        print(json.dumps(read_large(*arguments[1:])))
        return 0
    if arguments:
        print(json.dumps(measure(Path(arguments[0]))))
        return 0
    folders = sorted(path for path in CORPUS.glob("*") if path.is_dir())
    if not folders:
        print(f"there are no real sessions in {CORPUS}", file=sys.stderr)
        return 0
    wrong = table(folders)
    large(CORPUS / "claude-code")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
