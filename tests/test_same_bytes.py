"""The same history gives the same bytes: in any process, however that orders its sets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "coding-session.anthropic.json"
FOLDS = """
import json, sys
from dataclasses import asdict
from pathlib import Path

from foldline import Budget, Compactor
from foldline.testing import FakeCaller

request = json.loads(Path(sys.argv[1]).read_bytes())
model = FakeCaller()
without, written = (Compactor(Budget(window=60_000), by, secret=b"s") for by in (None, model))
folded = without.compact(request)
written.compact(request)
made = {
    "request": folded.request,
    "text": folded.checkpoint.text,
    "checkpoint": folded.checkpoint.to_dict(),
    "receipt": folded.receipt.to_dict(),
    "handoff": asdict(without.handoff(request)),
    "asked": [asdict(ask) for ask in model.asked],
}
print(json.dumps(made))
"""


def made(seed):
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", FOLDS, EXAMPLE]
    return subprocess.run(command, env=environment, check=True, capture_output=True).stdout


def test_the_same_history_gives_the_same_bytes_in_any_process():
    first, *others = (made(seed) for seed in ("1", "2", "3"))
    found = json.loads(first)
    for name, value in found.items():
        assert all(json.dumps(json.loads(other)[name]) == json.dumps(value) for other in others), name
    assert others == [first, first]
    assert found["receipt"]["folded"] > 100
    assert found["text"] in [block["text"] for block in found["request"]["messages"][0]["content"]]
    assert len(found["handoff"]["text"]) > 5_000
    assert "END OF RECORD" in json.dumps(found["asked"])
