"""pi itself behind `foldline proxy`, with a provider that is scripted; and its sessions on disk. Skipped without it."""

import json

import pytest
from tests.agents import views
from tests.agents.desk import found
from tests.agents.provider import DONE, PRINTED, Work

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("agents")]
WINDOW = 50_000
TOLD = 200_000
"""What pi takes the window for, so that it leaves the folding to us."""
CALLS = 80
RULE = "Never touch the file of the goat."
HOUSE = "Paint the barn red."
NOTES = "# Notes on the conversation so far"
APIS = {
    "anthropic": ("anthropic-messages", ""),
    "openai-chat": ("openai-completions", "/v1"),
    "openai-responses": ("openai-responses", "/v1"),
}
"""By our name of it: pi's name of the API, and what its addresses end with."""


def asked(desk, url, text, *more, dialect="anthropic"):
    api, version = APIS[dialect]
    model = {"id": "test-model", "contextWindow": TOLD, "maxTokens": 4_000}
    provider = {"baseUrl": url + version, "api": api, "apiKey": "of-pi", "models": [model]}
    desk.put(".pi/agent/models.json", {"providers": {"ours": provider}})
    program = found("pi")
    return desk.ran((program, "-p", "--model", "ours/test-model", *more, text), desk.environment(program, url))


def session(desk):
    (path,) = desk.root.glob(".pi/agent/sessions/*/*.jsonl")
    return path


@pytest.mark.parametrize("dialect", APIS)
async def test_a_session_of_many_windows_never_fails_and_keeps_the_rules(desk, dialect):
    desk.ruled(HOUSE)
    async with Work(WINDOW, 20) as work, desk.behind(work.url, dialect, WINDOW) as proxy:
        for calls, text, more in ((20, f"Count. {RULE}", ()), (CALLS, "Count on.", ("-c",))):
            work.calls = calls
            ran = await asked(desk, proxy.url, text, *more, dialect=dialect)
            assert (ran.code, DONE in ran.out) == (0, True), ran.err[-2_000:]
    assert CALLS * PRINTED > 10 * WINDOW
    assert (work.made["main"], work.violations, work.refused, work.summaries) == (CALLS, [], 0, 0)
    assert all(RULE in got.text and HOUSE in got.text for got in work.got)
    assert max(got.tokens for got in work.got) + 4_000 <= WINDOW
    assert proxy.counts["compact"] >= 2
    assert sum(proxy.counts.values()) == len(work.got)
    assert NOTES in work.got[-1].text


async def test_a_provider_whose_window_is_smaller_than_said_is_not_seen_to_refuse(desk):
    async with Work(WINDOW, 40) as work, desk.behind(work.url, "anthropic", TOLD) as proxy:
        ran = await asked(desk, proxy.url, f"Count. {RULE}")
    assert (ran.code, DONE in ran.out) == (0, True), ran.err[-2_000:]
    assert (work.made["main"], work.violations, work.summaries) == (40, [], 0)
    assert 1 <= work.refused <= 3
    assert all(RULE in got.text for got in work.got)


async def test_without_the_proxy_the_provider_refuses_and_the_session_ends_without_an_answer(desk):
    async with Work(WINDOW, 40, rule=RULE) as work:
        ran = await asked(desk, work.url, f"Count. {RULE}")
    assert DONE not in ran.out
    assert work.refused >= 1
    assert work.made["main"] < 40


@pytest.mark.parametrize("dialect", APIS)
async def test_a_folded_session_goes_on_as_the_view_that_was_written(desk, dialect):
    async with Work(TOLD, 8) as work:
        await asked(desk, work.url, f"Count. {RULE}", dialect=dialect)
        work.calls = 12
        await asked(desk, work.url, "Count on.", "-c", dialect=dialect)
        for options in (("--to", "12000"), ("--from", "8")):
            small = await desk.folded("pi", TOLD, session(desk), *options)
            said = views.of_file(small)
            ran = await asked(desk, work.url, "And now?", "--session", str(small), dialect=dialect)
            assert (ran.code, DONE in ran.out) == (0, True), ran.err[-2_000:]
            sent = views.of_request(work.got[-1].body, dialect)
            assert [_bare(part) for part in sent] == [_bare(part) for part in (*said, ("Text", "user", "And now?"))]
            assert work.got[-1].text.count(NOTES) == 1
            assert RULE in work.got[-1].text
    assert (work.violations, work.refused) == ([], 0)


def _bare(part):
    """pi sends ids of Responses' calls by their first half."""
    return (part[0], part[1].partition("|")[0], *part[2:])


async def test_what_it_compacted_itself_is_folded_on(desk):
    async with Work(WINDOW, 40, rule=RULE) as work:
        await asked(desk, work.url, f"Count. {RULE}")
        own = [json.loads(line) for line in session(desk).read_text().splitlines()]
        assert [entry["type"] for entry in own].count("compaction") == 1
        said = views.of_file(session(desk))
        work.window, work.calls = TOLD, 0
        for path in (session(desk), await desk.folded("pi", TOLD, session(desk), "--to", "9000")):
            said = views.of_file(path)
            await asked(desk, work.url, "And now?", "--session", str(path))
            first, *sent = views.of_request(work.got[-1].body, "anthropic")
            assert (*sent,) == (*said[1:], ("Text", "user", "And now?"))
            assert said[0][2] in first[2], "pi puts words of its own around a summary"
            assert RULE in first[2]
    assert NOTES in first[2]
    assert work.violations == []


async def test_a_rule_that_is_left_in_its_own_summary_alone_stays_behind_the_proxy(desk):
    async with Work(WINDOW, 40, rule=RULE) as work:
        await asked(desk, work.url, f"Count. {RULE}")
        assert work.summaries >= 1
        begun, work.calls = len(work.got), work.made["main"] + 40
        async with desk.behind(work.url, "anthropic", WINDOW) as proxy:
            ran = await asked(desk, proxy.url, "Count on.", "-c")
            assert (ran.code, DONE in ran.out) == (0, True), ran.err[-2_000:]
            assert proxy.counts["compact"] >= 2
    assert all(RULE in got.text for got in work.got[begun:])
    assert work.violations == []
