"""`foldline eval`: which strategy and budget keeps what, on the user's own sessions. What is measured is in evals/."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foldline.cli import exits
from foldline.cli.files import Target, put, target
from foldline.cli.options import print_json
from foldline.cli.screen import console, count, safe, say
from foldline.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

_FILE = click.Path(path_type=Path, exists=True)


@click.command("eval")
@click.argument("paths", metavar="PATH…", nargs=-1, required=True, type=_FILE)
@click.option("--budget", "budgets", multiple=True, metavar="SIZE",
              help="10%, 4000, 4k, or real: as large as the agent's own summaries. May be repeated. "
              "[default: 2%, 5%, 10%, 25%, real]")  # fmt: skip
@click.option("--strategy", "names", multiple=True, metavar="NAME", help="Only this one; may be repeated.")
@click.option("--cuts", type=click.IntRange(min=0), default=2, show_default=True, metavar="N",
              help="Cuts in each session, besides its real compactions.")  # fmt: skip
@click.option("--shortest", type=click.IntRange(min=1), default=20_000, show_default=True, metavar="N",
              help="Tokens that must stand before a cut.")  # fmt: skip
@click.option("--half", type=click.Choice(["first", "second"]),
              help="Only every other session: fit on one half, report on the other.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Where to cut, and all other chance.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes. [default: one for each core]")
@click.option("--quick", is_flag=True, help="Leave out the chains of folds and the cost of whole sessions.")
@click.option("--cache", type=click.Path(path_type=Path, file_okay=False), metavar="DIRECTORY",
              help="Where measured rows are kept. [default: ~/.cache/foldline/eval]")  # fmt: skip
@click.option("--no-cache", is_flag=True, help="Measure everything anew.")
@click.option("--report", metavar="FILE", help="Write a page with plots to this file.")
@click.option("--force", is_flag=True, help="Replace that file if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON, with every row.")
def command(paths: tuple[Path, ...], budgets: tuple[str, ...], names: tuple[str, ...], **given: Any) -> int:
    """Measure what each way of folding keeps.

    PATH is a transcript, or a folder of them. Each session is cut where it could have been folded; what a strategy
    keeps of the history before is held against what the agent then did. No model is asked and nothing is sent. Rows
    that were measured before are not measured again, so a run that was broken off goes on where it was.
    """
    from foldline.evals import report
    from foldline.evals.cache import home
    from foldline.evals.run import idle, run
    from foldline.evals.settings import DEFAULT_BUDGETS, Settings, check

    out = given["report"]
    where = None if out is None else _report(out, paths, force=given["force"])
    settings = Settings(
        tuple(dict.fromkeys(budgets)) or DEFAULT_BUDGETS,
        names,
        given["cuts"],
        given["seed"],
        given["shortest"],
        chains=not given["quick"],
        replays=not given["quick"],
        jobs=given["jobs"] or 0,
        cache=None if given["no_cache"] else given["cache"] or home(),
        half=given["half"],
    )
    try:
        check(settings)
    except InputError as error:
        raise click.UsageError(str(error)) from None
    with _bar(quiet=given["as_json"]) as progress:
        found = run(paths, settings, progress)
    cells = report.summary(found)
    if where is not None:
        from foldline.evals.page import page

        put(page(found, cells).encode("utf-8", "replace"), where)
    failed = report.failures(found)
    missed = any(name in names for name, _, _ in failed) or len(idle(found.rows, settings)) == len(settings.budgets)
    code = exits.OTHER if missed else exits.FINE
    if given["as_json"]:
        print_json(report.to_json(found, cells))
        return code
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in report.tables(found, cells, columns):
        click.echo(safe(line))
    for text in found.notes:
        say(f"note: {safe(text)}")
    for name, why, rows in failed:
        say(f"note: the strategy {safe(repr(name))} failed in {count(rows, 'row')}: {safe(why)}")
    _tell(found.held_out, found.left_out, out)
    return code


def _report(out: str, paths: tuple[Path, ...], *, force: bool) -> Target:
    """Where the report goes: into a folder that is there, and onto none of the sessions."""
    where = target("-", out, in_place=False, force=force)
    if where.is_stream:
        raise click.UsageError("the tables go to standard output; name a file for the report")
    if os.path.isfile(where.path):
        _spare(where.path, out, paths)
    return where


def _spare(path: str, out: str, paths: tuple[Path, ...]) -> None:
    """Refuses to replace a session: a file that was named, or one in a folder that was and that can be read as such."""
    from foldline.evals.splits import files, load

    for session in files(paths):
        if not os.path.samefile(session, path):
            continue
        with suppress(InputError):
            if not any(os.path.samefile(session, named) for named in paths):
                load(session)
            raise click.UsageError(f"{out} is one of the sessions; name another file for the report")


def _tell(held_out: tuple[str, ...], left_out: tuple[tuple[str, str], ...], name: str | None) -> None:
    if held_out:
        given = ", ".join(map(safe, held_out[:3])) + (", …" if len(held_out) > 3 else "")
        were = "was" if len(held_out) == 1 else "were"
        read = f"{count(len(held_out), 'session')} {were} not measured, but read for the generic text of XF"
        say(f"note: {read} ({given})")
    if left_out:
        first = "; ".join(f"{safe(session)}: {safe(why)}" for session, why in left_out[:3])
        were = "was" if len(left_out) == 1 else "were"
        more = "; …" if len(left_out) > 3 else ""
        say(f"note: {count(len(left_out), 'session')} {were} not measured ({first}{more})")
    if name:
        say(f"the report is in {safe(name)}")


@contextmanager
def _bar(*, quiet: bool) -> Iterator[Callable[[int, int, str], None]]:
    """A progress bar on stderr, where someone can see it."""
    if quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(sys.stderr), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda done, total, what: bar.update(task, completed=done, total=total, description=f"{what} sessions")
