"""Archives: where originals, checkpoints and view plans are kept."""

from __future__ import annotations

from foldline.archive.base import Archive
from foldline.archive.memory import MemoryArchive

__all__ = ["Archive", "MemoryArchive"]
