"""What people see: text made harmless for terminals, tables, and a sign of life during long work.

rich is imported only when something is drawn. Whatever comes from data passes through `safe` first: a tool's name may
hold the commands of a terminal. What is drawn is decided elsewhere.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from foldline.core.words.escapes import HARMFUL, safe, safe_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

PATIENCE = 1.0
"""Seconds of silence before a sign of life: shorter work needs none."""


def safe_json(data: bytes) -> bytes:
    """A JSON document for a terminal: the same values, with what a terminal would obey as JSON escapes."""
    text = data.decode("utf-8", "replace")
    return HARMFUL.sub(lambda found: found[0] if found[0] in "\t\n" else f"\\u{ord(found[0]):04x}", text).encode()


def count(number: int, name: str) -> str:
    """So many of something; the name is that of one."""
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def say(text: str) -> None:
    """One or more lines for people, on stderr. Each line was made harmless by whoever wrote it."""
    print(text, file=sys.stderr)


def console(stream: TextIO) -> Console:
    """Where tables go. A width nobody told is 80, so that output in files is the same everywhere."""
    from rich.console import Console

    class Pipe(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would end the program here, with an exit code that means something else

    width = shutil.get_terminal_size().columns if os.environ.get("COLUMNS") == "0" else None  # 0 is nobody's width
    return Pipe(file=stream, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


class Working:
    """A line on stderr that says what is being done and for how long, shown after a second, taken away at the end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._start = time.monotonic()
        self._lock = threading.Lock()
        self._status: Status | None = None
        self._over = False

    def step(self, text: str) -> None:
        with self._lock:
            self._text = text

    def __rich__(self) -> str:
        """What the line says now. It is drawn anew several times a second."""
        return f"{safe(self._text)} · {time.monotonic() - self._start:.0f} s"

    def show(self) -> None:
        with self._lock:
            if not self._over:
                self._status = console(sys.stderr).status(self)
                self._status.start()

    def end(self) -> None:
        with self._lock:
            self._over = True
            if self._status:
                self._status.stop()


@contextmanager
def working(text: str, *, quiet: bool = False) -> Iterator[Working]:
    """Shows a sign of life while the block runs, if it runs long and there is a terminal to show it on."""
    life = Working(text)
    if quiet or not sys.stderr.isatty():
        yield life
        return
    timer = threading.Timer(PATIENCE, life.show)
    timer.daemon = True
    timer.start()
    try:
        yield life
    finally:
        timer.cancel()
        life.end()


__all__ = ["PATIENCE", "Working", "console", "count", "safe", "safe_json", "safe_text", "say", "working"]
