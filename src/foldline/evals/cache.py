"""Rows that were measured before, kept in a folder: a run that was broken off goes on where it was.

A row's name is the digest of everything it depends on: the words of the split, the strategy and its version, the
budget, the seed, what the run's sessions share, and the code of the metrics. Nothing in it is ever out of date.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from foldline.model import digest

HOME = "FOLDLINE_EVAL_CACHE"
"""The folder, where the environment names one."""


def home() -> Path:
    """Where rows are kept unless told otherwise."""
    named = os.environ.get(HOME)
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(named) if named else base / "foldline" / "eval"


class Cache:
    """A folder of rows. Several processes may write to it at once. One that cannot be written keeps nothing more."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.fault = ""
        """Why rows could not be kept."""

    def get(self, *depends: object) -> dict[str, Any] | None:
        """The row that depends on this; None when it has not been measured, or cannot be read."""
        if self._folder is None:
            return None
        try:
            found = json.loads(self._place(depends).read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def put(self, row: dict[str, Any], *depends: object) -> None:
        if self._folder is None or self.fault:
            return
        place = self._place(depends)
        beside = place.with_suffix(f".{os.getpid()}")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(json.dumps(row))
            os.replace(beside, place)
        except OSError as error:
            self.fault = f"rows cannot be kept in {self._folder}: {error.strerror or error}"
            with suppress(OSError):
                beside.unlink()

    def _place(self, depends: tuple[object, ...]) -> Path:
        assert self._folder is not None
        name = digest(json.dumps(depends, default=str).encode())
        return self._folder / name[:2] / f"{name}.json"
