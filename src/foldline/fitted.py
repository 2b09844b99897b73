"""Fitted: a request that fits, as it is given back, and the account of how.

What is needed to try again after a refusal stands in it too: what was given, what was pinned, how often it was tried.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.receipt import Receipt
from foldline.dialects.convert import REQUESTS
from foldline.errors import InputError, InvalidSetting
from foldline.model import Conversation


@dataclass(frozen=True)
class Fitted:
    """A request that fits, and the account of how. `request` has the form of what was given."""

    request: Any
    receipt: Receipt
    view: Conversation = field(repr=False)
    checkpoint: Checkpoint | None = field(default=None, repr=False)
    given: Any = field(default=None, repr=False)
    pins: tuple[int, ...] = field(default=(), repr=False)
    tries: int = 0

    @property
    def messages(self) -> list[Any]:
        """The list of messages alone, also of a request given as text. A transcript has none: see `view`."""
        spoken = REQUESTS.get(self.view.dialect)
        if spoken is None:
            raise InputError(f"a {self.view.dialect} transcript has no list of messages to send; see `view.messages`")
        request = json.loads(self.request) if isinstance(self.request, (str, bytes)) else self.request
        messages: list[Any] = request[spoken.slot] if isinstance(request, Mapping) else request
        return messages


def check_fitted(given: object) -> None:
    """What was sent is known by what `fit` returned, not by the request that was made of it."""
    if not isinstance(given, Fitted):
        raise InvalidSetting(f"fitted is a {type(given).__name__}; give what fit, compact or on_overflow returned")
