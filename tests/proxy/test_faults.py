"""Streams that are cut, clients that leave, an archive that fails, a proxy that is stopped: every turn is delivered or
fails in the provider's own shape."""

import asyncio
import json

import aiohttp
import pytest
from tests.proxy.client import MODEL, Client, grow, proxy, request, talk
from tests.proxy.provider import DIALECTS, PATHS, Provider, absent, begin, events, says, stream, streams

from foldline.archive.memory import MemoryArchive
from foldline.errors import Full
from foldline.proxy import fitting
from foldline.proxy.serve import Config, start
from foldline.proxy.upstreams import Upstream
from foldline.testing import SUMMARY, FakeCaller

pytestmark = pytest.mark.anyio
each = pytest.mark.parametrize("dialect", DIALECTS)


@each
async def test_a_stream_that_breaks_off_breaks_off_for_the_client_too(provider, dialect):
    pieces = events(dialect, "one two three", 50)
    async with proxy(provider) as client:
        provider.scripts = [streams(*pieces[:4], cut=True)]
        with pytest.raises(aiohttp.ClientPayloadError):
            await client.ask(dialect, request(talk(dialect, 1)), stream=True)
        assert (await client.ask(dialect, request(talk(dialect, 1)), stream=True))[0] == 200


@each
async def test_a_stream_that_breaks_off_at_once_does_so_for_the_client_too(provider, dialect):
    async with proxy(provider) as client:
        provider.scripts = [streams(b"data: {", cut=True)]
        with pytest.raises(aiohttp.ClientPayloadError):
            await client.ask(dialect, request(talk(dialect, 1)), stream=True)


@each
async def test_a_stream_cut_anywhere_on_its_way_arrives_whole(provider, dialect):
    whole = b"".join(events(dialect, "grüße 你好 🎉 ende", 2_000))
    async with proxy(provider) as client:
        for size in (1, 7, 64):
            pieces = [whole[at : at + size] for at in range(0, min(len(whole), size * 40), size)]
            pieces.append(whole[sum(map(len, pieces)) :])
            provider.scripts = [streams(*pieces)]
            assert (await client.ask(dialect, request(talk(dialect, 1)), stream=True))[1] == whole


@each
async def test_events_are_relayed_as_they_come(provider, dialect):
    async def slow(request_, _):
        return await stream(request_, dialect, "one two three four", 50, pause=0.05)

    async with proxy(provider, dialect=dialect) as client:
        provider.scripts = [slow]
        path = {
            "gemini": "/v1beta/models/g:streamGenerateContent?alt=sse",
            "anthropic": "/v1/messages",
            "openai-chat": "/v1/chat/completions",
            "openai-responses": "/v1/responses",
        }[dialect]
        times = []
        body = {**request(talk(dialect, 1)), "stream": True}
        async with client.session.post(client.base + path, json=body) as answer:
            times.extend([asyncio.get_running_loop().time() async for _ in answer.content.iter_any()])
        assert len(times) >= 3
        assert times[-1] - times[0] > 0.08


@each
@pytest.mark.parametrize("streaming", [False, True])
async def test_a_provider_that_is_not_there_is_told_in_its_own_shape(dialect, streaming):
    with absent() as gone:
        async with proxy(gone, dialect=dialect) as client:
            status, said, _ = await client.ask(dialect, request(talk(dialect, 1)), stream=streaming)
            assert status == 502
            error = json.loads(said)["error"]
            assert "message" in error
            assert (json.loads(said).get("type") == "error") == (dialect == "anthropic")
            assert (error.get("status") == "INTERNAL") == (dialect == "gemini")
            assert f"test at {gone.url} cannot be reached (ClientConnectorError); check" in error["message"]


async def test_an_error_names_the_upstream_without_the_path_of_its_url():
    with absent() as gone:
        upstream = Upstream("far", f"{gone.url}/secret-of-another-proxy/anthropic", "anthropic")
        async with start(Config((upstream,))) as running, aiohttp.ClientSession() as session:
            status, said, _ = await Client(running, session, "far").ask("anthropic", request(talk("anthropic", 1)))
        assert status == 502
        assert f"the provider far at {gone.url} cannot be reached".encode() in said
        assert b"secret-of-another-proxy" not in said


@each
async def test_a_whole_reply_that_breaks_off_is_told_in_its_own_shape(provider, dialect):
    async def broken(request_, _):
        response = await begin(request_, kind="application/json")
        await response.write(b'{"half')
        request_.transport.abort()
        return response

    async with proxy(provider) as client:
        provider.scripts = [broken]
        status, said, _ = await client.ask(dialect, request(talk(dialect, 1)))
        assert status == 502
        assert json.loads(said)["error"]["message"]


async def test_when_the_client_leaves_the_provider_is_left_too(provider):
    left = asyncio.Event()

    async def endless(request_, _):
        response = await begin(request_)
        try:
            for event in events("anthropic", "word " * 10_000, 50):
                await response.write(event)
                await asyncio.sleep(0.01)
        except (ConnectionError, asyncio.CancelledError):
            left.set()
            raise
        return response

    async with proxy(provider) as client:
        provider.scripts = [endless]
        body = {**request(talk("anthropic", 1)), "stream": True}
        async with client.session.post(client.base + "/v1/messages", json=body) as answer:
            await answer.content.readany()
        await asyncio.wait_for(left.wait(), 5)


async def test_a_stream_that_runs_is_finished_when_the_proxy_stops(provider):
    async def slow(request_, _):
        return await stream(request_, "anthropic", "one two three four five", 50, pause=0.05)

    provider.scripts = [slow]
    async with aiohttp.ClientSession() as session:
        async with proxy(provider) as client:
            body = {**request(talk("anthropic", 1)), "stream": True}
            answer = await session.post(client.base + "/v1/messages", json=body)
        said = await answer.read()
    assert b"message_stop" in said


async def test_a_fault_of_ours_sends_what_fits_as_it_came(provider, monkeypatch):
    async with proxy(provider, window=20_000) as client:
        monkeypatch.setattr("foldline.proxy.rooms.Room.fit", _fails)
        body = json.dumps(request(talk("anthropic", 3))).encode()
        status, _, headers = await client.post("/v1/messages", body)
        assert status == 200
        assert provider.got[0].body == body
        assert headers["x-foldline-notice"] == "fit-failed, as-it-came"


@each
async def test_a_fault_of_ours_sends_the_last_view_and_what_is_new(dialect, monkeypatch):
    async with Provider(window=8_000) as provider, proxy(provider, window=8_000) as client:
        session = talk(dialect, 30, words=120)
        await client.ask(dialect, request(session))
        monkeypatch.setattr("foldline.proxy.rooms.Room.fit", _fails)
        grow(session, 30, words=20)
        status, said, headers = await client.ask(dialect, request(session))
        assert status == 200, said
        assert headers["x-foldline-notice"] == "fit-failed, last-view"
        slot = {"openai-responses": "input", "gemini": "contents"}.get(dialect, "messages")
        before, after = (got.json[slot] for got in provider.got)
        assert after[: len(before)] == before
        assert len(after) > len(before)
        assert not provider.violations


@each
async def test_a_fault_of_ours_without_a_last_view_is_folded_anew(dialect, monkeypatch):
    async with Provider(window=8_000) as provider, proxy(provider, window=8_000) as client:
        monkeypatch.setattr("foldline.proxy.rooms.Room.fit", _fails)
        status, said, headers = await client.ask(dialect, request(talk(dialect, 30, words=120)))
        assert status == 200, said
        assert headers["x-foldline-notice"] == "fit-failed, extracted"
        assert not provider.violations


def _fails(*_):
    raise ZeroDivisionError


async def test_a_fault_while_the_budget_is_made_sends_it_as_it_came_and_is_logged(provider, monkeypatch, caplog):
    monkeypatch.setattr("foldline.proxy.rooms.Settings.budget", _fails)
    async with proxy(provider) as client:
        for dialect in DIALECTS:
            body = json.dumps(request(talk(dialect, 3))).encode()
            status, _, headers = await client.post(PATHS[dialect], body)
            assert status == 200
            assert provider.got[-1].body == body
            assert headers["x-foldline-notice"] == "fit-failed, as-it-came"
    told = [record.fields for record in caplog.records if record.msg == "fit-failed"]
    assert [fields["error"] for fields in told] == ["ZeroDivisionError"] * len(DIALECTS)
    assert all(fields["where"].startswith("proxy/rooms.py:") for fields in told)


async def test_a_models_file_that_cannot_be_read_costs_no_turn(provider, monkeypatch, tmp_path):
    (tmp_path / "models.toml").write_text("this is no TOML")
    monkeypatch.setenv("FOLDLINE_MODELS", str(tmp_path / "models.toml"))
    async with proxy(provider) as client:
        status, _, headers = await client.ask("anthropic", request(talk("anthropic", 3)))
        assert status == 200
        assert headers["x-foldline-notice"] == "fit-failed, as-it-came"


async def test_a_reserve_that_leaves_no_room_in_the_models_window_is_lowered_and_told(provider, caplog):
    async with proxy(provider, reserve=40_000) as client:
        session = talk("anthropic", 3)
        for number in range(3):
            status, _, headers = await client.ask("anthropic", request(session))
            assert status == 200
            assert headers["x-foldline-notice"] == "reserve-lowered"
            await client.running.door.close_behind()
            grow(session, 10 + number, words=5)
        budget = client.running.door.rooms.room("test", MODEL).budget
        assert (budget.window, budget.reserve) == (32_768, 16_384)
    (said,) = [record.fields["why"] for record in caplog.records if record.msg == "reserve-lowered"]
    assert said == "a reserve of 40,000 is too much for a window of 32,768; 16,384 are kept"


async def test_a_window_that_is_a_guess_is_told_once_for_each_model(provider, caplog):
    async with proxy(provider) as client:
        body = request(talk("anthropic", 1))
        for model in ("claude-sonnet-4-5", "new-model", "new-model", "newer-model"):
            _, _, headers = await client.ask("anthropic", {**body, "model": model})
            assert "x-foldline-notice" not in headers, "nothing went wrong with this turn"
        assert client.running.health.state()["counts"]["notice: model-unknown"] == 2
    told = [record.fields["why"] for record in caplog.records if record.msg == "model-unknown"]
    assert ["'new-model'" in told[0], "'newer-model'" in told[1]] == [True, True]
    assert all("32,768" in why and "models.toml" in why for why in told)


async def test_window_and_reserve_that_leave_no_room_are_refused_at_the_start(provider):
    with pytest.raises(ValueError, match="leaves no room in a window of 16,000"):
        async with proxy(provider, window=16_000, reserve=16_000):
            pass


async def test_a_fault_after_a_refusal_passes_the_refusal_on(monkeypatch):
    monkeypatch.setattr("foldline.proxy.rooms.Room.again", _fails)
    async with Provider(window=2_000) as provider, proxy(provider, window=20_000) as client:
        status, said, _ = await client.ask("anthropic", request(talk("anthropic", 20)))
        assert status == 400
        assert b"prompt is too long" in said


async def test_a_fault_beside_a_request_that_is_under_way_does_not_stop_it(provider, monkeypatch):
    async with proxy(provider, window=20_000) as client:
        session = talk("anthropic", 3)
        for number in range(3):
            status, _, _ = await client.ask("anthropic", request(session))
            assert status == 200
            await client.running.door.close_behind()
            grow(session, 10 + number, words=5)
            monkeypatch.setattr("foldline.proxy.rooms.Room.archive", _fails)
            monkeypatch.setattr("foldline.proxy.rooms.Room.weigh", _fails)
        assert client.running.health.state()["counts"]["notice: weigh-failed"] == 2


async def test_a_fault_that_nothing_can_be_done_about_is_told_and_logged(provider, monkeypatch, caplog):
    monkeypatch.setattr("foldline.proxy.relay.Relay.judge", _fails)
    async with proxy(provider) as client:
        status, said, _ = await client.ask("anthropic", request(talk("anthropic", 1)))
    assert status == 500
    assert json.loads(said)["error"]["message"].startswith("foldline: something failed here (ZeroDivisionError)")
    assert [record.levelname for record in caplog.records if record.msg == "failed"] == ["ERROR"]


async def test_when_every_way_fails_it_goes_on_as_it_came(provider, monkeypatch):
    async with proxy(provider, window=2_000) as client:
        monkeypatch.setattr("foldline.proxy.rooms.Room.fit", _fails)
        monkeypatch.setattr(fitting, "Compactor", _fails)
        body = json.dumps(request(talk("anthropic", 30))).encode()
        assert (await client.post("/v1/messages", body))[0] == 200
        assert provider.got[0].body == body


class _FullArchive(MemoryArchive):
    def keep(self, *_, **__):
        raise Full("no room")

    save = append = keep


@each
async def test_an_archive_that_is_full_costs_no_turn(dialect):
    async with Provider(window=8_000) as provider, proxy(provider, window=8_000, archive=_FullArchive()) as client:
        session = talk(dialect, 30, words=120)
        for number in range(3):
            grow(session, 30 + number)
            status, said, _ = await client.ask(dialect, request(session))
            assert status == 200, said
        assert not provider.violations


@each
@pytest.mark.parametrize("streaming", [False, True])
async def test_request_and_reply_are_archived(provider, dialect, streaming):
    archive = MemoryArchive()
    kept = []
    keep = archive.keep
    archive.keep = lambda conversation, scope="": (kept.append(conversation), keep(conversation, scope))[1]
    async with proxy(provider, archive=archive) as client:
        session = talk(dialect, 2)
        await client.ask(dialect, request(session), stream=streaming)
        await client.running.door.close_behind()
        assert len(kept[0].messages) == len(session.conversation().messages)
        assert len(kept[-1].messages) == len(kept[0].messages) + 1
        assert kept[-1].messages[-1].text.strip() == "fine"
        assert kept[-1].messages[-1].role == "assistant"


async def test_unreadable_bodies_go_on_as_they_came(provider):
    async with proxy(provider) as client:
        provider.scripts = [says({"error": "that is no JSON"}, 400)] * 9
        for body in (b"", b"{", b"[1]", b'"x"', b"null", b'{"messages": 7}', b'{"messages":[1]}'):
            status, _, headers = await client.post("/v1/messages", body)
            assert (status, provider.got[-1].body) == (400, body)
            assert headers["x-foldline-notice"] == "unread"


@each
async def test_odd_shapes_are_passed_on(provider, dialect):
    odd = {
        "anthropic": [],
        "openai-chat": [],
        "openai-responses": "just a string",
        "gemini": {"parts": [{"text": "x"}]},
    }
    slot = {"openai-responses": "input", "gemini": "contents"}.get(dialect, "messages")
    async with proxy(provider) as client:
        provider.scripts = [says({"fine": True})]
        body = json.dumps({"model": "m", slot: odd[dialect]}).encode()
        path = {"gemini": "/v1beta/models/g:generateContent", "openai-responses": "/v1/responses"}.get(dialect)
        assert (await client.post(path or "/v1/messages", body))[0] == 200
        assert provider.got[0].body == body


@pytest.mark.parametrize("settings", [{}, {"mask_secrets": False}])
async def test_a_summary_is_written_ahead_and_no_turn_waits_for_it(settings):
    caller, key = FakeCaller([SUMMARY]), f"ghp_{'a8Fk2Lq9Zx0P' * 3}"
    async with Provider(window=8_000) as provider, proxy(provider, window=8_000, model=caller, **settings) as client:
        session = talk("anthropic", 1, words=120, secret=key)
        for number in range(1, 30):
            grow(session, number, words=120)
            status, said, _ = await client.ask("anthropic", request(session))
            assert status == 200, said
            await client.running.door.close_behind()
            await asyncio.sleep(0.02)
        counts = client.running.health.state()["counts"]
        assert counts["summaries written"] >= 1
        assert (key in caller.asked[0].prompt) is bool(settings)
        assert ("[masked github-token " in caller.asked[0].prompt) is not bool(settings)
        assert "The goal, as told." in provider.got[-1].body.decode()
        assert not provider.violations


async def test_a_model_that_never_answers_holds_nobody_up():
    import threading

    release = threading.Event()

    def stuck(_):
        release.wait(20)
        return SUMMARY

    async with Provider(window=8_000) as provider, proxy(provider, window=8_000, model=FakeCaller([stuck])) as client:
        session = talk("anthropic", 1, words=120)
        async with asyncio.timeout(15):
            for number in range(1, 25):
                grow(session, number, words=120)
                assert (await client.ask("anthropic", request(session)))[0] == 200
        release.set()


CANARIES = {
    "authorization": "Bearer canary-bearer-1234567890",
    "x-api-key": "canary-x-api-key-1234567890",
    "x-goog-api-key": "canary-goog-1234567890",
    "api-key": "canary-azure-1234567890",
    "cookie": "session=canary-cookie-1234567890",
}


async def test_a_key_is_found_nowhere_but_at_its_provider(provider, tmp_path, caplog, capfd, monkeypatch):
    from foldline.archive import Archive

    caplog.set_level(0)
    archive = Archive(tmp_path / "archive.db")
    async with proxy(provider, window=6_000, archive=archive) as client:
        session = talk("anthropic", 30, words=120)
        headers = {**CANARIES, "content-type": "application/json"}
        path = "/v1/messages?key=canary-query-1234567890"
        shown = []
        for script in ([], [says({"error": "no"}, 401)], [says({"type": "error"}, 500)], [streams(b"x", cut=True)]):
            provider.scripts = script
            try:
                async with client.session.post(client.base + path, json=request(session), headers=headers) as answer:
                    shown.append(str(answer.headers) + (await answer.text()))
            except aiohttp.ClientPayloadError:
                shown.append("cut")
        monkeypatch.setattr("foldline.proxy.rooms.Room.fit", _fails)
        async with client.session.post(client.base + path, json=request(session), headers=headers) as answer:
            shown.append(str(answer.headers) + (await answer.text()))
        async with client.session.get(f"{client.running.origin}/{client.running.secret}/metrics") as answer:
            shown.append(await answer.text())
        assert all(provider.got[0].headers[name] == value for name, value in CANARIES.items())
        shown += [repr(client.running), repr(client.running.door), str(client.running.health.state())]
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    out, err = capfd.readouterr()
    texts = [*shown, caplog.text, *(str(record.__dict__) for record in caplog.records), out, err]
    assert not [text for text in texts if "canary-" in text]
    assert b"canary-" not in files
    assert client.running.secret not in caplog.text


async def test_it_says_how_it_is(provider):
    async with proxy(provider, window=8_000) as client:
        origin, secret = client.running.origin, client.running.secret
        await client.ask("anthropic", request(talk("anthropic", 30, words=120)))
        async with client.session.get(f"{origin}/healthz") as answer:
            assert (answer.status, await answer.text()) == (200, "ok\n")
        async with client.session.get(f"{origin}/{secret}/metrics") as answer:
            text = await answer.text()
            assert 'foldline_requests_total{action="compact",dialect="anthropic",operation="generate"' in text
            assert "foldline_tokens_saved_total" in text
        async with client.session.post(f"{origin}/{secret}/metrics") as answer:
            assert answer.status == 405, "they are only read"
        async with client.session.get(f"{origin}/{secret}/status") as answer:
            state = await answer.json()
            assert state["counts"]["requests"] == 1
            assert state["open"] == 0


async def test_all_requests_together_may_hold_so_much_and_no_more(provider):
    """What may come again is no request that is too large: clients take 413 for the end of their window."""
    async with proxy(provider) as client:
        client.running.door._pool.most = 1_000
        status, said, _ = await client.ask("anthropic", request(talk("anthropic", 20)))
        assert status == 503
        assert json.loads(said)["error"]["type"] == "overloaded_error"
        assert client.running.door._pool.held == 0
        client.running.door._pool.most = 1 << 20
        assert (await client.ask("anthropic", request(talk("anthropic", 20))))[0] == 200
        assert client.running.door._pool.held == 0


async def test_two_upstreams_serve_side_by_side_and_do_not_mix(provider):
    from foldline.proxy.serve import Config, start

    async with Provider() as other:
        upstreams = (Upstream("one", provider.url, "anthropic"), Upstream("two", other.url, "openai-chat"))
        async with start(Config(upstreams)) as running, aiohttp.ClientSession() as session:
            body = request(talk("anthropic", 1))
            await session.post(running.url("one") + "/v1/messages", json=body, headers={"x-api-key": "for-one"})
            await session.post(running.url("two") + "/v1/messages", json=body, headers={"x-api-key": "for-two"})
        assert [got.headers["x-api-key"] for got in provider.got] == ["for-one"]
        assert [got.headers["x-api-key"] for got in other.got] == ["for-two"]
