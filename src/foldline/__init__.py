"""The public names of Foldline, and nothing else: each is loaded when it is first used.

Foldline keeps any language-model agent inside its context window, and loses nothing. Importing it costs nothing yet.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foldline.archive import Archive, MemoryArchive
    from foldline.checks import validate
    from foldline.compactor import Compactor, Fitted
    from foldline.core.receipt import Receipt
    from foldline.errors import CannotFit, FoldlineError
    from foldline.model import Conversation, Message, Notice, Origin
    from foldline.models import Budget
    from foldline.sources import read, write

_HOMES = {
    "Archive": "archive.sqlite",
    "Budget": "models",
    "CannotFit": "errors",
    "Compactor": "compactor",
    "Conversation": "model",
    "Fitted": "compactor",
    "FoldlineError": "errors",
    "MemoryArchive": "archive",
    "Message": "model",
    "Notice": "model",
    "Origin": "model",
    "Receipt": "core.receipt",
    "read": "sources",
    "validate": "checks",
    "write": "sources",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'foldline' has no attribute {name!r}")
    value = getattr(import_module(f"foldline.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


__version__ = "0.1.0"
__all__ = [
    "Archive",
    "Budget",
    "CannotFit",
    "Compactor",
    "Conversation",
    "Fitted",
    "FoldlineError",
    "MemoryArchive",
    "Message",
    "Notice",
    "Origin",
    "Receipt",
    "read",
    "validate",
    "write",
]
