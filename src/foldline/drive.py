"""The loops that run the engine, one sync and one async: what it asks is done, and it is told what came of it.

Wherever something is waited for there is such a pair (here, in the callers, in the compactor), and what the two share
is a generator or a function that waits for nothing. Knows nothing of dialects, budgets or folding.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from traceback import format_exception_only
from typing import Any, Generic, TypeVar

from foldline.archive.base import Backend
from foldline.callers.apart import apart
from foldline.callers.base import Caller
from foldline.core.asking import Ask, Reply
from foldline.core.effects import Around, Asking, Effect, Keep, Known, Recall, Recalled, Save, Surroundings, Tell
from foldline.core.words.text import beginning
from foldline.errors import ArchiveError, CallerError, TimedOut
from foldline.model import Conversation, Notice
from foldline.redact import redact

T = TypeVar("T")
AT_ONCE = 4
"""Requests that are made to a model at the same time."""
PATIENCE = 180.0
"""Seconds after which a turn asks no more: what was not answered by then is extracted."""
TOLD_OF_A_FAULT = 200
"""Characters of an error from a user's own caller: its beginning says what it is, and the receipt stays readable."""


@dataclass(frozen=True)
class World:
    """What the engine's effects act on."""

    archive: Backend
    callers: Mapping[str, Caller]
    """Who answers as "model" and who as "fallback"."""
    scope: str = ""
    listen: Callable[[Notice], None] = lambda _: None
    lock: threading.RLock = field(default_factory=threading.RLock)
    """Held while the engine computes, never while a model is asked."""
    patience: float = PATIENCE
    """Seconds for all requests of one turn. After that none is begun; those on their way are waited for."""
    around: Callable[[Conversation], Surroundings] = lambda _: Surroundings()
    """Reads what the agent keeps besides: its plan and memory files."""


def run(steps: Generator[Effect, Any, T], world: World) -> T:
    """Runs to the end, waiting for each answer."""
    end = time.monotonic() + world.patience
    step = _step(steps, None, world)
    while isinstance(step, Asking):
        answers = _too_late(step, world, end) or _told(step, world, _ask_all(step, world))
        step = _step(steps, answers, world)
    return step.result


async def arun(steps: Generator[Effect, Any, T], world: World) -> T:
    """The same, without holding up the event loop while a model writes."""
    end = time.monotonic() + world.patience
    step = _step(steps, None, world)
    while isinstance(step, Asking):
        answers = _too_late(step, world, end) or _told(step, world, await _aask_all(step, world))
        step = _step(steps, answers, world)
    return step.result


Answers = list[Reply | CallerError]


def _too_late(effect: Asking, world: World, end: float) -> Answers:
    """The answers where the turn's time is over: nobody is asked. Empty while it is not."""
    if time.monotonic() < end:
        return []
    over = f"the {world.patience:g} seconds for all questions of one turn are over"
    world.listen(Notice("asked", f"{_asked(effect, world)}: no request, {over}"))
    return [TimedOut(f"{over}; give the Compactor a longer patience=") for _ in effect.asks]


def _told(effect: Asking, world: World, answers: Answers) -> Answers:
    """The answers, after whoever listens has heard of them."""
    failed = sum(isinstance(answer, CallerError) for answer in answers)
    many = "request" if len(answers) == 1 else "requests"
    world.listen(Notice("asked", f"{_asked(effect, world)}: {len(answers)} {many}, {failed} failed"))
    return answers


def _asked(effect: Asking, world: World) -> str:
    """Who is asked, by the name of the model, such as "anthropic:claude-haiku-4-5"."""
    who = effect.asks[0].who
    return str(getattr(world.callers.get(who), "name", who))


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    result: T


def _step(steps: Generator[Effect, Any, T], answer: Any, world: World) -> Asking | _Done[T]:
    """Runs up to the next question for a model, doing at once whatever needs no waiting; or to the result."""
    with world.lock:
        try:
            effect = steps.send(answer)
            while not isinstance(effect, Asking):
                effect = steps.send(_at_once(effect, world))
        except StopIteration as stop:
            return _Done(stop.value)
    return effect


def _at_once(effect: Effect, world: World) -> Any:
    try:
        match effect:
            case Keep(conversation):
                return world.archive.keep(conversation, world.scope)
            case Recall(digests, scope):
                return world.archive.recall(digests, scope)
            case Known(texts):
                return world.archive.known(texts)
            case Save():
                return world.archive.save(effect, world.scope)
            case Around(conversation):
                return world.around(conversation)
            case Tell(notice):
                return world.listen(notice)
    except ArchiveError as error:
        return error
    raise TypeError(f"no one does {type(effect).__name__}")


def _ask_all(effect: Asking, world: World) -> Answers:
    if len(effect.asks) == 1:
        return [_answer(effect.asks[0], world)]
    few, over = threading.Semaphore(AT_ONCE), threading.Event()

    def ask_one(ask: Ask) -> Reply | CallerError | None:
        with few:
            return None if over.is_set() else _answer(ask, world)

    try:
        asked = [apart(ask_one, ask) for ask in effect.asks]
        return [answer for each in asked if (answer := each.result()) is not None]
    finally:
        over.set()  # who was interrupted asks no more: each question costs


async def _aask_all(effect: Asking, world: World) -> Answers:
    few = asyncio.Semaphore(AT_ONCE)

    async def ask_one(ask: Ask) -> Reply | CallerError:
        async with few:
            return await _aanswer(ask, world)

    return list(await asyncio.gather(*map(ask_one, effect.asks)))


def _answer(ask: Ask, world: World) -> Reply | CallerError:
    try:
        return _replied(world.callers[ask.who].ask(ask))
    except Exception as error:  # anyone may write a caller: no error of it may cost the user the turn
        return _as_value(error)


async def _aanswer(ask: Ask, world: World) -> Reply | CallerError:
    try:
        return _replied(await world.callers[ask.who].aask(ask))
    except Exception as error:  # as above; a cancellation is no Exception, and goes through
        return _as_value(error)


def _replied(answer: object) -> Reply:
    """What a caller gave, which is to be a Reply with a text: SDKs give None where a model wrote none."""
    if not isinstance(answer, Reply):
        raise CallerError(f"the caller gave {type(answer).__name__}, not foldline.core.asking.Reply")
    if not isinstance(answer.text, str):
        raise CallerError(f"the caller gave a Reply whose text is {type(answer.text).__name__}, not str")
    return answer


def _as_value(error: Exception) -> CallerError:
    """What a caller raised, as one of our errors; the receipt shows its words, so secrets in them are masked."""
    if isinstance(error, CallerError):
        return error
    words = " ".join(redact("".join(format_exception_only(error))).text.split())
    failed = CallerError(f"the caller failed with {beginning(words, TOLD_OF_A_FAULT)}")
    failed.__cause__ = error
    return failed


class Glass:
    """An archive that is read and not written to, for when only a size is asked for."""

    def __init__(self, archive: Backend) -> None:
        self.recall, self.known = archive.recall, archive.known
        self.original, self.expand = archive.original, archive.expand

    def keep(self, conversation: Conversation, scope: str = "") -> None:
        """Nothing is kept."""

    def save(self, effect: Save, scope: str = "") -> Recalled | None:  # noqa: ARG002 - the archive's signature
        """Nothing is saved."""
        return None
