"""Keys sent through a proxy in a process of its own, with archive, logs, metrics and errors: they are nowhere after.

The same search finds a word of the conversation, which is kept: so it would find a key.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import itertools
import json
import os
import re
import signal
import sys
import zlib
from urllib.parse import quote

import aiohttp
import pytest
import zstandard
from tests.proxy.client import grow, request, talk
from tests.proxy.provider import events, refusal, says, streams

pytestmark = pytest.mark.anyio
KEPT = "blauer-papagei-im-gespräch"
KEYS = {
    "x-api-key": "sk-ant-api03-kanarie+/one=",
    "authorization": "Bearer kanarie-two.ey/J+0=",
    "api-key": "kanarie+three/azure=",
    "x-goog-api-key": "AIzaKanarie-four_+/=",
    "cookie": "session=kanarie+five/=",
    "proxy-authorization": "Basic kanarie+six/=",
}
IN_QUERY = "AIzaKanarie-seven+/="
SECRETS = [*(value.split(" ")[-1].removeprefix("session=") for value in KEYS.values()), IN_QUERY]


def forms(secret: str) -> set[bytes]:
    """A secret as it is, URL-encoded, in JSON, as hex, and in base64 wherever its letters may fall."""
    plain = secret.encode()
    found = {plain, quote(secret, safe="").encode(), quote(secret).encode(), json.dumps(secret)[1:-1].encode()}
    found.add(plain.hex().encode())
    for lead in range(3):
        whole = base64.b64encode(b"x" * lead + plain)
        inner = whole[4 if lead else 0 : len(whole) // 4 * 4 - 4]
        found |= {inner, inner.replace(b"+", b"-").replace(b"/", b"_")}
    return {form for form in found if len(form) >= 8}


def layers(data: bytes) -> list[bytes]:
    """The bytes, and what is packed in them wherever it begins: zstd, gzip, zlib."""
    found = [data]
    for at in (match.start() for match in re.finditer(rb"\x28\xb5\x2f\xfd|\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]", data)):
        with contextlib.suppress(zstandard.ZstdError, zlib.error, EOFError, MemoryError):
            packed = data[at : at + (1 << 20)]
            if packed.startswith(b"\x28\xb5"):
                found.append(zstandard.ZstdDecompressor().decompressobj().decompress(packed))
            else:
                found.append(zlib.decompressobj(47).decompress(packed, 1 << 20))
    return found


def holds(data: bytes, secret: str) -> bool:
    return any(form in layer for layer in layers(data) for form in forms(secret))


def disk(folder) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
async def served(provider, tmp_path):
    """`foldline proxy` as users run it, with every place it may write to in one folder."""
    (tmp_path / "tmp").mkdir()
    home = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path / "tmp"), "FOLDLINE_HOME": str(tmp_path / "home")}
    options = ["--upstream", provider.url, "--dialect", "anthropic", "--window", "6000", "--verbose"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-X",
        "dev",
        *("-m", "foldline.cli.main", "proxy", *options, "--archive", str(tmp_path / "archive.db")),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **home},
    )
    line = await asyncio.wait_for(process.stdout.readline(), 30)
    yield process, line.decode().strip().partition("=")[2]
    if process.returncode is None:
        process.kill()
        await process.wait()


def test_the_search_finds_what_is_there():
    for secret in (*SECRETS, KEPT):
        plain = secret.encode()
        assert holds(b"..." + plain, secret)
        assert holds(quote(secret, safe="").encode(), secret)
        assert all(holds(base64.b64encode(b"y" * lead + plain + b"tail"), secret) for lead in range(3))
        assert holds(b"...." + gzip.compress(plain), secret)
        assert holds(b"...." + zlib.compress(plain), secret)
        assert holds(b"...." + zstandard.compress(plain), secret)
        assert not holds(b"nothing of it", secret)


async def test_no_key_is_found_on_the_disk_or_in_the_output(provider, served, tmp_path):
    process, base = served
    session = talk("anthropic", 20, words=120, secret=KEPT)
    shown: list[str] = []
    url = f"{base}/v1/messages?key={quote(IN_QUERY, safe='')}"
    headers = {**KEYS, "content-type": "application/json"}
    echo = {"type": "error", "error": {"type": "authentication_error", "message": f"bad key {KEYS['x-api-key']}"}}
    async with aiohttp.ClientSession() as client:

        async def ask(body, *scripts):
            provider.scripts = list(scripts)
            with contextlib.suppress(aiohttp.ClientError):
                async with client.post(url, data=body, headers=headers) as answer:
                    return str(answer.headers) + await answer.text()
            return "cut"

        for number in range(3):
            grow(session, 100 + number)
            shown.append(await ask(json.dumps(request(session)), *([] if number else [says({}, 500)])))
        body = json.dumps(request(session))
        shown.append(await ask(body, says(refusal("anthropic", 9_000, 3_000), 400)))
        shown.append(await ask(body, streams(*events("anthropic", "one two", 50)[:4], cut=True)))
        shown.append(await ask(body, says({}, 307, Location="http://evil.example/")))
        shown += [await ask(broken, says({}, 400)) for broken in ('{"messages":[', '{"a":1,"a":2}', "[" * 5_000)]
        await ask(body, says(echo, 401))
        assert [got.headers["x-api-key"] for got in provider.got if got.query] == [KEYS["x-api-key"]] * len(
            provider.got
        )
        during = disk(tmp_path)
        origin = base.rsplit("/", 1)[0]
        for page in ("metrics", "status"):
            async with client.get(f"{origin}/{page}") as answer:
                shown.append(await answer.text())
    process.send_signal(signal.SIGTERM)
    out, err = await asyncio.wait_for(process.communicate(), 30)
    after = disk(tmp_path)
    assert any("wal" in name for name in during)
    assert any(holds(data, KEPT) for data in after.values()), "the search sees what is kept"
    assert b'"event": "request"' in err, "it logged"
    places = {**during, **{f"{name} at the end": data for name, data in after.items()}, "output": out, "errors": err}
    places |= {f"answer {number}": said.encode() for number, said in enumerate(shown)}
    found = [(name, key) for (name, data), key in itertools.product(places.items(), SECRETS) if holds(data, key)]
    assert not found
