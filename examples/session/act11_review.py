"""Before lunch: where do we stand? The agent reviews its own branch and finds what is still open."""

from __future__ import annotations

from session.script import grep, read, sh, step, tell, todo, user

OPEN = (
    "- Store: one connection per thread, before waitress",
    "- Tell whoever reads the API that cod became cod_cents (Mara)",
    "- 0003 rounding: with ops (Mara)",
    "- Hayate: tell them about their README (Mara)",
)

ACT = (
    user(
        "Good, I'll pass that on. Before I go to lunch: read through the whole branch once more as if someone else "
        "had written it. What is still open?"
    ),
    step(
        sh(
            "git diff main --stat && git diff main -- waybill/api.py waybill/store.py waybill/importer.py "
            "waybill/cli.py",
            "The whole branch",
        ),
        sh(
            "git diff main --name-only -- migrations | wc -l; git log main..HEAD --format='%h %s'",
            "Which folders are untouched, which commits there are",
        ),
        think="Read it as a reviewer: threads, error paths, floats, names, docs.",
    ),
    step(
        grep(r"self\.db\b", "*.py"),
        sh(
            "python - <<'PY'\n"
            "import threading\n"
            "from waybill.api import Api\n"
            "from waybill.store import Store\n"
            "api = Api(Store('var/waybill.db'))\n"
            "def ask():\n"
            "    seen = []\n"
            "    api({'REQUEST_METHOD': 'GET', 'PATH_INFO': '/parcels/PL-28313'}, lambda s, h: seen.append(s))\n"
            "    print(seen)\n"
            "t = threading.Thread(target=ask); t.start(); t.join()\n"
            "PY",
            "Does the store survive a second thread?",
        ),
        think="The cache has a connection per thread, the store does not. With waitress every request would fail. "
        "Not asked for yet, but it is the first thing that would break.",
    ),
    step(
        todo(*OPEN),
        read("waybill/api.py", 58, 40),
        sh("python -m pytest -q --durations=5", "All tests, and the slowest"),
    ),
    tell(
        """
Nine commits, all tests green, lint clean. Reading it as a stranger:

**Would break soon**
- `Store` has one connection, and SQLite ties it to its thread. Behind waitress every request would be a 500 (I \
tried one from a second thread). The cache is fine. Needs the same treatment before waitress goes live.

**Waiting on you**
- Whoever reads the API must know that `cod` became `cod_cents`.
- The rounding of old rows, with ops. The note to Hayate.

**Small**
- `/parcels/{id}` caches only parcels that exist; unknown ids always ask the store. Fine unless someone scans ids.
"""
    ),
)
