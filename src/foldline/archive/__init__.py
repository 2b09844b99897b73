"""Archives: where originals, checkpoints and view plans are kept. `Archive`, in SQLite, is loaded when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldline.archive.base import Backend
from foldline.archive.memory import MemoryArchive

if TYPE_CHECKING:
    from foldline.archive.sqlite import Archive


def __getattr__(name: str) -> Any:
    if name != "Archive":
        raise AttributeError(f"module 'foldline.archive' has no attribute {name!r}")
    from foldline.archive.sqlite import Archive

    return Archive


__all__ = ["Archive", "Backend", "MemoryArchive"]
