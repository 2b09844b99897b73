"""Texts as vectors whose directions tell how alike they are in meaning. Knows nothing of archives.

    texts ── embed ──> vectors of length one          a vector · a vector      how alike: 1 the same, about 0 unrelated
    vectors ── codes ──> 32 bytes each, their signs    codes, vector ── near ──> how alike, roughly and quickly

A text's vector is the mean of its tokens' vectors, which the wordllama wheel carries with their tokenizer. Both files
are read where the wheel is installed; its own code is never run, and nothing is downloaded.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from foldline.errors import ArchiveError

_WANTING = "searching by meaning needs {}; install it: pip install 'foldline[semantic]'"

try:
    import numpy as np
    from tokenizers import Tokenizer
except ImportError as error:
    raise ArchiveError(_WANTING.format(error.name)) from None

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]
    Codes: TypeAlias = NDArray[np.uint8]

DIMENSIONS = 256
BYTES = DIMENSIONS // 8
"""Of a code: one bit for each dimension."""
LENGTH = 1_000
"""Characters of a text that are looked at. The mean of more says less, and takes longer."""
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_CENTRE = np.frombuffer(
    base64.b64decode(
        "HePajw8HpLuVPPQMw8rs2mDRgUfO6wvwNS2+4PrEMxMB29UA9PwrFTfszML0z/wsDPx+XOb+6VYLCbjqrM8A3x0FxUb0CiMHBxgF5eD4"
        "6gz6AdUL79/iT/0cVDAD+Q7i5QLZEcD8AvKTFujoKeMP8x7A6hES+gdAu+8CEP0f9S8u1wgeFwwo5BPWBPnAovLvt7P++v4BG/vF6gcr"
        "/uoC+BJSBd7mLuT82G328sjv+QjyNSb3/QMlJNmq0BIN4fXdIe1LAUIqMjfkGsEqwjG2BwocAgngzBDdrd7K0g/g5Rga7BcO8BPYHfPc"
        "Gef3NLbYEfvF0QEYGNnw4c8w6eTg/A=="
    ),
    np.int8,
) * np.float32(0.1264 / 127)
"""The mean of 32,591 messages of agents (bench/meaning.py). What all have in common tells nothing about one of them;
with it taken away, the signs find twice as well. Other numbers here need new codes: a migration that empties them."""
_SIGNS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32) * 2 - 1
"""What each value of a byte means for its eight dimensions: -1 or 1."""


def embed(texts: Iterable[str]) -> Vectors:
    """One row for each text. A text with nothing in it has a row of zeros, which is like nothing."""
    rows = [_apart(mean(text)) for text in texts]
    return np.stack(rows) if rows else np.zeros((0, DIMENSIONS), np.float32)


def mean(text: str) -> Vectors | None:
    """The mean of the tokens' vectors, if there are any."""
    tokens = _tokenizer().encode(text[:LENGTH], add_special_tokens=False).ids if text.strip() else ()
    return _matrix()[np.asarray(tokens)].mean(axis=0) if tokens else None


def _apart(vector: Vectors | None) -> Vectors:
    """The direction from what all texts have in common."""
    if vector is None:
        return np.zeros(DIMENSIONS, np.float32)
    apart: Vectors = vector - _CENTRE
    return apart / max(float(np.linalg.norm(apart)), 1e-9)


def codes(vectors: Vectors) -> list[bytes]:
    """The signs of vectors; nothing for a row of zeros."""
    packed = np.packbits(vectors > 0, axis=1)
    return [signs.tobytes() if vector.any() else b"" for signs, vector in zip(packed, vectors, strict=True)]


def unpacked(stored: Iterable[bytes]) -> Codes:
    """Codes as an array, a row for each."""
    return np.frombuffer(b"".join(stored), np.uint8).reshape(-1, BYTES)


def near(them: Codes, vector: Vectors) -> Vectors:
    """How near each code is to a vector; only their order means something.

    The vector's own numbers are weighed, not just its signs: as quick as counting equal bits, and finds far better.
    """
    table = _SIGNS @ vector.reshape(BYTES, 8).T
    total = np.zeros(len(them), np.float32)
    for at in range(BYTES):
        total += table[:, at][them[:, at]]
    return total


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    found = Tokenizer.from_file(str(_file(_TOKENIZER)))
    found.no_padding()
    found.no_truncation()
    return found


@lru_cache(maxsize=1)
def _matrix() -> Vectors:
    """The vectors of all tokens. The file says in its head, which is JSON, where they stand in it."""
    path = _file(_WEIGHTS)
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    about = json.loads(data[8:start])["embedding.weight"]
    first, end = about["data_offsets"]
    if about["dtype"] != "F16" or about["shape"][1] != DIMENSIONS:
        raise ArchiveError(f"{path} holds {about['dtype']} {about['shape']}; {_WANTING.format('wordllama 0.4')}")
    return np.frombuffer(data[start + first : start + end], "<f2").reshape(-1, DIMENSIONS).astype(np.float32)


def _file(name: str) -> Path:
    """A file of the installed wheel, found without running its code."""
    spec = find_spec("wordllama")
    for place in (spec.submodule_search_locations if spec else None) or ():
        if (path := Path(place) / name).is_file():
            return path
    raise ArchiveError(_WANTING.format("the weights of wordllama 0.4"))
