"""What each provider is sent, and what is read of its replies: over a real connection, sync and async."""

from __future__ import annotations

import time

import pytest

from foldline.callers import caller
from foldline.callers.gemini import GeminiWire
from foldline.callers.ollama import OllamaWire
from foldline.callers.openai import ResponsesWire, without_thought
from foldline.core.asking import Ask, Reply

from .providers import ASK, CASES, TEXT, base_of
from .server import Say

EACH = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
STOPS = [(case, name) for case in CASES for name in case.stops]


@EACH
def test_a_provider_is_asked_in_its_own_words(server, way, case):
    server.says(Say(200, case.reply))
    way(caller(case.name, key="k-1", base_url=base_of(case, server.url)), ASK)
    [heard] = server.heard
    assert (heard.method, heard.path) == ("POST", case.path)
    assert heard.json == case.body
    assert heard.headers["content-type"] == "application/json"
    assert heard.headers[case.key_header] == f"{case.key_prefix}k-1"


@EACH
def test_its_reply_is_read_with_its_usage(server, way, case):
    server.says(Say(200, case.reply))
    reply = way(caller(case.name, base_url=base_of(case, server.url)), ASK)
    assert reply == Reply(TEXT, "end", "m-1", input_tokens=70, output_tokens=7)


@pytest.mark.parametrize(("case", "name"), STOPS, ids=[f"{case.name}, {name}" for case, name in STOPS])
def test_text_alone_is_read_and_why_it_ended(server, case, name):
    said, text, stop = case.stops[name]
    server.says(Say(200, said))
    reply = caller(case.name, base_url=base_of(case, server.url)).ask(ASK)
    assert (reply.text, reply.stop) == (text, stop)
    assert len(server.heard) == 1


@pytest.mark.parametrize("piece", ["</s>", "<|a|>", "\n<|a|> ", "[THINK]", "<think>", "<|channel|>"])
def test_a_reply_made_of_marks_takes_linear_time(piece):
    start = time.perf_counter()
    without_thought(piece * (200_000 // len(piece)) + "x")
    without_thought("x" + piece * (200_000 // len(piece)))
    assert time.perf_counter() - start < 3


@EACH
def test_without_a_system_prompt_none_is_sent(server, case):
    server.says(Say(200, case.reply))
    caller(case.name, base_url=base_of(case, server.url)).ask(Ask("", "Hello."))
    sent = server.heard[0].json
    assert not {"system", "instructions", "systemInstruction"} & sent.keys()
    assert [message["role"] for message in sent.get("messages", [])] in ([], ["user"])


@EACH
def test_half_a_surrogate_pair_does_not_stop_a_request(server, case):
    server.says(Say(200, case.reply))
    caller(case.name, base_url=base_of(case, server.url)).ask(Ask("", "before \ud83d after \ude42 end"))
    assert "before \ufffd after \ufffd end" in server.heard[0].body.decode()


@EACH
def test_extra_fields_are_added(server, case):
    server.says(Say(200, case.reply))
    caller(case.name, base_url=base_of(case, server.url), extra={"reasoning_effort": "low"}).ask(ASK)
    assert server.heard[0].json == {**case.body, "reasoning_effort": "low"}


def test_openai_itself_gets_the_newer_name_of_the_limit():
    _, _, fields = caller("openai:gpt-5-mini", key="k").wire.request(ASK)
    assert fields["max_completion_tokens"] == 321
    assert "max_tokens" not in fields


def test_what_the_responses_api_read_is_told_as_a_whole_whatever_a_gateway_adds():
    usage = {"input_tokens": 1_000, "cache_read_input_tokens": 900, "output_tokens": 5}
    reply = ResponsesWire("m").reply({"output": [], "usage": usage})
    assert (reply.input_tokens, reply.output_tokens) == (1_000, 5)


def test_ollama_loads_the_model_with_the_window_it_is_given():
    _, _, fields = caller("ollama:llama3.2:3b", window=32_768).wire.request(ASK)
    assert fields["options"] == {"num_predict": 321, "num_ctx": 32_768}
    assert fields["truncate"] is False


@pytest.mark.parametrize("count", [None, True, -1, "7", 7.5])
def test_ollamas_counts_are_numbers_or_unknown(count):
    reply = OllamaWire("m").reply({"message": {"content": "x"}, "eval_count": count})
    assert reply.output_tokens is None


def test_geminis_model_cannot_leave_its_place_in_the_path():
    assert GeminiWire("../../x?key=1").request(ASK)[0] == "/models/..%2F..%2Fx%3Fkey%3D1:generateContent"
    assert GeminiWire("models/gemini-3-pro").request(ASK)[0] == "/models/gemini-3-pro:generateContent"
