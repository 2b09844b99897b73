"""Which counter to count with, and how many tokens a model's own tokenizer makes of what it counts.

The exact counter over splintr-rs lives here, loaded when first asked; the estimator that serves without it is in
`core.estimate`, the arithmetic in `core.meter`. Nothing is ever downloaded: the vocabularies are inside the wheel.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter
from foldline.core.counting.sizes import Counter
from foldline.model import Notice

_RARE_WORD = "xqzjv"
"""Encoding a word that is no token makes splintr build its merge table: a fifth of a second, paid while loading."""


class Prior(NamedTuple):
    """Tokens a family of models makes of one token counted, how far that may be off, and how it is known."""

    ratio: float
    spread: float
    reason: str


_MEASURED = "the family's published vocabulary against o200k, on agent sessions of code, prose, JSON and logs"

PRIORS: tuple[tuple[str, Prior], ...] = (
    (r"\b(gpt|chatgpt|codex|davinci|o\d(?!\d))", Prior(1.0, 0.20, "its own vocabulary; only framing and tools differ")),
    (r"claude.*(opus|sonnet|haiku|fable|mythos)-?([5-9]|\d\d)(?!\d)", Prior(1.55, 0.30, "measured by reconstruction")),
    (r"claude.*4[-.]([7-9]|\d\d)(?!\d)", Prior(1.55, 0.30, "the provider says 30 % above earlier Claude models")),
    (r"claude", Prior(1.24, 0.30, "measured by reconstruction: 1.11 for logs to 1.45 for code")),
    (r"gemini|gemma", Prior(1.15, 0.25, f"{_MEASURED}: 1.09 to 1.17; Gemini shares Gemma's")),
    (r"mistral|mixtral|codestral|devstral|magistral", Prior(1.12, 0.25, f"{_MEASURED}: 1.08 to 1.16")),
    (r"qwen|qwq", Prior(1.08, 0.25, f"{_MEASURED}: 1.03 to 1.13")),
    (r"deepseek", Prior(1.04, 0.25, f"{_MEASURED}: 1.02 to 1.05")),
    (r"llama|kimi|glm|grok", Prior(1.0, 0.25, f"{_MEASURED}: 0.98 to 1.06 (Grok's is a guess)")),
)
"""The first pattern found in the lower-case model name counts."""

UNKNOWN = Prior(1.15, 0.40, "a guess on the safe side: most vocabularies are smaller than o200k and make more tokens")

_CL100K = re.compile(r"\b(gpt-4(?![o.\d])|gpt-3\.?5|davinci)")
"""OpenAI models from before o200k."""


@dataclass(frozen=True, slots=True)
class Exact:
    """Counts as OpenAI's models do. Special tokens in a text count as plain text, lone surrogates as question marks."""

    name: str
    encode: Callable[[str], list[int]]
    error: float = 0.0
    notices: tuple[Notice, ...] = ()

    def count(self, text: str) -> int:
        try:
            return len(self.encode(text))
        except UnicodeEncodeError:
            return len(self.encode(text.encode("utf-8", "replace").decode()))


def best_counter(model: str = "") -> Exact | Estimator:
    """The exact counter for a model, or the estimator with a notice when splintr-rs is not installed."""
    name = "cl100k" if _CL100K.search(model.lower()) else "o200k"
    try:
        return _load(name)
    except ImportError:
        text = "splintr-rs is not installed, so tokens are estimated; `pip install splintr-rs` makes counts exact"
        return Estimator(notices=(Notice("tokens-estimated", text),))


def prior_for(model: str) -> Prior:
    """How many tokens a model makes of one token counted, before it has reported anything."""
    name = model.lower()
    return next((prior for pattern, prior in PRIORS if re.search(pattern, name)), UNKNOWN)


def meter_for(model: str = "", counter: Counter | None = None) -> Meter:
    """A meter for a model: the best counter there is, and its family's prior."""
    prior = prior_for(model)
    return Meter(counter or best_counter(model), prior=prior.ratio, spread=prior.spread)


@lru_cache(maxsize=2)
def _load(name: str) -> Exact:
    from splintr import Tokenizer

    encode = Tokenizer.from_pretrained(f"{name}_base").encode_ordinary
    encode(_RARE_WORD)
    return Exact(name, encode)
