"""An environment of its own for each peer, in a cache folder; and jobs sent to adapters that run in them.

Environments that are there are used again. With `uv` on the path they are made with it, else with venv and pip.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from roster import Peer

CACHE = Path(os.environ.get("FOLDLINE_BENCH_CACHE", "~/.cache/foldline-bench")).expanduser()
OFFLINE = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "HF_HUB_OFFLINE": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "PYTHONWARNINGS": "ignore",
}
"""Nobody fetches anything while it is measured."""

LOOK = 2.0
"""Seconds between two looks at how long a job has been running."""


VOCABULARIES = "litellm"
"""The peer whose wheel has them."""


class Late(Exception):
    """A job did not end in time."""


class Broken(Exception):
    """An environment could not be made, or an adapter fell over: the last line it said."""


def python(peer: Peer) -> Path:
    return Path(sys.executable) if not peer.packages else CACHE / peer.name / "venv" / "bin" / "python"


def install(peer: Peer) -> None:
    """Makes the peer's environment unless it is there. Raises Broken with what the installer said last."""
    there = python(peer)
    done = CACHE / peer.name / "installed"
    if not peer.packages or (done.exists() and done.read_text() == " ".join(peer.packages)):
        return
    folder = str(there.parents[1])
    if uv := shutil.which("uv"):
        steps = [[uv, "venv", "--clear", "--python", sys.executable, folder]]
        steps.append([uv, "pip", "install", "--python", str(there), *peer.packages])
    else:
        steps = [[sys.executable, "-m", "venv", "--clear", folder]]
        steps.append([str(there), "-m", "pip", "install", "--quiet", *peer.packages])
    for step in steps:
        ran = subprocess.run(step, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise Broken(last_line(ran.stderr))
    done.write_text(" ".join(peer.packages))


def version(peer: Peer) -> str:
    package = (peer.packages or (peer.name,))[0].partition("[")[0]
    code = f"import importlib.metadata as m; print({package!r}, m.version({package!r}))"
    ran = subprocess.run([python(peer), "-c", code], capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def send(peer: Peer, job: dict[str, Any], seconds: int) -> Any:
    """The outcome of a job, done by the adapter in a process of its own. Raises Late or Broken.

    The seconds are of the processor: others may be at work on the machine.
    """
    with (
        tempfile.TemporaryFile("w+") as asked,
        tempfile.TemporaryFile("w+") as told,
        tempfile.TemporaryFile("w+") as log,
    ):
        json.dump(job, asked)
        asked.seek(0)
        environment = {**os.environ, **OFFLINE, "TIKTOKEN_CACHE_DIR": vocabularies()}
        ran = subprocess.Popen([python(peer), peer.adapter], stdin=asked, stdout=told, stderr=log, env=environment)
        watch(ran, seconds)
        told.seek(0)
        log.seek(0)
        answer = told.read()
        if ran.returncode or not answer:
            raise Broken(last_line(log.read()))
    return json.loads(answer)


def watch(ran: subprocess.Popen[bytes], seconds: int) -> None:
    """Waits for the process, and ends it when it has used its time.

    A limit set in the kernel would do, but makes the clock of the process coarse.
    """
    while True:
        try:
            ran.wait(LOOK)
            return
        except subprocess.TimeoutExpired:
            if used(ran.pid) > seconds:
                ran.kill()
                ran.wait()
                raise Late from None


def used(pid: int) -> float:
    """Seconds of the processor that a process has had."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def vocabularies() -> str:
    """tiktoken downloads its files; litellm's wheel has them, so everyone who counts with tiktoken is given those."""
    found = sorted(CACHE.glob(f"{VOCABULARIES}/venv/lib/*/site-packages/litellm/litellm_core_utils/tokenizers"))
    return str(found[0]) if found else ""


def last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:200] if lines else "it said nothing"
