"""Fit the estimator's weights against o200k_base, and say how far off they are on sessions never fitted on.

    python bench/fit_estimator.py CORPUS --po DIR

CORPUS is a folder of gzipped sessions (JSON or JSON lines). DIR holds gettext catalogues (*.po), for scripts that
sessions lack; the weights in the module were fitted with those of the Django 5.2 wheel. Prints the table for
`foldline/core/counting/estimate.py`; nothing is written. A hash of the file name says which half of the sessions is
fitted on.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import splintr

from foldline.core.counting.estimate import classes

CHUNK = 4_000
SHORTEST = 200
PER_KIND = 2_500  # chunks of each kind in each half: enough for 30 weights, and done in a minute
SINGLES = ["l", "u", "d", " ", "n", ".", "q", "j", "o", "1", "2", "3", "4", "5", "6", "7", "9"]
PAIRS = [".l", "ql", "jl", "ol", "lu", "ul", "dl", "du", "ud"]
RUNS = ["  ", "nn", "..", "qq", "oo", "jj", "44"]  # two of a kind are often one token: these weights are negative
LONG = ["l" * 16]  # no English word is so long: random letters, or words run together
KEYS = SINGLES + PAIRS + RUNS + LONG
RUN_CREDIT = {
    " ": 0.97,
    "n": 0.75,
}  # what a run may save at most, as a share: keeps odd texts from coming out at nothing
ANY_CREDIT = 0.95
DEAREST = {"9": 2.5}  # emoji are too rare in sessions to be fitted alone: most are one to three tokens
SHARES = {"code": 3.0, "prose": 3.0, "json": 1.5, "logs": 1.5, "cjk": 1.0, "base64": 0.5, "hex": 0.5}
ODD_SHARE = {"letters": 0.05, "base32": 0.1, "spaces": 0.02, "rules": 0.02}
SCRIPTS = {
    "cjk": ("zh_Hans", "zh_Hant", "ja", "ko"),
    "cyrillic": ("ru", "uk", "bg"),
    "greek": ("el",),
    "arabic": ("ar", "fa", "he"),
    "indic": ("hi", "bn", "ta", "th"),
    "latin": ("de", "fr", "es", "pl", "tr", "vi", "cs", "pt_BR"),
}


class Chunk(NamedTuple):
    held_out: bool
    kind: str
    text: str


def strings(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def kind_of(text: str) -> str:
    """A rough guess, good enough to see where the estimator is weak."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            json.loads(text)
            return "json"
        except ValueError:
            pass
    if sum(map(str.isdigit, text)) > 0.12 * len(text):
        return "logs"
    marks = sum(char in "(){}[];=<>_/\\\"'`|:#" for char in text)
    return "code" if marks > 0.06 * len(text) else "prose"


def documents(text: str) -> Iterator[Any]:
    try:
        yield json.loads(text)
    except ValueError:
        for line in filter(str.strip, text.split("\n")):
            if line.startswith("{") and line.rstrip().endswith("}"):
                yield from whole_row(line)


def whole_row(line: str) -> Iterator[Any]:
    try:
        yield json.loads(line)
    except ValueError as error:
        print(f"left out a damaged row: {error}", file=sys.stderr)


def from_sessions(corpus: Path) -> Iterator[Chunk]:
    for path in sorted(corpus.rglob("*.gz")):
        held_out = hashlib.sha256(path.name.encode()).digest()[0] % 2 == 1
        text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
        seen: set[str] = set()
        for line in text.split("\n"):
            if SHORTEST <= len(line) <= 10 * CHUNK:
                yield Chunk(held_out, "json", line[:CHUNK])
        for document in documents(text):
            for whole in strings(document):
                if len(whole) >= SHORTEST and whole not in seen:
                    seen.add(whole)
                    pieces = (whole[at : at + CHUNK] for at in range(0, len(whole), CHUNK))
                    yield from (Chunk(held_out, kind_of(p), p) for p in pieces if len(p) >= SHORTEST)


def from_catalogues(folder: Path) -> Iterator[Chunk]:
    for kind, languages in SCRIPTS.items():
        for language in languages:
            text = "".join(map(translations, sorted(folder.rglob(f"{language}/LC_MESSAGES/*.po"))))
            for at in range(0, len(text) - SHORTEST, CHUNK // 2):
                yield Chunk(at // (CHUNK // 2) % 2 == 1, kind, text[at : at + CHUNK // 2])


def translations(path: Path) -> str:
    blocks = re.findall(r'^msgstr(?:\[\d\])? ((?:"[^\n]*"\n)+)', path.read_text("utf-8"), re.MULTILINE)
    lines = ("".join(re.findall(r'"(.*)"', block)) for block in blocks)
    return "\n".join(lines).replace("\\n", "\n").replace('\\"', '"')


def generated(rng: random.Random) -> Iterator[Chunk]:
    def letters() -> str:
        return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(3_000))

    def uuids() -> str:
        return "\n".join("-".join(rng.randbytes(n).hex() for n in (4, 2, 2, 2, 6)) for _ in range(100))

    makers: dict[str, Callable[[], str]] = {
        "base64": lambda: base64.b64encode(rng.randbytes(2_800)).decode(),
        "base64 lines": lambda: base64.encodebytes(rng.randbytes(2_800)).decode(),
        "base32": lambda: base64.b32encode(rng.randbytes(2_000)).decode(),
        "hex": lambda: rng.randbytes(1_900).hex(),
        "uuids": uuids,
        "floats": lambda: ", ".join(repr(rng.random() * 10 ** rng.randrange(4)) for _ in range(200)),
        "integers": lambda: " ".join(str(rng.randrange(10 ** rng.randrange(1, 9))) for _ in range(500)),
        "letters": letters,
        "spaces": lambda: "\n".join(" " * rng.randrange(4, 60) + "x" for _ in range(80)),
        "rules": lambda: "\n".join(rng.choice("-=#*") * rng.randrange(20, 90) for _ in range(60)),
    }
    for kind, make in makers.items():
        yield from (Chunk(number % 2 == 1, kind, make()) for number in range(120))


def thinned(chunks: list[Chunk], rng: random.Random) -> list[Chunk]:
    rng.shuffle(chunks)
    taken: dict[tuple[bool, str], int] = defaultdict(int)
    kept = []
    for chunk in chunks:
        taken[chunk.held_out, chunk.kind] += 1
        if taken[chunk.held_out, chunk.kind] <= PER_KIND:
            kept.append(chunk)
    return kept


def histogram(text: str) -> list[int]:
    count = classes(text).count
    return [count(key.encode()) for key in KEYS]


def solve(rows: list[list[int]], truths: list[int], shares: list[float]) -> list[float]:
    """Least squares on relative errors, one weight at a time (Gauss-Seidel), each kept in its bounds."""
    size = len(KEYS)
    gram = [[0.0] * size for _ in range(size)]
    target = [0.0] * size
    for row, truth, share in zip(rows, truths, shares, strict=True):
        scale = share / truth**2
        used = [(i, value) for i, value in enumerate(row) if value]
        for i, value in used:
            target[i] += scale * value * truth
            for j, other in used:
                gram[i][j] += scale * value * other
    weights = [0.0] * size
    wide = float("inf")
    for _ in range(20_000):
        for i in range(size):
            if gram[i][i]:
                rest = sum(map(float.__mul__, gram[i], weights)) - gram[i][i] * weights[i]
                wanted = min((target[i] - rest) / gram[i][i], DEAREST.get(KEYS[i], wide))
                weights[i] = max(wanted, floor(KEYS[i], weights))
    return weights


def floor(key: str, weights: list[float]) -> float:
    return -2 * RUN_CREDIT.get(key[0], ANY_CREDIT) * weights[KEYS.index(key[0])] if key in RUNS else 0.0


def report(kind: str, errors: list[float]) -> None:
    sizes = sorted(map(abs, errors))
    p95, p99 = sizes[int(len(sizes) * 0.95)], sizes[int(len(sizes) * 0.99)]
    mean = sum(errors) / len(errors)
    print(
        f"{kind:13} {len(errors):5} chunks  mean {mean:+6.1%}  p95 {p95:5.1%}  p99 {p99:5.1%}"
        f"  from {min(errors):+.0%} to {max(errors):+.0%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--po", type=Path, required=True)
    options = parser.parse_args()
    rng = random.Random(1)
    chunks = thinned(list(from_sessions(options.corpus)), rng)
    chunks += [*from_catalogues(options.po), *generated(rng)]
    encode = splintr.Tokenizer.from_pretrained("o200k_base").encode_ordinary
    truths = [len(encode(chunk.text.encode("utf-8", "replace").decode())) for chunk in chunks]
    rows = [histogram(chunk.text) for chunk in chunks]
    fitted = [not chunk.held_out for chunk in chunks]
    sizes: dict[str, int] = defaultdict(int)
    for chunk, used in zip(chunks, fitted, strict=True):
        sizes[chunk.kind] += used
    shares = [SHARES.get(c.kind, ODD_SHARE.get(c.kind, 0.3)) / sizes[c.kind] for c in chunks]
    keep = [i for i, used in enumerate(fitted) if used]
    found = solve([rows[i] for i in keep], [truths[i] for i in keep], [shares[i] for i in keep])
    weights = [round(weight, 3) for weight in found]
    for kind in sorted(sizes):
        told = [
            sum(map(float.__mul__, map(float, row), weights)) / truth - 1
            for chunk, row, truth in zip(chunks, rows, truths, strict=True)
            if chunk.held_out and chunk.kind == kind
        ]
        report(kind, told)
    for key, weight in zip(KEYS, weights, strict=True):
        print(f'    "{key}": {weight},')


if __name__ == "__main__":
    main()
