"""What a provider is to be sent: the client's own bytes at rest, a view when they would not fit.

    Fitter.fit(…) ──> Ready(body, fitted, …)

If something in here fails, the request goes on as it came if it fits; else from the last view held in memory; else by
extraction with nothing recalled; and a notice says so. Nothing is sent here, and nothing waits for a model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from foldline import dialects
from foldline.compactor import Compactor, Fitted
from foldline.errors import CannotFit
from foldline.model import Conversation, Message, Notice
from foldline.proxy.beside import Kept
from foldline.proxy.health import log_failure
from foldline.proxy.rooms import Room
from foldline.recent import Recent

VIEWS = 32
"""Conversations whose last view is held in memory."""


@dataclass(frozen=True)
class Ready:
    """A body to send. `fitted` is None where it could not be reckoned with; `notices` say what went wrong."""

    body: bytes = field(repr=False)
    conversation: Conversation = field(repr=False)
    fitted: Fitted | None = field(default=None, repr=False)
    kept: Kept | None = field(default=None, repr=False)
    notices: tuple[Notice, ...] = ()
    action: str = "rest"
    before: int = 0
    """Tokens of what the client sent, where that is known."""

    @property
    def own(self) -> bool:
        """Whether these are the client's own messages, and no view of them."""
        return self.action in ("", "rest") and (self.fitted is None or self.fitted.view is self.conversation)

    @property
    def checkpoint(self) -> str:
        """The checkpoint that stands in the view, if there is one."""
        return self.fitted.receipt.checkpoint if self.fitted and not self.own else ""


@dataclass(frozen=True, slots=True)
class _Shown:
    """A conversation and how it was shown."""

    given: tuple[Message, ...]
    view: tuple[Message, ...]


class Fitter:
    """Fits requests, and remembers their last views. Safe for several threads."""

    def __init__(self) -> None:
        self._views = Recent[tuple[str, str], _Shown](VIEWS)
        self._lock = threading.Lock()

    def fit(self, room: Room, body: bytes, conversation: Conversation, kept: Kept | None = None) -> Ready:
        """What to send for a body, however much of this fails. `kept` is what is being kept of it already."""
        if conversation.head.remote or not conversation.messages:
            return Ready(body, conversation)
        kept = kept or Kept()
        try:
            fitted, _ = room.fit(conversation, len(body), kept)
        except CannotFit as cannot:
            return replace(_smallest(body, conversation, cannot), kept=kept)
        except Exception as error:  # whatever it is, the user's turn goes on
            return replace(self._in_spite(room, body, conversation, error), kept=kept)
        self._hold(conversation, fitted.view)
        return replace(ready(body, conversation, fitted, kept), before=room.before(fitted))

    def look(self, room: Room, body: bytes, conversation: Conversation) -> Ready:
        """The same for a request that only counts: no trace is left."""
        try:
            return ready(body, conversation, room.look(conversation, len(body)), None)
        except CannotFit as cannot:
            return _smallest(body, conversation, cannot)
        except Exception as error:
            return self._in_spite(room, body, conversation, error)

    def _hold(self, conversation: Conversation, view: Conversation) -> None:
        with self._lock:
            key = conversation.dialect, conversation.messages[0].identity
            self._views[key] = _Shown(conversation.messages, view.messages)

    def _in_spite(self, room: Room, body: bytes, conversation: Conversation, error: Exception) -> Ready:
        log_failure("fit-failed", error)
        failed = Notice("fit-failed", f"the request could not be fitted ({type(error).__name__})")
        for way in (self._as_it_came, self._last_view, _extracted):
            found = _tried(way, room, body, conversation)
            if found is not None:
                return replace(found, notices=(failed, *found.notices))
        return Ready(body, conversation, notices=(failed, Notice("as-it-came", "it goes on as it came")))

    def _as_it_came(self, room: Room, body: bytes, conversation: Conversation) -> Ready | None:
        plain = Compactor(room.budget).preview(conversation)
        if plain.tokens_before > plain.room:
            return None
        return Ready(body, conversation, notices=(Notice("as-it-came", "it fits, so it goes on as it came"),))

    def _last_view(self, room: Room, body: bytes, conversation: Conversation) -> Ready | None:  # noqa: ARG002
        with self._lock:
            shown = self._views.get((conversation.dialect, conversation.messages[0].identity))
        count = len(shown.given) if shown else 0
        if shown is None or conversation.messages[:count] != shown.given:
            return None
        view = conversation.with_messages((*shown.view, *conversation.messages[count:]))
        plain = Compactor(room.budget).preview(view)
        if plain.tokens_before > plain.room:
            return None
        notice = Notice("last-view", "it goes on from the last view in memory")
        return Ready(dialects.write(view), conversation, notices=(notice,), action="last-view")


def ready(body: bytes, conversation: Conversation, fitted: Fitted, kept: Kept | None) -> Ready:
    """The client's own bytes where nothing was to be changed, the view's where something was."""
    if fitted.view is conversation:
        return Ready(body, conversation, fitted, kept, fitted.receipt.notices)
    written = fitted.request
    assert isinstance(written, bytes)
    return Ready(written, conversation, fitted, kept, fitted.receipt.notices, fitted.receipt.action)


def _smallest(body: bytes, conversation: Conversation, cannot: CannotFit) -> Ready:
    """Nothing is small enough by our count: the smallest there is goes on, and the provider is the judge of it."""
    notice = Notice("cannot-fit", f"{cannot.tokens:,} tokens are the least, where {cannot.allowed:,} are allowed")
    smallest = cannot.smallest
    if not isinstance(smallest, Conversation):
        return Ready(body, conversation, notices=(notice,))
    return Ready(dialects.write(smallest), conversation, notices=(notice,), action="emergency")


def _extracted(room: Room, body: bytes, conversation: Conversation) -> Ready | None:
    fitted = Compactor(room.budget).fit(conversation)
    notice = Notice("extracted", "it is folded anew, with nothing recalled")
    return replace(ready(body, conversation, fitted, None), fitted=None, notices=(notice,))


def _tried(
    way: Callable[[Room, bytes, Conversation], Ready | None], room: Room, body: bytes, conversation: Conversation
) -> Ready | None:
    try:
        return way(room, body, conversation)
    except Exception as error:  # the next way is tried
        log_failure("fallback-failed", error)
        return None


__all__ = ["Fitter", "Ready", "ready"]
