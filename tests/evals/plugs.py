"""Plug-ins as people may write them, most of them badly."""

from __future__ import annotations

import os
import sys
from importlib.metadata import EntryPoint
from typing import Any

from foldline.evals import strategies


def fine(messages: list[Any], budget: int) -> str:
    return f"{len(messages)} messages in {budget}"


def raises(messages: list[Any], budget: int) -> str:
    raise ValueError("out of tea")


def odd(messages: list[Any], budget: int) -> str:
    """Fails in some sessions."""
    if "_1 faster" in str(messages[0]):
        raise ValueError("not this one")
    return "fine"


def none(messages: list[Any], budget: int) -> None: ...


def number(messages: list[Any], budget: int) -> int:
    return 42


def numbers(messages: list[Any], budget: int) -> list[int]:
    return [1, 2, 3]


def exits(messages: list[Any], budget: int) -> str:
    sys.exit(3)


class Odd(BaseException): ...


def ends(messages: list[Any], budget: int) -> str:
    """As a cancelled task or a failed assertion of a test framework does."""
    raise Odd("neither fish nor flesh")


def dies(messages: list[Any], budget: int) -> str:
    os._exit(9)


def prints(messages: list[Any], budget: int) -> str:
    print("printed by python")
    os.system("echo printed by a program")
    return "fine"


def plug(monkeypatch: Any, *names: str) -> None:
    """Plugs functions of this module in; a name that is none of them does not load."""
    points = [EntryPoint(name, f"tests.evals.plugs:{name}", strategies.GROUP) for name in names]
    monkeypatch.setattr(strategies, "entry_points", lambda group: points if group == strategies.GROUP else [])
