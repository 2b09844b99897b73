"""What every command about the archive takes and does: open it, mask what is shown, page what is long.

The commands themselves are in listing.py, showing.py, undoing.py, caring.py, importing.py and moving.py.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foldline import home
from foldline.cli.options import tell
from foldline.cli.screen import console, safe, safe_text
from foldline.errors import ArchiveError

if TYPE_CHECKING:
    from foldline.archive import Archive

WIDEST = 160
"""Columns of a table at the most."""
ARCHIVE = click.option(
    "--archive",
    "archive",
    metavar="PATH",
    help="The archive. [default: $FOLDLINE_HOME/archive.db, else ~/.local/share/foldline/archive.db]",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Answer in JSON, for programs.")


@dataclass(frozen=True, slots=True)
class Asked:
    """Which archive, and whether the answer is for a program."""

    archive: str | None = None
    json: bool = False

    @contextmanager
    def opened(self, *, make: bool = False) -> Iterator[Archive]:
        """The archive, for as long as the block lasts. One that is not there is made only where that is meant.

        What happened to its file is said on standard error.
        """
        from foldline.archive import Archive

        path = Path(self.archive).expanduser() if self.archive else home.archive()
        if not make:
            _must_be_there(path)
        archive = Archive(path)
        told = archive.notices
        tell(told)
        try:
            yield archive
        finally:
            tell(archive.notices[len(told) :])
            archive.close()


def _must_be_there(path: Path) -> None:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        what = f"there is no archive {path}; `foldline import` or `foldline compact` begin one"
        raise ArchiveError(what) from None
    except OSError as error:
        raise ArchiveError(f"{path} cannot be opened: {error.strerror}; look at the permissions") from None


def asking(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command --archive and --json, packed into its first argument."""

    @wraps(function)
    def packed(archive: str | None, as_json: bool, **options: Any) -> Any:
        return function(Asked(archive, as_json), **options)

    return ARCHIVE(_JSON(packed))


def reference(given: str) -> str:
    """A reference as it is looked for. Case and blanks around it do not matter."""
    if not given.strip():
        raise click.UsageError("give a reference: `foldline search` and `foldline show SESSION` list some")
    from foldline.archive.base import storable

    return storable(given.strip().lower())


def masked(text: str) -> str:
    """The text with its secrets masked."""
    from foldline.redact import redact

    return redact(text).text


def line(text: str) -> str:
    """Text on one line for people: secrets masked, and nothing in it that a terminal would obey."""
    return safe(masked(" ".join(text.split())))


def lines(text: str) -> str:
    """The same for text of several lines."""
    return safe_text(masked(text))


def when(moment: float) -> str:
    """A time for people, where they are."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
    except (OverflowError, OSError, ValueError):
        return f"{moment:.0f}"


def table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> str:
    """Rows as text. Each column has a name and how it stands: "left", "right", or "rest" for what may be cut."""
    from rich.table import Table
    from rich.text import Text

    out = console(sys.stdout)
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", width=min(out.width, WIDEST))
    for name, stands in columns:
        right: Any = "right" if stands == "right" else "left"
        drawn.add_column(name, justify=right, no_wrap=True, ratio=1 if stands == "rest" else None, overflow="ellipsis")
    for row in rows:
        drawn.add_row(*map(Text, row))
    with out.capture() as captured:
        out.print(drawn)
    return "\n".join(drawn_line.rstrip() for drawn_line in captured.get().splitlines())


def page(text: str) -> None:
    """On standard output, through a pager where it is a terminal that cannot show all at once."""
    if sys.stdout.isatty() and text.count("\n") >= shutil.get_terminal_size().lines - 1:
        click.echo_via_pager(text + "\n")
    else:
        print(text)
