"""Morning: the Nordfracht import refuses every row. The agent looks, and changes nothing."""

from __future__ import annotations

from session.script import glob, grep, read, sh, step, tell, user

COUNT = """python - <<'PY'
import collections, csv, io, pathlib
data = pathlib.Path("data/samples/nordfracht-2025-03-14.csv").read_bytes()
rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig")), delimiter=";"))
print(len(rows), "rows")
for status, n in collections.Counter(row["Status"] for row in rows).most_common():
    print(f"{n:4} {status}")
amounts = [row["Nachnahme"] for row in rows if row["Nachnahme"]]
print(len(amounts), "amounts,", sum("." in a for a in amounts), "with a thousands point, e.g.",
      next(a for a in amounts if "." in a))
PY"""

ACT = (
    user(
        "Morning. The Nordfracht import has been dead since 14 March: every single row is refused, and dispatch has "
        "been typing parcels in by hand. Have a look around and tell me what is wrong and how you would fix it. "
        "Don't change anything yet."
    ),
    step(
        glob("**/*.py"),
        sh("git log --format='%h %ad %an  %s' --date=short | cat", "Show the history"),
        sh("git ls-files | xargs wc -l", "Count lines of every tracked file"),
        think="I have not seen this repository. Layout and history first, then the failing night: the log should "
        "say whether rows are refused by the parser or by the database.",
        say="I'll start with the layout, the history and that night's log.",
    ),
    step(
        read("logs/import-2025-03-14.log"),
        read("waybill/carriers/nordfracht.py"),
        read("waybill/importer.py"),
        read("data/samples/nordfracht-2025-03-14.csv"),
    ),
    step(
        sh("python -m pytest -q", "Run the tests"),
        read("tests/test_nordfracht.py"),
        think="Every row of the 14th fails with KeyError 'Sendungsnr', the very first column. The other columns are "
        "not named, because the first lookup already fails. That smells like a byte order mark glued to the first "
        "heading. The parser decodes as cp1252, so UTF-8 with a mark would turn into three odd letters before the "
        "name.",
    ),
    step(
        sh("head -c 48 data/samples/nordfracht-2025-03-14.csv | od -A d -t x1z", "First bytes of the March feed"),
        sh("head -c 48 data/samples/nordfracht-2025-02-27.csv | od -A d -t x1z", "First bytes of the February feed"),
        say="All refusals name the first column. Comparing the first bytes of both feeds.",
    ),
    step(
        sh(COUNT, "Count statuses and amounts in the March feed"),
        read("data/samples/nordfracht-2025-02-27.csv", 1, 25),
        think="EF BB BF: UTF-8 with a mark since the 14th, cp1252 before. If only the encoding is fixed, other "
        "changes in the same export may surface one after the other, so I count what is in there now.",
    ),
    step(
        read("waybill/store.py"),
        read("waybill/models.py"),
        read("waybill/board.py"),
        read("migrations/0003_cod_cents.sql"),
        say="Two more surprises in the same file: thousands points, and a status we don't know. Now where the "
        "amounts go.",
    ),
    step(
        grep(r"\bcod\b", "*.py"),
        read("waybill/api.py"),
        read("waybill/carriers/pelican.py"),
        read("tests/test_store.py"),
    ),
    step(
        sh(
            'sqlite3 :memory: "SELECT 19.99 * 100, CAST(19.99 * 100 AS INTEGER), CAST(round(19.99 * 100) AS INTEGER)"',
            "Check how the backfill rounds",
        ),
        think="The backfill in 0003 casts without rounding. 19.99 is not exact in binary, so the cast may lose a "
        "cent. Worth one query before I claim it.",
    ),
    tell(
        """
Nothing changed. What I found:

1. **Encoding.** Since the 14th the feed is UTF-8 with a byte order mark; `Nordfracht.rows` decodes cp1252. The \
first heading becomes `ï»¿Sendungsnr`, so every row fails with `KeyError: 'Sendungsnr'` (110 of 110).
2. **Amounts.** The new export writes thousands points (`1.732,15`). `float("1.732.15")` would be the next thing to \
fail.
3. **Status.** `Zustellhindernis` is new and not in the table; six rows have it.

I'd accept both encodings (mark present: UTF-8, otherwise cp1252), give amounts a parser of their own, and map the \
new status once you say to what.

Two remarks on the side:
- Cash is a float from the feed to the page (`Parcel.cod`, the `cod` column, `board.euro`), although there is a \
`cod_cents` column that no code uses.
- `0003_cod_cents.sql` fills that column with `CAST(cod * 100 AS INTEGER)`, which cuts off instead of rounding: \
19.99 became 1998. Rows older than February may be a cent short.
"""
    ),
)
