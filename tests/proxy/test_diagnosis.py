"""When something of ours fails: the log says what and where, and not a word of the user's unless it is asked to."""

import io
import json
import logging
import subprocess
import sys

import pytest
from tests.proxy.client import grow, proxy, request, talk
from tests.proxy.provider import Provider

from foldline.archive.memory import MemoryArchive
from foldline.proxy import fitting, health
from foldline.proxy.beside import Beside
from foldline.testing import SUMMARY, FakeCaller, Session

pytestmark = pytest.mark.anyio
SECRET = "sk-what-the-user-said"
debug = pytest.mark.parametrize("debug", [None, "", "0", "1"])


def fails(*_, **__):
    raise KeyError(SECRET)


def told(caplog, event):
    """What was logged of a failure, and the one kind of error and place that it has."""
    found = [record.fields for record in caplog.records if record.msg == event]
    assert found, event
    assert {fields["error"] for fields in found} == {"KeyError"}
    return found[-1]


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.delenv("FOLDLINE_DEBUG", raising=False)


@debug
async def test_what_goes_wrong_in_the_end_is_told_with_its_place(provider, monkeypatch, caplog, debug):
    if debug is not None:
        monkeypatch.setenv("FOLDLINE_DEBUG", debug)
    monkeypatch.setattr("foldline.proxy.relay.Relay.judge", fails)
    async with proxy(provider) as client:
        status, said, _ = await client.ask("anthropic", request(talk("anthropic", 1)))
    assert status == 500
    assert SECRET not in said.decode()
    fields = told(caplog, "failed")
    assert fields["where"].startswith("proxy/door.py:")
    message = json.loads(said)["error"]["message"]
    if debug == "1":
        assert "in _delivered" in "\n".join(fields["traceback"])
        assert message == "foldline: something failed here (KeyError); look at the proxy's standard error"
    else:
        assert "traceback" not in fields
        assert SECRET not in str(fields)
        how = "set FOLDLINE_DEBUG=1 for the proxy and look at the proxy's standard error"
        assert message == f"foldline: something failed here (KeyError); {how}"


@pytest.mark.parametrize(
    ("broken", "event", "where"),
    [
        ("foldline.proxy.rooms.Room.fit", "fit-failed", "proxy/fitting.py:"),
        ("foldline.proxy.skim.Skimmer.read", "fit-failed", "proxy/turn.py:"),
        ("foldline.proxy.rooms.Room.make_ready", "after-failed", "proxy/turn.py:"),
        ("foldline.proxy.turn.Turns._learned", "after-failed", "proxy/turn.py:"),
        ("foldline.archive.memory.MemoryArchive.keep", "archive-failed", "proxy/beside.py:"),
    ],
)
async def test_every_failure_on_the_way_is_told_with_its_place(provider, monkeypatch, caplog, broken, event, where):
    monkeypatch.setattr(broken, fails)
    async with proxy(provider, window=20_000) as client:
        assert (await client.ask("anthropic", request(talk("anthropic", 3))))[0] == 200
        await client.running.door.close_behind()
    fields = told(caplog, event)
    assert fields["where"].startswith(where)
    assert SECRET not in str([vars(record) for record in caplog.records])


async def test_a_way_out_that_fails_too_is_told(provider, monkeypatch, caplog):
    monkeypatch.setattr("foldline.proxy.rooms.Room.fit", fails)
    monkeypatch.setattr(fitting, "Compactor", fails)
    async with proxy(provider, window=2_000) as client:
        assert (await client.ask("anthropic", request(talk("anthropic", 30))))[0] == 200
    assert told(caplog, "fallback-failed")["where"].startswith("proxy/fitting.py:")


async def test_a_fold_after_a_refusal_that_fails_is_told(monkeypatch, caplog):
    monkeypatch.setattr("foldline.proxy.rooms.Room.again", fails)
    async with Provider(window=2_000) as provider, proxy(provider, window=20_000) as client:
        assert (await client.ask("anthropic", request(talk("anthropic", 20))))[0] == 400
    assert told(caplog, "smaller-failed")["where"].startswith("proxy/turn.py:")


async def test_a_summary_that_fails_is_told(provider, monkeypatch, caplog):
    monkeypatch.setattr("foldline.proxy.rooms.Room.prepare", fails)
    async with proxy(provider, window=8_000, model=FakeCaller([SUMMARY])) as client:
        session = talk("anthropic", 9, words=120)
        for number in range(9, 20):
            grow(session, number, words=120)
            await client.ask("anthropic", request(session))
            await client.running.door.close_behind()
    assert told(caplog, "prepare-failed")["where"].startswith("proxy/ahead.py:")


def test_an_index_that_fails_is_told(caplog):
    class Deferred(MemoryArchive):
        def keep_all(self, many, *, findable=True):
            for conversation, scope in many:
                self.keep(conversation, scope)

        def catch_up(self, most, *, patient=True):
            fails()

        def settle(self):
            """Nothing to do."""

    beside = Beside(Deferred())
    beside.keep(Session("anthropic").user("Hello.").conversation())
    beside.close()
    assert told(caplog, "index-failed")["where"].startswith("proxy/beside.py:")


def test_a_traceback_is_one_line_of_the_log_without_values_of_variables(monkeypatch):
    monkeypatch.setenv("FOLDLINE_DEBUG", "1")
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(health.JsonLines())
    monkeypatch.setattr(health.log, "handlers", [handler])
    unsaid = "a local value"
    try:
        assert unsaid
        Beside.flush(None)
    except AttributeError as error:
        health.log_failure("broken", error)
    line = json.loads(stream.getvalue())
    assert stream.getvalue().count("\n") == 1
    assert line["where"].startswith("proxy/beside.py:")
    assert line["traceback"][0] == "Traceback (most recent call last):"
    assert line["traceback"][-1].startswith("AttributeError: ")
    assert unsaid not in stream.getvalue()


def test_an_error_from_elsewhere_and_one_that_was_never_raised_have_no_place_of_ours(caplog):
    health.log_failure("a", ValueError(SECRET))
    try:
        json.loads(SECRET)
    except ValueError as error:
        health.log_failure("b", error)
    assert {record.fields["where"] for record in caplog.records} == {"outside of Foldline's own code"}


@pytest.mark.parametrize(("debug", "shown"), [("0", False), ("1", True)])
def test_behind_run_warnings_are_shown_where_tracebacks_are_asked_for(debug, shown, tmp_path):
    """Else the screen is the command's."""
    code = (
        "from foldline.proxy import commands, health; import logging;"
        "commands._log(type('Wish', (), {'verbose': False}), logging.ERROR);"
        "health.log_failure('fit-failed', KeyError('x'))"
    )
    ran = subprocess.run([sys.executable, "-c", code], env={"FOLDLINE_DEBUG": debug}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ("fit-failed" in ran.stderr) is shown
