"""A JSON list of trajectories, each an object with its Chat Completions messages in `traj`; one of them is read.

Benchmarks write such files. The document goes back whole, with the one trajectory changed if it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from foldline.dialects import jsontext
from foldline.dialects.base import Listed, Source
from foldline.dialects.openai_chat import OpenAIChat
from foldline.errors import InputError, MalformedInput
from foldline.model import Conversation, Notice

_SLOT = "traj"


class Trajectories(OpenAIChat):
    name = "trajectories"
    api = "openai-chat"

    def fits(self, value: Any) -> int:
        if not isinstance(value, list) or not value:
            return 0
        return 100 if all(isinstance(item, dict) and isinstance(item.get(_SLOT), list) for item in value) else 0

    def read(self, source: Source, value: Any, pick: int = 0) -> Conversation:
        self._check(source, value, pick)
        return self._read(source, value, pick, jsontext.dig(source.data, (pick,)))

    def each(self, source: Source, value: Any) -> Iterator[Conversation]:
        """All of them; the document is taken apart once."""
        self._check(source, value)
        for pick, item in enumerate(jsontext.elements(source.data)):
            yield self._read(source, value, pick, item)

    def _check(self, source: Source, value: Any, pick: int = 0) -> None:
        if not self.fits(value):
            raise MalformedInput(f"not a list of objects with a '{_SLOT}' list each", source=source.name)
        if not 0 <= pick < len(value):
            what = f"there is no trajectory {pick}: the file holds {len(value)}, counted from 0"
            raise InputError(what, source=source.name)

    def _read(self, source: Source, value: Any, pick: int, item: bytes) -> Conversation:
        path: jsontext.Path = (pick, _SLOT)
        rows = tuple(jsontext.elements(jsontext.dig(item, path[1:])))
        messages = self.messages(value[pick][_SLOT], rows, source.name)
        held = f"this is trajectory {pick} of {len(value)}, counted from 0; another one is read with pick=N (--pick N)"
        notices = (Notice("one-of-many", held),) if len(value) > 1 else ()
        layout = Listed(source, path, rows, messages)
        return Conversation(self.name, messages, grammar=self.grammar, layout=layout, notices=notices)
