"""`foldline tools` and `foldline mcp` on the command line."""

from __future__ import annotations

import json
import sys

import pytest

from foldline.cli.serving import _desk
from foldline.tools import TOOLS


def test_the_tools_are_listed(foldline):
    out = foldline("tools").out.decode()
    assert "session_read(ref, [page])" in out
    assert all(tool.description in out for tool in TOOLS)


def test_the_tools_are_json_for_providers(foldline):
    openai = json.loads(foldline("tools", "--openai").out)
    anthropic = json.loads(foldline("tools", "--anthropic").out)
    assert [tool["function"]["name"] for tool in openai] == [tool.name for tool in TOOLS]
    assert [tool["input_schema"] for tool in anthropic] == [tool.schema for tool in TOOLS]


def test_a_missing_extra_names_the_command_that_installs_it(foldline, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "mcp", None)
    ran = foldline("mcp", "--archive", tmp_path / "archive.db")
    assert ran.code == 4
    assert "pip install 'foldline[mcp]'" in ran.err


def test_a_root_that_is_not_there_is_wrong_usage(foldline, tmp_path):
    ran = foldline("mcp", "--root", tmp_path / "nowhere")
    assert ran.code == 2
    assert "does not exist" in ran.err


@pytest.mark.parametrize("command", ["mcp", "tools"])
def test_the_help_does_not_need_the_extra(foldline, monkeypatch, command):
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert foldline(command, "--help").code == 0


@pytest.mark.parametrize(
    ("scope", "everything", "filters", "whose"),
    [
        (None, False, {"project": "{root}"}, "{root}"),
        (None, True, {}, "{root}"),
        ("team", False, {"scope": "team"}, "team"),
        ("", False, {"scope": ""}, ""),
    ],
)
def test_what_is_served_is_the_project_the_scope_or_all(tmp_path, scope, everything, filters, whose):
    root = str(tmp_path.resolve())
    desk = _desk(str(tmp_path), scope, everything, str(tmp_path / "archive.db"))
    assert desk.filters == {name: value.format(root=root) for name, value in filters.items()}
    assert desk.scope == whose.format(root=root)
    assert desk.agenda.path == str(tmp_path / "agenda.db")
    desk.close()
