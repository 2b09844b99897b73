"""Project memory (`CLAUDE.md`, `AGENTS.md`, …), pinned by reference: what exists, what it says, whether it changed.

    find(root) ──> Memory ── listing ──> what there is, for the continuation
                          ├─ load ─────> one file or section, from the disk as it is now
                          └─ pins ─────> hashes, and `changed` says later which files still have them

    files.py   one file: its place, its bytes, its sections and imports
    finding.py which files there are
    loading.py what they say, and whether they changed

Texts are never held and never given all at once. A name is a place below the root, or it is refused; what an agent may
read is what was found, or what a found file imports. Nothing is written, and no import is followed unasked.
"""

from foldline.memory_files.files import MemoryFile, Section
from foldline.memory_files.finding import FOLDERS, NAMES, Memory, find
from foldline.memory_files.loading import Changes, Loaded, changed, entries, listing, load, load_all, pins

__all__ = [
    "FOLDERS",
    "NAMES",
    "Changes",
    "Loaded",
    "Memory",
    "MemoryFile",
    "Section",
    "changed",
    "entries",
    "find",
    "listing",
    "load",
    "load_all",
    "pins",
]
