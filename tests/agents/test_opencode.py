"""opencode itself behind the proxy, with a provider that is scripted; and its sessions. Skipped where it is not."""

import json
import re

import pytest
from tests.agents import views
from tests.agents.desk import found
from tests.agents.provider import DONE, PRINTED, Work

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("agents")]
WINDOW = 50_000
TOLD = 200_000
"""What opencode takes the window for, so that it leaves the folding to us."""
CALLS = 60
RULE = "Never touch the file of the goat."
HOUSE = "Paint the barn red."
OTHER = "Watch the heron at the pond."
NOTES = "# Notes on the conversation so far"
SDKS = {
    "anthropic": "@ai-sdk/anthropic",
    "openai-chat": "@ai-sdk/openai-compatible",
    "openai-responses": "@ai-sdk/openai",
}
"""By our name of the API, the package in which opencode has it. All three are built in."""


def configured(desk, url, dialect="anthropic", **settings):
    model = {"limit": {"context": TOLD, "output": 4_000}}
    provider = {"npm": SDKS[dialect], "models": {"test-model": model}}
    provider["options"] = {"apiKey": "of-opencode", "baseURL": f"{url}/v1"}
    desk.put(".config/opencode/opencode.json", {"provider": {"ours": provider}, **settings})


def asked(text, *more, model="ours/test-model"):
    return (found("opencode"), "run", *more, "-m", model, text)


async def told(desk, *words):
    """opencode, where nothing goes wrong."""
    ran = await desk.ran((found("opencode"), *words), desk.environment(found("opencode"), ""))
    assert ran.code == 0, ran.err[-2_000:]
    return ran.out


async def exported(desk):
    """Into a file: into a pipe, it writes no more than 64 KB."""
    name = re.search(r"ses_\w+", await told(desk, "session", "list")).group()
    to = desk.root / "export.json"
    env = desk.environment(found("opencode"), "")
    assert (await desk.ran(("sh", "-c", f"opencode export {name} > {to}"), env)).code == 0
    return name, to


@pytest.mark.parametrize("dialect", SDKS)
async def test_a_session_of_many_windows_never_fails_and_keeps_the_rules(desk, dialect):
    desk.ruled(HOUSE)
    async with Work(WINDOW, 20) as work, desk.behind(work.url, dialect, WINDOW) as proxy:
        configured(desk, proxy.url, dialect)
        for calls, text, more in ((20, f"Count. {RULE}", ()), (CALLS, "Count on.", ("-c",))):
            work.calls = calls
            await told(desk, *asked(text, *more)[1:])
    assert CALLS * PRINTED > 8 * WINDOW
    assert (sum(work.made.values()), work.violations, work.refused, work.summaries) == (CALLS, [], 0, 0)
    assert all(RULE in got.text for got in work.got)
    assert all(HOUSE in got.text for got in work.got if "tools" in got.body)
    assert max(got.tokens for got in work.got) + 4_000 <= WINDOW
    assert proxy.counts["compact"] >= 2
    assert sum(proxy.counts.values()) == len(work.got)
    assert NOTES in work.got[-1].text


async def test_foldline_run_tells_it_where_anthropic_is(desk):
    model = {"limit": {"context": TOLD, "output": 4_000}}
    desk.put(".config/opencode/opencode.json", {"provider": {"anthropic": {"models": {"test-model": model}}}})
    async with Work(WINDOW, 20) as work:
        ran = await desk.proxied(work.url, WINDOW, *asked(f"Count. {RULE}", model="anthropic/test-model"))
    assert (ran.code, DONE in ran.out) == (0, True), ran.err[-2_000:]
    assert (sum(work.made.values()), work.violations, work.refused) == (20, [], 0)
    assert all(got.headers["x-api-key"] == "of-claude" for got in work.got)


async def test_a_sub_agent_has_a_conversation_of_its_own(desk):
    def script(thread, number):
        names.setdefault(thread, len(names))
        task = {"description": "watch", "prompt": OTHER, "subagent_type": "general"}
        return (("task", task),) if (names[thread], number) == (0, 2) else None

    names = {}
    async with Work(WINDOW, 14, script) as work, desk.behind(work.url, "anthropic", WINDOW) as proxy:
        configured(desk, proxy.url)
        await told(desk, *asked(f"Count. {RULE}")[1:])
    assert (work.violations, work.refused) == ([], 0)
    main, other = names
    assert work.made == {main: 14, other: 14}
    assert all(RULE in got.text for got in work.got if got.thread == main)
    assert all(OTHER in got.text and RULE not in got.text for got in work.got if got.thread == other)


async def test_without_the_proxy_the_provider_refuses_and_it_has_to_summarise(desk):
    async with Work(WINDOW, 20, rule=RULE) as work:
        configured(desk, work.url)
        await desk.ran(asked(f"Count. {RULE}"), desk.environment(found("opencode"), work.url))
    assert work.refused >= 1
    assert work.summaries >= 1


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"])
async def test_a_folded_session_goes_on_as_the_view_that_was_written(desk, dialect):
    async with Work(TOLD, 8) as work:
        configured(desk, work.url, dialect)
        for calls, text, more in ((8, f"Count. {RULE}", ()), (12, "Count on.", ("-c",))):
            work.calls = calls
            await told(desk, *asked(text, *more)[1:])
        name, export = await exported(desk)
        small = await desk.folded("opencode", TOLD, export, "--to", "12000")
        said = views.of_file(small)
        await told(desk, "session", "delete", name)
        await told(desk, "import", str(small))
        await told(desk, *asked("And now?", "-s", name)[1:])
        sent = views.of_request(work.got[-1].body, dialect)
    assert _bare(sent) == _bare([*said, ("Text", "user", '"And now?"')])
    assert work.got[-1].text.count(NOTES) == 1
    assert RULE in work.got[-1].text
    assert (work.violations, work.refused) == ([], 0)


def _bare(parts):
    """In Chat Completions there is no thinking, and beside a call an empty text."""
    return [part for part in parts if part[0] != "Thinking" and part[-1]]


async def test_what_it_compacted_itself_is_folded_on(desk):
    async with Work(WINDOW, 9, rule=RULE) as work:
        configured(desk, work.url)
        await desk.ran(asked(f"Count. {RULE}"), desk.environment(found("opencode"), work.url))
        assert work.summaries >= 1
        name, export = await exported(desk)
        parts = [part for turn in json.loads(export.read_bytes())["messages"] for part in turn["parts"]]
        assert any(part["type"] == "compaction" for part in parts)
        work.window, work.calls = TOLD, 0
        for path in (export, await desk.folded("opencode", TOLD, export, "--to", "6000")):
            said = views.of_file(path)
            await told(desk, "session", "delete", name)
            await told(desk, "import", str(path))
            await told(desk, *asked("And now?", "-s", name)[1:])
            assert views.of_request(work.got[-1].body, "anthropic") == [*said, ("Text", "user", '"And now?"')]
            assert RULE in work.got[-1].text
    assert NOTES in work.got[-1].text
    assert work.violations == []
