"""Our own refusals in the words of each provider, so that a client's SDK understands them. Sends nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_ANTHROPIC: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}
_GEMINI: Mapping[int, str] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    413: "INVALID_ARGUMENT",
    415: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def shaped(dialect: str, status: int, message: str) -> bytes:
    """An error body as the provider of that dialect writes it. The message says it is ours."""
    text = f"foldline: {message}"
    return json.dumps(_body(dialect, status, text), ensure_ascii=True).encode()


def _body(dialect: str, status: int, text: str) -> dict[str, Any]:
    if dialect == "anthropic":
        kind = _ANTHROPIC.get(status, "invalid_request_error" if status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": text}}
    if dialect == "gemini":
        kind = _GEMINI.get(status, "INVALID_ARGUMENT" if status < 500 else "INTERNAL")
        return {"error": {"code": status, "message": text, "status": kind}}
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": text, "type": kind, "param": None, "code": None}}
