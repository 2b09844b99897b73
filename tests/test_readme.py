"""Everything the README says to run is run, and the Python of docs; its figure is measured; the pages are complete."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from foldline import Archive, Budget, Compactor, Receipt, read, validate
from foldline.archive.base import Filters
from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
EXAMPLE = ROOT / "examples" / "coding-session.anthropic.json"


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.M | re.S)


def ran_python(page: str, name: str) -> dict[str, object]:
    """The names that a page's snippets leave, run one after another behind what the page prepares for them unseen."""
    hidden = re.findall(r"^<!-- python:[^\n]*\n(.*?)^-->", page, re.M | re.S)
    assert len(hidden) == 1
    names: dict[str, object] = {"__name__": "page"}
    for code in (*hidden, *blocks("python", page)):
        exec(compile(code, name, "exec"), names)
    return names


COMMANDS = [line for block in blocks("sh") for line in block.splitlines()]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The checkout as a reader has it, in which commands may write."""
    place = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "examples", place / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Makefile", "pyproject.toml", ".venv"):
        if (ROOT / name).exists():
            (place / name).symlink_to(ROOT / name)
    return place


def run(line: str, place: Path) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    line = re.sub(r"^make ", "make --assume-old=.venv/.ready ", line)  # it is set up: these tests run in it
    return subprocess.run(line, shell=True, cwd=place, env=env, capture_output=True, text=True, timeout=120)


def test_there_is_something_to_run():
    assert "make demo" in COMMANDS
    assert sum(line.startswith("foldline ") for line in COMMANDS) >= 5
    assert len(blocks("python")) >= 3
    assert not re.findall(r"^```(?!sh\n|python\n|text\n|\n|$)", README, re.M), "a block in a language nobody runs"


@pytest.fixture(scope="module")
def ran(copy):
    """How a command of the README ended for a reader who ran those above it first; each is run once."""
    ended: dict[str, subprocess.CompletedProcess[str]] = {}

    def command(line: str) -> subprocess.CompletedProcess[str]:
        lines = next(block.splitlines() for block in blocks("sh") if line in block.splitlines())
        for one in lines[: lines.index(line) + 1]:
            ended[one] = ended.get(one) or run(one, copy)
        return ended[line]

    return command


@pytest.mark.parametrize("line", [line for line in COMMANDS if line != "make test"])
def test_a_command_of_the_readme_runs(copy, ran, line):
    ended = ran(line)
    assert ended.returncode == 0, ended.stderr
    written = re.search(r"(?:> |-o )(\S+)$", line)
    if written:
        assert (copy / written[1]).stat().st_size > 1_000
    else:
        assert ended.stdout or ended.stderr


def test_the_test_command_of_the_readme_is_what_must_pass_before_a_change_lands():
    assert "make test" in COMMANDS
    assert (ROOT / ".ci" / "run").read_text().strip().endswith("\nmake test")
    assert re.search(r"^test: ", (ROOT / "Makefile").read_text(), re.M)


def test_the_python_of_the_readme_runs(copy, monkeypatch, capsys):
    monkeypatch.chdir(copy)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    names = ran_python(README, "README.md")
    shown = capsys.readouterr().out
    assert "prune: " in shown
    assert "# Notes on the conversation so far" in shown
    assert "not-a-key" not in shown
    assert len(names["originals"]) > 100


def test_the_python_of_the_page_on_the_library_runs(copy, monkeypatch, capsys):
    monkeypatch.chdir(copy)
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    names = ran_python(page, "docs/python.md")
    shown = capsys.readouterr().out
    assert len(blocks("python", page)) >= 10
    assert "# Notes on the conversation so far" in shown
    assert "give Budget(window=200_000)" in shown
    assert len(names["originals"]) > 100
    assert names["report"].intent == "Imports that work."


METHODS = "An archive's own methods"


def rows_of(page: str, heading: str) -> dict[str, str]:
    """Parameter and default of the rows of all tables below a heading."""
    below = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (?:`([^`]*)`)? ?\|", below, re.M))


def test_the_page_on_the_library_names_every_parameter_with_its_default():
    page = (ROOT / "docs" / "python.md").read_text("utf-8")

    def defaults(function, leaving=()):
        known = inspect.signature(function).parameters.values()
        wanted = [one for one in known if one.name not in ("self", "request", *leaving)]
        return {one.name: "" if one.default is one.empty else repr(one.default).replace("'", '"') for one in wanted}

    assert rows_of(page, "Budget") == defaults(Budget)
    assert rows_of(page, "Compactor") == defaults(Compactor)
    assert rows_of(page, "Methods") == defaults(Compactor.compact)
    others = "".join(
        page.split(f"\n## {one}\n")[1].split("\n## ")[0] for one in ("Reading, checking, writing", METHODS)
    )
    for function in (read, validate, Archive, Archive.search, Archive.sessions, Archive.export, Filters):
        for name in defaults(function, ("limits", "filters")):
            assert re.search(rf"\b{name}\b", others), (function, name)
    told = set(re.findall(r"`(\w+)`", page.split("## What the receipt says")[1].split("A `Notice` has")[0]))
    assert {field.name for field in dataclasses.fields(Receipt)} <= told


def test_the_figure_is_what_the_demo_measures():
    request = json.loads(EXAMPLE.read_text("utf-8"))
    figure = blocks("text")[0]
    rows = re.findall(r"^(.+?) +(█+) +(\d+)k tokens +(\d+) messages$", figure, re.M)
    windows = {
        f"in {budget.window:,}": budget for budget in (Budget.for_model(request["model"]), Budget(window=64_000))
    }
    pruned, folded = (Compactor(budget) for budget in windows.values())
    views = [pruned.fit(request), folded.compact(request, pivot=len(request["messages"]) - 2)]
    wanted = [("as it came", views[0].receipt.tokens_before, len(request["messages"]))]
    wanted += [(name, view.receipt.tokens_after, len(view.messages)) for name, view in zip(windows, views, strict=True)]
    assert [(name, int(tokens), int(messages)) for name, _, tokens, messages in rows] == [
        (name, round(tokens / 1_000), messages) for name, tokens, messages in wanted
    ]
    for (name, bar, _, _), (_, tokens, _) in zip(rows, wanted, strict=True):
        assert abs(len(bar) - len(rows[0][1]) * tokens / wanted[0][1]) <= 1, name


def test_every_page_the_readme_links_to_is_there():
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / link).is_file(), link


def test_the_page_on_checkpoints_shows_what_is_made():
    page = (ROOT / "docs" / "checkpoint.md").read_text("utf-8")
    shown = page.split("```text\n")[1].split("\n```")[0].splitlines()
    request = json.loads(EXAMPLE.read_text("utf-8"))
    compactor = Compactor(Budget(window=64_000, reserve=8_000), meter=Meter(Estimator()))
    made = iter(compactor.compact(request, to=6_000).checkpoint.text.splitlines())
    assert [line for line in shown if line != "(…)" and line not in made] == []  # all of them, in this order


ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def modules():
    """What `make architecture` does, as a function of the page."""
    return runpy.run_path(str(ROOT / "docs" / "modules.py"))["written"]


def test_architecture_says_of_every_module_what_the_module_says(modules):
    assert ARCHITECTURE.splitlines() == modules(ARCHITECTURE).splitlines(), "`make architecture` writes it anew"


def test_a_row_that_is_wrong_or_missing_is_written_anew(modules):
    row = re.search(r"^\| `cuts` \| .*\n", ARCHITECTURE, re.M)[0]
    assert modules(ARCHITECTURE.replace(row, "| `cuts` | something else |\n")) == ARCHITECTURE
    assert modules(ARCHITECTURE.replace(row, "")) == ARCHITECTURE


def test_a_package_without_a_table_is_named(modules):
    with pytest.raises(ValueError, match=r"foldline\.core"):
        modules(ARCHITECTURE.replace("<!-- foldline.core -->", ""))


def test_the_steps_of_a_fold_are_modules_of_the_core():
    steps = ARCHITECTURE.split("## A fold, step by step\n")[1].split("\n## ")[0].split("\n1. ")[1]
    named = re.findall(r"`(\w+(?:/\w+)?)`", steps)
    assert len(named) > 15
    assert [name for name in named if not (ROOT / "src" / "foldline" / "core" / f"{name}.py").is_file()] == []


def contract(words: str) -> dict[str, Any]:
    return next(one for one in PROJECT["tool"]["importlinter"]["contracts"] if words in one["name"])


def test_the_rings_on_the_page_are_those_of_the_contract():
    drawn = blocks("", ARCHITECTURE)[0].split("→")
    layers = contract("inward")["layers"]
    assert [sorted(re.findall(r"\w+", ring)) for ring in drawn] == [sorted(re.findall(r"\w+", one)) for one in layers]


def test_the_core_is_forbidden_all_that_is_installed_with_foldline():
    imported = {"splintr-rs": "splintr"}  # the others are imported by their own names
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *(one for name in extras if name != "dev" for one in extras[name])]
    names = [re.match(r"[\w-]+", requirement)[0] for requirement in wanted]
    modules = {imported.get(name, name.replace("-", "_")) for name in names}
    assert sorted(modules) == sorted(contract("standard library alone")["forbidden_modules"])


def test_the_page_for_contributors_names_every_target_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    targets = re.findall(r"^([a-z-]+):(?!=)", makefile, re.M)
    assert sorted(targets) == sorted(re.search(r"^\.PHONY: (.*)", makefile, re.M)[1].split())
    assert sorted(targets) == sorted(re.findall(r"^\| `make ([\w-]+)` \|", page, re.M))


def test_formats_names_every_dialect():
    from foldline.dialects import ALL

    page = (ROOT / "docs" / "formats.md").read_text("utf-8")
    assert sorted(re.findall(r"^\| `([\w-]+)` \|", page, re.M)) == sorted(dialect.name for dialect in ALL)


def test_cli_names_every_command_and_option():
    from foldline.cli.main import COMMANDS, program

    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    with program.make_context("foldline", ["inspect"], resilient_parsing=True) as context:
        for name in COMMANDS:
            assert re.search(rf"^foldline {name} ", page, re.M), name
            command = program.get_command(context, name)
            inner = [one for sub in getattr(command, "commands", {}).values() for one in sub.params]
            told = _told(page, name)
            for parameter in (*command.params, *inner):
                for names in filter(None, (parameter.opts, parameter.secondary_opts)):  # the one, and its contrary
                    option = parameter.param_type_name == "option" and not {"--archive", "--json"} & set(names)
                    assert not option or any(f"`{one}" in told for one in names), (name, parameter)


def _told(page: str, name: str) -> str:
    """What the page says of a command: its own section and that of all, or its row; of `run`, that of `proxy` too."""
    sections = page.split("\n## ")
    own = [one for one in sections if re.search(rf"\b{name}\b", one.splitlines()[0])]
    if own:
        return "\n".join((*own, next(one for one in sections if one.startswith("For every command"))))
    rows = re.findall(rf"^\| {name} \|.*", page, re.M)
    return "\n".join((*rows, _told(page, "proxy"))) if name == "run" else "\n".join(rows)
