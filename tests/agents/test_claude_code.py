"""Claude Code itself behind `foldline run`, with a provider that is scripted. Skipped where the program is not."""

import pytest
from tests.agents.desk import found
from tests.agents.provider import DONE, PRINTED, Work

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("agents")]
WINDOW = 50_000
CALLS = 80
RULE = "Never touch the file of the goat."
HOUSE = "Paint the barn red."
OTHER = "Watch the heron at the pond."
NOTES = "# Notes on the conversation so far"
ALLOWED = ("--allowedTools", "Bash", "Agent", "--output-format", "json")


def asked(text, *more):
    return (found("claude"), "-p", text, *more, *ALLOWED)


async def test_a_session_of_many_windows_never_fails_and_keeps_the_rule(desk):
    async with Work(WINDOW, CALLS) as work:
        ran = await desk.proxied(work.url, WINDOW, *asked(f"Count. {RULE}"))
    assert (ran.code, DONE in ran.out) == (0, True), ran.err[-2_000:]
    assert CALLS * PRINTED > 10 * WINDOW
    assert work.made["main"] == CALLS
    assert (work.violations, work.refused, work.summaries) == ([], 0, 0)
    assert max(got.tokens for got in work.got) + 4_000 <= WINDOW
    assert all(RULE in got.text for got in work.got)
    assert all(got.headers["x-api-key"] == "of-claude" for got in work.got)
    assert ran.counts["compact"] >= 5
    assert NOTES in work.got[-1].text


async def test_without_the_proxy_the_provider_refuses_and_the_agent_has_to_summarise(desk):
    command = asked(f"Count. {RULE}")
    async with Work(WINDOW, 12, rule=RULE) as work:
        ran = await desk.ran(command, desk.environment(command[0], work.url))
    assert ran.code == 0, ran.err[-2_000:]
    assert work.refused >= 1
    assert work.summaries >= 1


async def test_its_own_counting_compaction_and_resuming_work(desk):
    async with Work(WINDOW, 12, rule=RULE) as work:
        for words in (f"Count. {RULE}", "/context", "Go on.", "/compact", "And now?"):
            more = () if RULE in words else ("--continue",)
            ran = await desk.proxied(work.url, WINDOW, *asked(words, *more))
            assert ran.code == 0, ran.err[-2_000:]
    assert (work.violations, work.refused, work.summaries) == ([], 0, 1)
    assert work.counted
    assert all(RULE in got.text for got in work.got)
    assert len(work.got[-1].body["messages"]) < len(work.got[-3].body["messages"]), "what it compacted stays so"


async def test_the_projects_own_rules_stay_when_the_message_that_brings_them_is_folded(desk):
    desk.ruled(HOUSE)
    async with Work(WINDOW, 10) as work:
        for calls, command in ((10, asked(f"Count. {RULE}")), (40, asked("Count on.", "--continue"))):
            work.calls = calls
            ran = await desk.proxied(work.url, WINDOW, *command)
            assert ran.code == 0, ran.err[-2_000:]
    assert (work.violations, work.refused, work.made["main"]) == ([], 0, 40)
    assert ran.counts["compact"] >= 2
    assert [number for number, got in enumerate(work.got) if HOUSE not in got.text or RULE not in got.text] == []


async def test_a_sub_agent_has_a_conversation_of_its_own(desk):
    def script(thread, number):
        told = {"description": "watch", "prompt": OTHER, "subagent_type": "general-purpose"}
        return (("Agent", told),) if (thread, number) == ("main", 2) else None

    async with Work(WINDOW, 14, script) as work:
        ran = await desk.proxied(work.url, WINDOW, *asked(f"Count. {RULE}"))
    assert (ran.code, DONE in ran.out) == (0, True), ran.err[-2_000:]
    assert (work.violations, work.refused) == ([], 0)
    (other,) = {got.thread for got in work.got} - {"main"}
    assert work.made == {"main": 14, other: 14}
    assert all(RULE in got.text for got in work.got if got.thread == "main")
    assert all(OTHER in got.text and RULE not in got.text for got in work.got if got.thread == other)
    assert not any("of main" in got.text for got in work.got if got.thread == other)
