"""What providers say when they refuse, as they say it, and what we make of it."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.errors import (
    AuthRejected,
    CallerError,
    Overflow,
    Overloaded,
    RateLimited,
    Refused,
    StreamBroken,
    TimedOut,
)
from foldline.overflow import (
    NEVER_OVERFLOW,
    SIGNS,
    Excess,
    output_too_long,
    overflow_in,
    retry_after,
    silently_truncated,
    understand,
)
from foldline.refusal import BODY_MOST


def anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011"}


def openai(message: str, code: str | int | None, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": "messages", "code": code}}


def gemini(code: int, status: str, message: str, *details: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


def model_context(limit: int, then: str) -> str:
    return f"This model's maximum context length is {limit} tokens. However, {then}"


TOO_LONG = "context_length_exceeded"
SPLIT = model_context(2048, "you requested 6191 tokens (6175 in the messages, 16 in the completion). Please reduce it.")
OPENROUTER = (
    "This endpoint's maximum context length is 256000 tokens. However, you requested about 424983 tokens "
    "(358454 of text input, 56529 of tool input, 10000 in the output). Please reduce the length of either one."
)
VLLM_OUTPUT = (
    "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 tokens "
    "and your request has 2104 input tokens (2000 > 4096 - 2104)."
)
VLLM_LATEST = model_context(
    131072,
    "you requested 5 output tokens and your prompt contains at least 242008 input tokens, for a total of at least "
    "242013 tokens. (parameter=input_tokens, value=242008)",
)
VLLM_STOPPED = model_context(
    8192,
    "you requested 2048 output tokens and your prompt contains at least 6145 input tokens, for a total of at least "
    "8193 tokens.",
)
LLAMA_CPP = {
    "error": {
        "code": 400,
        "message": "request (6175 tokens) exceeds the available context size (2048 tokens), try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 6175,
        "n_ctx": 2048,
    }
}
SGLANG = (
    "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 "
    "tokens: 36000 tokens from the input messages and 4000 tokens for the completion."
)

# provider, status, body, tokens, limit
OVERFLOWS: list[tuple[str, int | None, Any, int | None, int | None]] = [
    (
        "Anthropic",
        400,
        anthropic("invalid_request_error", "prompt is too long: 208732 tokens > 200000 maximum"),
        208732,
        200000,
    ),
    (
        "Anthropic, with its output",
        400,
        anthropic(
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 143653 + 64000 > 200000, decrease one and try again",
        ),
        143653,
        200000,
    ),
    ("Anthropic, bytes", 413, anthropic("request_too_large", "Request exceeds the maximum size"), None, None),
    (
        "Anthropic, a reply",
        200,
        {"type": "message", "content": [], "stop_reason": "model_context_window_exceeded"},
        None,
        None,
    ),
    (
        "Anthropic, end of a stream",
        None,
        {"type": "message_delta", "delta": {"stop_reason": "model_context_window_exceeded"}},
        None,
        None,
    ),
    (
        "OpenAI chat",
        400,
        openai(model_context(8192, "your messages resulted in 8443 tokens. Please reduce the length."), TOO_LONG),
        8443,
        8192,
    ),
    (
        "OpenAI chat, configured",
        400,
        openai(
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 477469 tokens. "
            "Please reduce the length of the messages.",
            TOO_LONG,
        ),
        477469,
        272000,
    ),
    (
        "OpenAI responses",
        400,
        openai("Your input exceeds the context window of this model. Please adjust your input.", TOO_LONG),
        None,
        None,
    ),
    (
        "OpenAI responses, in a stream",
        200,
        {
            "type": "error",
            "code": TOO_LONG,
            "message": "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "param": "input",
        },
        None,
        None,
    ),
    (
        "OpenAI responses, failed in a stream",
        200,
        {"type": "response.failed", "response": {"status": "failed", "error": {"code": TOO_LONG, "message": "…"}}},
        None,
        None,
    ),
    ("Azure", 400, openai(model_context(16385, "you requested 17000 tokens."), TOO_LONG), 17000, 16385),
    (
        "Gemini",
        400,
        gemini(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        ),
        1196265,
        1048575,
    ),
    (
        "Gemini, in a list",
        400,
        [
            gemini(
                400,
                "INVALID_ARGUMENT",
                "The input token count exceeds the maximum number of tokens allowed (1048576).",
            )
        ],
        None,
        1048576,
    ),
    (
        "Vertex",
        400,
        gemini(
            400,
            "INVALID_ARGUMENT",
            "Unable to submit request because the input token count is 40000 but model only supports up to 32768.",
        ),
        40000,
        32768,
    ),
    (
        "Bedrock",
        400,
        {
            "__type": "com.amazon.coral.validate#ValidationException",
            "message": "Input is too long for requested model.",
        },
        None,
        None,
    ),
    (
        "Bedrock, newer",
        400,
        {
            "message": "The model returned the following errors: prompt is too long: 210339 tokens > 200000 maximum",
            "__type": "ValidationException",
        },
        210339,
        200000,
    ),
    (
        "Bedrock Mantle",
        400,
        openai(model_context(131072, "your request has 140000 input tokens."), None),
        140000,
        131072,
    ),
    (
        "vLLM",
        400,
        {
            "error": {
                "message": model_context(8192, "your request has 8195 input tokens. Please reduce the length."),
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            }
        },
        8195,
        8192,
    ),
    ("vLLM, flat", 400, {"object": "error", "message": VLLM_LATEST, "code": 400}, 242008, 131072),
    ("vLLM, stopped counting", 400, openai(VLLM_STOPPED, 400, "BadRequestError"), None, 8192),
    ("vLLM, with its output", 400, openai(VLLM_OUTPUT, 400, "BadRequestError"), 2104, 4096),
    ("llama.cpp", 400, LLAMA_CPP, 6175, 2048),
    (
        "llama.cpp, older",
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size. try increasing the context size",
                "type": "invalid_request_error",
            }
        },
        None,
        None,
    ),
    ("llama-cpp-python", 400, openai(SPLIT, TOO_LONG), 6175, 2048),
    ("Ollama", 400, {"error": "prompt too long; exceeded max context length by 12 tokens"}, None, None),
    ("Ollama, embedded", 400, {"error": "the input length exceeds the context length"}, None, None),
    ("OpenRouter", 400, {"error": {"message": OPENROUTER, "code": 400}}, 414983, 256000),
    (
        "OpenRouter, quoting its provider",
        400,
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {
                    "raw": json.dumps(anthropic("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum")),
                    "provider_name": "Anthropic",
                },
            }
        },
        9,
        8,
    ),
    ("Groq", 400, openai("Please reduce the length of the messages or completion.", TOO_LONG), None, None),
    (
        "Cerebras",
        400,
        {
            "message": "Please reduce the length of the messages or completion. Current length is 42328 while limit is "
            "40000",
            "type": "invalid_request_error",
            "param": "messages",
            "code": TOO_LONG,
        },
        42328,
        40000,
    ),
    (
        "Mistral",
        400,
        {
            "object": "error",
            "message": "Prompt contains 40004 tokens and 0 draft tokens, too large for model with 32768 maximum "
            "context length",
            "type": "invalid_request_prompt",
            "code": "3051",
        },
        40004,
        32768,
    ),
    (
        "DeepSeek",
        400,
        openai(
            model_context(65536, "you requested 71355 tokens (69163 in the messages, 2192 in the completion)."),
            "invalid_request_error",
        ),
        69163,
        65536,
    ),
    (
        "xAI",
        400,
        {
            "code": "Client specified an invalid argument",
            "error": "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        },
        136973,
        131072,
    ),
    (
        "Together",
        400,
        openai("The input (210,000 tokens) is longer than the model's context length (200,000 tokens).", None),
        210000,
        200000,
    ),
    (
        "Together, TGI",
        422,
        openai(
            "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4090 `inputs` tokens and 512 `max_new_tokens`",
            None,
        ),
        4090,
        4097,
    ),
    (
        "LM Studio",
        400,
        {
            "error": "The number of tokens to keep from the initial prompt is greater than the context length "
            "(n_keep: 7121>= n_ctx: 4096). Try to load the model with a larger context length."
        },
        7121,
        4096,
    ),
    (
        "LM Studio, older",
        400,
        {"error": "The number of tokens to keep from the initial prompt is greater than the context length."},
        None,
        None,
    ),
    (
        "Copilot",
        400,
        openai("prompt token count of 134521 exceeds the limit of 128000", "model_max_prompt_tokens_exceeded"),
        134521,
        128000,
    ),
    (
        "Kimi",
        400,
        openai("Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)", None),
        291351,
        262144,
    ),
    (
        "MiniMax",
        200,
        {"base_resp": {"status_code": 2013, "status_msg": "invalid params, context window exceeds limit"}},
        None,
        None,
    ),
    (
        "DashScope",
        400,
        openai(
            "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]",
            "invalid_parameter_error",
        ),
        None,
        98304,
    ),
    ("z.ai", 400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}, None, None),
    (
        "z.ai, a reply",
        200,
        {"choices": [{"index": 0, "finish_reason": "model_context_window_exceeded"}]},
        None,
        None,
    ),
    ("SGLang", 400, {"object": "error", "message": SGLANG, "type": "BadRequestError", "code": 400}, 36000, 32768),
    ("a gateway, in bytes", 413, "<html><title>413 Request Entity Too Large</title></html>", None, None),
    (
        "a gateway that says 500",
        500,
        {"error": {"message": "upstream: prompt is too long: 5 tokens > 4 maximum", "code": 500}},
        5,
        4,
    ),
]
NAMES = [row[0] for row in OVERFLOWS]
ROWS = pytest.mark.parametrize(("status", "body", "tokens", "limit"), [row[1:] for row in OVERFLOWS], ids=NAMES)

TPM = (
    "Request too large for model `llama-3.1-8b-instant` in organization `org_1` service tier `on_demand` on tokens per "
    "minute (TPM): Limit 6000, Requested 15041, please reduce your message size and try again."
)
RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17.5s"}

# what, status, body, kind
OTHERS: list[tuple[str, int | None, Any, type[CallerError]]] = [
    (
        "Groq's minute, as 413",
        413,
        {"error": {"message": TPM, "type": "tokens", "code": "rate_limit_exceeded"}},
        RateLimited,
    ),
    ("Groq's minute, without a code", 413, {"error": {"message": TPM}}, RateLimited),
    (
        "Bedrock's throttle",
        400,
        {"__type": "ThrottlingException", "message": "Too many tokens, please wait before trying again."},
        RateLimited,
    ),
    (
        "Bedrock's throttle, as text",
        None,
        "ThrottlingException: Too many tokens, please wait before trying again.",
        RateLimited,
    ),
    ("Anthropic's rate", 429, anthropic("rate_limit_error", "This request would exceed your rate limit"), RateLimited),
    (
        "OpenAI's rate",
        429,
        openai("Rate limit reached for gpt-5 on tokens per min", "rate_limit_exceeded"),
        RateLimited,
    ),
    ("Gemini's quota", 429, gemini(429, "RESOURCE_EXHAUSTED", "Quota exceeded", RETRY_INFO), RateLimited),
    ("a bare 429", 429, b"", RateLimited),
    ("a 429 that speaks of context", 429, openai("maximum context length is 5 tokens", TOO_LONG), RateLimited),
    (
        "OpenRouter's 429 inside a 200",
        200,
        {"error": {"code": 429, "message": "Provider returned error"}},
        RateLimited,
    ),
    (
        "a string too long",
        400,
        openai(
            "Invalid 'input[0].content': string too long. Expected a string with maximum length 10485760, but got a "
            "string with length 11000000 instead.",
            "string_above_max_length",
        ),
        Refused,
    ),
    ("a string too long, as 413", 413, openai("string too long", "string_above_max_length"), Refused),
    (
        "Anthropic's output",
        400,
        anthropic(
            "invalid_request_error",
            "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku",
        ),
        Refused,
    ),
    (
        "OpenAI's output",
        400,
        openai("max_tokens is too large: 100000. This model supports at most 16384 completion tokens.", None),
        Refused,
    ),
    (
        "Gemini's output",
        400,
        gemini(
            400,
            "INVALID_ARGUMENT",
            "Unable to submit request because it has a maxOutputTokens value of 99999 but the supported range is from "
            "1 (inclusive) to 65537 (exclusive).",
        ),
        Refused,
    ),
    ("DashScope's output", 400, openai("Range of max_tokens should be [1, 8192]", None), Refused),
    ("no money", 429, openai("You exceeded your current quota", "insufficient_quota", "insufficient_quota"), Refused),
    ("no money, as 402", 402, {"error": {"code": 402, "message": "Insufficient credits"}}, Refused),
    ("an unknown model", 404, openai("The model `x` does not exist", "model_not_found"), Refused),
    ("an unknown field", 400, anthropic("invalid_request_error", "x: Extra inputs are not permitted"), Refused),
    ("nothing at all", 400, b"", Refused),
    ("Anthropic, overloaded", 529, anthropic("overloaded_error", "Overloaded"), Overloaded),
    ("Anthropic, overloaded in a stream", None, anthropic("overloaded_error", "Overloaded"), Overloaded),
    ("Anthropic, broken", 500, anthropic("api_error", "Internal server error"), Overloaded),
    ("a page of a gateway", 502, "<html><h1>502 Bad Gateway</h1></html>", Overloaded),
    ("Gemini, full", 503, gemini(503, "UNAVAILABLE", "The model is overloaded."), Overloaded),
    ("a lock", 409, {}, Overloaded),
    ("OpenAI, failed in a stream", 200, {"response": {"error": {"code": "server_error"}}}, Overloaded),
    ("too slow", 408, {}, TimedOut),
    ("a gateway that waited", 504, "upstream request timeout", TimedOut),
    ("Anthropic, too slow in a stream", None, anthropic("timeout_error", "Timed out"), TimedOut),
    ("no key", 401, anthropic("authentication_error", "invalid x-api-key"), AuthRejected),
    ("not allowed", 403, anthropic("permission_error", "Your key may not use this"), AuthRejected),
    ("a code for every status", 401, openai("unauthorized", None, "api_error"), AuthRejected),
    (
        "Gemini's wrong key, as 400",
        400,
        gemini(400, "INVALID_ARGUMENT", "API key not valid.", {"reason": "API_KEY_INVALID"}),
        AuthRejected,
    ),
    ("400 with the code of a fault", 400, openai("no such option", None, "api_error"), Refused),
]


def forms(body: Any) -> list[Any]:
    """A body decoded, as text and as bytes."""
    if isinstance(body, str | bytes):
        return [body]
    return [body, json.dumps(body), json.dumps(body, indent=2).encode()]


@ROWS
def test_an_overflow_is_known_with_its_numbers(status, body, tokens, limit):
    for form in forms(body):
        error = understand(form, status=status)
        assert isinstance(error, Overflow)
        assert (error.tokens, error.limit) == (tokens, limit)
        assert overflow_in(form, status=status) is not None


@pytest.mark.parametrize(("status", "body", "kind"), [row[1:] for row in OTHERS], ids=[row[0] for row in OTHERS])
def test_what_is_no_overflow_is_never_taken_for_one(status, body, kind):
    for form in forms(body):
        assert type(understand(form, status=status)) is kind
        assert overflow_in(form, status=status) is None


@pytest.mark.parametrize("status", sorted(NEVER_OVERFLOW))
def test_some_statuses_never_mean_overflow(status):
    for _, _, body, _, _ in OVERFLOWS:
        assert not isinstance(understand(body, status=status), Overflow)


@pytest.mark.parametrize("code", ["rate_limit_error", "rate_limit_exceeded", "ThrottlingException"])
def test_where_a_code_says_that_the_rate_is_limited_words_like_an_overflow_s_mean_that(code):
    body = openai("prompt is too long: 300 tokens > 200 maximum", code, code)
    assert overflow_in(openai("prompt is too long: 300 tokens > 200 maximum", None), status=400) is not None
    assert overflow_in(body, status=400) is None
    assert type(understand(body, status=400)) is RateLimited


@pytest.mark.parametrize("count", [400, 413, 429, 503])
def test_a_count_of_tokens_is_no_status(count):
    body = {"error": {"message": "no", "n_prompt_tokens": count, "n_ctx": count}}
    assert type(understand(body)) is Refused
    assert understand(body).status is None


def test_every_sign_is_shown_by_some_provider():
    said = [json.dumps(body) if not isinstance(body, str) else body for _, _, body, _, _ in OVERFLOWS]
    assert [sign for sign in SIGNS if not any(sign.pattern.search(text) for text in said)] == []


def test_the_numbers_stand_in_the_message_and_the_providers_words_do_not():
    error = understand(OVERFLOWS[0][2], status=400, provider="anthropic:claude-haiku-4-5")
    assert str(error) == (
        "anthropic:claude-haiku-4-5 (400) finds the prompt too large: 208,732 tokens, where 200,000 are the most; "
        "send less"
    )
    assert error.status == 400


# --- the output alone is too long ---------------------------------------------------------------------------------

CLAMPED = {
    "Anthropic, with its output": Excess(143653, 64000, 200000),
    "vLLM, with its output": Excess(2104, 2000, 4096),
    "Together, TGI": Excess(4090, 512, 4097),
}


@ROWS
def test_only_where_the_prompt_fits_a_smaller_output_is_enough(request, status, body, tokens, limit):
    name = request.node.callspec.id
    assert output_too_long(body, status=status) == CLAMPED.get(name)


def test_the_largest_output_that_fits_is_told():
    split = model_context(65536, "you requested 71355 tokens (63163 in the messages, 8192 in the completion).")
    excess = output_too_long(openai(split, "invalid_request_error"), status=400)
    assert excess == Excess(63163, 8192, 65536)
    assert excess.room == 2373


@pytest.mark.parametrize(("status", "body"), [row[1:3] for row in OTHERS])
def test_a_smaller_output_cures_nothing_else(status, body):
    assert output_too_long(body, status=status) is None


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 10**6))
def test_the_output_is_to_blame_exactly_when_the_prompt_alone_fits(sent, wished, limit):
    said = f"input length and `max_tokens` exceed context limit: {sent} + {wished} > {limit}"
    assert (output_too_long(said) is not None) == (sent < limit < sent + wished)
    assert understand(said).tokens == sent


# --- silence ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reported", "own", "truncated"),
    [(2050, 6000, True), (599, 1000, True), (600, 1000, False), (1000, 1000, False), (0, 1000, False)],
)
def test_far_fewer_tokens_than_sent_means_truncated(reported, own, truncated):
    assert silently_truncated(reported, own) is truncated


def test_without_a_report_nothing_is_known():
    assert not silently_truncated(None, 1000)


# --- how long to wait ---------------------------------------------------------------------------------------------

NOON = "Sun, 15 Nov 2026 12:00:00 GMT"
LATER = "Sun, 15 Nov 2026 12:00:30 GMT"


@pytest.mark.parametrize(
    ("headers", "now", "seconds"),
    [
        ({"Retry-After": "12"}, None, 12.0),
        ({"retry-after": "1.5"}, None, 1.5),
        ({"retry-after-ms": "250", "retry-after": "12"}, None, 0.25),
        ({"retry-after": LATER, "date": NOON}, 0.0, 30.0),
        ({"retry-after": NOON, "date": LATER}, None, 0.0),
        ({"retry-after": LATER}, 1_794_744_020.0, 10.0),
        ({"retry-after": LATER}, None, None),
        ({"retry-after": "soon"}, 0.0, None),
        ({"retry-after": "-3"}, 0.0, None),
        ({"retry-after": "inf"}, 0.0, None),
        ({}, 0.0, None),
    ],
)
def test_the_wait_is_read_from_the_headers(headers, now, seconds):
    assert retry_after(headers, now) == seconds
    assert understand(b"", status=429, headers=headers, now=now).retry_after == seconds


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        (gemini(429, "RESOURCE_EXHAUSTED", "Quota exceeded", RETRY_INFO), 17.5),
        (openai("Rate limit reached. Please try again in 1m7.5s. Need more?", "rate_limit_exceeded"), 67.5),
        (openai("Rate limit reached. Please try again in 16.239999999s.", "rate_limit_exceeded"), 16.239999999),
        (openai("Rate limit reached.", "rate_limit_exceeded"), None),
    ],
)
def test_the_wait_is_read_from_the_body_when_no_header_says_it(body, seconds):
    assert understand(body, status=429).retry_after == seconds
    assert understand(body, status=429, headers={"retry-after": "3"}).retry_after == 3.0


# --- exceptions of SDKs -------------------------------------------------------------------------------------------


class BadRequestError(Exception):
    """Shaped like the errors of the openai and anthropic packages."""

    def __init__(self, message: str, status: int | None, body: Any, headers: Any = None) -> None:
        super().__init__(message)
        self.message, self.body = message, body
        if status is not None:
            self.status_code = status
        self.response = SimpleNamespace(status_code=status, headers=headers or {})


class ClientError(Exception):
    """Shaped like botocore's."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(f"An error occurred ({code}) when calling the Converse operation: {message}")
        self.response = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}


class APITimeoutError(Exception):
    pass


class APIConnectionError(Exception):
    pass


class ContextWindowExceededError(Exception):
    status_code = 400


@ROWS
def test_an_sdks_exception_says_the_same_as_its_body(status, body, tokens, limit):
    error = understand(BadRequestError(f"Error code: {status} - {body}", status, body))
    assert isinstance(error, Overflow)
    assert (error.tokens, error.limit) == (tokens, limit)


def test_the_openai_package_keeps_the_inner_error_alone():
    error = understand(BadRequestError("Error code: 400", 400, openai(SPLIT, TOO_LONG)["error"]))
    assert (type(error), error.tokens, error.limit, error.status) == (Overflow, 6175, 2048, 400)


def test_an_exception_without_a_body_is_understood_by_its_words():
    assert understand(ValueError("prompt is too long: 9 tokens > 8 maximum")).limit == 8


def test_a_wait_is_read_from_an_exceptions_response():
    assert understand(BadRequestError("slow down", 429, None, {"Retry-After": "7"})).retry_after == 7.0


def test_botocores_errors_are_understood():
    assert (
        type(understand(ClientError("ValidationException", "Input is too long for requested model.", 400))) is Overflow
    )
    throttled = understand(ClientError("ThrottlingException", "Too many tokens, please wait before trying again.", 429))
    assert (type(throttled), throttled.status) == (RateLimited, 429)


def test_googles_errors_are_understood():
    class GoogleError(Exception):
        code, status, message = 400, "INVALID_ARGUMENT", "400 INVALID_ARGUMENT"
        details = gemini(400, "INVALID_ARGUMENT", "The input token count exceeds the maximum number of tokens allowed")

    assert type(understand(GoogleError())) is Overflow


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (APITimeoutError("Request timed out."), TimedOut),
        (TimeoutError(), TimedOut),
        (APIConnectionError("Connection error."), StreamBroken),
        (ConnectionRefusedError(), Overloaded),
        (ContextWindowExceededError("litellm.ContextWindowExceededError"), Overflow),
        (RuntimeError("boom"), Refused),
    ],
)
def test_an_exceptions_name_tells_too(error, kind):
    assert type(understand(error)) is kind


def test_an_error_of_ours_is_itself():
    ours = Overflow("x", tokens=2, limit=1)
    assert understand(ours) is ours
    assert overflow_in(ours) is ours
    assert overflow_in(RateLimited("x")) is None


# --- nothing is read that a stranger may have written -------------------------------------------------------------

BAIT = "prompt is too long: 208732 tokens > 200000 maximum"


@pytest.mark.parametrize(
    "body",
    [
        {"type": "message", "content": [{"type": "text", "text": BAIT}], "stop_reason": "end_turn"},
        {"choices": [{"message": {"content": BAIT}, "finish_reason": "stop"}]},
        {"type": "response.output_text.delta", "delta": BAIT},
        {"candidates": [{"content": {"parts": [{"text": BAIT}]}, "finishReason": "STOP"}]},
        {"detail": [{"loc": ["body"], "msg": "field required", "input": {"messages": [{"content": BAIT}]}}]},
    ],
)
def test_a_models_words_and_an_echo_are_not_the_providers(body):
    for form in forms(body):
        assert overflow_in(form, status=200) is None


@given(st.text(min_size=1).filter(str.strip))
def test_no_word_of_a_body_gets_into_the_message(secret):
    planted = f"«{secret}»"
    body = {"error": {"message": planted, "type": planted, "code": planted}, "detail": planted}
    for status in (None, 200, 400, 401, 413, 429, 500):
        assert planted not in str(understand(body, status=status, headers={"retry-after": planted}))


# --- anything at all ----------------------------------------------------------------------------------------------

KEYS = st.sampled_from(
    [
        "error",
        "type",
        "code",
        "message",
        "status",
        "detail",
        "details",
        "metadata",
        "raw",
        "response",
        "n_ctx",
        "choices",
    ]
)
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([BAIT, TOO_LONG, "{", "["])
)
BODIES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=30)


@given(BODIES | st.binary(), st.none() | st.integers(100, 599))
def test_whatever_is_said_is_understood(body, status):
    error = understand(body, status=status)
    assert isinstance(error, CallerError)
    assert isinstance(error, Overflow) == (overflow_in(body, status=status) is not None)


def test_a_body_nested_without_end_is_understood():
    assert type(understand(b"[" * BODY_MOST, status=400)) is Refused
    assert type(understand(b'{"error":' * 5000, status=500)) is Overloaded


def test_a_huge_body_is_cut_before_it_is_looked_at():
    assert type(understand("x" * BODY_MOST + BAIT, status=400)) is Refused
    assert type(understand("x" * (BODY_MOST - len(BAIT)) + BAIT, status=400)) is Overflow


@pytest.mark.parametrize(
    "piece",
    [
        "maximum context length is 1 tokens ",
        "maximum context length is 1 tokens requested 1 tokens ",
        "context length is 1 tokens requested 1 output tokens ",
        "1" * 40,
        "prompt contains 1 tokens ",
        "configured limit of 1,",
        "try again in 1",
        "rate ",
    ],
)
def test_no_text_takes_long(piece):
    text = (piece * (BODY_MOST // len(piece) + 1))[:BODY_MOST]
    start = time.process_time()
    understand(text, status=400)
    assert time.process_time() - start < 1.0
