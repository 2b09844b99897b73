"""One request that is ours, from its body to what is learned from the answer. Bytes come and go in door.py.

glance       bytes → Read or None                 at once: where little of it is new
at_rest      Read → Turn or None                  at once: where it surely goes on as it came
read         bytes → Read or Turn                 in a thread: nothing from here on may hold up the event loop
fitted       Read → Turn                          in a thread, one turn of a conversation at a time
smaller      Turn + refusal → Turn or None        in a thread: clamp the output first, then fold further
after        fit what glance has seen, learn from usage, archive the reply, prepare a summary ahead
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from foldline import dialects
from foldline.compactor import Fitted
from foldline.core.counting.meter import Tally
from foldline.dialects import jsontext
from foldline.dialects.base import RequestDialect
from foldline.errors import BudgetError, CallerError, InputError, Overflow, TooDeep, TooLarge
from foldline.model import Conversation, Notice
from foldline.overflow import TRUNCATED_BELOW, output_too_long
from foldline.proxy.ahead import Ahead
from foldline.proxy.beside import Kept
from foldline.proxy.bodies import Twins, unpacked
from foldline.proxy.fitting import Fitter, Ready, ready
from foldline.proxy.health import Health, log_failure
from foldline.proxy.relay import Outcome, Relay
from foldline.proxy.replies import reply
from foldline.proxy.rooms import Room, Rooms
from foldline.proxy.routes import Route, folder, left_alone
from foldline.proxy.signals import Silent
from foldline.proxy.skim import Skimmer
from foldline.proxy.upstreams import Upstream
from foldline.recovery import TRIES, lowered

_WRAPPED = "generateContentRequest"
"""Where Gemini's countTokens keeps the request it is about, if that is a whole one."""
TIGHT = 0.5
"""Of the window: a prompt that fills so much may be what a server that says nothing found too large."""


class Unwelcome(Exception):
    """A body that is refused before anything is sent."""

    def __init__(self, status: int, why: str) -> None:
        self.status, self.why = status, why
        super().__init__(why)


@dataclass(frozen=True)
class Read:
    """A request that is ours: as it was sent, its body unpacked, what that says, and the room it belongs to."""

    route: Route
    upstream: Upstream
    sent: bytes = field(repr=False)
    body: bytes = field(repr=False)
    conversation: Conversation = field(repr=False)
    room: Room
    wrapped: bytes = field(default=b"", repr=False)
    """The document around the request, where there is one."""


@dataclass(frozen=True)
class Turn:
    """A request on its way. `room` is None where it is passed on as it came."""

    route: Route
    ready: Ready
    room: Room | None = None
    tries: int = 0
    limit: tuple[jsontext.Path, int] | None = None
    """The output limit it was given here, to be kept through further folds."""
    loud: bool = False
    """The provider says when a prompt is too large, so a low report is no sign that it dropped something."""
    plain: bytes = field(default=b"", repr=False)
    """The body unpacked, where it was packed and goes on as it came."""
    wrapped: bytes = field(default=b"", repr=False)
    """The document around the request, where there is one."""
    read: Read | None = field(default=None, repr=False)
    """The request, where it was sent on as it came and is yet to be fitted."""
    about: int = 0
    """About how many tokens such a request has. It is counted when it is under way."""
    expected: int = 0
    """What the provider's report is held against (see `_expected`); 0 where it is not."""

    @property
    def tokens(self) -> int:
        return self.ready.fitted.receipt.tokens_after if self.ready.fitted else self.about

    @property
    def tight(self) -> bool:
        return self.room is not None and self.tokens > self.room.budget.window * TIGHT

    @property
    def body(self) -> bytes:
        body = self.ready.body
        if self.limit is not None:
            body = jsontext.splice(body, self.limit[0], str(self.limit[1]).encode())
        return jsontext.splice(self.wrapped, (_WRAPPED,), body) if self.wrapped else body


class Turns:
    """Does the thinking for the door. Every method is safe to call from several threads."""

    def __init__(self, rooms: Rooms, health: Health) -> None:
        self.rooms, self.health = rooms, health
        self.skimmer, self.fitter = Skimmer(), Fitter()
        self.ahead = Ahead(health.summary)

    def glance(self, route: Route, upstream: Upstream, sent: bytes, coding: str) -> Read | None:
        """The request in a body that is the last one and a little more, in a fraction of a millisecond; else None."""
        if coding or route.operation != "generate":
            return None
        try:
            skimmed = self.skimmer.glance(route, sent)
        except InputError:
            return None
        if skimmed is None or left_alone(route.dialect, skimmed.fields):
            return None
        return Read(route, upstream, sent, sent, skimmed.conversation, self._room(upstream, skimmed.conversation))

    def _room(self, upstream: Upstream, conversation: Conversation) -> Room:
        return self.rooms.room(upstream.name, conversation.head.model, folder(conversation))

    def at_rest(self, read: Read) -> Turn | None:
        """The turn of a request that is surely sent as it came; it is fitted behind the answer, or once it is refused.

        None for whatever is not seen to be so in a fraction of a millisecond, and without waiting for anybody.
        """
        if not read.room.rests(read.conversation):
            return None
        ready = Ready(read.sent, read.conversation, notices=read.room.notices)
        return Turn(read.route, ready, read.room, loud=read.upstream.official, read=read)

    def keep(self, turn: Turn) -> Turn:
        """The turn, with its conversation on its way into the archive."""
        assert turn.room is not None
        try:
            kept = turn.room.archive(turn.ready.conversation)
        except Exception as error:  # it is under way: nothing may stop it
            self._failed("archive-failed", error)
            return turn
        return replace(turn, ready=replace(turn.ready, kept=kept))

    def weigh(self, turn: Turn) -> Turn:
        """A turn that is not fitted yet, with about how many tokens it has, where that is known at once."""
        try:
            tally = turn.room.weigh(turn.ready.conversation) if turn.room else None
        except Exception as error:
            self._failed("weigh-failed", error)
            return turn
        if tally is None:
            return turn
        return replace(turn, about=tally.tokens, expected=0 if turn.loud else _expected(tally))

    def _failed(self, what: str, error: Exception) -> None:
        log_failure(what, error)
        self.health.notice(Notice(what, type(error).__name__))

    def read(self, route: Route, upstream: Upstream, sent: bytes, coding: str) -> Read | Turn:
        """The request in a body, or the turn of one that is not to be fitted. Raises Unwelcome for what is refused."""
        try:
            body = unpacked(sent, coding)
            wrapped, body = _unwrapped(route, body)
            skimmed = self.skimmer.read(route, body)
        except (Twins, TooDeep) as error:
            raise Unwelcome(400, error.what) from None
        except TooLarge as error:
            raise Unwelcome(413, error.what) from None
        except InputError as error:
            notice = Notice("unread", f"the body could not be read ({type(error).__name__}), and goes on as it came")
            return Turn(route, Ready(sent, Conversation(route.dialect, ()), notices=(notice,), action=""))
        conversation = skimmed.conversation
        if left_alone(route.dialect, skimmed.fields):
            return Turn(route, Ready(sent, conversation, action=""))
        return Read(route, upstream, sent, body, conversation, self._room(upstream, conversation), wrapped)

    def in_spite(self, route: Route, sent: bytes, error: Exception) -> Turn:
        """The turn of a request that could not be made one of ours, whatever failed: it goes on as it came."""
        log_failure("fit-failed", error)
        failed = Notice("fit-failed", f"the request could not be fitted ({type(error).__name__})")
        notices = (failed, Notice("as-it-came", "it goes on as it came"))
        return Turn(route, Ready(sent, Conversation(route.dialect, ()), notices=notices, action=""))

    def fitted(self, read: Read, kept: Kept | None = None) -> Turn:
        """What is to be sent for a request that was read. `kept` is what is being kept of it already."""
        counts = read.route.operation == "count"
        if counts:
            found = self.fitter.look(read.room, read.body, read.conversation)
        else:
            found = self.fitter.fit(read.room, read.body, read.conversation, kept)
        found = replace(found, notices=(*read.room.notices, *found.notices))
        loud = read.upstream.official
        expected = 0 if loud or counts or found.fitted is None else _expected(read.room.weighed(found.fitted))
        turn = Turn(read.route, found, read.room, loud=loud, expected=expected, wrapped=read.wrapped)
        if found.body is not read.body:
            return turn
        plain = b"" if read.wrapped or read.body is read.sent else read.body
        return replace(turn, ready=replace(found, body=read.sent), wrapped=b"", plain=plain)

    def smaller(self, turn: Turn, outcome: Outcome) -> Turn | None:
        """A request that should be taken after this one was refused; None when the refusal is to be passed on."""
        try:
            return self._less(turn, outcome)
        except Exception as error:  # then the provider's own words are passed on
            self._failed("smaller-failed", error)
            return None

    def _less(self, turn: Turn, outcome: Outcome) -> Turn | None:
        if turn.read is not None:
            again = self.fitted(turn.read, turn.ready.kept)
            return self._less(again, outcome) if again.body is turn.read.sent else replace(again, tries=1)
        if turn.room is None or turn.ready.fitted is None or turn.tries >= TRIES or outcome.refusal is None:
            return None
        clamped = _clamped(turn, outcome)
        if clamped is not None:
            self.health.overflow("output")
            return clamped
        self.health.overflow("status" if outcome.status != 200 else "in-reply")
        fitted = replace(turn.ready.fitted, tries=turn.tries)
        try:
            less = turn.room.again(fitted, outcome.refusal)
        except (CallerError, BudgetError):
            return None
        smaller = ready(turn.ready.body, turn.ready.conversation, less, turn.ready.kept)
        smaller = replace(smaller, before=turn.room.before(less))
        if smaller.body is turn.ready.body:
            return None
        loud = not isinstance(outcome.refusal, Silent)
        expected = 0 if loud else _expected(turn.room.weighed(less))
        return replace(turn, ready=smaller, plain=b"", tries=turn.tries + 1, loud=loud, expected=expected)

    def after(self, turn: Turn, relay: Relay) -> tuple[Turn, Kept | None]:
        """What is left to do when the client has its answer: the turn, fitted by now, and what is being kept of it."""
        done = self._late(turn, turn.read) if turn.read else turn
        room, fitted = done.room, done.ready.fitted
        if room is None or turn.route.operation != "generate" or (fitted is None and turn.read is None):
            return done, None
        if fitted is not None:
            self._learned(done, relay, room, fitted)
        return done, self._archive(done, relay, room)

    def _late(self, turn: Turn, read: Read) -> Turn:
        """A turn that was sent on as it came, fitted: the next one goes on from here.

        Where that comes to something else (somebody folded the same history meanwhile), nothing is to be learned.
        """
        fitted = self.fitted(read, turn.ready.kept)
        sent = fitted.ready if fitted.body is read.sent else turn.ready
        return replace(turn, ready=sent, read=None)

    def _learned(self, turn: Turn, relay: Relay, room: Room, fitted: Fitted) -> None:
        self.health.saved(room.saved(fitted))
        watch, conversation = relay.watch, turn.ready.conversation
        if isinstance(watch.refusal, Overflow):
            self._too_late(turn, watch.refusal)
        elif watch.response is not None:
            room.learn(fitted, watch.response)
        room.make_ready(conversation)
        if fitted.receipt.action != "compact":
            self.ahead.consider(room, conversation, turn.tokens)

    def _too_late(self, turn: Turn, refusal: Overflow) -> None:
        """The answer was cut short by the window, and had been passed on by then: the next one gets more room."""
        self.health.overflow("late")
        if turn.room is None or turn.ready.fitted is None or turn.tries >= TRIES:
            return
        try:
            turn.room.again(replace(turn.ready.fitted, tries=turn.tries), refusal)
        except (CallerError, BudgetError) as error:
            self.health.notice(Notice("no-smaller-view", type(error).__name__))

    def _archive(self, turn: Turn, relay: Relay, room: Room) -> Kept | None:
        said = b"".join(relay.kept)
        elements = reply(turn.route.dialect, said, streamed=relay.streams, framed=turn.route.framed)
        if not elements:
            return None
        conversation = turn.ready.conversation
        dialect = dialects.named(turn.route.dialect)
        assert isinstance(dialect, RequestDialect)
        first = len(conversation.messages)
        new = (dialect.message(item, jsontext.encode(item), at, "") for at, item in enumerate(elements, first))
        return room.archive(conversation.with_messages((*conversation.messages, *new)), patient=True)

    def close(self) -> None:
        self.ahead.close()
        self.rooms.close()


def _unwrapped(route: Route, body: bytes) -> tuple[bytes, bytes]:
    """The document around a request, if there is one, and the request."""
    if route.operation != "count" or route.dialect != "gemini":
        return b"", body
    inner = jsontext.fields(body).get(_WRAPPED)
    return (body, inner) if inner is not None else (b"", body)


def _expected(tally: Tally) -> int:
    """Tokens to hold a report against: a low one means that something was dropped, and not only that this provider has
    cheap pictures, leaves old thinking out, or serves another model by that name, whose tokenizer makes fewer of them.
    A view is counted as dear as with any of them, since it has to fit."""
    return round(min(tally.tokens, tally.raw, tally.low / TRUNCATED_BELOW))


def _clamped(turn: Turn, outcome: Outcome) -> Turn | None:
    """The same request with an output limit that fits, where that alone is in the way."""
    excess = output_too_long(outcome.said, status=outcome.status)
    limit = lowered(jsontext.decode(turn.plain or turn.body), excess) if excess is not None else None
    if limit is None:
        return None
    own = replace(turn.ready, body=turn.plain or turn.ready.body)
    return replace(turn, ready=own, plain=b"", limit=limit, tries=turn.tries + 1)


__all__ = ["Read", "Turn", "Turns", "Unwelcome"]
