"""Doubles and builders for tests, ours and our users': a scripted model, a script for the engine, a talking agent.

FakeCaller(replies)      a model that answers what it is told to, and remembers what it was asked
play(steps, script)      runs the engine against a script, read top to bottom: what it asks, what it is told
Session(dialect)         writes a conversation, message by message, in any request dialect
ArchiveSuite, ShelfSuite what every archive must do, as tests to inherit from (conformance.py)
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from foldline import sources
from foldline.core.asking import Ask, Reply
from foldline.core.effects import Effect
from foldline.dialects import named
from foldline.dialects.base import RequestDialect
from foldline.errors import CallerError
from foldline.model import Conversation, Message, Origin, Part, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from foldline.conformance import ArchiveSuite, ShelfSuite

T = TypeVar("T")
Script = Sequence[tuple[type[Effect], Any]]

SUMMARY = """## Goal
The goal, as told.

## Progress
### Done
- [x] what was done

## Next Steps
1. go on

## Immediate Task
CONTINUE: go on
"""
"""A reply that every auditor accepts: it names nothing."""


class FakeCaller:
    """Answers from a list, the last one again and again. A CallerError in the list is raised; a function is called."""

    def __init__(
        self,
        replies: Iterable[str | Reply | CallerError | Callable[[Ask], str]] = (SUMMARY,),
        *,
        name: str = "fake",
        window: int | None = None,
    ) -> None:
        self.name, self.window = name, window
        self.asked: list[Ask] = []
        self._replies = list(replies)

    def ask(self, ask: Ask) -> Reply:
        self.asked.append(ask)
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if isinstance(reply, CallerError):
            raise reply
        if callable(reply):
            reply = reply(ask)
        return Reply(reply, model=self.name) if isinstance(reply, str) else reply

    async def aask(self, ask: Ask) -> Reply:
        return self.ask(ask)


def play(steps: Generator[Effect, Any, T], script: Script) -> T:
    """Runs the steps: each effect must be of the kind the script says next, and is answered as it says.

    An answer that is a function is called with the effect. Raises AssertionError where script and steps part.
    """
    answer: Any = None
    for number, (kind, told) in enumerate(script, 1):
        try:
            effect = steps.send(answer)
        except StopIteration as stop:
            raise AssertionError(f"it ended before step {number}, {kind.__name__}: {stop.value}") from None
        if not isinstance(effect, kind):
            raise AssertionError(f"step {number} was to be {kind.__name__} and is {effect}")
        answer = told(effect) if callable(told) else told
    try:
        effect = steps.send(answer)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    raise AssertionError(f"the script is over, and it still asks for {effect}")


class Session:
    """A conversation that grows. `request()` is the whole of it as its client would send it."""

    def __init__(self, dialect: str = "anthropic", system: str = "", model: str = "") -> None:
        found = named(dialect)
        if not isinstance(found, RequestDialect):
            raise TypeError(f"{dialect} is a transcript; give a request dialect")
        self.dialect, self.system, self.model = found, system, model
        self.messages: list[Message] = []
        self._built: dict[int, tuple[Message, Mapping[str, Any]]] = {}
        self._calls = 0

    def user(self, text: str) -> Session:
        return self._say(Message("user", Origin.USER, (Text(text),)))

    def assistant(self, text: str) -> Session:
        return self._say(Message("assistant", Origin.ASSISTANT, (Text(text),)))

    def tools(self, *used: tuple[str, str, str], text: str = "", failed: bool = False) -> Session:
        """One step: calls of (name, arguments as JSON, result), all answered."""
        calls = [ToolCall(self._id(), name, arguments) for name, arguments, _ in used]
        said: tuple[Part, ...] = (Text(text),) if text else ()
        if self.dialect.grammar.step == "run" and self.dialect.name == "openai-responses":
            for part in (*said, *calls):
                self._say(Message("assistant", Origin.ASSISTANT, (part,)))
        else:
            self._say(Message("assistant", Origin.ASSISTANT, (*said, *calls)))
        results = [
            ToolResult(call.id, (Text(result),), is_error=failed, name=call.name)
            for call, (_, _, result) in zip(calls, used, strict=True)
        ]
        groups = [results] if self.dialect.grammar.results == "joined" else [[result] for result in results]
        for group in groups:
            self._say(Message(self.dialect.grammar.results_role, Origin.TOOL, tuple(group)))
        return self

    def request(self) -> dict[str, Any]:
        built = [self._written(message) for message in self.messages]
        system = {"anthropic": "system", "openai-responses": "instructions"}.get(self.dialect.name)
        head: dict[str, Any] = {"model": self.model} if self.model else {}
        if self.system and system:
            head[system] = self.system
        elif self.system and self.dialect.name == "gemini":
            head["systemInstruction"] = {"parts": [{"text": self.system}]}
        elif self.system:
            built = [{"role": "system", "content": self.system}, *built]
        return {**head, self.dialect.slot: built}

    def conversation(self) -> Conversation:
        return sources.read(self.request(), self.dialect.name)

    def _written(self, message: Message) -> dict[str, Any]:
        """The message as its dialect writes it; built once, however often the session is sent."""
        if id(message) not in self._built:
            self._built[id(message)] = message, self.dialect.build(message)
        return dict(self._built[id(message)][1])

    def _say(self, message: Message) -> Session:
        self.messages.append(message)
        return self

    def _id(self) -> str:
        self._calls += 1
        return f"call_{self._calls}"


def without_bytes(conversation: Conversation) -> Conversation:
    """The conversation with its original bytes taken away: writing it builds every message from its parts."""
    return conversation.with_messages([replace(message, raw=None) for message in conversation.messages])


def __getattr__(name: str) -> Any:
    """The suites use this module, so they are loaded when they are asked for."""
    if name not in ("ArchiveSuite", "ShelfSuite"):
        raise AttributeError(f"module 'foldline.testing' has no attribute {name!r}")
    from foldline import conformance

    return getattr(conformance, name)


__all__ = ["SUMMARY", "ArchiveSuite", "FakeCaller", "Script", "Session", "ShelfSuite", "play", "without_bytes"]
