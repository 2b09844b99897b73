"""A cache is wanted, in Redis. The agent asks before it adds a dependency, is told yes, and builds it."""

from __future__ import annotations

from session.perform import draft
from session.script import edit, grep, read, sh, step, tell, todo, user, write

OPEN = (
    "Settings: WAYBILL_REDIS_URL, off when unset",
    "RedisCache with 30 s, fails open",
    "API answers /parcels/{id} from the cache",
    "Import drops what it touches",
    "compose.yml for development, README",
)

ACT = (
    user(
        "Good call with the token. Now load: the desk polls `/parcels/{id}` every few seconds for about 900 "
        "parcels. Put a Redis cache in front of it, 30 seconds to live, and drop an entry when an import writes "
        "something new for that parcel."
    ),
    step(
        read("waybill/cli.py"),
        read("pyproject.toml"),
        read("waybill/config.py"),
        sh(
            "python -c 'import redis; print(redis.__version__)'; pip list 2>/dev/null | head -20",
            "Is a Redis client there?",
        ),
    ),
    tell(
        """
Before I start, one thing needs your yes: waybill has no runtime dependency so far. Redis means

- the `redis` client in `pyproject.toml`, and
- a `compose.yml` with a Redis for development.

May I add both? And if Redis is down, I'd serve from SQLite and log a warning rather than fail the request. Is that \
right?
""",
        think="The package has no runtime dependency at all today. Redis brings one, plus a service for "
        "development. That is a decision for the user, not for me: ask before touching pyproject.toml.",
    ),
    user(
        "Yes to both, and yes, fail open. Make it an optional extra though: without WAYBILL_REDIS_URL nothing "
        "should change at all."
    ),
    step(
        todo(f"> {OPEN[0]}", *(f"- {entry}" for entry in OPEN[1:])),
        edit(
            "waybill/config.py",
            '    log_level: str = "INFO"\n\n\n',
            '    log_level: str = "INFO"\n    redis_url: str = ""  # empty: no cache\n\n\n',
        ),
        edit(
            "waybill/config.py",
            '        log_level=env.get("WAYBILL_LOG", "INFO"),\n',
            '        log_level=env.get("WAYBILL_LOG", "INFO"),\n        redis_url=env.get("WAYBILL_REDIS_URL", ""),\n',
        ),
        edit(
            "pyproject.toml",
            'dev = ["pytest>=8", "ruff>=0.6"]\n',
            'dev = ["pytest>=8", "ruff>=0.6"]\nredis = ["redis>=5"]\n',
        ),
    ),
    step(
        write("waybill/cache.py", draft("waybill/cache.py redis")),
        write("tests/fakes.py", draft("tests/fakes.py")),
        write("tests/test_cache.py", draft("tests/test_cache.py redis")),
        sh("python -m pytest -q tests/test_cache.py", "Run the cache's tests"),
    ),
    step(
        edit("waybill/cache.py", "import redis\n\n", ""),
        edit(
            "waybill/cache.py",
            "        client = redis.Redis.from_url(url)\n",
            "        import redis  # the optional extra\n\n        client = redis.Redis.from_url(url)\n",
        ),
        sh("python -m pytest -q tests/test_cache.py", "Run the cache's tests"),
        think="Of course: an optional extra must not be imported at the top. Import it where the connection is made.",
        say="An optional extra can't be imported at the top of the module. Moving it to where the connection is made.",
    ),
    step(
        read("waybill/cache.py"),
        sh("sed -n '1,40p' tests/fakes.py", "Look at the fake again"),
        think="test_a_broken_redis_is_no_cache fails because I only catch OSError, and the fake raises its own "
        "RedisError like the real client does: redis.exceptions.ConnectionError is a RedisError, not an OSError. So "
        "the cache must be told which errors mean 'down'.",
        say="The client's errors are not `OSError`s, so failing open doesn't. The cache has to know which errors "
        "mean that Redis is down.",
    ),
    step(
        edit(
            "waybill/cache.py",
            "    def __init__(self, client: Any, ttl: int = TTL) -> None:\n"
            "        self.client, self.ttl = client, ttl\n",
            "    def __init__(\n"
            "        self, client: Any, ttl: int = TTL, down: tuple[type[Exception], ...] = (OSError,)\n"
            "    ) -> None:\n"
            "        self.client, self.ttl, self.down = client, ttl, down\n",
        ),
        edit(
            "waybill/cache.py",
            "        except OSError as why:\n",
            "        except self.down as why:\n",
            everywhere=True,
        ),
        edit(
            "waybill/cache.py",
            "        return cls(client)\n",
            "        return cls(client, down=(redis.RedisError, OSError))\n",
        ),
        edit(
            "tests/test_cache.py",
            "    cache = RedisCache(FakeRedis(broken=True))\n",
            "    cache = RedisCache(FakeRedis(broken=True), down=(RedisError,))\n",
        ),
    ),
    step(
        edit(
            "tests/test_cache.py",
            "from tests.fakes import FakeRedis\n",
            "from tests.fakes import FakeRedis, RedisError\n",
        ),
        sh("python -m pytest -q tests/test_cache.py", "Run the cache's tests"),
        edit(
            "waybill/api.py",
            "    def __init__(self, store: Store) -> None:\n        self.store = store\n",
            "    def __init__(self, store: Store, cache: Cache | None = None) -> None:\n"
            "        self.store, self.cache = store, cache or NoCache()\n",
        ),
        edit(
            "waybill/api.py",
            "        tracking = self.store.tracking(parcel_id)\n        if tracking is None:\n",
            '        known = self.cache.get(f"parcel/{parcel_id}")\n'
            "        if known is not None:\n"
            "            return 200, json.loads(known)\n"
            "        tracking = self.store.tracking(parcel_id)\n"
            "        if tracking is None:\n",
        ),
    ),
    step(
        edit(
            "waybill/api.py",
            '        body["status"] = tracking.status.value\n        return 200, body\n',
            '        body["status"] = tracking.status.value\n'
            '        self.cache.put(f"parcel/{parcel_id}", json.dumps(body, ensure_ascii=False))\n'
            "        return 200, body\n",
        ),
        edit(
            "waybill/api.py",
            "from waybill.models import Event, Parcel\n",
            "from waybill.cache import Cache, NoCache\nfrom waybill.models import Event, Parcel\n",
        ),
        edit(
            "waybill/importer.py",
            "def import_bytes(store: Store, carrier: Carrier, data: bytes, source: str) -> Report:\n"
            "    report = Report(source)\n",
            "def import_bytes(\n"
            "    store: Store, carrier: Carrier, data: bytes, source: str, cache: Cache | None = None\n"
            ") -> Report:\n"
            "    report, cache = Report(source), cache or NoCache()\n",
        ),
        edit(
            "waybill/importer.py",
            "        report.new_events += store.add_events([event])\n",
            "        report.new_events += store.add_events([event])\n        cache.drop(parcel.id)\n",
        ),
    ),
    step(
        edit(
            "waybill/importer.py",
            "from waybill.carriers.base import BadRow, Carrier\n",
            "from waybill.cache import Cache, NoCache\nfrom waybill.carriers.base import BadRow, Carrier\n",
        ),
        edit(
            "waybill/importer.py",
            "def import_file(store: Store, carrier: Carrier, path: Path) -> Report:\n"
            "    return import_bytes(store, carrier, path.read_bytes(), path.name)\n",
            "def import_file(\n"
            "    store: Store, carrier: Carrier, path: Path, cache: Cache | None = None\n"
            ") -> Report:\n"
            "    return import_bytes(store, carrier, path.read_bytes(), path.name, cache)\n",
        ),
        write("tests/test_cached_api.py", draft("tests/test_cached_api.py redis")),
        sh("python -m pytest -q tests/test_cached_api.py", "Cache, API and import together"),
    ),
    step(
        grep(r"cache\.(get|put|drop)", "*.py"),
        think="The import drops 'NF1', the API stores 'parcel/NF1'. The key must be built in one place: let the "
        "cache take the parcel's id and do the prefix itself.",
        say="The import drops `NF1`, the API keeps it as `parcel/NF1`. The cache should build the key itself.",
    ),
    step(
        sh(
            'sed -i \'s|f"parcel/{parcel_id}"|parcel_id|\' waybill/api.py && sed -i \'s|PREFIX = "waybill:"|PREFIX '
            '= "waybill:parcel:"|\' waybill/cache.py',
            "Build the key in one place",
        ),
        edit(
            "waybill/cli.py",
            "    reports = [import_file(store, carrier, path) for path in args.files]\n",
            "    cache = connect(settings)\n"
            "    reports = [import_file(store, carrier, path, cache) for path in args.files]\n",
        ),
        edit(
            "waybill/cli.py",
            "def run_import(args: argparse.Namespace, _: config.Settings, store: Store) -> int:\n",
            "def run_import(args: argparse.Namespace, settings: config.Settings, store: Store) -> int:\n",
        ),
        edit(
            "waybill/cli.py",
            'make_server("127.0.0.1", port, Api(store)) as server',
            'make_server("127.0.0.1", port, Api(store, connect(settings))) as server',
        ),
    ),
    step(
        edit(
            "waybill/cli.py",
            "from waybill.api import Api\n",
            "from waybill.api import Api\nfrom waybill.cache import connect\n",
        ),
        write(
            "compose.yml",
            "services:\n"
            "  redis:\n"
            "    image: redis:7-alpine\n"
            "    command: redis-server --save '' --maxmemory 64mb --maxmemory-policy allkeys-lru\n"
            "    ports:\n"
            "      - 127.0.0.1:6379:6379\n",
        ),
        sh(
            "docker compose up -d redis",
            "Start Redis for a trial run",
            "Exit code 1\n"
            "unable to get image 'redis:7-alpine': Cannot connect to the Docker daemon at "
            "unix:///var/run/docker.sock. Is the docker daemon running?",
            failed=True,
        ),
        sh("python -m pytest -q && ruff check .", "All tests and lint"),
    ),
    step(
        sh(
            "WAYBILL_REDIS_URL= python -m waybill.cli import pelican data/samples/pelican-2025-03-14.jsonl "
            "2>/dev/null && git add -A && git commit -q -m 'Optional Redis cache for parcels' && git show --stat "
            "--format='%h %s' HEAD | cat",
            "Without a URL nothing changes; commit",
        ),
        todo(*(f"x {entry}" for entry in OPEN[:4]), f"> {OPEN[4]}", "- Try it against a real Redis"),
    ),
    tell(
        """
The cache is in, off unless `WAYBILL_REDIS_URL` is set, and fails open. Key and prefix are built in `cache.py` alone.

Not done: I could not try it against a real Redis, the Docker daemon isn't running here. README is still to write.
"""
    ),
)
