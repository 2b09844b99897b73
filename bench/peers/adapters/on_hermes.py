"""hermes: its ContextCompressor, with a model and with none within reach."""

from __future__ import annotations

from types import SimpleNamespace

from agent import context_compressor
from agent.context_compressor import ContextCompressor
from agent.model_metadata import estimate_messages_tokens_rough
from wire import SUMMARY, SUMMARY_ROOM, Ask, Part, serve


def answers(**_):
    message = SimpleNamespace(content=SUMMARY, reasoning=None, tool_calls=None)
    return SimpleNamespace(
        choices=[SimpleNamespace(message=message, finish_reason="stop")], usage=None, model="scripted"
    )


def silent(**_):
    raise RuntimeError("No LLM provider configured for task=compression")


def using(call):
    """Its smallest window is 64,000 tokens, so what it keeps is told directly."""

    def begin(ask: Ask):
        context_compressor.call_llm = call
        compressor = ContextCompressor(
            "scripted",
            protect_last_n=max(3, min(20, ask.messages)),
            config_context_length=max(64_000, ask.tokens),
            quiet_mode=True,
            provider="custom",
        )
        compressor.tail_token_budget = max(ask.tokens - SUMMARY_ROOM, ask.tokens // 2)

        def turn(messages):
            if estimate_messages_tokens_rough(messages) <= ask.tokens:
                return messages
            return compressor.compress(messages, force=True)

        return turn

    return begin


def write(messages):
    """It marks its own messages with fields that its clients take off again."""
    return [{key: value for key, value in m.items() if not key.startswith("_")} for m in messages]


SETTINGS = "protect_last_n=share of messages; tail_token_budget=size - 256, set on the object"
serve(
    {
        "ContextCompressor": Part(using(silent), f"{SETTINGS}; no model answers", write=write, carries=True),
        "ContextCompressor, model": Part(using(answers), SETTINGS, write=write, carries=True, scripted=True),
    }
)
