"""Rooms and seats: what one conversation learns of its model serves all, and none waits for another."""

import threading

import pytest
from tests.proxy.client import MODEL, grow, proxy, request, talk
from tests.proxy.provider import Provider, reply, says

from foldline.archive.memory import MemoryArchive
from foldline.core.counting.meter import Meter
from foldline.errors import Overflow
from foldline.proxy.rooms import Rooms, Seats, Settings, _window
from foldline.proxy.signals import Silent
from foldline.testing import SUMMARY, FakeCaller, Session


def rooms(window=40_000, archive=None, **settings):
    return Rooms(Settings(window=window, secret=b"s" * 16, **settings), archive or MemoryArchive())


def said(text, turns=1, words=400):
    session = Session(model="m").user(text)
    for number in range(turns):
        session.tools(("read", "{}", f"{text} {number} " * words))
    return session.conversation()


def test_a_window_that_was_named_holds_for_every_conversation_and_for_working_ahead():
    caller = FakeCaller([SUMMARY])
    room = rooms(model=caller).room("up", "m")
    fitted, _ = room.fit(said("first", 12))
    assert fitted.receipt.action == "rest"
    smaller = room.again(fitted, Overflow("too long", tokens=30_000, limit=9_000))
    assert smaller.receipt.tokens_after < 9_000
    other = said("second", 20)
    assert room.fit(other)[0].receipt.room < 9_000
    assert room.look(other).receipt.room < 9_000
    assert room.prepare(other).receipt.room < 9_000
    assert caller.asked


def test_a_prompt_cut_in_silence_tells_of_the_next_power_of_two():
    assert _window(Silent("cut", limit=3_900), 32_000, 9_000) == 4_096
    assert _window(Silent("cut", limit=4_096), 32_000, 9_000) == 4_096
    assert _window(Silent("cut", limit=3_900), 4_096, 4_000) == 3_900, "that was tried"
    assert _window(Silent("cut", limit=5_000), 32_000, 8_000) == 5_000, "as much was sent, and cut"
    assert _window(Overflow("too long", limit=3_900), 32_000, 9_000) == 3_900
    assert _window(Overflow("too long"), 32_000, 9_000) is None


@pytest.mark.anyio
async def test_after_a_silent_cut_the_window_is_used_up_to_its_likely_end(provider):
    async with proxy(provider, window=30_000) as client:
        session = talk("openai-chat", 30, words=120)
        provider.scripts = [says(reply("openai-chat", "what was the question?", 3_500))]
        await client.ask("openai-chat", request(session))
        assert client.running.door.rooms.room("test", MODEL).budget.window == 4_096
        provider.scripts = [says(reply("openai-chat", "fine", 2_000))]
        grow(session, 99, words=40)
        await client.ask("openai-chat", request(session))
        assert len(provider.got) == 3, "it fits, by the number that was learned"


def test_a_conversation_waits_for_no_other_of_its_model():
    held, inside = threading.Event(), threading.Event()

    class Slow(MemoryArchive):
        def recall(self, digests, scope=""):
            if threading.current_thread().name == "slow":
                inside.set()
                assert held.wait(10)
            return super().recall(digests, scope)

    room = rooms(archive=Slow()).room("up", "m")
    slow = threading.Thread(target=room.fit, args=(said("one"),), name="slow")
    slow.start()
    assert inside.wait(10)
    quick = threading.Thread(target=room.fit, args=(said("two"),))
    quick.start()
    quick.join(5)
    assert not quick.is_alive()
    held.set()
    slow.join(10)
    assert not slow.is_alive()


def test_what_was_learned_of_a_tokenizer_serves_the_next_conversation():
    room = rooms().room("up", "m")
    fitted, _ = room.fit(said("first", 10))
    ours = fitted.receipt.tokens_after
    room.learn(fitted, {"usage": {"input_tokens": int(ours * 1.4)}})
    again, _ = room.fit(said("first", 10))
    other, _ = room.fit(said("other", 10))
    assert again.receipt.tokens_after == pytest.approx(ours * 1.4, rel=0.02)
    assert other.receipt.tokens_after == pytest.approx(ours * 1.4, rel=0.15)


def test_seats_are_bounded_by_their_number_and_their_bytes():
    settings = Settings(window=40_000, secret=b"s" * 16)
    seats = Seats(settings, MemoryArchive(), print, count=5, most=1_000)
    room = rooms().room("up", "m")
    for number in range(20):
        seats.seat(room, said(str(number)), 10)
    assert len(seats._seats) == 5
    assert seats._held == 50
    first = seats.seat(room, said("19"), 900)
    assert first is seats.seat(room, said("19"), 0)
    seats.seat(room, said("large"), 5_000)
    assert len(seats._seats) == 1, "the newest always has its seat"
    assert seats._held == 5_000


@pytest.mark.anyio
async def test_tokens_are_saved_on_every_turn_that_shows_less_than_there_is():
    async with Provider(window=8_000) as provider, proxy(provider, window=8_000) as client:
        session, counted = talk("anthropic", 40, words=120), []
        for number in range(3):
            grow(session, 40 + number, words=5)
            await client.ask("anthropic", request(session))
            await client.running.door.close_behind()
            counted.append(client.running.health.state()["counts"]["tokens saved"])
        first, second, third = counted[0], counted[1] - counted[0], counted[2] - counted[1]
        assert first > 5_000
        assert min(second, third) > first / 2


def test_of_a_history_that_was_weighed_only_what_is_new_is_weighed_again(monkeypatch):
    room, history, counted = rooms(window=8_000).room("up", "m"), said("first", 40), []
    before = room.fit(history)[0]
    assert before.view is not before.given
    whole = room.before(before)
    count = Meter.message
    monkeypatch.setattr(Meter, "message", lambda meter, message: (counted.append(message), count(meter, message))[1])
    longer = history.with_messages((*history.messages, *said("second").messages))
    after, _ = room.fit(longer)
    assert after.receipt.action == "rest"
    counted.clear()
    assert room.before(after) > whole
    assert len(counted) == len(longer.messages) - len(history.messages) + len(after.view.messages)
