"""Where Foldline keeps its own files, and whether the environment asks for tracebacks.

    FOLDLINE_HOME ── folder ──> ~/.local/share/foldline, unless that says otherwise
    FOLDLINE_DEBUG ── debugging ──> bool

Names only: nothing is made or looked at here. Settings that the user writes lie in ~/.config/foldline.
"""

from __future__ import annotations

import os
from pathlib import Path

HOME, DEBUG = "FOLDLINE_HOME", "FOLDLINE_DEBUG"
USUAL = "~/.local/share/foldline"
_ARCHIVE, _AGENDA, _PROXIES = "archive.db", "agenda.db", "proxies"


def folder() -> Path:
    return Path(os.environ.get(HOME) or USUAL).expanduser()


def archive() -> Path:
    return folder() / _ARCHIVE


def agenda(archive: str | os.PathLike[str] | None = None) -> Path:
    """The agent's plans: beside the archive."""
    return Path(archive).expanduser().with_name(_AGENDA) if archive else folder() / _AGENDA


def proxies() -> Path:
    """A file for each proxy that runs."""
    return folder() / _PROXIES


def debugging() -> bool:
    """Tracebacks are wanted, though they may quote what nobody else should see."""
    return os.environ.get(DEBUG, "0") not in ("", "0")
