"""Three small agents on the official SDKs: they keep the whole history, call tools, and know nothing of the proxy."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import openai

MODEL = "test-model"
SYSTEM = "You help with a garden."
_WANTED = {"type": "object", "properties": {"bed": {"type": "integer"}}, "required": ["bed"]}
_NAMES = ("look", "smell")
Calls = list[tuple[str, str, str]]
"""Id, name and arguments of each."""


class Agent:
    """`history` is what it sends, all of it, each time.

    OpenAI's SDK walks through every message by its type hints, for seconds in a long history; what it is given as an
    extra body it sends as it is.
    """

    dialect = ""

    def __init__(self, base: str, limit: int = 16) -> None:
        self.base, self.limit = base, limit
        self.history: list[Any] = []
        self.asked = 0

    def turn(self, text: str, found: str) -> str:
        """One turn: the user's words, the tools the model calls, and what it says in the end."""
        self.history.append({"role": "user", "content": text})
        _, calls = self.ask()
        calls = calls or self.own_call()
        while calls:
            self.history += self.called(calls, found)
            said, calls = self.ask()
        self.history.append({"role": "assistant", "content": said or "…"})
        return said

    def ask(self) -> tuple[str, Calls]:
        """What the model says and calls. Every other request is streamed."""
        self.asked += 1
        return self.streamed() if self.asked % 2 else self.whole()

    def own_call(self) -> Calls:
        """A model that is too small to call a tool has it called for it."""
        return [(f"own_{len(self.history)}", "look", json.dumps({"bed": len(self.history)}))]

    def streamed(self) -> tuple[str, Calls]:
        raise NotImplementedError

    def whole(self) -> tuple[str, Calls]:
        raise NotImplementedError

    def called(self, calls: Calls, found: str) -> list[Any]:
        raise NotImplementedError


class Messages(Agent):
    """On Anthropic's SDK."""

    dialect = "anthropic"

    def __init__(self, base: str, limit: int = 16) -> None:
        super().__init__(base, limit)
        self.client = anthropic.Anthropic(base_url=base, api_key="none", max_retries=0, timeout=120)

    @property
    def request(self) -> dict[str, Any]:
        tools = [{"name": name, "description": f"To {name}.", "input_schema": _WANTED} for name in _NAMES]
        limits = {"model": MODEL, "max_tokens": self.limit}
        return {**limits, "system": SYSTEM, "tools": tools, "messages": self.history}

    def whole(self) -> tuple[str, Calls]:
        return self._read(self.client.messages.create(**self.request))

    def streamed(self) -> tuple[str, Calls]:
        with self.client.messages.stream(**self.request) as stream:
            return self._read(stream.get_final_message())

    @staticmethod
    def _read(said: Any) -> tuple[str, Calls]:
        calls = [(part.id, part.name, json.dumps(part.input)) for part in said.content if part.type == "tool_use"]
        return "".join(part.text for part in said.content if part.type == "text"), calls

    def called(self, calls: Calls, found: str) -> list[Any]:
        uses = [{"type": "tool_use", "id": call, "name": name, "input": json.loads(told)} for call, name, told in calls]
        results = [{"type": "tool_result", "tool_use_id": call, "content": found} for call, _, _ in calls]
        return [{"role": "assistant", "content": uses}, {"role": "user", "content": results}]


class Chat(Agent):
    """On OpenAI's SDK, with Chat Completions."""

    dialect = "openai-chat"

    def __init__(self, base: str, limit: int = 16) -> None:
        super().__init__(base, limit)
        self.client = openai.OpenAI(base_url=f"{base}/v1", api_key="none", max_retries=0, timeout=120)
        self.history = [{"role": "system", "content": SYSTEM}]

    @property
    def request(self) -> dict[str, Any]:
        functions = [{"name": name, "description": f"To {name}.", "parameters": _WANTED} for name in _NAMES]
        tools = [{"type": "function", "function": function} for function in functions]
        more = {"messages": self.history}
        return {"model": MODEL, "max_tokens": self.limit, "tools": tools, "messages": [], "extra_body": more}

    def whole(self) -> tuple[str, Calls]:
        said = self.client.chat.completions.create(**self.request).choices[0].message
        calls = said.tool_calls or []
        return said.content or "", [(call.id, call.function.name, call.function.arguments) for call in calls]

    def streamed(self) -> tuple[str, Calls]:
        text, calls = "", dict[int, list[str]]()
        for chunk in self.client.chat.completions.create(**self.request, stream=True):
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for call in choice.delta.tool_calls or ():
                    known = calls.setdefault(call.index, [call.id or "", call.function.name or "", ""])
                    known[2] += call.function.arguments or ""
        return text, [(call[0], call[1], call[2]) for call in calls.values()]

    def called(self, calls: Calls, found: str) -> list[Any]:
        said = [
            {"id": call, "type": "function", "function": {"name": name, "arguments": told}}
            for call, name, told in calls
        ]
        results = [{"role": "tool", "tool_call_id": call, "content": found} for call, _, _ in calls]
        return [{"role": "assistant", "content": None, "tool_calls": said}, *results]


class Responses(Agent):
    """On OpenAI's SDK, with Responses, whose history it keeps itself."""

    dialect = "openai-responses"

    def __init__(self, base: str, limit: int = 16) -> None:
        super().__init__(base, limit)
        self.client = openai.OpenAI(base_url=f"{base}/v1", api_key="none", max_retries=0, timeout=120)

    @property
    def request(self) -> dict[str, Any]:
        tools = [
            {"type": "function", "name": name, "description": f"To {name}.", "parameters": _WANTED, "strict": False}
            for name in _NAMES
        ]
        limits = {"model": MODEL, "max_output_tokens": self.limit, "store": False}
        more = {"input": [_item(entry) for entry in self.history]}
        return {**limits, "instructions": SYSTEM, "tools": tools, "input": [], "extra_body": more}

    def whole(self) -> tuple[str, Calls]:
        return self._read(self.client.responses.create(**self.request))

    def streamed(self) -> tuple[str, Calls]:
        with self.client.responses.stream(**self.request) as stream:
            return self._read(stream.get_final_response())

    @staticmethod
    def _read(said: Any) -> tuple[str, Calls]:
        calls = [(item.call_id, item.name, item.arguments) for item in said.output if item.type == "function_call"]
        return said.output_text, calls

    def called(self, calls: Calls, found: str) -> list[Any]:
        said = [
            {"type": "function_call", "call_id": call, "name": name, "arguments": told} for call, name, told in calls
        ]
        results = [{"type": "function_call_output", "call_id": call, "output": found} for call, _, _ in calls]
        return [*said, *results]


def _item(entry: dict[str, Any]) -> dict[str, Any]:
    """Messages as items, in the long form that every server takes."""
    if "role" not in entry:
        return entry
    kind = "output_text" if entry["role"] == "assistant" else "input_text"
    return {"type": "message", "role": entry["role"], "content": [{"type": kind, "text": entry["content"]}]}


AGENTS = (Messages, Chat, Responses)
