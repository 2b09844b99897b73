"""Foldline itself, through the same wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wire import Ask, Chat, Part, serve

from foldline import Budget, Compactor
from foldline.testing import FakeCaller

MODEL = "gpt-4o"
WINDOW = 128_000
"""Of the scripted model; it answers in the form its prompt asks for, as a model would."""


def request(messages: Chat) -> dict[str, Any]:
    return {"model": MODEL, "messages": messages}


def fit(caller: Callable[[], FakeCaller | None]) -> Callable[[Ask], Callable[[Chat], Chat]]:
    def begin(ask: Ask) -> Callable[[Chat], Chat]:
        compactor = Compactor(Budget(window=ask.tokens, reserve=0), model=caller())
        return lambda messages: compactor.fit(request(messages)).messages

    return begin


def compact(ask: Ask) -> Callable[[Chat], Chat]:
    compactor = Compactor(Budget(window=ask.tokens * 100, reserve=0))
    return lambda messages: compactor.compact(request(messages), to=ask.tokens).messages


serve(
    {
        "fit": Part(fit(lambda: None), "Compactor(Budget(window=size, reserve=0)).fit"),
        "compact": Part(compact, "Compactor(…).compact(to=size)"),
        "fit, model": Part(
            fit(lambda: FakeCaller(window=WINDOW)), "the same fit; the model's window is 128,000 tokens", scripted=True
        ),
    }
)
