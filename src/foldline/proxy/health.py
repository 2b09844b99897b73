"""How the proxy is: metrics, a state for `foldline status`, and logs of numbers and names, without content or key.

    GET /healthz            200 while it serves
    GET /SECRET/metrics     for Prometheus
    GET /SECRET/status      for people, as JSON

Everything that is told about a request goes through `Health.tell`, and about a failure of ours through `log_failure`,
so there is one place to look for what is told. Only the tracebacks that FOLDLINE_DEBUG asks for may quote content.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
import traceback
from collections import Counter as Counts
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foldline import home
from foldline.model import Notice

log = logging.getLogger("foldline.proxy")
_OURS = Path(__file__).parents[1]
"""Foldline's own code."""
TOLD = (
    *("upstream", "dialect", "operation", "status", "action", "tries", "ms"),
    *("before", "after", "checkpoint", "notices"),
)
"""What a log line of a request may have in it."""
PAGES = ("healthz", "metrics", "status")
_FIT = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0)
"""Seconds: the marks at which a fit is at rest, reads a body anew, folds."""


class Health:
    """Counts what happens."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self.registry = CollectorRegistry()
        labels = ["upstream", "dialect", "operation", "status", "action"]
        make: dict[str, Any] = {"registry": self.registry}
        self._requests = Counter("foldline_requests", "Requests answered", labels, **make)
        self._refused = Counter("foldline_refused", "Requests that were not let in", ["status"], **make)
        self._overflows = Counter("foldline_overflows", "Prompts a provider found too large", ["how"], **make)
        self._notices = Counter("foldline_notices", "Notices given", ["code"], **make)
        self._summaries = Counter("foldline_summaries", "Summaries prepared ahead of need", ["outcome"], **make)
        self._saved = Counter("foldline_tokens_saved", "Tokens of histories that were not sent", **make)
        self._fits = Histogram("foldline_fit_seconds", "Reading and fitting a request", buckets=_FIT, **make)
        self._open = Gauge("foldline_open_requests", "Requests being served", **make)
        self._totals: Counts[str] = Counts()
        self._lock = threading.Lock()
        self._since = time.time()
        self.open = 0
        self.wrecked = 0
        """Bytes of requests that broke off, since garbage was last looked for."""

    def begin(self) -> None:
        self.open += 1
        self._open.inc()

    def end(self) -> None:
        self.open -= 1
        self._open.dec()

    def refused(self, status: int) -> None:
        self._refused.labels(status).inc()
        self._add("refused", 1)
        log.info("refused", extra={"fields": {"status": status}})

    def fitted(self, seconds: float) -> None:
        self._fits.observe(seconds)

    def saved(self, tokens: int) -> None:
        self._saved.inc(tokens)
        self._add("tokens saved", tokens)

    def overflow(self, how: str) -> None:
        self._overflows.labels(how).inc()
        self._add(f"overflow: {how}", 1)

    def summary(self, outcome: str) -> None:
        self._summaries.labels(outcome).inc()
        self._add(f"summaries {outcome}", 1)

    def notice(self, notice: Notice) -> None:
        self._notices.labels(notice.code).inc()
        self._add(f"notice: {notice.code}", 1)

    def tell(self, told: Mapping[str, Any]) -> None:
        """One answered request."""
        labels = (told.get(name, "") for name in ("upstream", "dialect", "operation", "status", "action"))
        self._requests.labels(*labels).inc()
        self._add("requests", 1)
        self._add(f"{told.get('action') or 'passed'}", 1)
        log.info("request", extra={"fields": {name: told[name] for name in TOLD if name in told}})

    def _add(self, name: str, count: int) -> None:
        with self._lock:
            self._totals[name] += count

    @property
    def answered(self) -> int:
        return self._totals["requests"]

    def state(self) -> dict[str, Any]:
        return {"since": self._since, "open": self.open, "counts": dict(sorted(self._totals.items()))}

    def page(self, name: str) -> tuple[str, bytes]:
        """A page about the proxy itself, after what kind it is. The door has checked who asks."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        if name == "metrics":
            return CONTENT_TYPE_LATEST, generate_latest(self.registry)
        if name == "status":
            return "application/json", json.dumps(self.state()).encode()
        return "text/plain; charset=utf-8", b"ok\n"


class JsonLines(logging.Formatter):
    """A log record as one line of JSON: time, level, event, and the fields given with it. Never its arguments."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        line = {"time": round(record.created, 3), "level": record.levelname.lower(), "event": str(record.msg), **fields}
        return json.dumps(line, ensure_ascii=True, default=str)


def log_failure(event: str, error: BaseException, level: int = logging.WARNING) -> None:
    """Something of ours failed: what kind of error, and where in our code.

    What the error says may quote the conversation or a key, so that is told, with the traceback, only when asked for.
    """
    fields: dict[str, Any] = {"error": type(error).__name__, "where": _where(error)}
    if home.debugging():
        fields["traceback"] = "".join(traceback.format_exception(error)).splitlines()
    log.log(level, event, extra={"fields": fields})


def what_failed(error: BaseException) -> str:
    """The same for the client: what kind of error, and who can say more."""
    how = "" if home.debugging() else f"set {home.DEBUG}=1 for the proxy and "
    return f"something failed here ({type(error).__name__}); {how}look at the proxy's standard error"


def _where(error: BaseException) -> str:
    """The innermost place in our own code that an error came through: a file and a line."""
    places = ((Path(frame.f_code.co_filename), line) for frame, line in traceback.walk_tb(error.__traceback__))
    ours = [f"{path.relative_to(_OURS).as_posix()}:{line}" for path, line in places if path.is_relative_to(_OURS)]
    return ours[-1] if ours else "outside of Foldline's own code"


def log_to_stderr(level: int = logging.INFO) -> None:
    """For the commands; a program that embeds the proxy has handlers of its own."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    log.handlers[:] = [handler]
    log.setLevel(level)
    log.propagate = False


__all__ = ["PAGES", "Health", "JsonLines", "log_failure", "log_to_stderr", "what_failed"]
