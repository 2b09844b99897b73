"""The last request of the day, half done when the session ends: one test still fails."""

from __future__ import annotations

from session.perform import draft
from session.script import edit, read, sh, step, todo, user, write

OPEN = (
    "Export: rows, German amounts, CSV",
    "Days open: calendar days at the desk",
    "Command: waybill export-cod --older-than",
    "README: the export, and a line for cron",
    "Store: one connection per thread, before waitress",
    "Tell whoever reads the API that cod became cod_cents (Mara)",
)

ACT = (
    user(
        "Back. The thread thing goes on the list, after this. Last one for today: accounting wants the open cash as "
        "a file every night. `waybill export-cod --older-than 14` should print a CSV: number; recipient; city; "
        "amount; days open. Semicolons, amounts like 1.384,44, oldest first. Days open are calendar days at the "
        "desk (Berlin), counted from the first event, so something from 23:30 yesterday is one day old this "
        "morning. Tests and README, please.",
        away=47,
    ),
    step(
        todo(f"> {OPEN[0]}", *(f"- {entry}" for entry in OPEN[1:])),
        read("waybill/board.py", 1, 52),
        read("waybill/cli.py", 1, 60),
        read("waybill/models.py", 22, 34),
        think="board.euro has the formatting with the sign; accounting wants the bare number. Move the formatting "
        "into money.py and let the board add the sign. Days: the desk's zone is in Settings.zone.",
    ),
    step(
        write("tests/test_export.py", draft("tests/test_export.py")),
        write("waybill/export.py", draft("waybill/export.py")),
        edit(
            "waybill/money.py",
            "def _cents(text: str, group: str, point: str) -> int | None:\n",
            "def show(cents: int) -> str:\n"
            '    """138444 as 1.384,44."""\n'
            "    whole, rest = divmod(cents, 100)\n"
            '    return f"{whole:,}".replace(",", ".") + f",{rest:02}"\n\n\n'
            "def _cents(text: str, group: str, point: str) -> int | None:\n",
        ),
        think="Tests from the user's words: an evening parcel is one day old the next morning; the clock change on "
        "30 March must not cost a day; oldest first; the threshold is inclusive or not? 'older than 14' reads as "
        "more than 14 days. I will take it literally and say so.",
        say="Tests first, with the evening case from your message and one across the clock change of 30 March.",
    ),
    step(
        sh("python -m pytest -q tests/test_export.py", "Run the new tests"),
        think="Let me see how far the plain difference of two instants gets.",
    ),
    step(
        edit(
            "waybill/board.py",
            '    """123450 as 1.234,50 €."""\n'
            "    whole, rest = divmod(cents, 100)\n"
            '    return f"{whole:,}".replace(",", ".") + f",{rest:02} €"\n',
            '    """123450 as 1.234,50 €."""\n    return f"{money.show(cents)} €"\n',
        ),
        edit(
            "waybill/board.py",
            "from waybill.models import Tracking\n",
            "from waybill import money\nfrom waybill.models import Tracking\n",
        ),
        edit(
            "waybill/export.py",
            "    return (now - first).days\n",
            "    return (now.astimezone(zone) - first.astimezone(zone)).days\n",
        ),
        sh("python -m pytest -q tests/test_export.py tests/test_board.py", "Run them again"),
        think="Two failures, both in days_open: an instant difference knows no calendar. In local time the hour "
        "lost on 30 March no longer counts, so take both to the desk's zone first.",
        say="A difference of two instants knows no calendar. Taking both to the desk's zone first.",
    ),
    step(
        edit(
            "waybill/cli.py",
            "def run_serve(",
            "def run_export(args: argparse.Namespace, settings: config.Settings, store: Store) -> int:\n"
            "    now = datetime.now(UTC)\n"
            "    export.write(sys.stdout, export.rows(store.with_cod(), now, settings.zone, args.older_than))\n"
            "    return 0\n\n\n"
            "def run_serve(",
        ),
        edit(
            "waybill/cli.py",
            '    serving = commands.add_parser("serve", help="answer HTTP requests")\n',
            '    exporting = commands.add_parser("export-cod", help="open cash as CSV")\n'
            '    exporting.add_argument("--older-than", type=int, default=0, metavar="DAYS")\n'
            "    exporting.set_defaults(run=run_export)\n\n"
            '    serving = commands.add_parser("serve", help="answer HTTP requests")\n',
        ),
        edit(
            "waybill/cli.py",
            "import sys\nfrom pathlib import Path\n",
            "import sys\nfrom datetime import UTC, datetime\nfrom pathlib import Path\n",
        ),
        edit("waybill/cli.py", "from waybill import board, config\n", "from waybill import board, config, export\n"),
        think="The clock change passes now; the evening case still fails, I will come back to it at once. The "
        "command is quick to wire up.",
    ),
    step(
        todo(f"x {OPEN[0]}", f"> {OPEN[1]}", f"x {OPEN[2]}", *(f"- {entry}" for entry in OPEN[3:])),
        sh("python -m pytest -q", "All tests"),
        sh("ruff check . && git status --short", "Lint, and what is not committed yet"),
        think="One left: evening to morning. Two local times subtracted still count spans of 24 hours, not "
        "midnights passed. The dates have to be subtracted, not the times.",
        say="The command is there. One test left, the evening case; running everything to see that it is the only one.",
    ),
)
