"""Forty thousand rows tonight: the import commits twice a row. The obvious cure does nothing, the right one hides a \
trap."""

from __future__ import annotations

from textwrap import indent

from session.perform import draft
from session.script import edit, grep, read, sh, step, tell, user, write

BATCH = '''    # -- writing --------------------------------------------------------------------

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Commit once, at the end. Nothing of a batch stays when it fails."""
        self.batching = True
        try:
            yield
            self.db.commit()
        except BaseException:
            self.db.rollback()
            raise
        finally:
            self.batching = False

    def _commit(self) -> None:
        if not self.batching:
            self.db.commit()

'''

LOOP_OLD = """    for line, row in enumerate(carrier.rows(data), start=2):
        report.read += 1
        try:
            parcel, event = carrier.parse(row)
        except (BadRow, ValueError, KeyError) as why:
            log.warning("%s line %d: %s", source, line, why)
            report.reject(line, why)
            continue
        store.put_parcel(parcel)
        report.new_events += store.add_events([event])
        cache.drop(parcel.id)
"""

LOOP_IN_WITH = "    with store.db:\n" + indent(LOOP_OLD, "    ")

LOOP_BATCH = "    with store.batch():\n" + indent(LOOP_OLD, "    ")

LOOP_AFTER = (
    LOOP_BATCH.replace("            cache.drop(parcel.id)\n", "            touched.add(parcel.id)\n")
    + """    # Only now: dropped earlier, an entry would be filled again with what is not yet replaced.
    for parcel_id in sorted(touched):
        cache.drop(parcel_id)
"""
)

ACT = (
    user(
        "Nice find. Something bigger now: from tonight on Pelican sends us all regions, around 40,000 rows. The "
        "nightly log shows about 20 seconds for 1,200 rows. Can you measure the import and make it fit into a few "
        "seconds?"
    ),
    step(
        write("scripts/bench_import.py", draft("scripts/bench_import.py")),
        sh("PYTHONPATH=. python scripts/bench_import.py 2000", "Measure 2,000 rows"),
        read("waybill/store.py", 60, 50),
        say="A number first.",
    ),
    step(
        sh(
            "PYTHONPATH=. python -m cProfile -s tottime scripts/bench_import.py 2000 2>&1 | head -30",
            "Where the time goes",
        ),
        think="put_parcel and add_events each commit: two fsyncs a row. On a server disk that is the 16 ms a row "
        "from the log. The profile should show commit on top.",
    ),
    step(
        edit("waybill/importer.py", LOOP_OLD, LOOP_IN_WITH),
        sh("PYTHONPATH=. python scripts/bench_import.py 2000", "Measure again"),
        say="Nearly all of it is commits, two for each row. The connection as a context manager is the shortest "
        "thing to try.",
    ),
    step(
        grep(r"commit\(\)|with store\.db", "*.py"),
        think="No gain, as I should have known: `with store.db` commits at its end, but put_parcel and add_events "
        "still commit by themselves inside it. The store needs a notion of a batch.",
        say="No gain: the store's own methods still commit inside. It needs a batch of its own.",
    ),
    step(
        edit(
            "waybill/store.py",
            "    # -- writing --------------------------------------------------------------------\n\n",
            BATCH,
        ),
        sh(
            "sed -i '/# -- writing/,/# -- reading/ s/^        self\\.db\\.commit()$/        self._commit()/' "
            "waybill/store.py && git diff waybill/store.py",
            "Both writers go through _commit",
        ),
        edit(
            "waybill/store.py",
            "        self.db.row_factory = sqlite3.Row\n",
            "        self.db.row_factory = sqlite3.Row\n        self.batching = False\n",
        ),
        edit(
            "waybill/store.py",
            "from collections.abc import Iterable, Iterator\n",
            "from collections.abc import Iterable, Iterator\nfrom contextlib import contextmanager\n",
        ),
    ),
    step(
        sh("git checkout -q waybill/importer.py && git status --short", "Take the failed attempt back"),
        edit("waybill/importer.py", LOOP_OLD, LOOP_BATCH),
        write("tests/test_batch.py", draft("tests/test_batch.py")),
        sh(
            "python -m pytest -q tests/test_batch.py; PYTHONPATH=. python scripts/bench_import.py 2000",
            "Tests, and the number",
        ),
    ),
    step(
        edit("waybill/importer.py", LOOP_BATCH, LOOP_AFTER),
        edit(
            "waybill/importer.py",
            "    report, cache = Report(source), cache or NoCache()\n",
            "    report, cache = Report(source), cache or NoCache()\n    touched: set[str] = set()\n",
        ),
        sh("python -m pytest -q", "All tests"),
        think="The fast version fails the test I added for the cache: entries are dropped inside the batch, another "
        "process reads the old row, fills the cache again, and only then the batch commits. The desk would see the "
        "old status for up to 30 s. Drop after the commit.",
        say="Fast now, but the new test shows a trap: entries dropped before the commit are filled again with the "
        "old row. Dropping after it.",
    ),
    step(
        sh("PYTHONPATH=. python scripts/bench_import.py 40000", "The real size"),
        read("waybill/importer.py"),
        read("waybill/store.py", 44, 75),
    ),
    step(
        sh(
            "mkdir -p bench && git mv -f scripts/bench_import.py bench/import_speed.py 2>/dev/null || mv "
            "scripts/bench_import.py bench/import_speed.py; rmdir scripts; ls bench; ruff check .",
            "The script belongs in bench/",
        ),
        sh(
            "git add -A && git commit -q -m 'Import in one transaction' && git show --stat --format='%h %s' HEAD | cat",
            "Commit",
        ),
    ),
    tell(
        """
An import is now one transaction. 40,000 rows take about a second here, where 2,000 took four; on the server, where \
a commit is slower, the difference will be larger.

Two things changed with it: a feed that breaks off half-way leaves nothing behind (bad rows are still skipped, as \
before), and cache entries are dropped after the commit. The benchmark is `bench/import_speed.py`.
"""
    ),
)
