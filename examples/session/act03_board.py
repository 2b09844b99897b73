"""A screenshot, partly in German: the board shows cents as euro. The careless rename is found and tested this time."""

from __future__ import annotations

from session.perform import draft
from session.picture import screenshot
from session.script import edit, grep, read, sh, step, tell, user, write

ACT = (
    user(
        "Danke, der Import läuft wieder, alle 110 Zeilen sind da. Aber schau mal aufs Board: Til aus der Leitstelle "
        "hat mir gerade diesen Screenshot geschickt, da stehen plötzlich 138.444,00 € für ein einziges Paket in "
        "Bonn. Die Fahrer kassieren bar, das darf auf keinen Fall so raus. Please fix it before anything else, and "
        "with a test this time.",
        image=screenshot(),
    ),
    step(
        read("waybill/board.py"),
        sh("python -m waybill.cli board 2>/dev/null", "Render the board from the imported samples"),
        grep("NF48983888", "*.csv"),
        think="NF48983888 has 1.384,44 in the feed. The board prints 138.444,00: cents formatted as euro. That is "
        "my rename: I passed cents on to euro(), which still expects euro, and no test covers the board.",
        say="Das war ich: the feed says 1.384,44 €, and my rename hands cents to a function that prints euro.",
    ),
    step(
        write("tests/test_board.py", draft("tests/test_board.py")),
        sh("python -m pytest -q tests/test_board.py", "See the fault in a test"),
    ),
    step(
        edit(
            "waybill/board.py",
            "def euro(amount: float) -> str:\n"
            '    """1234.5 as 1.234,50 €."""\n'
            '    text = f"{amount:,.2f}"\n'
            '    return text.replace(",", "\\N{NO-BREAK SPACE}").replace(".", ",").replace("\\xa0", ".") + " €"\n',
            "def euro(cents: int) -> str:\n"
            '    """123450 as 1.234,50 €."""\n'
            "    whole, rest = divmod(cents, 100)\n"
            '    return f"{whole:,}".replace(",", ".") + f",{rest:02} €"\n',
        ),
        edit("waybill/board.py", "    total = 0.0\n", "    total = 0\n"),
        sh("python -m pytest -q tests/test_board.py", "Run the board's tests"),
        think="divmod on ints; no float left in this module. total must start as an int as well.",
    ),
    step(
        grep(r"float|round\(|\* ?100|/ ?100", "waybill/*.py"),
        sh(
            "python -m waybill.cli board 2>/dev/null | grep -E 'NF4898388|NF48215350|PL-28364|Summe'",
            "Look at the lines of the screenshot",
        ),
        say="Looking for any other place that still thinks in euro.",
    ),
    step(
        sh("python -m pytest -q && ruff check .", "All tests and lint"),
    ),
    step(
        edit(
            "tests/test_board.py",
            "from waybill import board\n"
            "from waybill.models import Event, Parcel, Status, Tracking\n"
            "from datetime import UTC, datetime\n",
            "from datetime import UTC, datetime\n\n"
            "from waybill import board\n"
            "from waybill.models import Event, Parcel, Status, Tracking\n",
        ),
        sh(
            "ruff check . && git add -A && git commit -q -m 'Board: amounts are cents' && git log --oneline -2",
            "Lint and commit",
        ),
        say="Only the import order of my new file. Sorting it by hand.",
    ),
    tell(
        """
Behoben und mit Test. The board now prints 1.384,44 € for NF48983888, and the sum is 31.585,83 € instead of \
3.158.583,00 €.

The only `float` left in the package reads Nordfracht's weight (`2,500` kg), which is not cash. If any printout from \
between the two commits is in a van, it should be thrown away.
"""
    ),
)
