"""What all validators share: a violation, a rule, and careful access to JSON that may be anything.

Knows no dialect, and nothing of how this package reads, folds or writes: a validator judges plain decoded
JSON, so that it cannot share a misunderstanding with the code it judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

SHOWN = 60
"""Characters of a value that a violation quotes: enough for an id, too few for a document."""

WORD = 2**63
"""A larger integer is named, not printed: Python refuses to print very long ones."""

Fault: TypeAlias = tuple[int | None, str, str]
"""What a rule found: the index in the list, the path, and what is wrong there."""

View = TypeVar("View")


@dataclass(frozen=True, slots=True)
class Violation:
    """One breach of one rule. `message` is the index in the list; None: the request itself."""

    rule: str
    message: int | None
    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text} [{self.rule}]"


@dataclass(frozen=True, slots=True)
class Rule(Generic[View]):
    """A rule has a stable name, one line for the documentation, and a function that finds its breaches."""

    name: str
    says: str
    find: Callable[[View], Iterable[Fault]]


@dataclass(frozen=True, slots=True)
class Payload:
    """A payload taken apart. `head` is empty and `whole` false when only the list was given.

    `fault` says why there is no list in it, "" when there is one.
    """

    head: Mapping[str, Any]
    items: Sequence[Any]
    whole: bool
    fault: str = ""


def unwrap(payload: Any, key: str) -> Payload:
    """The request and its list, whichever of the two was given."""
    if isinstance(payload, list):
        return Payload({}, payload, whole=False)
    if not isinstance(payload, dict):
        return Payload({}, (), whole=False, fault=f"expected a request or its list of {key}, got {show(payload)}")
    items = payload.get(key)
    if isinstance(items, list):
        return Payload(payload, items, whole=True)
    return Payload(payload, (), whole=True, fault=f"`{key}` must be a list, got {show(items)}")


def judge(view: View, rules: Sequence[Rule[View]]) -> list[Violation]:
    """Every breach of every rule, in the order of the table."""
    return [Violation(rule.name, *fault) for rule in rules for fault in rule.find(view)]


def describe(rules: Sequence[Rule[Any]]) -> dict[str, str]:
    """The table for people: rule name → what it says."""
    return {rule.name: rule.says for rule in rules}


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> Sequence[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else ()


def string(value: Any) -> str:
    """The value if it is a string, else "". Safe to hash, to compare and to look up."""
    return value if isinstance(value, str) else ""


def integer(value: Any) -> int | None:
    """The value if it is a whole number; JSON's true and false are none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def show(value: Any) -> str:
    """A short quotation that never fails, however deep or large the value is."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and not -WORD < value < WORD:
        return "a huge number"
    text = repr(value[:SHOWN] if isinstance(value, str) else value)
    return f"{text}…" if isinstance(value, str) and len(value) > SHOWN else text
