"""Makes the example session in its forms. Standard library only; the same bytes every time.

    python examples/make_session.py            write the files beside this script
    python examples/make_session.py --record   run the story's shell commands anew first (needs git, pytest, ruff)

The story is in `session/act*.py`, the invented project in `session/waybill.txt` and `session/drafts.txt`, and what its
commands printed in `session/takes.json`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from session import act13_next_day, acts, record, requests, transcript  # noqa: E402 the path must be set first
from session.perform import Replay  # noqa: E402


def forms() -> Mapping[str, str]:
    """Every file this script writes, by name."""
    long, short = acts.sessions(Replay())
    compaction = transcript.Compaction(act13_next_day.COMPACT_AFTER, act13_next_day.SUMMARY, act13_next_day.PRESERVED)
    return {
        "coding-session.anthropic.json": _pretty(requests.anthropic("long", long)),
        "coding-session.openai-chat.json": _pretty(requests.openai_chat("long", long)),
        "coding-session.claude-code.jsonl": transcript.transcript(
            "long", "nordfracht-utf8", "quiet-parcels-humming-otter", long
        ),
        "compacted-session.claude-code.jsonl": transcript.transcript(
            "short", "nordfracht-utf8", "early-ledger-drifting-wren", short, compaction
        ),
    }


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="run the shell commands anew")
    if parser.parse_args().record:
        record.record()
    for name, text in forms().items():
        (HERE / name).write_text(text, encoding="utf-8", newline="\n")
        print(f"{name}: {len(text.encode('utf-8')):,} bytes")


if __name__ == "__main__":
    main()
