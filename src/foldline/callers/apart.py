"""Work in a thread that nobody has to wait for: what is still done there when the program ends, ends with it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


def apart(function: Callable[..., T], *arguments: Any) -> Future[T]:
    """Begins it at once. An executor's threads would be waited for at the end, for as long as a model writes."""
    future: Future[T] = Future()
    threading.Thread(target=_settle, args=(future, function, arguments), daemon=True).start()
    return future


def _settle(future: Future[T], function: Callable[..., T], arguments: tuple[Any, ...]) -> None:
    try:
        future.set_result(function(*arguments))
    except BaseException as error:
        future.set_exception(error)
