"""`foldline proxy`, `foldline run` and `foldline status`. How the proxy works is in serve.py and door.py.

proxy     serves until it is interrupted
run       serves for one command, whose environment says where
status    what a proxy that runs has done so far

The secret is shown once, in the base URLs, at the start; it lies in a file of the user's own for `status`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from foldline import home
from foldline.errors import InputError, UpstreamNotAllowed
from foldline.proxy.upstreams import (
    DIALECTS,
    KNOWN,
    NOTHING,
    Configured,
    Upstream,
    Upstreams,
    configured,
    made,
    upstream,
)

if TYPE_CHECKING:
    from foldline.archive.base import Backend
    from foldline.callers import Caller
    from foldline.proxy.serve import Config, Running

TOKEN = "FOLDLINE_TOKEN"  # noqa: S105 - the name of a variable
CONFIG = Path("~/.config/foldline/proxy.toml")
_BASES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "anthropic": (("ANTHROPIC_BASE_URL", ""), ("ANTHROPIC_API_BASE", "")),
    "openai-chat": (("OPENAI_BASE_URL", "/v1"), ("OPENAI_API_BASE", "/v1")),
    "openai-responses": (("OPENAI_BASE_URL", "/v1"), ("OPENAI_API_BASE", "/v1")),
    "gemini": (("GOOGLE_GEMINI_BASE_URL", ""), ("GEMINI_API_BASE_URL", ""), ("GEMINI_API_BASE", "/v1beta")),
}
"""Where the usual clients look for a provider's address, and what they want behind the one of the provider itself."""
_STRAIGHT = ("NO_PROXY", "no_proxy")
"""Where clients look for the hosts that they reach without the network's own proxy. Some read one, some the other."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for on the command line."""

    upstreams: tuple[str, ...]
    dialect: str | None
    config: Path | None
    model: str | None
    model_url: str | None
    window: int | None
    reserve: int | None
    archive: str | None
    tools: bool | None
    mask_secrets: bool | None
    verbose: bool


_OPTIONS = (
    click.option(
        "--upstream",
        "upstreams",
        multiple=True,
        metavar="NAME|URL",
        help="anthropic, openai, gemini, one of the config, or a URL.",
    ),
    click.option("--dialect", type=click.Choice(DIALECTS), help="What an upstream given as a URL speaks."),
    click.option(
        "--config",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help=f"A TOML file of settings; else {CONFIG}, if there.",
    ),
    click.option(
        "--model", metavar="PROVIDER:NAME", help="Who writes summaries, ahead of need; else they are extracted."
    ),
    click.option("--model-url", metavar="URL", help="Where that model is, if not at its provider's own address."),
    click.option(
        "--window", type=click.IntRange(min=1), metavar="N", help="The context window, if not that of the model."
    ),
    click.option(
        "--reserve", type=click.IntRange(min=0), metavar="N", help="Tokens of it that are kept for the reply."
    ),
    click.option(
        "--archive",
        metavar="FILE",
        help='The archive, or "memory" for none on the disk. [default: that of every command]',
    ),
    click.option(
        "--tools/--no-tools",
        default=None,
        help="The agent has Foldline's tools: stubs and checkpoints name them. [default: what the config says, or not]",
    ),
    click.option(
        "--mask-secrets/--no-mask-secrets",
        default=None,
        help="Whether --model is shown masks in place of keys and passwords. [default: what the config says, or yes]",
    ),
    click.option("--verbose", is_flag=True, help="Log each request, without its content, to stderr."),
)


def _serving(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def packed(**options: Any) -> Any:
        names = Wish.__slots__
        return function(Wish(**{name: options.pop(name) for name in names}), **options)

    command: Callable[..., Any] = packed
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command("proxy")
@_serving
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help=f"Where to listen. Where others can reach it, {TOKEN} has to be set.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port; else a free one.")
@click.option("--name", "names", multiple=True, metavar="HOST", help="A further name by which clients may call it.")
def proxy(wish: Wish, host: str, port: int, names: tuple[str, ...]) -> int:
    """Stand between an agent and its provider.

    What is sent on always fits. The base URLs, with a secret in their path, are printed at the start: one for each
    --upstream, or for each known provider. Ctrl-C ends it.
    """
    _log(wish, logging.WARNING)
    config = _config(wish, host=host, port=port, names=names, token=os.environ.get(TOKEN) or None)
    return asyncio.run(_proxy(config))


@click.command("run", context_settings={"allow_interspersed_args": False})  # what follows COMMAND is its own
@_serving
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(wish: Wish, command: tuple[str, ...]) -> int:
    """Run COMMAND behind a proxy of its own.

    Options stand before COMMAND: what stands behind it is its own. The exit code is that of COMMAND.
    """
    _log(wish, logging.ERROR)  # the screen is the command's, unless tracebacks are asked for
    config = _config(wish, os.environ, project=os.path.realpath("."))
    return asyncio.run(_run(config, command))


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON, for programs.")
def status(as_json: bool) -> int:
    """Show what the proxies of this user have done so far."""
    found = [(entry, state) for entry in _running() if (state := _asked(entry)) is not None]
    if as_json:
        print(json.dumps([{"origin": entry["origin"], **state} for entry, state in found], indent=2))
    elif not found:
        print("no proxy runs", file=sys.stderr)
    for entry, state in [] if as_json else found:
        print(f"{entry['origin']}  {state['open']} open")
        for name, count in state["counts"].items():
            print(f"  {count:>10,}  {name}")
    return 0


def _log(wish: Wish, level: int) -> None:
    from foldline.proxy.health import log_to_stderr

    level = min(level, logging.WARNING) if home.debugging() else level
    log_to_stderr(logging.INFO if wish.verbose else level)


def _config(wish: Wish, environment: Mapping[str, str] = MappingProxyType({}), **more: Any) -> Config:
    """`environment` is what a command of ours would have had its addresses from."""
    from foldline.proxy.serve import Config

    file = _file(wish)
    upstreams, model = _upstreams(wish, file, environment), _caller(wish)
    more["tools"] = file.tools if wish.tools is None else wish.tools
    more["mask_secrets"] = file.mask_secrets if wish.mask_secrets is None else wish.mask_secrets
    if more["tools"] and wish.archive == "memory":
        said = "the agent's tools find nothing in an archive in memory; name a file for --archive, or give --no-tools"
        raise click.UsageError(said)
    try:
        config = Config(upstreams, window=wish.window, reserve=wish.reserve, model=model, **more)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return replace(config, archive=_archive(wish.archive))


def _upstreams(wish: Wish, file: Configured, environment: Mapping[str, str]) -> tuple[Upstream, ...]:
    """Those that were named; all that are known when none was, at the addresses that the config file gives them, else
    at those of the environment: a key that is meant for a gateway is not to go to the provider."""
    if wish.upstreams:
        return tuple(upstream(name, wish.dialect, file) for name in wish.upstreams)
    known = (upstream(name, config=file) for name in KNOWN)
    return tuple(moved for one in known for moved in (_moved(one, environment) if one is KNOWN[one.name] else (one,)))


def _moved(one: Upstream, environment: Mapping[str, str]) -> Iterator[Upstream]:
    """A provider at the address that the environment has for it, if it has one; once for each address where variables
    differ, since the key that is sent to one is not for the other."""
    bases: set[str] = set()
    for variable, _ in _BASES[one.dialect]:
        if not environment.get(variable):
            continue
        name = variable.lower().replace("_", "-") if bases else one.name
        try:
            moved = made(name, environment[variable], one.dialect)
        except (InputError, UpstreamNotAllowed) as error:
            raise InputError(f"{variable} in the environment: {error}; set it right, or give --upstream") from None
        if moved.base not in bases:
            bases.add(moved.base)
            yield moved
    if not bases:
        yield one


def _file(wish: Wish) -> Configured:
    usual = CONFIG.expanduser()
    path = wish.config or (usual if usual.is_file() else None)
    return configured(path) if path else NOTHING


def _caller(wish: Wish) -> Caller | None:
    from foldline.callers import by_option

    if wish.model_url and not wish.model:
        raise click.UsageError("--model-url is where --model is asked; give --model too, or leave it out")
    try:
        return by_option("--model", wish.model, wish.model_url, "give it with --model-url") if wish.model else None
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _archive(where: str | None) -> Backend | None:
    from foldline.archive import Archive

    if where == "memory":
        return None
    opened = Archive(where)
    for notice in opened.notices:  # a damaged file that was set aside
        print(f"foldline: {notice}", file=sys.stderr)
    return opened


async def _proxy(config: Config) -> int:
    async with _started(config) as running:
        for one in config.upstreams:
            for variable, suffix in _BASES[one.dialect][:1]:
                print(f"{variable}={running.url(one.name)}{suffix}", flush=True)
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await stop.wait()
        _end_at_once_if_told_again(running)
        print("foldline: finishing what runs; Ctrl-C again breaks it off", file=sys.stderr)
    return 0


def _end_at_once_if_told_again(running: Running) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, setattr, running.server, "force_exit", True)


async def _run(config: Config, command: tuple[str, ...]) -> int:
    async with _started(config) as running:
        try:
            told = _told(command, config, running)
            child = await asyncio.create_subprocess_exec(*told, env={**os.environ, **_environment(config, running)})
        except OSError as error:
            raise InputError(f"{command[0]} cannot be run: {error.strerror}; check its name") from None
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, lambda: None)  # the terminal tells the child itself, which still needs us
        loop.add_signal_handler(signal.SIGTERM, child.terminate)
        code = await child.wait()
        _end_at_once_if_told_again(running)
    return code if code >= 0 else 128 - code


def _told(command: tuple[str, ...], config: Config, running: Running) -> tuple[str, ...]:
    """The command, with the address in its arguments where it takes it from nowhere else.

    Codex reads the address from its configuration alone. Its provider keeps its own name: a session can only be resumed
    with the provider it began with, behind us or not.
    """
    address = _addresses(config, running, os.environ).get("OPENAI_BASE_URL")
    if address is None or Path(command[0]).name != "codex":
        return command
    said = ("model_provider=openai", f"openai_base_url={json.dumps(address)}")
    return (command[0], *(word for setting in said for word in ("-c", setting)), *command[1:])


def _environment(config: Config, running: Running) -> dict[str, str]:
    return {**_addresses(config, running, os.environ), **_straight(os.environ, running.host)}


def _addresses(config: Config, running: Running, environment: Mapping[str, str]) -> dict[str, str]:
    """What the variables are to say: our address of the upstream at which each pointed, else of the first there is.

    Whoever read the upstream's own address there added to it what it needs. The same is added to ours, so a version is
    put behind it only where the proxy takes that off again.
    """
    told: dict[str, str] = {}
    for one in config.upstreams:
        bases = _BASES[one.dialect]
        own = {variable: suffix for variable, suffix in bases if environment.get(variable, "").rstrip("/") == one.base}
        for variable, suffix in bases:
            if variable in own or variable not in told:
                same = suffix in own.values() and not _ends_in_version(one)
                told[variable] = running.url(one.name) + ("" if same else suffix)
    return told


def _ends_in_version(one: Upstream) -> bool:
    """The proxy takes off the version that a path to this upstream begins with. To others it would go on."""
    return Upstreams((one,)).url(one, b"/v1/", b"") == f"{one.base}/"


def _straight(environment: Mapping[str, str], host: str) -> dict[str, str]:
    """The network's own proxy, where there is one, cannot reach ours, and is not to be asked to."""
    if not any(name.lower().endswith("_proxy") for name in environment.keys() - set(_STRAIGHT)):
        return {}
    known = {name: environment.get(name) or environment.get(other, "") for name, other in (_STRAIGHT, _STRAIGHT[::-1])}
    return {name: said if said.strip() == "*" else ",".join(filter(None, (said, host))) for name, said in known.items()}


@asynccontextmanager
async def _started(config: Config) -> AsyncIterator[Running]:
    """A proxy that `status` can find."""
    from foldline.proxy.serve import at_home, start

    async with start(config) as running, at_home(running):
        with _listed(running):
            yield running


@contextmanager
def _listed(running: Running) -> Iterator[None]:
    """In the folder where `status` looks. Where nothing can be written there, it serves all the same."""
    from foldline.proxy.health import log_failure

    entry = home.proxies() / f"{running.port}.json"
    try:
        _written(entry, {"origin": running.origin, "secret": running.secret, "pid": os.getpid()})
    except OSError as error:
        log_failure("not-listed", error)
        yield
        return
    try:
        yield
    finally:
        entry.unlink(missing_ok=True)


def _written(path: Path, entry: Mapping[str, Any]) -> None:
    """For the user alone."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with open(descriptor, "w") as file:
        json.dump(entry, file)


def _running() -> list[dict[str, Any]]:
    found = []
    for path in sorted(home.proxies().glob("*.json")):
        with contextlib.suppress(OSError, ValueError):  # one that just ended, or was half written
            found.append(json.loads(path.read_text()))
    return found


def _asked(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a proxy says of itself; None when it runs no more."""
    import httpx2

    try:
        answer = httpx2.get(f"{entry['origin']}/{entry['secret']}/status", timeout=2.0, trust_env=False)
        state: dict[str, Any] = answer.json()
    except (httpx2.HTTPError, ValueError):
        return None
    return state if answer.status_code == 200 else None


__all__ = ["proxy", "run", "status"]
