"""Make `src/foldline/data/models.json` from the table inside a litellm wheel.

    pip download --no-deps litellm -d /tmp/wheels
    python bench/make_model_table.py /tmp/wheels/litellm-*.whl --date 2026-11-15 [--check]

Chat models only; for each the window, the longest reply and prices. A model that many hosts serve stands once under
its bare name, with its maker's own numbers where there are any, else the smallest window; a host whose limits differ
keeps its full name. --check compares with the genai-prices package, which must be importable then, and prints what
differs (it gives GPT-5 and later input and output together; this table gives what a prompt may use).
"""

from __future__ import annotations

import argparse
import json
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from foldline.models import COLUMNS, VENDOR, spelling, undated

TABLE = "litellm/model_prices_and_context_window_backup.json"
TARGET = Path(__file__).parent.parent / "src/foldline/data/models.json"
MODES = {"chat", "responses"}
MAKERS = (
    "anthropic", "openai", "gemini", "xai", "deepseek", "mistral", "moonshot", "zai", "cohere_chat", "dashscope",
    "minimax", "meta_llama", "amazon_nova", "ai21",
)  # fmt: skip
MILLION = 1_000_000
Row = list[Any]


def numbers(entry: Mapping[str, Any]) -> Row | None:
    """The row of a model in the order of COLUMNS; None when its window is not known."""
    window = whole(entry.get("max_input_tokens")) or whole(entry.get("max_tokens"))
    if window is None:
        return None
    prices = ("input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost",
              "cache_creation_input_token_cost")  # fmt: skip
    return [window, whole(entry.get("max_output_tokens")), *(price(entry.get(key)) for key in prices)]


def whole(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and value > 0 else None


def price(value: Any) -> float | None:
    return round(value * MILLION, 6) if isinstance(value, int | float) else None


def bare(name: str) -> str:
    return VENDOR.sub("", name.lower().rpartition("/")[2])


def rows(source: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, int, Row]]:
    for name, entry in source.items():
        if entry.get("mode") in MODES and (row := numbers(entry)):
            provider = str(entry.get("litellm_provider"))
            yield name.lower(), MAKERS.index(provider) if provider in MAKERS else len(MAKERS), row


def slim(source: Mapping[str, Mapping[str, Any]]) -> dict[str, Row]:
    """One row for each bare name; beside it the maker's dated models and the hosts whose limits are other ones."""
    groups: dict[str, list[tuple[int, bool, int, str, Row]]] = defaultdict(list)
    for name, maker, row in rows(source):
        short = undated(bare(name))
        groups[spelling(short)].append((maker, bare(name) != short, row[0], name, row))
    table = {}
    for short, members in groups.items():
        best = min(members)
        table[short] = best[-1]
        for maker, _, _, name, row in members:
            if row[:2] != best[-1][:2] and not region(name):
                form = bare(name) if maker == best[0] < len(MAKERS) else name
                table.setdefault(spelling(form), row)
    return dict(sorted(table.items()))


def region(name: str) -> bool:
    """Bedrock's and Azure's copies of a model in each region: their limits are the model's."""
    return name.startswith(("bedrock/", "azure/eu/", "azure/us/", "azure/global")) or bool(VENDOR.match(name))


def check(table: Mapping[str, Row]) -> None:
    from genai_prices.data_snapshot import get_snapshot

    seen = wrong = 0
    for provider in get_snapshot().providers:
        if provider.id not in MAKERS and provider.id != "google":
            continue
        for model in provider.models:
            if (row := table.get(spelling(undated(model.id.lower())))) is None or not hasattr(
                model.prices, "input_mtok"
            ):
                continue
            seen += 1
            told = model.prices.input_mtok
            told = float(getattr(told, "base", told)) if told is not None else None
            window = model.context_window
            if (window and window != row[0]) or (told is not None and row[2] is not None and abs(told - row[2]) > 1e-6):
                wrong += 1
                print(
                    f"{provider.id}/{model.id}: window {row[0]} here, {window} there; input {row[2]} here, {told} there"
                )
    print(f"{seen} models compared, {wrong} differ")


def written(table: Mapping[str, Row], about: Mapping[str, str]) -> str:
    """JSON with a model on each line, so that changes can be read; trailing unknowns are left out."""
    lines = (f"{json.dumps(name)}:{json.dumps(trimmed(row), separators=(',', ':'))}" for name, row in table.items())
    return f'{{"_about":{json.dumps(about)},\n"models":{{\n' + ",\n".join(lines) + "\n}}\n"


def trimmed(row: Row) -> Row:
    tidy = [int(value) if isinstance(value, float) and value.is_integer() else value for value in row]
    while tidy[-1] is None:
        tidy.pop()
    return tidy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--date", required=True, help="the day the wheel was fetched, for the table's provenance")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with zipfile.ZipFile(options.wheel) as wheel:
        table = slim(json.loads(wheel.read(TABLE)))
    about = {
        "source": f"{TABLE.rpartition('/')[2]} in {options.wheel.name}",
        "licence": "MIT, Copyright (c) 2023 Berri AI",
        "date": options.date,
        "columns": ", ".join(COLUMNS) + "; prices in US dollars for a million tokens",
        "made_by": "bench/make_model_table.py",
    }
    TARGET.write_text(written(table, about), "utf-8")
    print(f"{len(table):,} models, {TARGET.stat().st_size:,} bytes")
    if options.check:
        check(table)


if __name__ == "__main__":
    main()
