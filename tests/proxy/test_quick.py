"""The quick way is the long way, sooner: whatever a client sends, the provider gets and the archive holds the same."""

import asyncio
import json
from dataclasses import dataclass, field

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.proxy.provider import DIALECTS, PATHS, SLOTS, Provider, begin, refusal, reply, says, size, stream, streaming

from foldline.archive.memory import MemoryArchive
from foldline.dialects import named
from foldline.model import Media, Message, Origin, Text, Thinking
from foldline.proxy.door import Door
from foldline.proxy.guard import Guard
from foldline.proxy.health import Health
from foldline.proxy.rooms import Rooms, Settings
from foldline.proxy.turn import Turns
from foldline.proxy.upstreams import Upstream, Upstreams
from foldline.testing import Session

TOKEN = "a-token-for-tests"
PICTURE = Media("image", "image/png", url="https://example.org/p.png")
NUMBERED, UNNUMBERED, SILENT, LOW, LATE = "numbered", "unnumbered", "silent", "low", "late"


class LongWay(Turns):
    """The same with the quick way closed."""

    def glance(self, *_):
        return None


class QuickWay(Turns):
    """Counts how often it was taken."""

    taken = 0

    def at_rest(self, read):
        found = super().at_rest(read)
        QuickWay.taken += found is not None
        return found


class House:
    """A proxy without a socket: requests are put to the application itself."""

    def __init__(self, turns, provider, dialect, window):
        self.archive = MemoryArchive()
        rooms = Rooms(Settings(window=window, secret=b"s" * 16), self.archive)
        table = Upstreams((Upstream("test", provider.url, dialect),))
        self.provider = provider
        self.door = Door(Guard("127.0.0.1", 80, TOKEN, chosen=True), table, turns(rooms, Health()), Health())

    async def ask(self, path, body, headers=()):
        """What the client is told: status, body and our own headers."""
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": "POST",
            "path": f"/{TOKEN}/test{path}",
            "query_string": query.encode(),
            "headers": [
                (b"host", b"127.0.0.1:80"),
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode()),
                *headers,
            ],
        }
        told, bodies = [], [{"type": "http.request", "body": body}]

        async def receive():
            return bodies.pop() if bodies else await asyncio.Event().wait()

        async def send(event):
            told.append(event)

        await self.door(scope, receive, send)
        ours = sorted(pair for pair in told[0]["headers"] if pair[0].startswith(b"x-foldline"))
        return told[0]["status"], b"".join(event.get("body", b"") for event in told), ours

    async def turn(self, step):
        """A request to its very end: what the provider got, and what the client was told."""
        self.provider.got, self.provider.scripts = [], [behaving(step)] * 8
        told = await self.ask(*step.sent)
        await self.door.close_behind()
        return told, [(got.path, got.query, got.headers, got.body) for got in self.provider.got]

    async def turns(self, steps):
        """Several at once: what the provider got and the client was told, in no order."""
        self.provider.got, self.provider.scripts = [], [behaving(steps[0])] * 8
        told = await asyncio.gather(*(self.ask(*step.sent) for step in steps))
        await self.door.close_behind()
        return sorted(status for status, _, _ in told), sorted(got.body for got in self.provider.got)

    def ways(self):
        """Every history the archive has, whichever came first."""
        return {tuple(rows) for rows in self.holds()[0].values()}

    def holds(self):
        """All that the archive has: sessions with their bytes, plans, checkpoints; and what the meter learned."""
        told = {
            session.name: [stored.message.raw for stored in self.archive.messages(session.name)]
            for session in self.archive.sessions()
        }
        rooms = {key: (room._ratio, room.budget) for key, room in self.door.rooms._rooms.items()}
        return told, self.archive._plans, sorted(self.archive._by_ref), rooms


def behaving(step):
    """A provider that refuses the first try, if it is told to, and answers the next."""
    tries = []

    async def script(request, body):
        tries.append(body)
        asked = json.loads(body)
        tokens = round(size(asked) * (0.3 if step.trouble == LOW and len(tries) == 1 else step.ratio))
        if step.counts:
            return await says({"totalTokens": tokens, "input_tokens": tokens})(request, body)
        if len(tries) == 1 and step.trouble in (NUMBERED, UNNUMBERED):
            told = refusal(step.dialect, tokens, tokens * 2 // 3)
            told = told if step.trouble == NUMBERED else {"error": {"message": "prompt is too long"}}
            return await says(told, 400)(request, body)
        if len(tries) == 1 and step.trouble == SILENT and streaming(request, asked):
            response = await begin(request)
            await response.write_eof()
            return response
        if streaming(request, asked):
            return await stream(request, step.dialect, "fine", tokens)
        told = reply(step.dialect, "fine", tokens)
        if step.trouble == LATE and step.dialect == "anthropic":
            told["stop_reason"] = "model_context_window_exceeded"
        return await says(told)(request, body)

    return script


@dataclass
class Step:
    """A request, and how the provider takes it."""

    dialect: str
    sent: tuple
    ratio: float = 0.9
    trouble: str = ""
    counts: bool = False


@dataclass
class Client:
    """An agent of some dialect that does what it is told to."""

    dialect: str
    last: bool
    rows: list = field(default_factory=list)
    longest: list = field(default_factory=list)
    shown: list = field(default_factory=list)
    """What the provider was shown last."""
    head: dict = field(default_factory=dict)
    model: str = "test-model"
    streams: bool = False
    ratio: float = 0.9
    number: int = 0

    def say(self, *messages):
        self.rows += [named(self.dialect).build(message) for message in messages]

    def use(self, words, answered=True):
        session = Session(self.dialect)
        session._calls = self.number = self.number + 10
        text = " ".join(f"line{self.number}-{word}" for word in range(words))
        session.tools(("read", json.dumps({"path": f"{self.number}.py"}), text), text="Reading.")
        self.rows += [session._written(message) for message in session.messages[: None if answered else -1]]

    def act(self, kind, much):
        """Goes on in one way or another. What holds for one request alone is the step's."""
        if kind in HEAD:
            self.change(kind, much)
        elif kind in STAYS:
            getattr(self, kind)(much)

    def work(self, much):
        self.use((3, 12, 60, 400)[much])

    def unanswered(self, much):
        self.use((3, 12, 60, 400)[much], answered=False)

    def user(self, much):
        self.say(
            Message("user", Origin.USER, (Text(("go on", "中" * 99, "[", "# Notes on the conversation so far")[much]),))
        )

    def thought(self, _):
        if self.dialect == "openai-chat":
            self.rows.append({"role": "assistant", "reasoning_content": "hm", "content": "so"})
        else:
            parts = Thinking("hm", "s" * 60), Text("so")
            self.say(*(Message("assistant", Origin.ASSISTANT, (part,)) for part in parts))

    def picture(self, _):
        self.say(Message("user", Origin.USER, (PICTURE,)))

    def rewind(self, much):
        del self.rows[max(1, len(self.rows) - 1 - much) :]

    def redo(self, _):
        self.rows = list(self.longest)

    def edit(self, much):
        at = max(0, len(self.rows) - 1 - 2 * much)
        self.rows[at : at + 1] = [named(self.dialect).build(Message("user", Origin.USER, (Text(f"no, {much}"),)))]

    def feed_back(self, _):
        self.rows = list(self.shown or self.rows)

    def change(self, kind, much):
        if kind in _HEADS:
            self.head |= _HEADS[kind](self.dialect, much)
        elif kind == "model":
            self.model = f"test-model-{much}"
        elif kind == "stream":
            self.streams = not self.streams
        else:
            self.ratio = (0.6, 0.9, 1.3, 2.0)[much]

    def step(self, kind):
        self.longest = max(self.longest, list(self.rows), key=len)
        path, body = PATHS[self.dialect], {} if self.dialect == "gemini" else {"model": self.model}
        body |= self.head | ({"stream": True} if self.streams and self.dialect != "gemini" else {})
        if kind == "native":
            body |= _native(self.dialect)
        body = body | {SLOTS[self.dialect]: self.rows} if self.last else {SLOTS[self.dialect]: self.rows} | body
        if self.dialect == "gemini":
            path = path.replace("gemini-test", self.model)
            path = path.replace(":generateContent", ":streamGenerateContent?alt=sse") if self.streams else path
        counts = kind == "count" and self.dialect in ("anthropic", "gemini")
        if counts:
            path = (
                "/v1/messages/count_tokens" if self.dialect == "anthropic" else path.partition(":")[0] + ":countTokens"
            )
        headers = ((b"x-foldline-bypass", b"1"),) if kind == "bypass" else ()
        trouble = kind if kind in (NUMBERED, UNNUMBERED, SILENT, LOW, LATE) else ""
        sent = path, json.dumps(body, separators=(",", ":")).encode(), headers
        return Step(self.dialect, sent, self.ratio, trouble, counts)


def _system(dialect, much):
    text = f"Be careful {much} times."
    if dialect == "gemini":
        return {"systemInstruction": {"parts": [{"text": text}]}}
    return {"openai-responses": {"instructions": text}, "anthropic": {"system": text}}.get(dialect, {"user": text})


def _tools(dialect, much):
    return {"tools": [_tool(dialect, much)]}


def _tool(dialect, number):
    tool = {"name": f"read{number}", "description": "reads " * 9 * number}
    if dialect == "gemini":
        return {"functionDeclarations": [tool]}
    if dialect == "openai-chat":
        return {"type": "function", "function": tool}
    return tool | ({"input_schema": {}} if dialect == "anthropic" else {"type": "function", "parameters": {}})


def _thinking(dialect, much):
    on = much % 2 == 0
    if dialect == "gemini":
        return {"generation_config": {"thinkingConfig": {"thinkingBudget": 99 if on else 0}}}
    if dialect == "anthropic":
        return {"thinking": {"type": "enabled", "budget_tokens": 1_024} if on else {"type": "disabled"}}
    effort = "low" if on else "none"
    return {"reasoning_effort": effort} if dialect == "openai-chat" else {"reasoning": {"effort": effort}}


def _limit(dialect, much):
    tokens = (64, 700, 2_000, 9_000)[much]
    if dialect == "gemini":
        return {"generationConfig": {"maxOutputTokens": tokens}}
    return {"max_output_tokens" if dialect == "openai-responses" else "max_tokens": tokens}


def _native(dialect):
    if dialect == "gemini":
        return {"cachedContent": "cachedContents/1"}
    edits = [{"type": "compact_20260112"}]
    return {"context_management": {"edits": edits} if dialect == "anthropic" else edits}


_HEADS = {"system": _system, "tool": _tools, "thinking": _thinking, "limit": _limit}
ALONE = ("count", "bypass", "native", NUMBERED, UNNUMBERED, SILENT, LOW, LATE)
"""What holds for one request."""
STAYS = ("work", "user", "picture", "unanswered", "thought", "rewind", "redo", "edit", "feed_back")
"""What is in the history from then on."""
HEAD = (*_HEADS, "model", "stream", "ratio")
moves = st.tuples(
    st.one_of(
        st.sampled_from(("work", "user")),
        st.sampled_from(("work", "redo", "rewind")),
        st.sampled_from(ALONE + STAYS + HEAD),
    ),
    st.integers(0, 3),
)


@pytest.fixture(scope="module")
def runner():
    with asyncio.Runner() as running:
        yield running


@pytest.fixture(scope="module")
def provider(runner):
    provider = Provider()
    runner.run(provider.__aenter__())
    yield provider
    runner.run(provider.__aexit__())


async def played(provider, dialect, window, last, script):
    """The script on both ways; whatever differs is an error."""
    houses = [House(turns, provider, dialect, window) for turns in (QuickWay, LongWay)]
    client = Client(dialect, last, head=_limit(dialect, 0) | _system(dialect, 1))
    client.say(Message("user", Origin.USER, (Text("Please look at all files."),)))
    try:
        for kind, much in (("", 0), *script):
            client.act(kind, much)
            step = client.step(kind)
            quick, slow = [await house.turn(step) for house in houses]
            assert quick == slow, (kind, much)
            client.shown = json.loads(slow[1][-1][3])[SLOTS[dialect]]
    finally:
        for house in houses:
            await house.door.close()
    assert houses[0].holds() == houses[1].holds()


REFUSED_TAKEN_BACK_AND_SENT_AGAIN = [
    *(("work", 2), ("user", 0), ("work", 2), ("work", 2), (UNNUMBERED, 0)),
    *(("model", 1), ("rewind", 1), ("redo", 0), ("work", 0)),
]
FAR_FEWER_TOKENS_REPORTED_THAN_COUNTED = [("work", 0), ("work", 3), ("stream", 0), ("work", 3)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_provider_gets_and_the_archive_holds_what_they_would_without_it(runner, provider, dialect):
    QuickWay.taken = 0

    @given(st.sampled_from([2_000, 8_000, 40_000]), st.booleans(), st.lists(moves, min_size=2, max_size=9))
    @example(8_000, True, REFUSED_TAKEN_BACK_AND_SENT_AGAIN)
    @example(40_000, False, FAR_FEWER_TOKENS_REPORTED_THAN_COUNTED)
    @settings(max_examples=25, deadline=None)
    def same(window, last, script):
        runner.run(played(provider, dialect, window, last, script))

    same()
    assert QuickWay.taken > 20, "else nothing was compared"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_two_requests_of_one_conversation_at_once_are_both_sent_and_kept(runner, provider, dialect):
    async def both(turns):
        house, client = House(turns, provider, dialect, 40_000), Client(dialect, True)
        for kind in ("user", "work", "work"):
            client.act(kind, 0)
            await house.turn(client.step(kind))
        found = []
        for kind in ("work", "user", "picture"):
            before, steps = list(client.rows), []
            for text in ("one way", "another way"):
                client.rows = list(before)
                client.act(kind, 1)
                client.say(Message("user", Origin.USER, (Text(text),)))
                steps.append(client.step(kind))
            found.append(await house.turns(steps))
        await house.door.close()
        return found, house.ways()

    QuickWay.taken = 0
    assert runner.run(both(QuickWay)) == runner.run(both(LongWay))
    assert QuickWay.taken > 1
