"""Make `src/foldline/data/models.json` from the table inside a litellm wheel.

    pip download --no-deps litellm -d /tmp/wheels
    python bench/make_model_table.py /tmp/wheels/litellm-*.whl --date 2026-11-15 [--check]

Chat models only; for each the window and the longest reply. A model that many hosts serve stands once under
its bare name, with its maker's own numbers where there are any, else the smallest window; a host whose limits differ
keeps its full name. --check compares the windows with the genai-prices package, which must be importable then, and
prints what differs (it gives GPT-5 and later input and output together; this table gives what a prompt may use).
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
Row = tuple[int, int | None]


def numbers(entry: Mapping[str, Any]) -> Row | None:
    """The row of a model in the order of COLUMNS; None when its window is not known."""
    window = whole(entry.get("max_input_tokens")) or whole(entry.get("max_tokens"))
    return None if window is None else (window, whole(entry.get("max_output_tokens")))


def whole(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and value > 0 else None


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
            if row != best[-1] and not region(name):
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
            row, window = table.get(spelling(undated(model.id.lower()))), model.context_window
            if row is None or not window:
                continue
            seen += 1
            if window != row[0]:
                wrong += 1
                print(f"{provider.id}/{model.id}: window {row[0]} here, {window} there")
    print(f"{seen} models compared, {wrong} differ")


def written(table: Mapping[str, Row], about: Mapping[str, str]) -> str:
    """JSON with a model on each line, so that changes can be read; an unknown reply is left out."""
    lines = (f"{json.dumps(name)}:{json.dumps(known(row), separators=(',', ':'))}" for name, row in table.items())
    return f'{{"_about":{json.dumps(about)},\n"models":{{\n' + ",\n".join(lines) + "\n}}\n"


def known(row: Row) -> list[int]:
    return [number for number in row if number is not None]


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
        "columns": ", ".join(COLUMNS),
        "made_by": "bench/make_model_table.py",
    }
    TARGET.write_text(written(table, about), "utf-8")
    print(f"{len(table):,} models, {TARGET.stat().st_size:,} bytes")
    if options.check:
        check(table)


if __name__ == "__main__":
    main()
