"""A log from staging: requests fail while the import runs. Made visible in a test, cured by the journal mode."""

from __future__ import annotations

from session import feeds
from session.perform import draft
from session.script import edit, grep, read, sh, step, tell, user, write

LOG = "logs/serve-2025-04-08.log"

ACT = (
    user(
        "Impressive. While we are at it: logs/serve-2025-04-08.log is from staging yesterday morning, still without "
        "any of today's work. The API throws 500s while the import runs. Same cause, or does your one big "
        "transaction make that even worse?",
        files={LOG: feeds.serve_log()},
    ),
    step(
        read(LOG),
        sh(
            f"grep -c ' 500 ' {LOG}; grep -c 'database is locked' {LOG}; awk '/ 500 /{{print substr($2,1,5)}}' "
            f"{LOG} | sort | uniq -c",
            "How many, and when",
        ),
    ),
    step(
        read("waybill/store.py", 1, 62),
        sh(
            "sqlite3 var/waybill.db 'PRAGMA journal_mode; PRAGMA page_size; PRAGMA cache_size;'",
            "How the database is opened today",
        ),
        think="All failures take a little over 5,000 ms: that is sqlite3's default timeout. Readers wait for the "
        "writer and give up.",
        say="Every failure took a little over five seconds, SQLite's default patience. So readers wait for the writer.",
    ),
    step(
        write("tests/test_locking.py", draft("tests/test_locking.py")),
        sh("python -m pytest -q tests/test_locking.py", "A reader beside a large batch"),
        think="With a rollback journal readers are let in until the writer spills its page cache or commits; then "
        "it holds the exclusive lock. A batch of 40,000 rows spills. So yes: today's change turns many short locks "
        "into one long one. I want that in a test before I cure it. The store needs a wait parameter so the test "
        "need not sit out 5 s.",
        say="With a rollback journal, a batch that outgrows the page cache shuts readers out until it commits. "
        "Writing that down as a test first.",
    ),
    step(
        edit(
            "waybill/store.py",
            "    def __init__(self, path: Path | str, migrations: Path = MIGRATIONS) -> None:\n",
            "    def __init__(\n"
            "        self, path: Path | str, migrations: Path = MIGRATIONS, wait: float = WAIT\n"
            "    ) -> None:\n",
        ),
        edit(
            "waybill/store.py",
            "        self.db = sqlite3.connect(str(path))\n",
            "        self.db = sqlite3.connect(str(path), timeout=wait)\n",
        ),
        edit(
            "waybill/store.py",
            "log = logging.getLogger(__name__)\n",
            "log = logging.getLogger(__name__)\n\nWAIT = 5.0  # seconds a connection waits for another writer\n",
        ),
        sh("python -m pytest -q tests/test_locking.py", "Now the fault itself"),
    ),
    step(
        edit(
            "waybill/store.py",
            '        self.db.execute("PRAGMA foreign_keys = ON")\n',
            '        self.db.execute("PRAGMA foreign_keys = ON")\n'
            '        self.db.execute("PRAGMA journal_mode = WAL")  # readers go on while an import writes\n',
        ),
        sh("python -m pytest -q tests/test_locking.py", "With a write-ahead log"),
        think="There it is: database is locked, from parcel(), as in the log. WAL lets readers see the last commit "
        "while a writer works. It is a property of the file set by whoever opens it, no schema change. In :memory: "
        "it is ignored, fine.",
        say="Reproduced, the same line as in the log. A write-ahead log lets readers see the last commit meanwhile.",
    ),
    step(
        sh("python -m pytest -q && ruff check .", "All tests and lint"),
        grep(r"WAL|journal|db-wal|db-shm", "*"),
        sh(
            "rm -rf var && python -m waybill.cli import pelican data/samples/pelican-2025-03-14.jsonl 2>/dev/null; "
            "ls var; sqlite3 var/waybill.db 'PRAGMA journal_mode'",
            "A fresh database through the command line",
        ),
    ),
    step(
        sh(
            "git add -A && git commit -q -m 'Readers go on while an import writes' && git log --oneline main..HEAD",
            "Commit",
        ),
    ),
    tell(
        """
Same cause, and yes, the big transaction alone would have made it worse: one long lock instead of many short ones.

The store now opens the database with a write-ahead log, so readers see the last committed state while an import \
writes. A test holds a large batch open and reads beside it; it failed with the very error from your log before the \
change.

Operations should know: next to `waybill.db` there will be `-wal` and `-shm` files, and a plain `cp` of the database \
alone is no backup any more (`sqlite3 waybill.db ".backup …"` is).
"""
    ),
)
