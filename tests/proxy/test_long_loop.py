"""A hundred turns with tools on the official SDKs, far beyond a real model's window: through the proxy, and without.

The summaries are scripted: the model is too small to write one, and what is shown is what becomes of them. It counts
every prompt, refuses what is too large, and answers every n-th (FOLDLINE_REAL_EVERY=1: all of them, for a night).
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest
from tests.proxy.agents import AGENTS
from tests.proxy.witness import Witness

from foldline.errors import Overloaded
from foldline.proxy.serve import Config, start
from foldline.proxy.upstreams import Upstream
from foldline.testing import SUMMARY, FakeCaller

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("real model")]
WINDOW = 1_024
TURNS = int(os.environ.get("FOLDLINE_TURNS", "100"))
EVERY = int(os.environ.get("FOLDLINE_REAL_EVERY", "150"))
"""It reads some fifty tokens a second on a busy machine: one prompt is twenty seconds."""
RULE = "The gate behind the shed stays shut, the goat is in there."
SERVE = Path(__file__).parents[1] / "real_model" / "serve.py"
each = pytest.mark.parametrize("agent", AGENTS, ids=[agent.dialect for agent in AGENTS])


@pytest.fixture(scope="module")
def model():
    server = subprocess.Popen(
        [sys.executable, str(SERVE), str(WINDOW)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        ready, _, _ = select.select([server.stdout], [], [], 60)
        yield server.stdout.readline().strip() if ready else pytest.fail("the model did not start")
    finally:
        server.stdin.close()
        server.wait(10)


def loop(agent) -> None:
    for turn in range(TURNS):
        said = RULE if turn == 3 else f"Bed {turn} has {turn} rows."
        agent.turn(said, f"bed {turn}: " + "carrot beet leek " * 22)


@each
async def test_through_the_proxy_no_turn_fails_and_no_rule_is_lost(model, agent):
    cheap = FakeCaller(["Here you are!", SUMMARY, Overloaded("busy", status=529), SUMMARY], name="cheap")
    spare = FakeCaller([SUMMARY], name="spare")
    async with Witness(model, WINDOW, EVERY) as witness:
        upstream = Upstream("test", witness.url, agent.dialect)
        config = Config((upstream,), window=WINDOW, reserve=64, model=cheap, fallback=spare)
        async with start(config) as running:
            one = agent(running.url("test"), limit=4)
            await asyncio.to_thread(loop, one)
            counts = running.health.state()["counts"]
        whole = {**one.request, **one.request.get("extra_body", {})}
        grown = await witness.count(agent.dialect, whole)
    assert grown > 20 * WINDOW * TURNS / 100
    assert not witness.violations
    assert witness.refused == 0
    assert witness.real == len(witness.bodies) // EVERY > 0
    assert max(witness.counts) < WINDOW
    assert RULE in json.dumps(witness.bodies[-1])
    assert counts["compact"] > TURNS / 10
    assert counts["summaries written"] >= 3
    assert "summaries failed" not in counts
    repairs = [ask for ask in cheap.asked if "could not be used" in ask.prompt]
    assert len(repairs) == 1, "the first answer was no summary, and was asked for once more"
    assert len(spare.asked) == 1, "the cheap one was busy once, and the other wrote in its place"
    assert "The goal, as told." in "".join(json.dumps(body) for body in witness.bodies)


@each
async def test_without_the_proxy_the_same_loop_dies(model, agent):
    async with Witness(model, WINDOW, every=10**9) as witness:
        one = agent(witness.url, limit=4)
        with pytest.raises(Exception, match="exceeds the available context size") as died:
            await asyncio.to_thread(loop, one)
    assert died.value.status_code == 400
    assert witness.refused == 1
    assert len(witness.bodies) < TURNS / 4
