"""The program as a whole: how it starts, how it fails, how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from cli.conversations import anthropic, chat, claude_code
from foldline.cli import main as module
from foldline.cli.exits import code_of
from foldline.errors import CannotFit, InputError, MalformedInput, UnknownDialect

PROGRAM = [sys.executable, "-m", "foldline.cli.main"]
COMMANDS = ("inspect", "prune", "select", "compact", "handoff", "validate")


def test_the_version_is_told(program):
    ran = program("--version")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.startswith(b"foldline 0.")


def test_the_package_itself_is_the_program():
    ran = subprocess.run([sys.executable, "-m", "foldline", "--version"], capture_output=True, check=True, timeout=60)
    assert ran.stdout.startswith(b"foldline 0.")


def test_the_version_imports_no_command_and_no_tokenizer():
    check = (
        "import sys; from foldline.cli.main import run; run(['--version']); "
        "heavy = {'rich', 'splintr', 'foldline.tokens', 'foldline.cli.report'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", check], check=True, timeout=60)


@pytest.mark.speed
def test_the_version_is_told_in_well_under_a_third_of_a_second():
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([*PROGRAM, "--version"], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.3


def test_help_lists_every_command_and_every_exit_code(foldline):
    ran = foldline("--help")
    assert ran.code == 0
    text = ran.out.decode()
    assert all(f"\n  {command} " in text for command in COMMANDS)
    assert all(f"\n    {code} " in text for code in ("0", "1", "2", "3", "4", "130", "141"))
    assert "..." not in text.split("Commands:")[1], "what a command does is said in one line, whole"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(foldline, command):
    ran = foldline(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert b"--dialect" in ran.out


def test_no_command_shows_help_and_is_wrong_usage(foldline):
    ran = foldline()
    assert ran.code == 2
    assert "Commands:" in ran.err


@pytest.mark.parametrize("line", [("fold",), ("inspect",), ("inspect", "a", "b"), ("inspect", "--pick", "-1", "a")])
def test_wrong_usage_ends_with_2_and_says_how_to_get_help(foldline, line):
    ran = foldline(*line)
    assert ran.code == 2
    assert "foldline: " in ran.err
    assert "--help" in ran.err


@pytest.mark.parametrize("command", COMMANDS)
class TestUnreadable:
    def test_a_missing_file(self, foldline, tmp_path, command):
        self.refused(foldline(command, tmp_path / "none.json"), "none.json")

    def test_a_folder(self, foldline, tmp_path, command):
        self.refused(foldline(command, tmp_path), tmp_path.name)

    def test_an_empty_file(self, foldline, tmp_path, command):
        (tmp_path / "empty.json").write_bytes(b"")
        self.refused(foldline(command, tmp_path / "empty.json"), "empty.json")

    def test_a_binary_file(self, foldline, tmp_path, command):
        (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 20)
        self.refused(foldline(command, tmp_path / "noise.bin"), "noise.bin")

    def test_json_that_is_no_conversation(self, foldline, tmp_path, command):
        (tmp_path / "other.json").write_bytes(b'{"a": [1, 2, 3]}')
        self.refused(foldline(command, tmp_path / "other.json"), "other.json")

    def refused(self, ran, name: str) -> None:
        """One line that names the place, and nothing on standard output."""
        assert (ran.code, ran.out) == (3, b"")
        assert ran.err.startswith("foldline: ")
        assert name in ran.err
        assert ran.err.count("\n") == 1
        assert "Traceback" not in ran.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_dialect_nobody_knows_is_wrong_usage(foldline, command):
    ran = foldline(command, "-", "--dialect", "latin", stdin=anthropic(1))
    assert (ran.code, ran.out) == (2, b"")
    assert "no dialect 'latin'" in ran.err
    assert "claude-code" in ran.err


def test_a_dialect_that_does_not_fit_is_unreadable(foldline):
    ran = foldline("inspect", "-", "--dialect", "gemini", stdin=anthropic(1))
    assert ran.code == 3
    assert "standard input" in ran.err


def test_a_dialect_that_does_not_fit_is_answered_with_advice(foldline):
    ran = foldline("inspect", "-", "--dialect", "gemini", stdin=anthropic(1))
    assert "there is no 'contents': this is no gemini request; leave out the dialect" in ran.err
    assert "NoneType" not in ran.err


@pytest.mark.parametrize("data", [b"", b"junk\n" * 3, b'{"a": 1}\n', anthropic(1)])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_of_lines_of_which_none_could_be_read_is_unreadable(foldline, command, data):
    for dialect in ("claude-code", "codex", "pi"):
        ran = foldline(command, "-", "--dialect", dialect, stdin=data)
        assert (ran.code, ran.out) == (3, b"")
        assert f"standard input: no line of it could be read as {dialect}; leave out --dialect" in ran.err


def test_a_transcript_without_messages_is_read_all_the_same(foldline):
    row = b'{"type":"summary","summary":"The bug","leafUuid":"a"}\n'
    assert foldline("inspect", "-", "--dialect", "claude-code", stdin=row).code == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_a_request_that_is_not_utf8_is_read_and_that_is_said(foldline, command):
    data = anthropic(6, body="caf\xe9 " * 2_000).replace(b"\\u00e9", b"\xe9")
    ran = foldline(command, "-", stdin=data)
    assert ran.code == 0
    at = data.index(0xE9)
    said = f"line {data.count(10, 0, at) + 1}, offset {at}: the document is not UTF-8: what could not be"
    assert said in ran.err + ran.out.decode("utf-8", "replace")


@pytest.mark.parametrize("line", [("compact", "--to", 4_000), ("prune",), ("select", "--no-tool-results")])
def test_what_is_written_of_a_request_that_is_not_utf8_is(foldline, tmp_path, line):
    source, out = tmp_path / "latin.json", tmp_path / "out.json"
    source.write_bytes(anthropic(9, body="caf\xe9 " * 900).replace(b"\\u00e9", b"\xe9").replace(b"careful", b"\xe9"))
    ran = foldline(*line, source, "-o", out)
    assert ran.code == 0, ran.err
    assert json.loads(out.read_bytes().decode("utf-8"))["system"] == "You are \ufffd."
    assert "caf\ufffd" in out.read_text("utf-8")


def test_a_conversation_that_is_not_there_cannot_be_picked(foldline):
    several = json.dumps([{"traj": json.loads(chat())}] * 2).encode()
    assert foldline("inspect", "-", "--pick", 1, stdin=several).code == 0
    ran = foldline("inspect", "-", "--pick", 2, stdin=several)
    assert ran.code == 3
    assert "the file holds 2" in ran.err


def test_an_unexpected_error_is_one_line_that_says_how_to_report_it(foldline, monkeypatch):
    monkeypatch.setitem(module.COMMANDS, "inspect", "no.such.module")
    ran = foldline("inspect", "x")
    assert ran.code == 4
    assert ran.err.count("\n") == 1
    assert "FOLDLINE_DEBUG=1" in ran.err


def test_the_traceback_is_shown_when_asked_for(foldline, monkeypatch):
    monkeypatch.setitem(module.COMMANDS, "inspect", "no.such.module")
    monkeypatch.setenv("FOLDLINE_DEBUG", "1")
    assert "Traceback" in foldline("inspect", "x").err


def test_errors_end_with_their_codes():
    assert code_of(MalformedInput("x")) == code_of(UnknownDialect("x")) == 3
    assert code_of(CannotFit("x")) == 4
    assert code_of(KeyboardInterrupt()) == 130


def test_commands_that_read_no_file_end_with_3_only_for_a_file():
    for command in ("proxy", "run", "mcp"):
        assert code_of(InputError("the port is taken"), command) == 4
        assert code_of(InputError("not TOML", source="foldline.toml"), command) == 3
    assert code_of(InputError("nothing to read"), "inspect") == 3


def test_a_token_that_is_too_short_ends_with_4(foldline, monkeypatch):
    monkeypatch.setenv("FOLDLINE_MCP_TOKEN", "short")
    ran = foldline("mcp", "--http", "--port", 0)
    assert ran.code == 4
    assert "set FOLDLINE_MCP_TOKEN to such a one, or unset it" in ran.err


@pytest.mark.parametrize(
    ("command", "out", "err"),
    [
        ("inspect", "standard input · claude-code · claude-sonnet-4-5\n", ""),
        ("prune", '{"type": "user", "uuid": "row-0", ', "3 results shortened: "),
        ("select", '{"type": "user", "uuid": "row-0", ', "12 of 12 messages kept: "),
        ("compact", "Receipt\nrest: ", ""),
        ("handoff", "# Notes on the conversation so far\n\nThese notes stand for 12 messages. ", ""),
        ("validate", "", "standard input: no violations of the rules of anthropic\n"),
    ],
)
def test_standard_input_is_read(foldline, command, out, err):
    ran = foldline(command, "-", stdin=claude_code())
    assert ran.code == 0
    assert ran.out.decode()[: len(out) or None] == out
    assert ran.err[: len(err) or None] == err


@pytest.mark.parametrize("command", ["inspect", "validate"])
def test_json_does_not_import_rich(tmp_path, command):
    (tmp_path / "a.json").write_bytes(anthropic())
    check = (
        "import sys; from foldline.cli.main import run; "
        f"code = run([{command!r}, {str(tmp_path / 'a.json')!r}, '--json']); "
        "assert code == 0, code; assert 'rich' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", check], check=True, timeout=60, capture_output=True)


def test_an_interrupt_ends_with_130_and_no_traceback():
    process = subprocess.Popen(
        [*PROGRAM, "inspect", "-"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # where tests run in the background it is off
    )
    try:
        process.stdin.write(b" " * (1 << 17))  # more than a pipe holds: when this is written, it is being read
        while process.poll() is None:  # once is enough, unless it falls just before a read begins
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
        assert process.returncode == 130
        assert process.stderr.read() == b"foldline: interrupted\n"
    finally:
        process.kill()
        process.stdin.close()
        process.stderr.close()


@pytest.mark.parametrize("command", ["inspect", "prune"])
def test_a_reader_that_goes_away_is_no_error(tmp_path, command):
    (tmp_path / "a.json").write_bytes(anthropic(steps=200))
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ran = subprocess.run(
            [*PROGRAM, "prune", tmp_path / "a.json"], stdout=writing, stderr=subprocess.PIPE, timeout=60
        )
    finally:
        os.close(writing)
    assert ran.returncode == 141
    assert ran.stderr == b""


def test_completions_are_offered(program):
    ran = program(
        env={**os.environ, "_FOLDLINE_COMPLETE": "bash_complete", "COMP_WORDS": "foldline in", "COMP_CWORD": "1"}
    )
    assert ran.stdout == b"plain,inspect\n"
