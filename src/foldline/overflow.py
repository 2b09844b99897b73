"""What a provider's refusal means: `understand(said) -> CallerError`. Standard library alone; it sends nothing.

`said` is whatever the provider said: a body (bytes, text or decoded), an event out of a stream, or an SDK's exception.

    understand         the error it is: Overflow, RateLimited, Overloaded, TimedOut, AuthRejected, Refused, StreamBroken
    overflow_in        the Overflow it holds, or None: also for a reply with status 200
    output_too_long    the prompt fits and only the wished output does not: make that smaller, fold nothing
    silently_truncated the provider dropped part of the prompt and said nothing

How a refusal is taken apart is in refusal.py. The messages of our errors hold numbers and our own words: a provider's
sentence may quote the request, or the key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

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
from foldline.refusal import Said, listen, retry_after

TRUNCATED_BELOW = 0.6
"""A report below this share of our own count is not the tokenizer's doing: the provider dropped part of the prompt."""

NEVER_OVERFLOW = frozenset({401, 402, 403, 404, 408, 409, 429, 503, 529})
"""Statuses that never mean an overflow, whatever the words beside them."""


@dataclass(frozen=True, slots=True)
class Excess:
    """Prompt and wished output together are over the limit; the prompt alone is not."""

    input: int
    output: int
    limit: int

    @property
    def room(self) -> int:
        """The largest output that fits."""
        return self.limit - self.input


class Sign(NamedTuple):
    """How a provider says that a prompt is too large. Groups: limit, input, output, total, bound (see `_numbers`)."""

    provider: str
    pattern: re.Pattern[str]


def _sign(provider: str, wording: str) -> Sign:
    """A sign from its wording: `<input>` stands for a number of that name, `…` for a short stretch of one line. All
    is bounded, so matching takes linear time."""
    pattern = re.sub(r"<(\w{1,8})>", r"(?P<\1>\\d[\\d,]{0,14})", wording).replace("…", r"[^\n]{0,120}?")
    return Sign(provider, re.compile(pattern, re.IGNORECASE))


SIGNS = (
    _sign("Anthropic", r"exceed context limit: <input> \+ <output> > <limit>"),
    _sign("Anthropic, Bedrock", r"prompt is too long: <input> tokens > <limit>"),
    _sign("Anthropic, Bedrock", r"prompt is too long"),
    _sign("Anthropic", r"request exceeds the maximum (?:allowed )?(?:size|number of bytes)"),
    _sign("vLLM", r"context length is <limit> tokens and your request has <input> input tokens \(<output> >"),
    _sign("vLLM", r"context length is <limit> tokens…requested <output> output tokens…at least <bound> input tokens"),
    _sign(
        "OpenAI, DeepSeek, OpenRouter, SGLang, llama-cpp-python",
        r"maximum context length (?:is|of) <limit> tokens…requested (?:about |a total of )?<total> tokens"
        r"…<output> (?:tokens )?(?:in|for) the (?:completion|output)",
    ),
    _sign(
        "OpenAI, Azure, vLLM, llama-cpp-python",
        r"maximum context length is <limit> tokens…(?:resulted in|requested|request has)(?: about)? <input>",
    ),
    _sign("OpenAI", r"configured limit of <limit> tokens…resulted in <input> tokens"),
    _sign("OpenAI", r"exceeds the context window"),
    _sign("OpenAI, OpenRouter", r"maximum context length is <limit> tokens"),
    _sign("Gemini", r"input token count \(<input>\) exceeds the maximum number of tokens allowed \(<limit>\)"),
    _sign("Gemini", r"input token count exceeds the maximum number of tokens allowed(?: \(<limit>\))?"),
    _sign("Vertex", r"input token count is <input> but model only supports up to <limit>"),
    _sign("Bedrock", r"input is too long for requested model"),
    _sign("llama.cpp", r"request \(<input> tokens\) exceeds the available context size \(<limit> tokens\)"),
    _sign("llama.cpp", r"exceeds the available context size"),
    _sign("Ollama", r"exceeded (?:max )?context length by \d"),
    _sign("Ollama", r"input length exceeds the (?:maximum )?context length"),
    _sign("Cerebras", r"current length is <input> while limit is <limit>"),
    _sign("Groq", r"reduce the length of the messages or completion"),
    _sign("Mistral", r"prompt contains <input> tokens…too large for model with <limit> maximum context length"),
    _sign("xAI", r"maximum prompt length is <limit> but the request contains <input> tokens"),
    _sign("Together, SGLang", r"input \(<input> tokens\) is longer than the model's context length \(<limit> tokens\)"),
    _sign("Together, TGI", r"must be <= <limit>\. given: <input> `inputs` tokens and <output> `max_new_tokens`"),
    _sign("LM Studio", r"n_keep: <input> ?>= ?n_ctx: <limit>"),
    _sign("LM Studio", r"tokens to keep from the initial prompt is greater than the context length"),
    _sign("Copilot", r"prompt token count of <input> exceeds the limit of <limit>"),
    _sign("Kimi", r"exceeded model token limit: <limit>(?: \(requested: <input>\))?"),
    _sign("MiniMax", r"context window exceeds limit"),
    _sign("DashScope", r"range of input length should be \[\d{1,9}, <limit>\]"),
    _sign("z.ai", r"prompt exceeds max length"),
)

_OVERFLOW_CODES = frozenset(
    {
        "context_length_exceeded",
        "exceed_context_size_error",
        "model_context_window_exceeded",
        "model_max_prompt_tokens_exceeded",
        "request_too_large",
        "contextwindowexceedederror",
        "contenttoolargeerror",
    }
)
_RATE = re.compile(
    r"rate.?limit|too many requests|throttl|tokens per (?:minute|day)|too many tokens, please wait", re.I
)

_KINDS: Mapping[str, type[CallerError]] = {
    **dict.fromkeys(("rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "ratelimiterror"), RateLimited),
    **dict.fromkeys(("throttlingexception", "toomanyrequestsexception", "throttled"), RateLimited),
    **dict.fromkeys(("overloaded_error", "api_error", "server_error", "internal_server_error"), Overloaded),
    **dict.fromkeys(("unavailable", "internal", "serviceunavailableexception", "modelnotreadyexception"), Overloaded),
    **dict.fromkeys(("connecterror", "connectionrefusederror"), Overloaded),
    **dict.fromkeys(("timeout_error", "deadline_exceeded", "modeltimeoutexception", "apitimeouterror"), TimedOut),
    **dict.fromkeys(("readtimeout", "connecttimeout", "writetimeout", "pooltimeout", "timeouterror"), TimedOut),
    **dict.fromkeys(("apiconnectionerror", "readerror", "remoteprotocolerror", "connectionreseterror"), StreamBroken),
    **dict.fromkeys(("authentication_error", "permission_error", "invalid_api_key", "api_key_invalid"), AuthRejected),
    **dict.fromkeys(("unauthenticated", "permission_denied", "accessdeniedexception"), AuthRejected),
    **dict.fromkeys(("insufficient_quota", "billing_error", "string_above_max_length"), Refused),
}
_STATUSES: Mapping[int, type[CallerError]] = {
    401: AuthRejected,
    403: AuthRejected,
    407: AuthRejected,
    408: TimedOut,
    409: Overloaded,  # a conflict of the provider's own (a lock): passes by itself
    429: RateLimited,
    504: TimedOut,
}
_TELLING = (Refused, AuthRejected, RateLimited)
_VAGUE = (TimedOut, Overloaded, StreamBroken)
"""Where codes disagree, the earlier kind holds: first those that waiting does not cure."""


def understand(
    said: object,
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    provider: str = "the provider",
    now: float | None = None,
) -> CallerError:
    """The error to raise; Refused where the refusal is not understood. `now` is the time, for a `Retry-After` date."""
    if isinstance(said, CallerError):
        return said
    heard = listen(said, status, headers)
    if (numbers := _overflow(heard)) is not None:
        return _too_large(provider, heard.status, numbers)
    kind = _kind(heard)
    where = f"{provider} ({heard.status})" if heard.status is not None else provider
    if kind is RateLimited:
        return _limited(where, heard, now)
    return kind(f"{where} {_ADVICE[kind]}", status=heard.status)


def overflow_in(
    said: object, *, status: int | None = None, headers: Mapping[str, str] | None = None, provider: str = "the provider"
) -> Overflow | None:
    """The overflow that an error, a stream's event or a reply reports; None if it reports none."""
    if isinstance(said, CallerError):
        return said if isinstance(said, Overflow) else None
    heard = listen(said, status, headers)
    numbers = _overflow(heard)
    return None if numbers is None else _too_large(provider, heard.status, numbers)


def output_too_long(said: object, *, status: int | None = None) -> Excess | None:
    """The numbers if only prompt and wished output together are too much, so that a smaller output is enough; else
    None."""
    numbers = _overflow(listen(said, status, None)) or {}
    sent, wished, limit = (numbers.get(name) for name in ("input", "output", "limit"))
    if sent is None or wished is None or limit is None:
        return None
    return Excess(sent, wished, limit) if sent < limit < sent + wished else None


def silently_truncated(reported: int | None, own: int) -> bool:
    """The provider reports far fewer input tokens than were sent. A missing report, or 0, says nothing."""
    return reported is not None and 0 < reported < own * TRUNCATED_BELOW


def _overflow(heard: Said) -> dict[str, int] | None:
    """The numbers of an overflow, perhaps an empty mapping; None if it is not an overflow."""
    if heard.status in NEVER_OVERFLOW or _limits_rate(heard) or "string_above_max_length" in heard.codes:
        return None
    text = heard.text
    for sign in SIGNS:
        if (match := sign.pattern.search(text)) is not None:
            return {**_numbers(match), **heard.counts}
    if heard.status == 413 or heard.codes & _OVERFLOW_CODES:
        return dict(heard.counts)
    return None


def _numbers(match: re.Match[str]) -> dict[str, int]:
    """Limit, input and output as far as they are given. A total less the output is the input. A bound is the input,
    unless it is one more than would fit: there the server stopped counting."""
    found = {name: int(number.replace(",", "")) for name, number in match.groupdict().items() if number}
    total, bound = found.pop("total", None), found.pop("bound", None)
    if total is not None:
        found["input"] = max(0, total - found["output"])
    if bound is not None and bound + found["output"] != found["limit"] + 1:
        found["input"] = bound
    return {name: number for name, number in found.items() if number > 0}


def _limits_rate(heard: Said) -> bool:
    return any(_KINDS.get(code) is RateLimited for code in heard.codes) or bool(_RATE.search(heard.text))


def _kind(heard: Said) -> type[CallerError]:
    """The kind of error: by specific codes first, then by the status, then by vague codes, which some servers put
    beside every status."""
    kinds = {_KINDS[code] for code in heard.codes if code in _KINDS}
    status = heard.status or 0
    if (telling := next((kind for kind in _TELLING if kind in kinds), None)) is not None:
        return telling
    if status in _STATUSES:
        return _STATUSES[status]
    if status >= 500:
        return Overloaded
    vague = next((kind for kind in _VAGUE if kind in kinds and status < 400), Refused)
    return RateLimited if _limits_rate(heard) else vague


_ADVICE: Mapping[type[CallerError], str] = {
    Overloaded: "is out of order or out of capacity; try again later or use another model",
    TimedOut: "did not answer in time; try again, or allow more time",
    StreamBroken: "ended the connection before its reply; try again",
    AuthRejected: "rejected the key; check that it is set, valid, and allowed to use this model",
    Refused: "refused the request; check the model's name, the account's credit and the request's options",
}


def _too_large(provider: str, status: int | None, numbers: Mapping[str, int]) -> Overflow:
    tokens, limit = numbers.get("input"), numbers.get("limit")
    where = f"{provider} ({status})" if status is not None else provider
    size = f": {tokens:,} tokens" if tokens is not None else ""
    most = f", where {limit:,} are the most" if limit is not None else ""
    return Overflow(
        f"{where} finds the prompt too large{size}{most}; send less", status=status, tokens=tokens, limit=limit
    )


def _limited(where: str, heard: Said, now: float | None) -> RateLimited:
    wait = retry_after(heard.headers, now)
    if wait is None and (hint := _HINT.search(heard.text)) is not None:
        wait = float(hint["minutes"] or 0) * 60 + float(hint["seconds"])
    when = f"wait {wait:g} s" if wait is not None else "wait"
    return RateLimited(f"{where} limits the rate; {when} and try again", status=heard.status, retry_after=wait)


_HINT = re.compile(
    r"(?:try again in|retrydelay\W{1,5}) ?(?:(?P<minutes>\d{1,4})m)?(?P<seconds>\d{1,6}(?:\.\d{1,12})?)s", re.I
)
"""A wait that only the body gives: `Please try again in 1m7.5s`, or Gemini's `retryDelay: 17s`."""


__all__ = [
    "NEVER_OVERFLOW",
    "SIGNS",
    "TRUNCATED_BELOW",
    "Excess",
    "Sign",
    "output_too_long",
    "overflow_in",
    "retry_after",
    "silently_truncated",
    "understand",
]
