"""Strict validators: what the providers would refuse, found before they see it.

A validator takes a whole request or only its list, as decoded JSON, and returns its violations. It never
raises on a payload, and it uses none of the code that reads or writes conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from foldline.errors import UnknownDialect
from foldline.validators.anthropic import RULES as _ANTHROPIC
from foldline.validators.anthropic import check as _check_anthropic
from foldline.validators.base import Rule, Violation, describe
from foldline.validators.gemini import RULES as _GEMINI
from foldline.validators.gemini import check as _check_gemini
from foldline.validators.openai_chat import RULES as _CHAT
from foldline.validators.openai_chat import check as _check_chat
from foldline.validators.openai_responses import RULES as _RESPONSES
from foldline.validators.openai_responses import check as _check_responses

__all__ = ["RULES", "Violation", "check"]

_VALIDATORS: Mapping[str, tuple[Callable[[Any], list[Violation]], Sequence[Rule[Any]]]] = {
    "anthropic": (_check_anthropic, _ANTHROPIC),
    "openai-chat": (_check_chat, _CHAT),
    "openai-responses": (_check_responses, _RESPONSES),
    "gemini": (_check_gemini, _GEMINI),
}

RULES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {dialect: MappingProxyType(describe(rules)) for dialect, (_, rules) in _VALIDATORS.items()}
)
"""Dialect → rule name → what the rule says, in one line."""


def check(payload: Any, dialect: str) -> list[Violation]:
    """What the provider of `dialect` would refuse in `payload`: a request, or only its list.

    Rules about the request itself (thinking mode, tools, model, limits) need the whole request.
    """
    if dialect not in _VALIDATORS:
        raise UnknownDialect(f"no validator for {dialect!r}; there are: {', '.join(_VALIDATORS)}")
    find, _ = _VALIDATORS[dialect]
    return find(payload)
