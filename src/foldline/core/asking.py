"""What the core says to a model and hears from it: Ask and Reply. Values only; who carries them is in callers/."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Stop: TypeAlias = Literal["end", "length", "tool", "refusal", "overflow", "other"]


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to a summariser: no tools, no thinking, no streaming."""

    system: str
    prompt: str
    max_tokens: int = 4_096
    who: Literal["model", "fallback"] = "model"


@dataclass(frozen=True, slots=True)
class Reply:
    """The model's answer: `text` alone, why it ended (`stop`), and tokens as the provider counted them."""

    text: str
    stop: Stop = "end"
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
