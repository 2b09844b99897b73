"""The providers under test: how each is named, where its requests go, and how it says the usual things."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from foldline.core.asking import Ask

ASK = Ask(system="You summarise.", prompt="Summarise this: naïve 你好 🙂", max_tokens=321)
TEXT = "A summary: naïve 你好 🙂"


def chat(text: Any = TEXT, stop: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "model": "m-1",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": stop},
        ],
        "usage": {"prompt_tokens": 70, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64}},
    }


def responses(*output: Any, status: str = "completed", **fields: Any) -> dict[str, Any]:
    usage = {"input_tokens": 70, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 64}}
    return {"model": "m-1", "status": status, "error": None, "output": list(output), "usage": usage, **fields}


def says(*parts: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": list(parts)}


def output_text(text: str = TEXT) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def anthropic(*content: Any, stop: str | None = "end_turn") -> dict[str, Any]:
    usage = {"input_tokens": 6, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 4, "output_tokens": 7}
    return {"type": "message", "model": "m-1", "content": list(content), "stop_reason": stop, "usage": usage}


def gemini(*parts: Any, stop: str | None = "STOP") -> dict[str, Any]:
    usage = {"promptTokenCount": 70, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "cachedContentTokenCount": 64}
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": stop}
    return {"modelVersion": "m-1", "candidates": [candidate], "usageMetadata": usage}


def ollama(text: str = TEXT, stop: str = "stop", **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": text, **message}
    return {"model": "m-1", "message": said, "done_reason": stop, "prompt_eval_count": 70, "eval_count": 7}


def thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": "c2ln"}


@dataclass(frozen=True)
class Case:
    """`stops`: a reply as the provider sends it, what is to be read of it, and why it ended."""

    name: str
    path: str
    key_header: str
    body: dict[str, Any]
    stops: dict[str, tuple[dict[str, Any], str, str]] = field(default_factory=dict)
    key_prefix: str = ""

    @property
    def reply(self) -> dict[str, Any]:
        return self.stops["end"][0]


CHAT_STOPS = {
    "end": (chat(), TEXT, "end"),
    "length": (chat("A summ", "length"), "A summ", "length"),
    "tool": (chat(None, "tool_calls", tool_calls=[{"id": "1"}]), "", "tool"),
    "tool, but called a stop": (chat("", "stop", tool_calls=[{"id": "1"}]), "", "tool"),
    "refusal": (chat(None, "stop", refusal="I will not."), "", "refusal"),
    "filtered": (chat("", "content_filter"), "", "refusal"),
    "overflow": (chat("", "model_context_window_exceeded"), "", "overflow"),
    "parts": (chat([{"type": "text", "text": "A "}, {"type": "text", "text": "B"}]), "A B", "end"),
    "reasoning apart": (chat(TEXT, "stop", reasoning_content="Hmm.", reasoning="Hmm."), TEXT, "end"),
    "reasoning at the head": (chat(f"<think>\nHmm.\n</think>\n\n{TEXT}"), TEXT, "end"),
    "reasoning without end": (chat("<think>\nHmm, and so", "length"), "", "length"),
    "reasoning of Mistral": (chat(f"[THINK]Hmm.[/THINK]{TEXT}"), TEXT, "end"),
    "reasoning of Seed": (chat(f"<seed:think>Hmm.</seed:think>{TEXT}"), TEXT, "end"),
    "channels": (
        chat(f"<|channel|>analysis<|message|>Hmm.<|end|><|start|>assistant<|channel|>final<|message|>{TEXT}<|return|>"),
        TEXT,
        "end",
    ),
    "a channel without end": (chat("<|channel|>analysis<|message|>Hmm, and so"), "", "end"),
    "a template's marks": (chat(f"<|begin_of_box|>{TEXT}<|end_of_box|>\n<|im_end|></s> "), TEXT, "end"),
    "marks spoken of": (chat("It ends with </s> always."), "It ends with </s> always.", "end"),
    "Mistral's length": (chat("A summ", "model_length"), "A summ", "length"),
    "broken off": (chat("A summ", "error"), "A summ", "length"),
    "reasoning spoken of": (chat("The tag <think>x</think> is kept."), "The tag <think>x</think> is kept.", "end"),
    "empty": (chat(""), "", "end"),
    "no choice": ({**chat(), "choices": []}, "", "other"),
    "no reason": (chat(TEXT, None), TEXT, "other"),
    "no message": ({"choices": [{"finish_reason": "stop", "message": "odd"}]}, "", "end"),
}
CHAT_MESSAGES = [{"role": "system", "content": ASK.system}, {"role": "user", "content": ASK.prompt}]

CASES = [
    Case(
        "anthropic:claude-haiku-4-5",
        "/v1/messages",
        "x-api-key",
        {
            "model": "claude-haiku-4-5",
            "max_tokens": 321,
            "system": ASK.system,
            "messages": [{"role": "user", "content": ASK.prompt}],
        },
        {
            "end": (anthropic({"type": "text", "text": TEXT}), TEXT, "end"),
            "stop sequence": (anthropic({"type": "text", "text": TEXT}, stop="stop_sequence"), TEXT, "end"),
            "length": (anthropic({"type": "text", "text": "A summ"}, stop="max_tokens"), "A summ", "length"),
            "tool": (anthropic({"type": "tool_use", "id": "1", "name": "x", "input": {}}, stop="tool_use"), "", "tool"),
            "refusal": (anthropic(stop="refusal"), "", "refusal"),
            "overflow": (anthropic(stop="model_context_window_exceeded"), "", "overflow"),
            "thinking": (anthropic(thinking("Hmm."), {"type": "text", "text": TEXT}), TEXT, "end"),
            "thinking alone": (anthropic(thinking("Hmm."), stop="max_tokens"), "", "length"),
            "two texts": (anthropic({"type": "text", "text": "A "}, {"type": "text", "text": "B"}), "A B", "end"),
            "paused": (anthropic(stop="pause_turn"), "", "other"),
        },
    ),
    Case(
        "openai:gpt-5-mini",
        "/v1/chat/completions",
        "authorization",
        {"model": "gpt-5-mini", "messages": CHAT_MESSAGES, "max_tokens": 321},
        CHAT_STOPS,
        "Bearer ",
    ),
    Case(
        "openai-responses:gpt-5-mini",
        "/v1/responses",
        "authorization",
        {
            "model": "gpt-5-mini",
            "store": False,
            "max_output_tokens": 321,
            "instructions": ASK.system,
            "input": ASK.prompt,
        },
        {
            "end": (responses({"type": "reasoning", "summary": [{"text": "Hmm."}]}, says(output_text())), TEXT, "end"),
            "length": (
                responses(
                    says(output_text("A summ")), status="incomplete", incomplete_details={"reason": "max_output_tokens"}
                ),
                "A summ",
                "length",
            ),
            "filtered": (
                responses(status="incomplete", incomplete_details={"reason": "content_filter"}),
                "",
                "refusal",
            ),
            "incomplete, who knows why": (responses(status="incomplete", incomplete_details=None), "", "other"),
            "tool": (responses({"type": "function_call", "name": "x", "arguments": "{}"}), "", "tool"),
            "refusal": (responses(says({"type": "refusal", "refusal": "I will not."})), "", "refusal"),
            "cancelled": (responses(status="cancelled"), "", "other"),
        },
        "Bearer ",
    ),
    Case(
        "gemini:gemini-2.5-flash",
        "/v1beta/models/gemini-2.5-flash:generateContent",
        "x-goog-api-key",
        {
            "contents": [{"role": "user", "parts": [{"text": ASK.prompt}]}],
            "systemInstruction": {"parts": [{"text": ASK.system}]},
            "generationConfig": {"maxOutputTokens": 321},
        },
        {
            "end": (gemini({"text": TEXT}), TEXT, "end"),
            "length": (gemini({"text": "A summ"}, stop="MAX_TOKENS"), "A summ", "length"),
            "tool": (gemini({"functionCall": {"name": "x"}}), "", "tool"),
            "tool, spoilt": (gemini(stop="MALFORMED_FUNCTION_CALL"), "", "tool"),
            "refusal": (gemini(stop="SAFETY"), "", "refusal"),
            "refusal of the prompt": ({"promptFeedback": {"blockReason": "SAFETY"}}, "", "refusal"),
            "thinking": (gemini({"text": "Hmm.", "thought": True}, {"text": TEXT}), TEXT, "end"),
            "no content": ({"candidates": [{"finishReason": "OTHER"}]}, "", "other"),
        },
    ),
    Case(
        "openrouter:z-ai/glm-5",
        "/v1/chat/completions",
        "authorization",
        {"model": "z-ai/glm-5", "messages": CHAT_MESSAGES, "max_tokens": 321},
        CHAT_STOPS,
        "Bearer ",
    ),
    Case(
        "openai-compatible:qwen3:8b",
        "/v1/chat/completions",
        "authorization",
        {"model": "qwen3:8b", "messages": CHAT_MESSAGES, "max_tokens": 321},
        CHAT_STOPS,
        "Bearer ",
    ),
    Case(
        "ollama:llama3.2:3b",
        "/api/chat",
        "authorization",
        {
            "model": "llama3.2:3b",
            "messages": CHAT_MESSAGES,
            "stream": False,
            "truncate": False,
            "shift": False,
            "options": {"num_predict": 321},
        },
        {
            "end": (ollama(), TEXT, "end"),
            "length": (ollama("A summ", "length"), "A summ", "length"),
            "tool": (ollama("", tool_calls=[{}]), "", "tool"),
            "thinking apart": (ollama(TEXT, thinking="Hmm."), TEXT, "end"),
            "thinking at the head": (ollama(f"<think>Hmm.</think>{TEXT}"), TEXT, "end"),
            "loading": (ollama("", "load"), "", "other"),
        },
        "Bearer ",
    ),
]
BASES = {"anthropic": "", "gemini": "/v1beta", "ollama": ""}


def base_of(case: Case, url: str) -> str:
    return url + BASES.get(case.name.partition(":")[0], "/v1")
