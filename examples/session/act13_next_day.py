"""The next morning, a session of its own: the last test, then the store's threads. It is compacted half-way."""

from __future__ import annotations

from session.perform import draft
from session.script import edit, grep, read, sh, step, tell, todo, user, write

COMPACT_AFTER = 12
"""So many items stand before the compaction."""

PRESERVED = 2
"""So many steps before it stay verbatim."""

SUMMARY = draft("compaction summary")

OLD_OPEN = """        self.db = sqlite3.connect(str(path), timeout=wait)
        self.db.row_factory = sqlite3.Row
        self.batching = False
        self.db.execute("PRAGMA foreign_keys = ON")
        self.db.execute("PRAGMA journal_mode = WAL")  # readers go on while an import writes
"""

NEW_OPEN = """        self.wait, self.local = wait, threading.local()
        self.batching = False
"""

DB = '''    @property
    def db(self) -> sqlite3.Connection:
        """This thread's connection."""
        if not hasattr(self.local, "db"):
            self.local.db = sqlite3.connect(str(self.path), timeout=self.wait)
            self.local.db.row_factory = sqlite3.Row
            self.local.db.execute("PRAGMA foreign_keys = ON")
            self.local.db.execute("PRAGMA journal_mode = WAL")  # readers go on during an import
        return self.local.db

'''

ACT = (
    user(
        "Morning. Please finish what we left: the one failing export test and the README. Then the store for "
        "several threads. Commit as you go, but don't push anything, I want to read it first."
    ),
    step(
        sh("git status --short && git log --oneline -3", "Where we are"),
        read("waybill/export.py"),
        sh("python -m pytest -q 2>&1 | tail -4", "What fails"),
        think="Uncommitted: the export. Its docstring says calendar days, its body counts spans of 24 hours.",
    ),
    step(
        edit(
            "waybill/export.py",
            "    return (now.astimezone(zone) - first.astimezone(zone)).days\n",
            "    return (now.astimezone(zone).date() - first.astimezone(zone).date()).days\n",
        ),
        sh("python -m pytest -q", "All tests"),
        say="Dates have to be subtracted, not times.",
    ),
    step(
        edit(
            "README.md",
            "    waybill serve --port 8080\n",
            "    waybill serve --port 8080\n    waybill export-cod --older-than 14 > open-cash.csv\n",
        ),
        edit(
            "README.md",
            "The schema lives in",
            "`export-cod` lists open cash, oldest first. Days are calendar days at the desk; `--older-than 14` "
            "means fifteen and more.\n"
            "For a file every night:\n\n"
            "    15 5 * * *  cd /srv/waybill && waybill export-cod --older-than 14 > /srv/export/open-cash.csv\n\n"
            "The schema lives in",
        ),
        sh("ruff check . && git add -A && git commit -q -m 'Export of open cash' && git log --oneline -1", "Commit"),
    ),
    tell(
        "The export is finished and committed, with the line for cron in the README. `--older-than 14` lists "
        "fifteen days and more. Now the store."
    ),
    user("Fine by me, fifteen and more is what they meant. Go on."),
    step(
        todo("> Store: one connection per thread", "- A test with the API behind four threads", "- README: waitress"),
        read("waybill/store.py"),
        grep(r"\.db\b", "*.py"),
    ),
    step(
        write("tests/test_threads.py", draft("tests/test_threads.py")),
        sh("python -m pytest -q tests/test_threads.py", "See it fail"),
        think="The same cure as in the cache: threading.local. One snag: ':memory:' gives every thread a database "
        "of its own. Tests use it in one thread only, so that is fine, but it should be said.",
    ),
    step(
        edit("waybill/store.py", OLD_OPEN, NEW_OPEN),
        edit("waybill/store.py", "    def close(self) -> None:\n", DB + "    def close(self) -> None:\n"),
        edit(
            "waybill/store.py",
            "import sqlite3\nfrom collections import Counter\n",
            "import sqlite3\nimport threading\nfrom collections import Counter\n",
        ),
    ),
    step(
        sh("python -m pytest -q tests/test_threads.py", "Run it again"),
    ),
    step(
        grep("batching", "*.py"),
        read("waybill/store.py", 50, 30),
        think="The API works from four threads now. The other test: batching is one flag for all threads, so a "
        "batch in one keeps another thread's write from being committed.",
        say="The API is fine now. What is left: `batching` is one flag for all threads, so a batch in one holds "
        "back another's commit.",
    ),
    step(
        sh(
            "sed -i 's/self\\.batching/self.local.batching/' waybill/store.py && git diff --stat",
            "Make the flag the thread's own",
        ),
        sh("python -m pytest -q tests/test_threads.py tests/test_batch.py", "Run both"),
    ),
    step(
        edit(
            "waybill/store.py",
            "        if not self.local.batching:\n",
            '        if not getattr(self.local, "batching", False):\n',
        ),
        edit(
            "waybill/store.py",
            "        self.wait, self.local = wait, threading.local()\n        self.local.batching = False\n",
            "        self.wait, self.local = wait, threading.local()\n",
        ),
        sh("python -m pytest -q", "All tests"),
        think="A thread that never opened a batch has no flag at all: ask with a default.",
        say="A thread that never opened a batch has no flag. Asking with a default.",
    ),
    step(
        edit(
            "README.md",
            "Tests: `python -m pytest -q`.",
            "Several threads are fine, each has its own connection: `waitress-serve --threads=4 --call "
            "waybill.wsgi:make`.\n\n"
            "Tests: `python -m pytest -q`.",
        ),
        write("waybill/wsgi.py", draft("waybill/wsgi.py")),
        sh(
            "ruff check . && python -m pytest -q && git add -A && git commit -q -m 'Store: one connection per "
            "thread' && git log --oneline -2 && git status --short",
            "Commit",
        ),
    ),
    step(
        todo("x Store: one connection per thread", "x A test with the API behind four threads", "x README: waitress"),
    ),
    tell("Done: every thread has its own connection and its own batch. Two commits this morning, nothing pushed."),
)
