"""Every error Foldline raises, and nothing else.

    FoldlineError
    ├ InputError      UnknownDialect · MalformedInput · TooDeep · TooLarge · InvalidSetting (a ValueError too)
    ├ BudgetError     CannotFit
    ├ SummaryError    Empty · Truncated · Ungrounded
    ├ CallerError     RateLimited · Overloaded · TimedOut · StreamBroken · Refused · AuthRejected · Overflow
    ├ ArchiveError    Full · Corrupt · Busy · UnknownCheckpoint
    └ ProxyError      UpstreamNotAllowed · ForbiddenHost · Unauthorised

A message says what happened, where, and what to do. Normal outcomes are values, never errors.
"""

from __future__ import annotations

from typing import Any


class FoldlineError(Exception):
    """The root: `except FoldlineError` catches everything this package raises on purpose."""


class InputError(FoldlineError):
    """What was given cannot be read. `source`, `line` (from 1) and `offset` (bytes, from 0) say where, if known."""

    def __init__(self, what: str, *, source: str = "", line: int | None = None, offset: int | None = None) -> None:
        self.what, self.source, self.line, self.offset = what, source, line, offset
        super().__init__(what)

    def __str__(self) -> str:
        places = [self.source] if self.source else []
        places += [f"line {self.line}"] if self.line is not None else []
        places += [f"offset {self.offset}"] if self.offset is not None else []
        return f"{', '.join(places)}: {self.what}" if places else self.what


class UnknownDialect(InputError):
    """No dialect fits the input, or the one named does not exist."""


class MalformedInput(InputError):
    """The input is damaged or is not what its dialect demands."""


class TooDeep(InputError):
    """Nested more deeply than can be read safely."""


class TooLarge(InputError):
    """A file, a line or an unpacked stream is over its limit. The file is untouched."""


class InvalidSetting(InputError, ValueError):
    """A setting or an argument that is not valid: a window of 0, an unknown style. Nothing was done."""


class BudgetError(FoldlineError):
    """A view could not be brought under its budget."""


class CannotFit(BudgetError):
    """Nothing legal fits. `smallest` is the smallest view there is, `tokens` its size, `allowed` the budget."""

    def __init__(self, what: str, *, smallest: Any = None, tokens: int = 0, allowed: int = 0) -> None:
        self.smallest, self.tokens, self.allowed = smallest, tokens, allowed
        super().__init__(what)


class SummaryError(FoldlineError):
    """A summariser's reply cannot be used."""


class Empty(SummaryError):
    """The reply holds no summary: nothing, white space, or something other than a summary."""


class Truncated(SummaryError):
    """The reply ended at its length limit."""


class Ungrounded(SummaryError):
    """The reply speaks of things that are nowhere in the source."""


class CallerError(FoldlineError):
    """A model could not be asked. `status` is the HTTP status, if there was one."""

    def __init__(self, what: str, *, status: int | None = None) -> None:
        self.status = status
        super().__init__(what)


class RateLimited(CallerError):
    """Too many requests or tokens a minute. `retry_after` is in seconds, when the provider said."""

    def __init__(self, what: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(what, status=status)


class Overloaded(CallerError):
    """The provider is out of order or out of capacity."""


class TimedOut(CallerError):
    """The deadline passed."""


class StreamBroken(CallerError):
    """The connection ended before the reply did."""


class Refused(CallerError):
    """The provider rejected the request, for a reason that no other error here names."""


class AuthRejected(CallerError):
    """The key is missing, wrong or not allowed."""


class Overflow(CallerError):
    """The prompt is too large. `tokens` and `limit` are the provider's own numbers, when it gave them."""

    def __init__(
        self, what: str, *, status: int | None = None, tokens: int | None = None, limit: int | None = None
    ) -> None:
        self.tokens, self.limit = tokens, limit
        super().__init__(what, status=status)


class ArchiveError(FoldlineError):
    """The archive could not keep or give back what it was asked for."""


class Full(ArchiveError):
    """No room: the disk, a quota or the archive's own cap."""


class Corrupt(ArchiveError):
    """Stored bytes no longer match their hash."""


class Busy(ArchiveError):
    """Another process holds the archive."""


class UnknownCheckpoint(ArchiveError):
    """No checkpoint has that reference."""


class ProxyError(FoldlineError):
    """The proxy refused a request before it was forwarded."""


class UpstreamNotAllowed(ProxyError):
    """The upstream is not in the table."""


class ForbiddenHost(ProxyError):
    """The Host or Origin header is not ours."""


class Unauthorised(ProxyError):
    """The token or the secret path segment is missing or wrong."""
