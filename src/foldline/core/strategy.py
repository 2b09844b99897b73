"""What a selection keeps, as a value that can be saved and loaded. How messages are chosen by it is in select.py."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from foldline.errors import MalformedInput


@dataclass(frozen=True, slots=True)
class Strategy:
    """What selection keeps. It is saved as JSON or TOML; fields that are missing there get their defaults."""

    keep_recent: int = 10
    keep_keywords: tuple[str, ...] = (
        "error",
        "fix",
        "bug",
        "issue",
        "problem",
        "solution",
        "important",
        "note",
        "warning",
    )
    keep_tool_results: bool = True
    keep_system: bool = True

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, indent=2)

    def to_toml(self) -> str:
        """The strategy as TOML. Our JSON values are valid TOML with two exceptions: TOML has no surrogates, and no
        bare DEL."""
        return "".join(
            f"{name} = {json.dumps(value, ensure_ascii=False)}\n".replace("\x7f", "\\u007f")
            for name, value in asdict(self).items()
        )

    @classmethod
    def from_json(cls, text: str) -> Strategy:
        try:
            return cls.of(json.loads(text))
        except (ValueError, RecursionError) as error:
            raise MalformedInput(f"a strategy must be a JSON object: {error}") from None

    @classmethod
    def from_toml(cls, text: str) -> Strategy:
        try:
            return cls.of(tomllib.loads(text))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise MalformedInput(f"a strategy must be a TOML table: {error}") from None

    @classmethod
    def of(cls, value: Any) -> Strategy:
        """A strategy from a mapping; unknown names and wrong types are errors, not guesses."""
        if not isinstance(value, Mapping):
            raise MalformedInput(f"a strategy is a table of settings, not {type(value).__name__}")
        known = [field.name for field in fields(cls)]
        unknown = set(value) - set(known)
        if unknown:
            raise MalformedInput(
                f"a strategy has no setting {', '.join(map(repr, sorted(unknown)))}; it has {', '.join(known)}"
            )
        settings: dict[str, Any] = {
            name: tuple(item) if isinstance(item, list) else item for name, item in value.items()
        }
        strategy = cls(**settings)
        strategy._check()
        return strategy

    def _check(self) -> None:
        if not isinstance(self.keep_recent, int) or isinstance(self.keep_recent, bool) or self.keep_recent < 0:
            raise MalformedInput("keep_recent is a number of messages, 0 or more")
        if not isinstance(self.keep_keywords, tuple) or not all(isinstance(word, str) for word in self.keep_keywords):
            raise MalformedInput("keep_keywords is a list of words")
        if not isinstance(self.keep_tool_results, bool) or not isinstance(self.keep_system, bool):
            raise MalformedInput("keep_tool_results and keep_system are true or false")
