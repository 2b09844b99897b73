"""A small wish in passing: statistics by carrier. Counting twice the same way shows that the old count was wrong."""

from __future__ import annotations

from session.perform import draft
from session.script import edit, read, sh, step, tell, user, write

OLD_SQL = '''LATEST_STATUS = """
SELECT status, count(*) AS n
FROM (
    SELECT parcel_id, status, max(at) FROM events GROUP BY parcel_id
)
GROUP BY status
ORDER BY status
"""
'''

BY_CARRIER = '''LATEST_STATUS = """
SELECT carrier, status, count(*) AS n
FROM (
    SELECT carrier, status, max(at)
    FROM events JOIN parcels ON parcels.id = events.parcel_id
    GROUP BY parcel_id
)
GROUP BY carrier, status
ORDER BY carrier, status
"""
'''

RANKED = '''LATEST_STATUS = """
SELECT carrier, status, count(*) AS n
FROM (
    SELECT carrier, status,
           row_number() OVER (PARTITION BY parcel_id ORDER BY at DESC, status DESC) AS age
    FROM events JOIN parcels ON parcels.id = events.parcel_id
)
WHERE age = 1
GROUP BY carrier, status
ORDER BY carrier, status
"""
'''

OLD_COUNTS = """    def counts(self) -> dict[Status, int]:
        return {Status(row["status"]): row["n"] for row in self.db.execute(LATEST_STATUS)}
"""

NEW_COUNTS = '''    def counts_by_carrier(self) -> dict[str, dict[Status, int]]:
        """How many parcels of each carrier have which newest status."""
        found: dict[str, dict[Status, int]] = {}
        for row in self.db.execute(LATEST_STATUS):
            found.setdefault(row["carrier"], {})[Status(row["status"])] = row["n"]
        return found

    def counts(self) -> dict[Status, int]:
        total = Counter[Status]()
        for statuses in self.counts_by_carrier().values():
            total.update(statuses)
        return dict(sorted(total.items()))
'''

PRINT = """def run_stats(args: argparse.Namespace, _: config.Settings, store: Store) -> int:
    tables = store.counts_by_carrier() if args.by_carrier else {"": store.counts()}
    for carrier, counts in tables.items():
        if carrier:
            print(carrier)
        for status, n in counts.items():
            print(f"{status.value:20} {n:6}")
    return 0
"""

ACT = (
    user(
        "I'll forward that to Hayate right away, good that you said so. Quick one in between, from Til: `waybill "
        "stats` split by carrier, with `--by-carrier`."
    ),
    step(
        sh(
            "python -m waybill.cli stats 2>/dev/null; sqlite3 var/waybill.db 'SELECT carrier, count(*) FROM parcels "
            "GROUP BY carrier'",
            "What stats print today",
        ),
        read("waybill/store.py", 15, 30),
        read("waybill/cli.py", 22, 35),
    ),
    step(
        write("tests/test_stats.py", draft("tests/test_stats.py")),
        edit("waybill/store.py", OLD_SQL, BY_CARRIER),
        edit("waybill/store.py", OLD_COUNTS, NEW_COUNTS),
        edit(
            "waybill/store.py",
            "import sqlite3\nfrom collections.abc import Iterable, Iterator\n",
            "import sqlite3\nfrom collections import Counter\nfrom collections.abc import Iterable, Iterator\n",
        ),
        think="One query by carrier, and the total summed from it, so the two can never disagree. The test compares "
        "with Tracking.status, which is what the API shows.",
    ),
    step(
        sh("python -m pytest -q tests/test_stats.py tests/test_store.py", "Run the tests of both counts"),
    ),
    step(
        edit("waybill/store.py", BY_CARRIER, RANKED),
        sh("python -m pytest -q tests/test_stats.py tests/test_store.py", "Run them again"),
        think="With two events in the same minute, max(at) lets SQLite pick either row. Tracking takes the last by "
        "(at, status). That was wrong before my change too, nobody noticed. Rank the events the same way Tracking "
        "orders them.",
        say="Not new, but wrong: with two events in one minute, `max(at)` may pick either, while the API shows the "
        "later by (time, status). Ranking them the same way.",
    ),
    step(
        edit(
            "waybill/cli.py",
            "def run_stats(_: argparse.Namespace, __: config.Settings, store: Store) -> int:\n"
            "    for status, n in store.counts().items():\n"
            '        print(f"{status.value:20} {n:6}")\n'
            "    return 0\n",
            PRINT,
        ),
        edit(
            "waybill/cli.py",
            '    commands.add_parser("stats", help="parcels by newest status").set_defaults(run=run_stats)\n',
            '    stats = commands.add_parser("stats", help="parcels by newest status")\n'
            '    stats.add_argument("--by-carrier", action="store_true")\n'
            "    stats.set_defaults(run=run_stats)\n\n",
        ),
        sh("python -m waybill.cli stats --by-carrier 2>/dev/null", "Try it"),
        say="The counts agree. What still fails is the flag itself, which comes now.",
    ),
    step(
        sh(
            "python -m pytest -q && ruff check . && git add -A && git commit -q -m 'Stats by carrier; the newest "
            "event is the one the API shows' && git log --oneline -1",
            "Test, lint, commit",
        ),
    ),
    tell(
        "`waybill stats --by-carrier` is there. On the way I found that the old count could take the wrong one of "
        "two events in the same minute; both counts now agree with what the API shows, and a test holds them "
        "together."
    ),
)
