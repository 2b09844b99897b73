"""haystack: the compactors of its hooks."""

from __future__ import annotations

import warnings

from haystack import component
from haystack.dataclasses import ChatMessage
from haystack.hooks.compaction import SlidingWindowCompactor, SummarizationCompactor, ToolResultPruningCompactor
from haystack.token_counters import ApproximateTokenCounter
from wire import SUMMARY, SUMMARY_ROOM, Ask, Chat, Part, serve

warnings.filterwarnings("ignore")


@component
class Scripted:
    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]):  # noqa: ARG002 - the signature is its protocol
        return {"replies": [ChatMessage.from_assistant(SUMMARY)]}


def read(messages: Chat):
    """Built by hand: its own reader takes no empty result."""
    calls, found = {}, []
    for message in messages:
        if message["role"] == "tool":
            result, origin = message["content"], calls[message["tool_call_id"]]
            found.append(ChatMessage.from_tool(tool_result=result, origin=origin))
        else:
            found.append(ChatMessage.from_openai_dict_format(message))
            calls |= {call.id: call for call in found[-1].tool_calls}
    return found


def write(messages) -> Chat:
    return [message.to_openai_dict_format() for message in messages]


def using(make):
    def begin(ask: Ask):
        compactor, counter = make(), ApproximateTokenCounter()
        return lambda messages: compactor.compact(messages, ask.tokens, counter) or messages

    return begin


def summarizer():
    return SummarizationCompactor(Scripted(), approximate_summary_tokens=SUMMARY_ROOM)


FORM = {"read": read, "write": write, "carries": True}
serve(
    {
        "SlidingWindowCompactor": Part(using(SlidingWindowCompactor), "target_tokens=size", **FORM),
        "ToolResultPruningCompactor": Part(using(ToolResultPruningCompactor), "target_tokens=size", **FORM),
        "SummarizationCompactor": Part(
            using(summarizer), "target_tokens=size, approximate_summary_tokens=256", scripted=True, **FORM
        ),
    }
)
