"""The standing rule is given, once. Feed, amounts and status are mended; a careless rename plants the next fault."""

from __future__ import annotations

from session.perform import draft
from session.script import edit, grep, read, sh, step, tell, todo, user, write

RULE = (
    "Two house rules while you're in here: everything under migrations/ belongs to ops, so whatever you find there "
    "stays exactly as it is, and an amount of money is a whole number of cents, an int, all the way from the feed "
    "to the page. I don't want to see a float near cash again."
)

PLAN = (
    "Nordfracht: accept UTF-8 with a mark and cp1252",
    "Amounts: parser of their own, cents",
    "Zustellhindernis counts as in transit, note kept",
    "Carry cents through models, store, API, board",
    "Run the March sample, commit when green",
)

OLD_DECODE = '        text = data.decode("cp1252")\n'
NEW_DECODE = '        text = data.decode("utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "cp1252")\n'

ACT = (
    user(
        "That matches what I suspected, and it's worse than I hoped. Go ahead with all three, and move cash to "
        "cents for good. "
        + RULE
        + " I'll take the rounding to them myself. Zustellhindernis counts as in transit for now, keep the note. "
        "Commit when green, on a branch."
    ),
    step(
        todo(f"> {PLAN[0]}", *(f"- {entry}" for entry in PLAN[1:])),
        sh("git checkout -b nordfracht-utf8", "Start a branch"),
        read("tests/test_pelican.py"),
        say="Tests first, then the parser.",
    ),
    step(
        write("tests/test_money.py", draft("tests/test_money.py")),
        edit(
            "tests/test_nordfracht.py",
            "    assert parcel.cod == pytest.approx(49.90)\n",
            "    assert parcel.cod_cents == 4990\n\n\n"
            "def test_the_new_export_has_thousands_points():\n"
            '    line = "NF103;Noor Ek;Essen;3,000;1.250,00;unterwegs;14.03.2025 11:00;Essen Nord;"\n'
            '    [(parcel, _)] = parsed(line, encoding="utf-8-sig")\n'
            "    assert parcel.cod_cents == 125_000\n\n\n"
            "def test_the_new_export_is_utf8_with_a_mark():\n"
            '    line = "NF104;Linus Yıldız;Köln;1,000;;zugestellt;14.03.2025 11:00;Köln-Niehl;"\n'
            '    [(parcel, _)] = parsed(line, encoding="utf-8-sig")\n'
            '    assert parcel.id == "NF104"\n'
            '    assert parcel.recipient == "Linus Yıldız"\n\n\n'
            "def test_an_obstacle_is_still_in_transit_and_keeps_its_note():\n"
            '    line = "NF105;Ada Brandt;Bonn;0,800;;Zustellhindernis;14.03.2025 11:00;Bonn;Klingel defekt"\n'
            "    [(_, event)] = parsed(line)\n"
            "    assert event.status is Status.IN_TRANSIT\n"
            '    assert event.note == "Klingel defekt"\n',
        ),
        think="Amounts come in three shapes: German with points and comma, Pelican's plain decimal, and empty. One "
        "module with one function per notation keeps guessing out of it: '1.250' means different things in the two.",
    ),
    step(
        write("waybill/money.py", draft("waybill/money.py")),
        sh("python -m pytest -q tests/test_money.py", "Run the new tests"),
    ),
    step(
        edit(
            "waybill/money.py",
            "    whole, _, rest = text.partition(point)\n",
            '    whole, _, rest = text.partition(point)\n    rest = rest.ljust(2, "0")\n',
        ),
        sh("python -m pytest -q tests/test_money.py", "Run them again"),
        think="'49,9' is 49 euro 90, my split read the 9 as nine cents. Pad the fraction on the right.",
        say="`49,9` was read as nine cents. Padding the fraction.",
    ),
    step(
        edit("waybill/carriers/nordfracht.py", OLD_DECODE, NEW_DECODE),
        edit("waybill/carriers/nordfracht.py", "import csv\nimport io\n", "import codecs\nimport csv\nimport io\n"),
        edit(
            "waybill/carriers/nordfracht.py",
            '            cod=float(cod.replace(",", ".")) if cod != "" else None,\n',
            "            cod_cents=money.german(cod),\n",
        ),
    ),
    step(
        read("waybill/carriers/nordfracht.py", 28, 23),
        think="The last edit did not match: I quoted the line from memory. Look at it again.",
        say="The third edit quoted the line wrongly. Reading it again.",
    ),
    step(
        edit(
            "waybill/carriers/nordfracht.py",
            '            cod=float(cod.replace(",", ".")) if cod else None,\n',
            "            cod_cents=money.german(cod),\n",
        ),
        edit(
            "waybill/carriers/nordfracht.py",
            '    "unterwegs": Status.IN_TRANSIT,\n',
            '    "unterwegs": Status.IN_TRANSIT,\n    "Zustellhindernis": Status.IN_TRANSIT,\n',
        ),
        edit(
            "waybill/carriers/nordfracht.py",
            "from waybill.carriers.base import BadRow\n",
            "from waybill import money\nfrom waybill.carriers.base import BadRow\n",
        ),
        edit(
            "waybill/carriers/pelican.py",
            '            cod=float(row["collect"]) if row.get("collect") else None,\n',
            '            cod_cents=money.plain(row.get("collect", "")),\n',
        ),
    ),
    step(
        edit(
            "waybill/carriers/pelican.py",
            "from waybill.carriers.base import BadRow\n",
            "from waybill import money\nfrom waybill.carriers.base import BadRow\n",
        ),
        edit("waybill/models.py", "    cod: float | None = None\n", "    cod_cents: int | None = None\n"),
        sh(
            'sed -i -E \'s/parcel\\.cod\\b/parcel.cod_cents/g; s/"cod": parcel/"cod_cents": parcel/\' '
            "waybill/api.py waybill/board.py && git diff --stat",
            "Rename the field where it is only passed on",
        ),
        say="Feeds done. Now the field itself, everywhere it is passed on.",
    ),
    step(
        edit(
            "waybill/store.py",
            "INSERT INTO parcels (id, carrier, recipient, city, weight_g, cod, currency)",
            "INSERT INTO parcels (id, carrier, recipient, city, weight_g, cod_cents, currency)",
        ),
        edit("waybill/store.py", "    cod = excluded.cod,\n", "    cod_cents = excluded.cod_cents,\n"),
        edit("waybill/store.py", "                parcel.cod,\n", "                parcel.cod_cents,\n"),
        edit("waybill/store.py", '        cod=row["cod"],\n', '        cod_cents=row["cod_cents"],\n'),
    ),
    step(
        edit(
            "waybill/store.py",
            'rows = self.db.execute("SELECT * FROM parcels WHERE cod IS NOT NULL ORDER BY city, id")',
            "rows = self.db.execute(\n"
            '            "SELECT * FROM parcels WHERE cod_cents IS NOT NULL ORDER BY city, id"\n'
            "        )",
        ),
        sh("python -m pytest -q", "Run all tests"),
        think="cod_cents exists in the schema since 0003, so the store can switch to it with no schema work at all.",
    ),
    step(
        grep(r"\bcod\b|approx", "test_*.py"),
        say="What is left are tests that still speak of floats.",
    ),
    step(
        sh(
            "sed -i 's/cod=19\\.99/cod_cents=1999/g; s/cod=10\\.0/cod_cents=1000/; s/cod=20\\.0/cod_cents=2000/' "
            "tests/test_store.py && sed -i 's/cod=49\\.9)/cod_cents=4990)/' tests/test_api.py && sed -i "
            "'s/parcel\\.cod == pytest\\.approx(19\\.99)/parcel.cod_cents == 1999/; s/parcel\\.cod is "
            "None/parcel.cod_cents is None/' tests/test_pelican.py tests/test_nordfracht.py",
            "Move the tests to cents",
        ),
        sh("python -m pytest -q", "Run all tests"),
        sh("ruff check .", "Lint"),
    ),
    step(
        sh(
            "rm -rf var && python -m waybill.cli import nordfracht data/samples/nordfracht-*.csv; python -m "
            "waybill.cli import pelican data/samples/pelican-2025-03-14.jsonl; python -m waybill.cli stats",
            "Import all samples into a fresh database",
        ),
        sh("git diff", "Look at the whole change"),
        say="Green. The real samples next, and a look at the whole diff.",
    ),
    step(
        sh(
            "git add waybill/money.py tests/test_money.py waybill/models.py waybill/store.py waybill/api.py "
            "waybill/board.py waybill/carriers/pelican.py tests/test_store.py tests/test_api.py "
            "tests/test_pelican.py waybill/carriers/nordfracht.py tests/test_nordfracht.py && git commit -q -m "
            "'Nordfracht: new export; cash in cents' && git log --oneline -3 && git status --short",
            "Commit",
        ),
        todo(*(f"x {entry}" for entry in PLAN)),
    ),
    tell(
        """
Done, on branch `nordfracht-utf8`.

- Both encodings are read; all 110 rows of the 14th import, none refused.
- `waybill/money.py` turns feed text into cents (`german`, `plain`); the field is now `cod_cents` from feed to API.
- `Zustellhindernis` is in transit and keeps its note.

The API's JSON key changed from `cod` to `cod_cents`. If anyone outside reads it, they need to know. The old `cod` \
column is no longer written.
"""
    ),
)
