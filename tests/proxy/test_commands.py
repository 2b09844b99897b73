"""`foldline proxy` and `status` as a user calls them, and WebSockets, untouched. See test_run.py for `run`."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from foldline import Archive, Budget, Compactor
from foldline.cli.main import run
from foldline.errors import FoldlineError
from foldline.proxy import commands, serve
from foldline.proxy.upstreams import Upstream

FOLDLINE = [sys.executable, "-m", "foldline.cli.main"]


@pytest.fixture
def home(tmp_path):
    return {**os.environ, "FOLDLINE_HOME": str(tmp_path)}


def test_run_says_when_there_is_no_such_command(home):
    done = subprocess.run([*FOLDLINE, "run", "--", "no-such-command-here"], env=home, capture_output=True, text=True)
    assert done.returncode == 4
    assert "no-such-command-here" in done.stderr


def test_proxy_prints_its_url_once_answers_status_and_stops_when_told(home, tmp_path):
    command = [*FOLDLINE, "proxy", "--upstream", "http://127.0.0.1:9", "--dialect", "anthropic", "--window", "9000"]
    with subprocess.Popen(command, env=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        name, _, url = child.stdout.readline().strip().partition("=")
        assert name == "ANTHROPIC_BASE_URL"
        origin = url.split("/upstream")[0].rsplit("/", 1)[0]
        assert urllib.request.urlopen(f"{origin}/healthz").read() == b"ok\n"
        (entry,) = (tmp_path / "proxies").glob("*.json")
        assert stat.S_IMODE(entry.stat().st_mode) == 0o600
        shown = subprocess.run([*FOLDLINE, "status", "--json"], env=home, capture_output=True, text=True)
        assert json.loads(shown.stdout)[0]["origin"] == origin
        child.send_signal(signal.SIGTERM)
        assert child.wait(20) == 0
        assert not entry.exists()
    shown = subprocess.run([*FOLDLINE, "status"], env=home, capture_output=True, text=True)
    assert "no proxy runs" in shown.stderr


def test_an_end_that_is_asked_for_again_waits_for_no_stream(home):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        upstream = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = [*FOLDLINE, "proxy", "--upstream", upstream, "--dialect", "anthropic"]
        with subprocess.Popen(command, env=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            url = child.stdout.readline().strip().partition("=")[2]
            ask = urllib.request.Request(f"{url}/v1/models")
            with ThreadPoolExecutor(1) as pool:
                answer = pool.submit(urllib.request.urlopen, ask, timeout=30)
                provider, _ = silent.accept()
                child.send_signal(signal.SIGINT)
                assert "Ctrl-C again" in child.stderr.readline()
                with pytest.raises(subprocess.TimeoutExpired):
                    child.wait(0.5)
                child.send_signal(signal.SIGINT)
                assert child.wait(20) == 0
                provider.close()
                assert isinstance(answer.exception(), OSError), "it was broken off"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["proxy", "--upstream", "nobody"], 4, "there is no upstream"),
        (["proxy", "--upstream", "http://x.example"], 4, "dialect"),
        (["proxy", "--host", "0.0.0.0", "--archive", "memory"], 4, "FOLDLINE_TOKEN"),
        (["proxy", "--model", "nonsense", "--archive", "memory"], 2, "nonsense"),
        (["run"], 2, "COMMAND"),
        (["run", "--archive", "memory", "--widnow", "9000", "true"], 2, "No such option '--widnow'"),
        (
            ["run", "--archive", "memory", "--dialect", "anthropic"]
            + [word for host in "ab" for word in ("--upstream", f"https://{host}.example")]
            + ["--", "true"],
            4,
            "two upstreams have one name",
        ),
        (
            ["proxy", "--window", "16000", "--reserve", "16000"],
            2,
            "reserve (16,000) leaves no room in a window of 16,000",
        ),
        (["run", "--window", "9000", "--reserve", "40000", "--", "true"], 2, "leaves no room in a window of 9,000"),
    ],
)
def test_wrong_usage_is_told_in_one_line(arguments, code, said, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("FOLDLINE_HOME", str(tmp_path))
    assert run(arguments) == code
    assert said in capsys.readouterr().err


@pytest.fixture
def configured(monkeypatch, tmp_path):
    """The Config and the command that `foldline run` is left with, for some options and an environment."""

    def made(*options, **environment):
        found = []
        monkeypatch.setattr(commands, "_run", lambda *given: found.append(given) or _nothing())
        monkeypatch.setenv("HOME", str(tmp_path))
        for name in (*(name for bases in commands._BASES.values() for name, _ in bases),):
            monkeypatch.delenv(name, raising=False)
        for name, said in environment.items():
            monkeypatch.setenv(name, said)
        assert run(["run", "--archive", "memory", *options]) == 0
        return found[0]

    return made


def test_what_stands_behind_the_command_is_the_commands_own(configured):
    words = ("agent", "--model", "opus", "--verbose", "--window", "9000", "--help", "--unknown")
    for between in ((), ("--",)):
        config, command = configured("--window", "8000", *between, *words)
        assert command == words
        assert (config.window, config.model) == (8_000, None)


def test_a_key_for_a_gateway_does_not_go_to_the_provider(configured, tmp_path):
    """Where the environment has an address already, the command would have gone there."""
    gateways = {"ANTHROPIC_BASE_URL": "http://gate.example/a", "OPENAI_API_BASE": "http://gate.example/v1"}
    config, _ = configured("true", **gateways)
    assert [(one.name, one.base) for one in config.upstreams] == [
        ("anthropic", "http://gate.example/a"),
        ("openai", "http://gate.example/v1"),
        ("gemini", "https://generativelanguage.googleapis.com"),
    ]
    config, _ = configured("--upstream", "anthropic", "true", **gateways)
    assert [one.base for one in config.upstreams] == ["https://api.anthropic.com"]
    file = tmp_path / "proxy.toml"
    file.write_text('[upstreams.anthropic]\nurl = "https://said.example"\ndialect = "anthropic"\n')
    config, _ = configured("--config", str(file), "true", **gateways)
    assert [one.base for one in config.upstreams][:2] == ["https://said.example", "http://gate.example/v1"]


def test_two_addresses_for_one_provider_are_two_upstreams(configured):
    said = {"OPENAI_BASE_URL": "http://a.example/v1", "OPENAI_API_BASE": "http://b.example/v1"}
    config, _ = configured("true", **said)
    assert [(one.name, one.base, one.dialect) for one in config.upstreams][1:3] == [
        ("openai", "http://a.example/v1", "openai-responses"),
        ("openai-api-base", "http://b.example/v1", "openai-responses"),
    ]
    config, _ = configured("true", **said | {"OPENAI_API_BASE": "http://a.example/v1/"})
    assert len(config.upstreams) == 3


class Listening:
    """Where a proxy would be."""

    @staticmethod
    def url(name):
        return f"http://us/{name}"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            {},
            {"OPENAI_BASE_URL": "/openai/v1", "GEMINI_API_BASE": "/gemini/v1beta", "ANTHROPIC_BASE_URL": "/anthropic"},
        ),
        ({"OPENAI_BASE_URL": "http://a.example"}, {"OPENAI_BASE_URL": "/openai", "OPENAI_API_BASE": "/openai"}),
        ({"OPENAI_BASE_URL": "http://a.example/v4"}, {"OPENAI_BASE_URL": "/openai/v1"}),
        (
            {"OPENAI_BASE_URL": "http://a.example/v1", "OPENAI_API_BASE": "http://a.example/x/"},
            {"OPENAI_BASE_URL": "/openai/v1", "OPENAI_API_BASE": "/openai-api-base"},
        ),
        ({"GOOGLE_GEMINI_BASE_URL": "http://a.example/g"}, {"GEMINI_API_BASE": "/gemini/v1beta"}),
        ({"GEMINI_API_BASE": "http://a.example/g"}, {"GEMINI_API_BASE": "/gemini", "GEMINI_API_BASE_URL": "/gemini"}),
    ],
)
def test_a_command_is_told_the_version_only_where_it_is_taken_off_again(configured, said, told):
    config, _ = configured("true", **said)
    found = commands._addresses(config, Listening, said)
    assert {name: found[name].removeprefix("http://us") for name in told} == told


def test_codex_is_told_the_same_address_as_others(configured, monkeypatch):
    for said, address in {
        "http://a.example/x": "http://us/openai",
        "http://a.example/v1": "http://us/openai/v1",
    }.items():
        config, _ = configured("true", OPENAI_BASE_URL=said)
        assert commands._told(("codex",), config, Listening)[-1] == f'openai_base_url="{address}"'
        assert commands._told(("claude",), config, Listening) == ("claude",)


def test_an_address_of_the_environment_that_is_none_is_told_without_its_key(capsys, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://gate.example/?key=secret")
    assert run(["run", "--archive", "memory", "--", "true"]) == 4
    said = capsys.readouterr().err
    assert "ANTHROPIC_BASE_URL in the environment" in said
    assert "secret" not in said


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, {}),
        ({"NO_PROXY": "a.example"}, {}),
        ({"https_proxy": "http://p"}, {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}),
        (
            {"HTTP_PROXY": "http://p", "NO_PROXY": "a.example"},
            {"NO_PROXY": "a.example,127.0.0.1", "no_proxy": "a.example,127.0.0.1"},
        ),
        ({"ALL_PROXY": "http://p", "no_proxy": "*"}, {"NO_PROXY": "*", "no_proxy": "*"}),
    ],
)
def test_the_networks_own_proxy_is_not_asked_for_ours(environment, said):
    assert commands._straight(environment, "127.0.0.1") == said


def test_it_serves_where_it_cannot_be_listed_for_status(monkeypatch, tmp_path, capsys):
    """A home that is a file, read-only or full is no reason to keep an agent from its work."""
    (tmp_path / "home").write_text("")
    monkeypatch.setenv("FOLDLINE_HOME", str(tmp_path / "home"))
    assert run(["run", "--archive", "memory", "--", sys.executable, "-c", "raise SystemExit(7)"]) == 7
    assert not capsys.readouterr().err


def test_a_model_without_a_key_is_told_which_variable_to_set(capsys, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert run(["proxy", "--model", "anthropic:claude-haiku-4-5", "--archive", "memory"]) == 4
    said = capsys.readouterr().err
    assert "anthropic:claude-haiku-4-5 needs a key: set ANTHROPIC_API_KEY, or leave out --model" in said
    assert "key=" not in said


def test_a_model_with_a_broken_key_or_no_address_is_told_what_is_wrong(capsys, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-é")
    assert run(["proxy", "--model", "anthropic:claude-haiku-4-5", "--archive", "memory"]) == 4
    assert "characters that no header may carry; copy it anew" in capsys.readouterr().err
    assert run(["proxy", "--model", "openai-compatible:x", "--archive", "memory"]) == 2
    assert "needs the address of its server; give it with --model-url" in capsys.readouterr().err
    assert run(["run", "--model-url", "http://127.0.0.1:9", "--archive", "memory", "--", "true"]) == 2
    assert "--model-url is where --model is asked; give --model too" in capsys.readouterr().err


def test_a_token_that_is_too_short_is_refused_by_the_name_of_its_variable(capsys, monkeypatch):
    monkeypatch.setenv("FOLDLINE_TOKEN", "hunter2")
    assert run(["proxy", "--archive", "memory"]) == 4
    said = capsys.readouterr().err
    assert "set FOLDLINE_TOKEN to such a one, or unset it" in said
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            "[upstream.a]",
            "`upstream` is not known here; the file takes [upstreams.NAME], `tools`, `mask_secrets`, and nothing else",
        ),
        ('port = 1\n[upstreams.a]\nurl = "http://127.0.0.1:9"\ndialect = "anthropic"', "`port` is not known here"),
        (
            '[upstreams.a]\nurl = "http://127.0.0.1:9"',
            "[upstreams.a] needs `url` and `dialect`, and takes nothing else",
        ),
        ("tools = ", "this is not TOML: "),
        ('upstreams = "http://127.0.0.1:9"', "upstreams are tables: [upstreams.NAME]"),
        ('tools = "true"', "`tools` is true or false, without quotes"),
        (
            '[upstreams.a]\nurl = "http://127.0.0.1:9"\ndialect = "klingon"',
            "[upstreams.a]: there is no dialect 'klingon'",
        ),
        (
            '[upstreams.A]\nurl = "http://127.0.0.1:9"\ndialect = "anthropic"',
            "[upstreams.A]: an upstream's name has small",
        ),
        (
            '[upstreams.a]\nurl = "http://169.254.169.254"\ndialect = "anthropic"',
            "[upstreams.a]: this address is one that clouds give credentials out at",
        ),
    ],
)
def test_a_config_with_anything_unknown_in_it_is_refused(written, said, tmp_path, capsys):
    config = tmp_path / "proxy.toml"
    config.write_text(written)
    assert run(["run", "--config", str(config), "--archive", "memory", "--", "true"]) == 3
    told = capsys.readouterr().err
    assert said in told
    assert "proxy.toml" in told


@pytest.mark.parametrize("command", ["proxy", "run"])
@pytest.mark.parametrize(
    ("written", "options", "tools"),
    [
        ("", [], False),
        ("", ["--tools"], True),
        ("tools = true", [], True),
        ("tools = false", [], False),
        ("tools = true", ["--no-tools"], False),
        ("tools = false", ["--tools"], True),
    ],
)
def test_that_the_agent_has_tools_is_said_in_the_config_or_with_the_command(
    command, written, options, tools, tmp_path, monkeypatch
):
    configs = []
    for name in ("_proxy", "_run"):
        monkeypatch.setattr(commands, name, lambda config, *_: configs.append(config) or _nothing())
    config = tmp_path / "proxy.toml"
    config.write_text(written)
    said = [command, "--config", str(config), "--archive", str(tmp_path / "a.db"), *options]
    assert run([*said, "--", "true"] if command == "run" else said) == 0
    assert [config.tools for config in configs] == [tools]


@pytest.mark.parametrize(
    ("written", "options", "masks"),
    [
        ("", [], True),
        ("", ["--no-mask-secrets"], False),
        ("mask_secrets = false", [], False),
        ("mask_secrets = false", ["--mask-secrets"], True),
        ("mask_secrets = true", ["--no-mask-secrets"], False),
    ],
)
def test_that_a_model_is_shown_masks_is_said_in_the_config_or_with_the_command(
    written, options, masks, configured, tmp_path
):
    config = tmp_path / "proxy.toml"
    config.write_text(written)
    made, _ = configured("--config", str(config), *options, "--", "true")
    assert made.mask_secrets is masks


async def _nothing():
    return 0


@pytest.mark.parametrize("options", [["--tools"], []])
def test_tools_that_would_find_nothing_are_refused(options, tmp_path, capsys):
    config = tmp_path / "proxy.toml"
    config.write_text("tools = true")
    assert run(["run", "--config", str(config), "--archive", "memory", *options, "--", "true"]) == 2
    assert "the agent's tools find nothing in an archive in memory" in capsys.readouterr().err


def test_an_upstream_that_is_not_there_is_answered_with_those_that_are(tmp_path, capsys):
    config = tmp_path / "proxy.toml"
    config.write_text('[upstreams.mine]\nurl = "http://127.0.0.1:9"\ndialect = "anthropic"\n')
    assert run(["proxy", "--config", str(config), "--upstream", "nosuch", "--archive", "memory"]) == 4
    assert "give anthropic, openai, gemini, mine, or a URL" in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(FoldlineError, match=r"foldline\[proxy\]"):
        serve._needed()


@pytest.mark.anyio
async def test_a_port_that_is_taken_is_told(provider):
    from foldline.errors import InputError

    upstreams = (Upstream("test", "https://provider.example", "anthropic"),)
    with pytest.raises(InputError, match="cannot listen"):
        async with serve.start(serve.Config(upstreams, port=provider.port)):
            pass


@pytest.mark.anyio
async def test_a_client_lets_go_of_a_quiet_connection_before_the_proxy_does():
    """Rust's reqwest keeps one for 90 seconds; a request that meets one being closed is lost."""
    upstreams = (Upstream("test", "https://provider.example", "anthropic"),)
    async with serve.start(serve.Config(upstreams)) as running:
        assert running.server.config.timeout_keep_alive > 90


def test_an_archive_that_was_damaged_is_told_of_when_the_proxy_opens_it(tmp_path, capsys):
    path = tmp_path / "a.db"
    archive = Archive(path)
    Compactor(Budget(window=9_000), archive=archive).fit(
        [{"role": "user", "content": "Build it."}], dialect="anthropic"
    )
    archive.close()
    path.write_bytes(bytes(16) + path.read_bytes()[16:])
    commands._archive(str(path)).close()
    assert "damaged" in capsys.readouterr().err
