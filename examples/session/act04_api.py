"""Unknown parcels are 404, and events come in pages. Two faults in the cursor are found by tests."""

from __future__ import annotations

from session.perform import draft
from session.script import edit, grep, read, sh, step, tell, todo, user, write

REPRODUCE = """python - <<'PY'
from waybill.api import Api
from waybill.store import Store
api = Api(Store("var/waybill.db"))
for path in ("/parcels/NF48983888", "/parcels/NOPE", "/parcels/NOPE/events", "/parcels/"):
    seen = []
    body = b"".join(api({"REQUEST_METHOD": "GET", "PATH_INFO": path}, lambda s, h: seen.append(s)))
    print(seen[0], path, body.decode()[:120])
PY"""

OLD_EVENTS = """    def events(self, parcel_id: str) -> tuple[Event, ...]:
        rows = self.db.execute(
            "SELECT * FROM events WHERE parcel_id = ? ORDER BY at, status", (parcel_id,)
        )
        return tuple(_event(row) for row in rows)
"""

PAGE_BY_TIME = '''
    def page(self, parcel_id: str, limit: int, after: datetime | None = None) -> tuple[Event, ...]:
        """At most `limit` events younger than `after`, oldest first."""
        rows = self.db.execute(
            "SELECT * FROM events WHERE parcel_id = ? AND at > ? ORDER BY at, status LIMIT ?",
            (parcel_id, after.isoformat() if after else "", limit),
        )
        return tuple(_event(row) for row in rows)
'''

PAGE_BY_KEY = '''
    def page(self, parcel_id: str, limit: int, after: tuple[str, str] = ("", "")) -> list[Event]:
        """At most `limit` events behind the key (time, status), oldest first."""
        rows = self.db.execute(
            "SELECT * FROM events WHERE parcel_id = ? AND (at, status) > (?, ?) "
            "ORDER BY at, status LIMIT ?",
            (parcel_id, *after, limit),
        )
        return [_event(row) for row in rows]
'''

API_EVENTS_1 = """
    def events(self, parcel_id: str, query: dict[str, list[str]]) -> tuple[int, Any]:
        if self.store.parcel(parcel_id) is None:
            return 404, {"error": f"no parcel {parcel_id}"}
        limit = int(query.get("limit", ["50"])[0])
        if not 1 <= limit <= MOST:
            return 400, {"error": f"limit must be between 1 and {MOST}"}
        after = query.get("after", [""])[0]
        page = self.store.page(parcel_id, limit, datetime.fromisoformat(after) if after else None)
        following = page[-1].at.isoformat() if len(page) == limit else None
        return 200, {"events": [_event(event) for event in page], "next": following}
"""

API_EVENTS_2 = """
    def events(self, parcel_id: str, query: dict[str, list[str]]) -> tuple[int, Any]:
        if self.store.parcel(parcel_id) is None:
            return 404, {"error": f"no parcel {parcel_id}"}
        try:
            limit = int(query.get("limit", ["50"])[0])
            after = _key(query.get("after", [""])[0])
        except ValueError:
            return 400, {"error": "limit must be a number, after a cursor from an earlier page"}
        if not 1 <= limit <= MOST:
            return 400, {"error": f"limit must be between 1 and {MOST}"}
        page = self.store.page(parcel_id, limit + 1, after)
        following = _cursor(page[limit - 1]) if len(page) > limit else None
        return 200, {"events": [_event(event) for event in page[:limit]], "next": following}
"""

CURSOR = '''

def _cursor(event: Event) -> str:
    """Where a page ended. Opaque on purpose: a bare time stamp has a plus sign and is not unique."""
    key = f"{event.at.isoformat()}|{event.status.value}"
    return urlsafe_b64encode(key.encode()).decode().rstrip("=")


def _key(cursor: str) -> tuple[str, str]:
    """A cursor's time and status. Raises ValueError."""
    if not cursor:
        return "", ""
    at, bar, status = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode().partition("|")
    if not bar:
        raise ValueError(f"not a cursor: {cursor!r}")
    return at, status
'''

COMMIT = (
    "ruff check . && python -m pytest -q && git add -A && git commit -q -m 'API: 404 for unknown parcels, events in "
    "pages' && git show --stat HEAD | cat"
)

ACT = (
    user(
        "Puh. Thanks, I've told Til. Next, the API. `GET /parcels/NOPE` gives a 500 in production, that should be a "
        "404. And `/events` needs paging, some Pelican parcels have 300 scans: `?limit=` (default 50, at most 200) "
        "and `?after=`, and the answer becomes "
        '`{"events": [...], "next": ...}` with null on the last page.'
    ),
    step(
        todo("> Unknown parcel: 404 instead of 500", "- Paging for /parcels/{id}/events", "- README: the new answer"),
        sh(REPRODUCE, "Reproduce the 500"),
        read("tests/test_api.py"),
        read("waybill/api.py", 1, 75),
    ),
    step(
        write("tests/test_paging.py", draft("tests/test_paging.py")),
        edit(
            "tests/test_api.py",
            "def test_its_events(get):\n"
            '    status, body = get("/parcels/NF1/events")\n'
            "    assert status == 200\n"
            '    assert [event["status"] for event in body] == ["in_transit"]\n',
            "def test_its_events(get):\n"
            '    status, body = get("/parcels/NF1/events")\n'
            "    assert status == 200\n"
            '    assert [event["status"] for event in body["events"]] == ["in_transit"]\n'
            '    assert body["next"] is None\n\n\n'
            '@pytest.mark.parametrize("path", ["/parcels/NOPE", "/parcels/NOPE/events"])\n'
            "def test_an_unknown_parcel_is_404(get, path):\n"
            "    status, body = get(path)\n"
            "    assert status == 404\n"
            '    assert "NOPE" in body["error"]\n',
        ),
        sh("python -m pytest -q tests/test_api.py tests/test_paging.py 2>&1 | tail -15", "See them fail"),
        think="tracking() returns None for an unknown id and parcel() dereferences it. For paging I will write the "
        "walk as a test: follow next until null and expect every event exactly once, also when several share a time "
        "stamp.",
    ),
    step(
        edit("waybill/store.py", OLD_EVENTS, OLD_EVENTS + PAGE_BY_TIME),
        edit(
            "waybill/api.py",
            "                return 200, [_event(event) for event in self.store.events(parcel_id)]\n",
            "                return self.events(parcel_id, query)\n",
        ),
        edit(
            "waybill/api.py",
            "        body = _parcel(tracking.parcel)\n",
            "        if tracking is None:\n"
            '            return 404, {"error": f"no parcel {parcel_id}"}\n'
            "        body = _parcel(tracking.parcel)\n",
        ),
        edit(
            "waybill/api.py",
            '        body["status"] = tracking.status.value\n        return 200, body\n',
            '        body["status"] = tracking.status.value\n        return 200, body\n' + API_EVENTS_1,
        ),
    ),
    step(
        edit("waybill/api.py", "from typing import Any\n", "from datetime import datetime\nfrom typing import Any\n"),
        edit(
            "waybill/api.py",
            'REASONS[500] = "Internal Server Error"\n',
            'REASONS[500] = "Internal Server Error"\n\nMOST = 200  # events on one page\n',
        ),
        sh("python -m pytest -q tests/test_api.py tests/test_paging.py", "Run the API's tests"),
    ),
    step(
        sh(
            "python -c \"from urllib.parse import parse_qs; print(parse_qs('after=2025-03-03T07:00:00+00:00'))\"",
            "How a plus sign arrives",
        ),
        grep(r"events_once|ORDER BY at", "*"),
        think="Two separate faults. One: the time stamp contains '+00:00', and in a query string a plus is a space, "
        "so fromisoformat raises and the client gets a 500. Two: the cursor is the time alone, so events sharing a "
        "time stamp with the last one on the page are skipped. The unique index says an event is known by (parcel, "
        "at, status): the cursor must be (at, status). An opaque token solves both.",
        say="Two faults: a plus sign in a query string is a space, and a time alone does not tell events apart. "
        "Checking both before I change it.",
    ),
    step(
        edit("waybill/store.py", PAGE_BY_TIME, PAGE_BY_KEY),
        edit("waybill/api.py", API_EVENTS_1, API_EVENTS_2),
        edit("waybill/api.py", "from datetime import datetime\nfrom typing import Any\n", "from typing import Any\n"),
        edit(
            "waybill/api.py",
            "import json\nimport logging\nfrom collections.abc",
            "import json\n"
            "import logging\n"
            "from base64 import urlsafe_b64decode, urlsafe_b64encode\n"
            "from collections.abc",
        ),
        say="The cursor becomes an opaque token of time and status, the same key as the unique index.",
    ),
    step(
        edit(
            "waybill/api.py",
            '        "place": event.place,\n        "note": event.note,\n    }\n',
            '        "place": event.place,\n        "note": event.note,\n    }\n' + CURSOR,
        ),
        sh("python -m pytest -q tests/test_api.py tests/test_paging.py", "Run the API's tests"),
    ),
    step(
        read("waybill/api.py"),
        sh(REPRODUCE, "The same four requests again"),
        sh("python -m pytest -v 2>&1 | tail -80", "All tests, by name"),
    ),
    step(
        edit(
            "README.md",
            "Settings come from the environment:\n",
            '`GET /parcels/{id}/events?limit=50&after=` answers `{"events": [...], "next": ...}`. Pass `next` as '
            "`after` to get the\n"
            "following page; it is null on the last one. A page has at most 200 events.\n\n"
            "Settings come from the environment:\n",
        ),
        sh(COMMIT, "Lint and commit"),
    ),
    step(
        edit(
            "tests/test_paging.py",
            '    every_minute = [Event("PL-1", START + timedelta(minutes=n), Status.IN_TRANSIT) for n in range(120)]\n',
            "    minutes = [START + timedelta(minutes=n) for n in range(120)]\n"
            '    every_minute = [Event("PL-1", at, Status.IN_TRANSIT) for at in minutes]\n',
        ),
        edit(
            "waybill/api.py",
            "Opaque on purpose: a bare time stamp has a plus sign and is not unique.",
            "Opaque: a bare time stamp has a plus sign and is not unique.",
        ),
        sh(COMMIT, "Lint and commit"),
        todo("x Unknown parcel: 404 instead of 500", "x Paging for /parcels/{id}/events", "x README: the new answer"),
    ),
    tell(
        """
Both done. Unknown parcels are 404 on `/parcels/{id}` and on `/events`.

`next` is an opaque token rather than a time stamp: `+00:00` in a query string arrives as a space, and Pelican scans \
share minutes, so a time alone would have skipped events. Bad `limit` or `after` values are 400.
"""
    ),
)
