"""Codex itself behind `foldline run`, with a provider that is scripted. Skipped where the program is not."""

import pytest
from tests.agents.desk import found
from tests.agents.provider import DONE, PRINTED, SEALED, Work

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("agents")]
WINDOW = 50_000
CALLS = 80
RULE = "Never touch the file of the goat."
HOUSE = "Paint the barn red."
OTHER = "Watch the heron at the pond."
NOTES = "# Notes on the conversation so far"
FREE = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")


def asked(text, *settings):
    return (found("codex"), *settings, "exec", *FREE, text)


def at(work):
    """Where the provider is, for Codex without the proxy."""
    return ("-c", f'openai_base_url="{work.url}/v1"')


def kinds(got):
    return [item.get("type") for item in got.body["input"]]


async def test_a_session_of_many_windows_never_fails_and_keeps_the_rule_and_the_tools(desk):
    async with Work(WINDOW, CALLS) as work:
        ran = await desk.proxied(work.url, WINDOW, *asked(f"Count. {RULE}"))
    assert (ran.code, DONE in ran.out) == (0, True), ran.err[-2_000:]
    assert CALLS * PRINTED > 10 * WINDOW
    assert sum(work.made.values()) == CALLS
    assert (work.violations, work.refused, work.sockets) == ([], 0, 0)
    assert max(got.tokens for got in work.got) <= WINDOW
    assert all(RULE in got.text for got in work.got)
    assert all(kinds(got).count("additional_tools") == 1 for got in work.got)
    assert all(got.headers["authorization"] == "Bearer of-codex" for got in work.got)
    assert ran.counts["compact"] >= 3
    assert NOTES in work.got[-1].text


async def test_without_the_proxy_the_same_session_dies_and_behind_it_goes_on(desk):
    desk.ruled(HOUSE)
    async with Work(WINDOW, CALLS) as work:
        command = asked(f"Count. {RULE}", *at(work))
        ran = await desk.ran(command, desk.environment(command[0], work.url))
        assert ran.code != 0
        assert work.refused == 1
        assert len(work.got) < 10
        died, work.calls = len(work.got), 12
        again = (found("codex"), "exec", "resume", *FREE, "--last", "Go on.")
        ran = await desk.proxied(work.url, WINDOW, *again)
    assert (ran.code, DONE in ran.out) == (0, True), ran.err[-2_000:]
    assert (work.violations, work.refused) == ([], 1)
    assert all(RULE in got.text for got in work.got[died:])
    assert all(HOUSE in got.text for got in work.got[died:])


async def test_what_it_has_compacted_by_the_provider_outlives_our_folds(desk):
    """Its own limit is far above what it sees, so it is told to compact at once, and then no more."""
    early = ("-c", "model_auto_compact_token_limit=24000")
    async with Work(WINDOW, 6) as work:
        ran = await desk.proxied(work.url, WINDOW, *asked(f"Count. {RULE}", *early))
        assert ran.code == 0, ran.err[-2_000:]
        work.calls = 60
        again = (found("codex"), "exec", "resume", *FREE, "--last", "Go on.")
        ran = await desk.proxied(work.url, WINDOW, *again)
    assert (ran.code, DONE in ran.out) == (0, True), ran.err[-2_000:]
    assert (work.violations, work.refused) == ([], 0)
    assert work.compactions >= 1
    assert ran.counts["compact"] >= 1
    first = next(index for index, got in enumerate(work.got) if "compaction" in kinds(got))
    assert all(SEALED in got.text and RULE in got.text for got in work.got[first:])


async def test_a_sub_agent_has_a_conversation_and_a_sealed_task_of_its_own(desk):
    async with Work(WINDOW, 40) as work:
        names = {}

        def script(thread, number):
            names.setdefault(thread, len(names))
            if names[thread] or number not in (2, 3):
                return None
            told = {"task_name": "watch", "message": OTHER, "fork_turns": "none"}
            calls = {2: ("collaboration.spawn_agent", told), 3: ("collaboration.wait_agent", {"timeout_ms": 120_000})}
            return (calls[number],)

        work.script = script
        ran = await desk.proxied(work.url, WINDOW, *asked(f"Count. {RULE}"))
    assert (ran.code, DONE in ran.out) == (0, True), ran.err[-2_000:]
    assert (work.violations, work.refused) == ([], 0)
    main, other = names
    assert work.made == {main: 40, other: 40}
    assert ran.counts["compact"] >= 2
    assert all(RULE in got.text for got in work.got if got.thread == main)
    assert all(OTHER in got.text and RULE not in got.text for got in work.got if got.thread == other)
