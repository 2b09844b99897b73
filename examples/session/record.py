"""Runs the shell commands of the acts for real, in a scratch copy of the invented project, and keeps what they printed.

Needs git, sqlite3, and a virtual environment with pytest and ruff. The forms are then made from what was kept, so this
is only run when the story changes. Times in the output are those of the machine that recorded.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path

from session.acts import sessions
from session.perform import BEGIN, TAKES, opening
from session.script import ROOT, Call
from session.stage import Stage, Take

UNSEEN = (".git/", "var/", ".pytest_cache/", ".ruff_cache/")
"""Folders of the scratch copy that are no part of the project's text."""

HISTORY = """
2024-10-02T09:11:00+02:00 | Mara Vogt  | Store for parcels and events | migrations/0001_init.sql waybill/store.py
2024-10-04T17:40:00+02:00 | Mara Vogt  | Models, settings | waybill/models.py waybill/config.py pyproject.toml
2024-10-21T10:02:00+02:00 | Mara Vogt  | Pelican feed | waybill/carriers/pelican.py waybill/carriers/base.py
2024-11-05T15:26:00+01:00 | Ops        | schema: events once | migrations/0002_events_once.sql
2024-11-18T11:55:00+01:00 | Mara Vogt  | Nordfracht feed | waybill/carriers waybill/importer.py
2024-12-09T08:30:00+01:00 | Til Reuter | HTTP API | waybill/api.py tests/test_api.py tests/conftest.py
2025-01-14T16:12:00+01:00 | Til Reuter | Dispatch board with open cash on delivery | waybill/board.py
2025-01-15T09:05:00+01:00 | Mara Vogt  | Command line | waybill/cli.py waybill/__init__.py .gitignore
2025-02-03T12:00:00+01:00 | Ops        | schema: cod_cents | migrations/0003_cod_cents.sql
2025-02-27T18:44:00+01:00 | Mara Vogt  | Tests for both feeds | tests data/samples/nordfracht-2025-02-27.csv
2025-03-14T09:20:00+01:00 | Til Reuter | Keep the feeds and the log of the 14th for a look | data logs
2025-03-17T08:15:00+01:00 | Mara Vogt  | CI, README | .
"""
"""The project's past: when, who, what, which paths."""


def record() -> None:
    """Both sessions one after the other in one scratch copy; their takes replace those kept before."""
    with tempfile.TemporaryDirectory(prefix="waybill-") as folder:
        booth = Booth(Path(folder))
        sessions(booth)
        text = json.dumps([asdict(take) for take in booth.takes], ensure_ascii=False, indent=1)
    TAKES.write_text(text + "\n", encoding="utf-8")


class Booth:
    """A shell that really runs the command in the scratch copy and keeps the take."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.takes = folder, list[Take]()
        self.put(opening())
        self.git("init", "-q", "-b", "main", at="")
        for line in HISTORY.strip().splitlines():
            at, who, message, paths = (cell.strip() for cell in line.split("|"))
            self.git("add", *paths.split(), at=at)
            self.git("-c", f"user.name={who}", "commit", "-q", "-m", message, at=at)

    def git(self, *words: str, at: str) -> None:
        subprocess.run(["git", *words], cwd=self.folder, env=self.env(at), check=True, capture_output=True)

    def env(self, at: str) -> Mapping[str, str]:
        dates = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
        who = {"EMAIL": "mara@waybill.example", "GIT_CONFIG_COUNT": "1", "HOME": str(self.folder.parent)}
        who |= {"GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Mara Vogt"}
        plain = {"NO_COLOR": "1", "COLUMNS": "100", "LC_ALL": "C.UTF-8", "TZ": "Europe/Berlin"}
        return {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", **dates, **who, **plain}

    def put(self, stage: Stage) -> None:
        for gone in self.seen().keys() - stage.files.keys():
            (self.folder / gone).unlink()
        for path, data in stage.files.items():
            file = self.folder / path
            if not file.exists() or file.read_bytes() != data:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)

    def seen(self) -> Mapping[str, bytes]:
        files = (file for file in sorted(self.folder.rglob("*")) if file.is_file())
        named = ((file.relative_to(self.folder).as_posix(), file) for file in files)
        return {path: file.read_bytes() for path, file in named if not path.startswith(UNSEEN)}

    def __call__(self, stage: Stage, call: Call) -> Take:
        self.put(stage)
        at: datetime = BEGIN + timedelta(minutes=2 * len(self.takes) + 3)
        command = call.input["command"]
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.env(at.isoformat()),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        self.takes.append(Take(command, self.plain(done.stdout), done.returncode, self.changes(stage)))
        return self.takes[-1]

    def plain(self, text: str) -> str:
        """The output as it would look on the user's machine and day."""
        places = {
            str(self.folder): ROOT,
            sys.prefix: f"{ROOT}/.venv",
            sys.base_prefix: "/usr",
            "pytest-of-root": "pytest-of-mara",
        }
        for here, there in places.items():
            text = text.replace(here, there)
        return re.sub(rf"{datetime.now().date()} \d\d:", f"{BEGIN.date()} 09:", text).rstrip("\n")

    def changes(self, stage: Stage) -> Mapping[str, str | None]:
        now = self.seen()
        fresh = {path: data.decode("utf-8") for path, data in now.items() if stage.files.get(path) != data}
        return {**fresh, **dict.fromkeys(stage.files.keys() - now.keys())}
