"""The user changes their mind: no Redis, a SQLite table instead. It must not live where the agent may not write."""

from __future__ import annotations

from session.perform import draft
from session.script import edit, grep, read, sh, step, tell, todo, user, write

OPEN = (
    "Take out Redis: extra, compose file, setting, fakes",
    "SqliteCache, own file, 30 s",
    "Threads: waitress with four",
    "Same promises as before: dropped by import, fails open",
    "README: the cache",
)

ONE_CONNECTION = """    def __init__(self, path: Path, ttl: int = TTL, now: Callable[[], float] = time.time) -> None:
        self.path, self.ttl, self.now = path, ttl, now
        path.parent.mkdir(parents=True, exist_ok=True)
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute(TABLE)
"""

PER_THREAD = '''    def __init__(self, path: Path, ttl: int = TTL, now: Callable[[], float] = time.time) -> None:
        self.path, self.ttl, self.now = path, ttl, now
        self.local = threading.local()
        self._run("SELECT 1")  # the first connection sets up the file, before there are others

    @property
    def db(self) -> sqlite3.Connection:
        """This thread's connection: SQLite refuses one that another thread has opened."""
        if not hasattr(self.local, "db"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.local.db = sqlite3.connect(self.path, timeout=WAIT, isolation_level=None)
            self.local.db.execute("PRAGMA journal_mode = WAL")
            self.local.db.execute("PRAGMA synchronous = OFF")  # it may vanish
            self.local.db.execute(TABLE)
        return self.local.db
'''

ACT = (
    user(
        "I talked to ops over coffee. Scrap Redis, sorry: they won't run another daemon for one table's worth of "
        "data, and I can't argue with that. Use a table in SQLite for the cache instead, same 30 seconds, same "
        "invalidation. Take everything Redis out again: the extra, the compose file, the setting, the fakes."
    ),
    step(
        grep("(?i)redis", "*", lines=False),
        sh("git log --oneline main..HEAD && git diff --stat HEAD~1", "What the Redis commit touched"),
        think="Reverting the commit would also take out the seams in API, importer and CLI, which stay the same: "
        "Cache protocol, NoCache, key handling. Better to replace the one class. Where does the table go? A cache "
        "that makes its own table in its own file needs no schema change and can be deleted at any time. It also "
        "keeps cache writes off the main database's lock. But the user said 'a table in SQLite', so I should ask "
        "which file is meant.",
    ),
    tell(
        """
Clear. The seams (the `Cache` protocol, `NoCache`, the calls in API and import) stay, only the class behind them \
changes.

One question: in which file should the table live? I'd give the cache a file of its own, `var/cache.db`, that makes \
its table when opened. Then the main schema is untouched, polling doesn't compete with the import for the write \
lock, and anyone may delete the file. The alternative is `waybill.db` itself. Own file?
"""
    ),
    user(
        "Own file, yes. It's a cache, it may vanish. And on by default this time. One more thing: serve is going to "
        "run behind waitress with four threads soon, so make sure it survives that."
    ),
    step(
        todo(f"> {OPEN[0]}", *(f"- {entry}" for entry in OPEN[1:])),
        sh("git rm -q compose.yml tests/fakes.py && git status --short", "Remove the compose file and the fakes"),
        edit("pyproject.toml", 'redis = ["redis>=5"]\n', ""),
        edit(
            "waybill/config.py",
            '    redis_url: str = ""  # empty: no cache\n',
            '    cache: Path | None = Path("var/cache.db")  # None: no cache\n',
        ),
    ),
    step(
        edit(
            "waybill/config.py",
            '        redis_url=env.get("WAYBILL_REDIS_URL", ""),\n',
            '        cache=Path(cache) if (cache := env.get("WAYBILL_CACHE", "var/cache.db")) else None,\n',
        ),
        write("waybill/cache.py", draft("waybill/cache.py sqlite")),
        write("tests/test_cache.py", draft("tests/test_cache.py sqlite")),
        sh("python -m pytest -q tests/test_cache.py", "Run the cache's tests"),
        say="Tests for four threads come with it.",
    ),
    step(
        edit("waybill/cache.py", ONE_CONNECTION, PER_THREAD),
        edit("waybill/cache.py", "import sqlite3\nimport time\n", "import sqlite3\nimport threading\nimport time\n"),
        edit(
            "waybill/cache.py",
            "TTL = 30  # seconds; the desk polls every few\n",
            "TTL = 30  # seconds; the desk polls every few\n"
            "WAIT = 1.0  # seconds to wait for another writer; after that the store answers\n",
        ),
        sh("python -m pytest -q tests/test_cache.py", "Run the cache's tests"),
        think="sqlite3 connections belong to the thread that opened them. check_same_thread=False with a lock would "
        "serialise the four threads; a connection per thread is simpler and lets readers go on. WAL so that a "
        "reader does not wait for a writer.",
        say="As feared: a connection belongs to the thread that opened it. One per thread, then.",
    ),
    step(
        read("waybill/cache.py"),
        sh("python -m pytest -q", "All tests"),
    ),
    step(
        sh(
            "sed -i '/from tests.fakes/d; s/from waybill.cache import RedisCache/from waybill.cache import "
            "SqliteCache/; s/^def cache():/def cache(tmp_path):/; s/RedisCache(FakeRedis())/SqliteCache(tmp_path "
            "\\/ "
            '"cache.db")/\' '
            "tests/test_cached_api.py && git diff tests/test_cached_api.py",
            "Point the combined tests at the new class",
        ),
        sh("python -m pytest -q && ruff check .", "All tests and lint"),
        say="The combined tests still import the fakes; they only need the other class.",
    ),
    step(
        sh(
            "git mv tests/test_cached_api.py tests/test_api_cache.py && ruff check --fix . && python -m pytest -q",
            "Rename beside test_api.py, sort imports, run again",
        ),
        grep("(?i)redis|compose", "*", lines=False),
    ),
    step(
        write("tmp/hammer.py", draft("tmp/hammer.py")),
        sh("PYTHONPATH=. python tmp/hammer.py", "Four threads reading and writing for two seconds"),
        think="The unit test uses few rounds. A harder run, once, outside the suite: four threads, mixed get, put, "
        "drop, and one import at the same time.",
        say="One harder run than belongs in the suite: four threads plus an import.",
    ),
    step(
        sh("rm -r tmp && git status --short", "Remove the scratch script"),
        edit(
            "README.md",
            "| `WAYBILL_PORT`    | `8080`           | port of `waybill serve`           |\n",
            "| `WAYBILL_CACHE`   | `var/cache.db`   | answers of the last 30 s; empty: no cache |\n"
            "| `WAYBILL_PORT`    | `8080`           | port of `waybill serve`           |\n",
        ),
        read("README.md"),
    ),
    step(
        sh(
            "ruff check . && python -m pytest -q && git add -A && git commit -q -m 'Cache in SQLite instead of "
            "Redis' && git show --stat --format='%h %s' HEAD | cat",
            "Commit",
        ),
        todo(*(f"x {entry}" for entry in OPEN)),
    ),
    tell(
        """
Redis is gone without a trace, and the cache is `var/cache.db`, on by default (`WAYBILL_CACHE=` turns it off).

- One connection per thread; a test runs four threads, and a harder run with an import beside them had no errors.
- It waits at most a second for another writer, then the store answers. A cache file that is locked, full or damaged \
costs a warning, never a request.
- Expired rows are swept out on every hundredth write.
"""
    ),
)
