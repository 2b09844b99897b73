"""What is known of each model: its window, its longest reply; and the budget that follows.

A table lies in the package (`data/models.json`, by `bench/make_model_table.py`); the user's own entries win over it:

    # ~/.config/foldline/models.toml, or the file that FOLDLINE_MODELS names
    ["my-model"]
    window = 131072
    max_output = 8192          # may be left out

Nothing is fetched. A model nobody knows gets a small window and a notice, never a silent guess.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Self, Unpack

from foldline.core.counting import budget
from foldline.core.counting.budget import ModelInfo
from foldline.core.options import SUMMARISER_WINDOW
from foldline.errors import InputError, InvalidSetting, MalformedInput
from foldline.model import Notice

UNKNOWN_WINDOW = 32_768
"""The window of a model nobody knows: models for agents take this much, and overflow is worse than folding early."""

SERVED = "ollama:"
"""How the names of models begin whose window is as large as their server was started with, whatever they could do."""

OVERRIDES_VARIABLE = "FOLDLINE_MODELS"
OVERRIDES_FILE = Path("~/.config/foldline/models.toml")

COLUMNS = ("window", "max_output")
"""The order of the numbers in the table."""

VENDOR = re.compile(r"^(?:[a-z-]+\.)+(?=[a-z])")  # us.anthropic.claude-…, moonshotai.kimi-…
_MODE = re.compile(r"\[\w+\]$")  # claude-opus-4-6[1m]
_REVISION = re.compile(r"-v\d+(?::\d+)?$")  # …-v1:0, as Bedrock writes
_DATE = re.compile(r"[-@](?:latest|20\d{6}|20\d\d-\d\d-\d\d|\d{4})$")  # …-20250929, @20250929, -2024-08-06, -0613


@dataclass(frozen=True)
class Budget(budget.Budget):
    """A budget that can be made from a model's name."""

    @classmethod
    def for_model(
        cls, name: str, *, reserve: int | None = None, max_bytes: int | None = None, **marks: Unpack[budget.Marks]
    ) -> Self:
        """The budget of a model; its `notices` say so when the model is not known."""
        if not isinstance(name, str):
            raise InvalidSetting(f"the model is {name!r}; give its name, such as 'claude-sonnet-4-5'")
        return cls.of(lookup(name), reserve=reserve, max_bytes=max_bytes, **marks)


def lookup(name: str) -> ModelInfo:
    """What is known of a model. Provider prefixes, dates, "-latest", case, and full stops for dashes do not matter."""
    own = overrides()
    forms = candidates(name)
    if found := next((own[form] for form in forms if form in own), None):
        return found
    if row := next((table()[form] for form in forms if form in table()), None):
        return ModelInfo(name, **dict[str, Any](zip(COLUMNS, row, strict=False)), source="table")
    return _unknown(name)


def summariser_window(name: str) -> int:
    """The window of a model that is asked for summaries, "provider:model", where its caller does not say."""
    info = lookup(name)
    guessed = info.notices or (name.startswith(SERVED) and info.source == "table")
    return SUMMARISER_WINDOW if guessed else info.window


def candidates(name: str) -> tuple[str, ...]:
    """The name as the table spells names, and ever barer forms of it."""
    given = _MODE.sub("", name.strip().lower())
    tails = [given] + [given[mark.end() :] for mark in re.finditer(r"[/:]", given)]
    forms = [form for tail in tails for form in (tail, undated(tail), VENDOR.sub("", undated(tail)))]
    return tuple(dict.fromkeys(spelling(form) for form in forms if form))


def spelling(name: str) -> str:
    """How the table spells a name: "Claude-Sonnet-4.5" and "claude-sonnet-4-5" are one."""
    return name.lower().replace(".", "-")


def undated(name: str) -> str:
    """The name without its revision, its date and "-latest"."""
    return _DATE.sub("", _REVISION.sub("", name))


def _unknown(name: str) -> ModelInfo:
    text = (
        f"the model {name!r} is not in the table, so its window is taken as {UNKNOWN_WINDOW:,} tokens; "
        f"give the window yourself, or add the model to {OVERRIDES_FILE}"
    )
    return ModelInfo(name, UNKNOWN_WINDOW, source="default", notices=(Notice("model-unknown", text),))


@cache
def table() -> Mapping[str, list[int]]:
    """The table in the package: name → numbers in the order of COLUMNS, the second where it is known."""
    loaded = json.loads(resources.files("foldline").joinpath("data/models.json").read_text("utf-8"))
    models: Mapping[str, list[int]] = loaded["models"]
    return models


def overrides() -> dict[str, ModelInfo]:
    """The user's own entries. A file that was named and is not there is an error; the usual one may be missing."""
    named = os.environ.get(OVERRIDES_VARIABLE, "")
    path = Path(named or OVERRIDES_FILE).expanduser()
    if not named and not path.is_file():
        return {}
    try:
        entries = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the models file that {OVERRIDES_VARIABLE} names: {error}") from error
    except ValueError as error:
        raise MalformedInput(f"not TOML: {error}", source=str(path)) from error
    return {spelling(name): _entry(name, entry, str(path)) for name, entry in entries.items()}


def _entry(name: str, entry: Any, source: str) -> ModelInfo:
    if not isinstance(entry, dict) or type(entry.get("window")) is not int or entry["window"] <= 0:
        raise MalformedInput(f"[{name!r}] needs `window = <tokens>`, a whole number above 0", source=source)
    for key, value in entry.items():
        if key not in COLUMNS or type(value) is not int or value < 0:
            raise MalformedInput(
                f"[{name!r}] has {key} = {value!r}; it takes {' and '.join(COLUMNS)}, both whole numbers", source=source
            )
    return ModelInfo(name, **entry, source=source)
