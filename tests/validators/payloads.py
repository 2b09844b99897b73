"""Payloads the providers accept, and payloads they were publicly seen to refuse, rebuilt small.

`source` is where the demand or the refusal can be read: a page of the provider, or a public report
(repository#number). `says` is the provider's wording as reported there, as data. The payloads are made here: the
smallest of the shape in question, not the reporters' own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    name: str
    dialect: str
    source: str
    payload: Any
    rule: str = ""
    message: int | None = None
    says: str = ""


def use(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "read_file", "input": {"path": "a.py"}} | fields


def result(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": "x = 1"} | fields


def text(words: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": words} | fields


def user(*blocks: dict[str, Any] | str) -> dict[str, Any]:
    return {"role": "user", "content": blocks[0] if isinstance(blocks[0], str) else list(blocks)}


def assistant(*blocks: dict[str, Any] | str) -> dict[str, Any]:
    return {"role": "assistant", "content": blocks[0] if isinstance(blocks[0], str) else list(blocks)}


def thought(**fields: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": "I should look.", "signature": "EqQBCkYIBx"} | fields


def claude(*messages: dict[str, Any], **head: Any) -> dict[str, Any]:
    tools = [{"name": "read_file", "input_schema": {"type": "object"}}]
    return {"model": "claude-sonnet-4-5", "max_tokens": 8000, "tools": tools, "messages": list(messages)} | head


ENABLED = {"type": "enabled", "budget_tokens": 2000}
MARK = {"cache_control": {"type": "ephemeral"}}
SEEN_IN_CODE = "wording quoted in public code that handles it"
HANDLE = "platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls"
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "weather"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}

ANTHROPIC_ACCEPTED = [
    ("a question", "docs: messages", [user("How many r are in strawberry?")]),
    ("a prefilled answer", "docs: messages", [user("What is the latin name of ants?"), assistant("The answer is (")]),
    ("an empty last answer", "docs: messages", [user("hi"), assistant("")]),
    (
        "parallel calls, results in another order, then words",
        HANDLE,
        claude(user("look"), assistant(use("t_1"), use("t_2")), user(result("t_2"), result("t_1"), text("and now?"))),
    ),
    (
        "an error without a message of its own, and a result without content",
        HANDLE,
        [user("a"), assistant(use("t_1")), user({"type": "tool_result", "tool_use_id": "t_1"})],
    ),
    (
        "neighbouring messages of one role are one message",
        "docs: messages",
        [user("a"), user("b"), assistant(use("t_1")), assistant(use("t_2")), user(result("t_1")), user(result("t_2"))],
    ),
    (
        "thinking at the start of a loop only",
        "docs: thinking with tool use",
        claude(
            user("a"),
            assistant(thought(), use("t_1")),
            user(result("t_1")),
            assistant(use("t_2")),
            user(result("t_2")),
            thinking=ENABLED,
        ),
    ),
    (
        "thinking left out of finished turns",
        "docs: preserving thinking blocks",
        claude(user("a"), assistant(use("t_1")), user(result("t_1")), assistant("b"), user("c"), thinking=ENABLED),
    ),
    (
        "adaptive thinking needs none",
        "docs: adaptive thinking",
        claude(user("a"), assistant(use("t_1")), user(result("t_1")), thinking={"type": "adaptive"}),
    ),
    (
        "a server tool and its result",
        "docs: web search",
        [user("a"), assistant(SEARCH, FOUND, text("rain")), user("b")],
    ),
    (
        "a server tool paused while a client tool is answered",
        "docs: server tools",
        claude(user("a"), assistant(SEARCH, use("t_1")), user(result("t_1"))),
    ),
    (
        "blank text beside real text",
        "LibreChat-AI/agents#124",
        [user(text(" "), text("a"))],
    ),
    (
        "a system message after the user's, on a model that takes it",
        "docs: mid-conversation system messages",
        claude(user("a"), {"role": "system", "content": "b"}, assistant("c"), user("d"), model="claude-opus-4-8"),
    ),
    (
        "a system message without words, anywhere",
        "docs: mid-conversation system messages",
        [
            user("a"),
            assistant(use("t_1")),
            {"role": "system", "content": [], "output_config": {"effort": "low"}},
            user(result("t_1")),
        ],
    ),
    (
        "compaction, documents and blocks of the future",
        "docs: compaction",
        [
            user("a"),
            assistant({"type": "compaction", "content": "So far: nothing."}, text("b")),
            user({"type": "document", "source": {"type": "file", "file_id": "file_1"}}, {"type": "hologram", "x": 1}),
        ],
    ),
    (
        "images of three sources",
        "docs: vision",
        [
            user(
                {"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": "UklGRg=="}},
                {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
                {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            )
        ],
    ),
    (
        "four cache marks",
        "docs: prompt caching",
        claude(
            user(text("a", **MARK)), assistant(text("b", **MARK)), user(text("c", **MARK)), system=[text("s", **MARK)]
        ),
    ),
]

ANTHROPIC_REJECTED = [
    (
        "call-unanswered",
        1,
        "anthropics/claude-code#2697",
        "`tool_use` ids were found without `tool_result` blocks immediately after",
        [user("a"), assistant(use("toolu_01G2"))],
    ),
    (
        "call-unanswered",
        1,
        "anthropics/claude-code#5989",
        "`tool_use` ids were found without `tool_result` blocks immediately after",
        [user("a"), assistant(use("t_1"), use("t_2")), user(result("t_1")), assistant("b"), user("c")],
    ),
    (
        "result-without-call",
        0,
        "anthropics/claude-code#18947",
        "unexpected `tool_use_id` found in `tool_result` blocks",
        [user(result("toolu_01Ff")), assistant("a"), user("b")],
    ),
    (
        "result-without-call",
        2,
        "anthropics/claude-code#13460",
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        [user("a"), assistant(use("t_1")), user(result("t_1"), result("t_0"))],
    ),
    (
        "duplicate-call",
        1,
        "anthropics/claude-code#20901",
        "messages.1.content.1: `tool_use` ids must be unique",
        [user("a"), assistant(use("t_1"), use("t_1")), user(result("t_1"))],
    ),
    (
        "duplicate-result",
        2,
        "anthropics/claude-code#14110",
        "each tool_use must have a single result. Found multiple `tool_result` blocks with id",
        [user("a"), assistant(use("t_1")), user(result("t_1"), result("t_1"))],
    ),
    (
        "results-first",
        2,
        "QwenLM/qwen-code#8161",
        "`tool_use` ids were found without `tool_result` blocks immediately after",
        [user("a"), assistant(use("t_1")), user(text("b"), result("t_1"))],
    ),
    (
        "results-first",
        3,
        "NousResearch/hermes-agent#65369",
        "`tool_use` ids were found without `tool_result` blocks immediately after",
        [user("a"), assistant(use("t_1")), user("<reminder>b</reminder>"), user(result("t_1"))],
    ),
    (
        "server-result-without-call",
        1,
        "anthropics/claude-code#64383",
        "Each `advisor_tool_result` block must have a corresponding `server_tool_use` block before it.",
        [user("a"), assistant({"type": "advisor_tool_result", "tool_use_id": "srvtoolu_1", "content": "b"}), user("c")],
    ),
    (
        "server-call-unanswered",
        1,
        "docs: server tools",
        "`web_search` tool use with id `srvtoolu_1` was found without a corresponding `web_search_tool_result` block",
        [user("a"), assistant(SEARCH), user("b")],
    ),
    (
        "thinking-first",
        1,
        "deepset-ai/haystack-core-integrations#2146",
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
        claude(user("a"), assistant(use("t_1")), user(result("t_1")), thinking=ENABLED),
    ),
    (
        "thinking-first",
        1,
        "n8n-io/n8n#22550",
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.",
        claude(user("a"), assistant(text("b"), use("t_1")), user(result("t_1")), thinking=ENABLED),
    ),
    (
        "thinking-last",
        1,
        "tailcallhq/forgecode#2107",
        "messages.1: The final block in an assistant message cannot be `thinking`.",
        [user("a"), assistant(thought()), user("b")],
    ),
    (
        "thinking-off",
        1,
        "tailcallhq/forgecode#1853",
        "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.",
        claude(user("a"), assistant(thought(), text("b"))),
    ),
    (
        "thinking-sealed",
        1,
        "WordPress/ai-provider-for-anthropic#27",
        "thinking.signature: Field required",
        [user("a"), assistant({"type": "thinking", "thinking": "b"}, text("c")), user("d")],
    ),
    (
        "content-empty",
        0,
        "anthropics/claude-code#6774",
        "messages.0: all messages must have non-empty content except for the optional final assistant message",
        [user("")],
    ),
    (
        "content-empty",
        1,
        "corespeed-io/zypher-agent#122",
        "all messages must have non-empty content except for the optional final assistant message",
        [user("a"), {"role": "assistant", "content": []}, user("b")],
    ),
    (
        "text-blank",
        1,
        "home-assistant/core#175637",
        "messages: text content blocks must contain non-whitespace text",
        [user("a"), assistant("\n"), user("b")],
    ),
    (
        "text-empty",
        1,
        "anthropics/claude-code#59812",
        "messages: text content blocks must be non-empty",
        [user("a"), assistant(text(""), use("t_1")), user(result("t_1"))],
    ),
    (
        "trailing-space",
        1,
        "tailcallhq/forgecode#1872",
        "messages: final assistant content cannot end with trailing whitespace",
        [user("a"), assistant("The answer is ")],
    ),
    (
        "mark-count",
        None,
        "tghamm/Anthropic.SDK#50",
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        claude(user(*[text(str(place), **MARK) for place in range(4)]), system=[text("s", **MARK)]),
    ),
    (
        "mark-place",
        1,
        "UKGovernmentBEIS/inspect_ai#3967",
        "thinking.cache_control: Extra inputs are not permitted",
        [user("a"), assistant(thought(**MARK), text("b")), user("c")],
    ),
    (
        "call-shape",
        1,
        "BlockRunAI/ClawRouter#17",
        "messages.92.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        [user("a"), assistant(use("functions.read:0")), user(result("functions.read:0"))],
    ),
    (
        "thinking-budget",
        None,
        "themaximalist/llm.js#30",
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        claude(user("a"), thinking={"type": "enabled", "budget_tokens": 512}),
    ),
    (
        "thinking-budget",
        None,
        "griffinmartin/opencode-claude-auth#143",
        "`max_tokens` must be greater than `thinking.budget_tokens`",
        claude(user("a"), max_tokens=2000, thinking=ENABLED),
    ),
    (
        "prefill",
        1,
        "agenticloops-ai/agentic-ai-engineering#43",
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        claude(user("a"), assistant("{"), model="claude-sonnet-4-6"),
    ),
    (
        "system-place",
        0,
        "ianarawjo/ChainForge#271",
        'messages: Unexpected role "system".',
        claude({"role": "system", "content": "rules"}, user("a")),
    ),
    (
        "system-place",
        1,
        "anthropics/claude-code#61412",
        "role 'system' is not supported on this model",
        claude(user("a"), {"role": "system", "content": "rules"}),
    ),
    (
        "system-place",
        2,
        "maximhq/bifrost#5931",
        "role 'system' must follow a 'user' message",
        claude(user("a"), assistant("b"), {"role": "system", "content": "c"}, user("d"), model="claude-opus-5"),
    ),
    (
        "system-place",
        1,
        SEEN_IN_CODE,
        "role 'system' must precede an 'assistant' message or end the array",
        claude(user("a"), {"role": "system", "content": "b"}, user("c"), model="claude-opus-5"),
    ),
    (
        "thinking-first",
        0,
        "UKGovernmentBEIS/inspect_ai#3025",
        "When `thinking` is enabled, a final `assistant` message must start with a thinking block",
        claude(assistant(use("t_1")), user(result("t_1")), thinking=ENABLED),
    ),
    (
        "result-shape",
        2,
        SEEN_IN_CODE,
        "content cannot be empty if `is_error` is true",
        [user("a"), assistant(use("t_1")), user(result("t_1", content="", is_error=True))],
    ),
    (
        "tools-missing",
        None,
        "camel-ai/owl#532, a gateway's wording; BerriAI/litellm#27620",
        "Anthropic doesn't support tool calling without `tools=` param specified.",
        claude(user("a"), assistant(use("t_1")), user(result("t_1")), tools=None),
    ),
    (
        "payload-shape",
        None,
        SEEN_IN_CODE,
        "messages: at least one message is required",
        claude(),
    ),
]


def asks(*names: str, **fields: Any) -> dict[str, Any]:
    function = {"name": "read_file", "arguments": "{}"}
    calls = [{"id": name, "type": "function", "function": function} for name in names]
    return {"role": "assistant", "content": None, "tool_calls": calls} | fields


def tells(name: str, content: Any = "x = 1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": name, "content": content}


CHAT_DOCS = "platform.openai.com/docs/api-reference/chat/create"

CHAT_ACCEPTED = [
    ("a question", CHAT_DOCS, [{"role": "developer", "content": "Be brief."}, user("hi")]),
    (
        "parallel calls, answered in another order",
        CHAT_DOCS,
        [user("a"), asks("c_1", "c_2"), tells("c_2"), tells("c_1")],
    ),
    ("an empty answer of a tool", CHAT_DOCS, [user("a"), asks("c_1"), tells("c_1", "")]),
    (
        "ids that come again in a later step",
        CHAT_DOCS,
        [user("a"), asks("c_0"), tells("c_0"), asks("c_0"), tells("c_0")],
    ),
    ("a refusal instead of content", CHAT_DOCS, [user("a"), {"role": "assistant", "refusal": "No."}, user("b")]),
    (
        "the function messages of old",
        CHAT_DOCS,
        [
            user("a"),
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "1"},
        ],
    ),
    (
        "text and a picture",
        CHAT_DOCS,
        [user(text("a"), {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}})],
    ),
    (
        "a custom tool",
        CHAT_DOCS,
        [
            user("a"),
            asks("c_1", tool_calls=[{"id": "c_1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]),
            tells("c_1", [text("a.py")]),
        ],
    ),
]

UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
)
UNASKED = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."

CHAT_REJECTED = [
    ("call-unanswered", 1, "BerriAI/litellm#10083", UNANSWERED, [user("a"), asks("call_DAZ"), user("b")]),
    ("call-unanswered", 1, "agno-agi/agno#4345", UNANSWERED, [user("a"), asks("c_1", "c_2"), tells("c_1"), user("b")]),
    ("call-unanswered", 1, "aliasrobotics/cai#111", UNANSWERED, [user("a"), asks("c_1")]),
    ("answer-without-call", 1, "prism-php/prism#175", UNASKED, [user("a"), tells("tool_1234"), user("b")]),
    ("answer-without-call", 3, "ogx-ai/ogx#6367", UNASKED, [user("a"), asks("c_1"), user("b"), tells("c_1")]),
    ("answer-without-call", 0, "itmisx/deepx-code#94", UNASKED, [tells("c_1"), user("b")]),
    (
        "calls-empty",
        1,
        "openai/openai-python#2061",
        "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1",
        [user("a"), {"role": "assistant", "content": "b", "tool_calls": []}, user("c")],
    ),
    (
        "content",
        1,
        "run-llama/llama_index#17921",
        "Invalid value for 'content': expected a string, got null.",
        [user("a"), {"role": "assistant", "content": None}, user("b")],
    ),
    (
        "content",
        2,
        "run-llama/llama_index#17555",
        "Invalid value for 'content': expected a string, got null.",
        [user("a"), asks("c_1"), tells("c_1", None)],
    ),
    (
        "content",
        1,
        "langchain-ai/langchainjs#11419",
        "Invalid 'messages[..].content': empty array. Expected an array with minimum length 1",
        [user("a"), asks("c_1", content=[]), tells("c_1")],
    ),
    (
        "call-shape",
        1,
        "continuedev/continue#11645",
        "Invalid 'messages[69].tool_calls[0].function.name': empty string.",
        [
            user("a"),
            asks("c", tool_calls=[{"id": "c", "type": "function", "function": {"name": "", "arguments": ""}}]),
            tells("c"),
        ],
    ),
    (
        "payload-shape",
        None,
        "CopilotKit/CopilotKit#529",
        "Invalid 'messages': empty array. Expected an array with minimum length 1",
        {"model": "gpt-4o", "messages": []},
    ),
]


def said(role: str, words: str, **fields: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]} | fields


def function(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": name, "name": "read_file", "arguments": "{}"} | fields


def output(name: str, kind: str = "function_call", **fields: Any) -> dict[str, Any]:
    return {"type": f"{kind}_output", "call_id": name, "output": "x = 1"} | fields


def reasons(name: str = "", **fields: Any) -> dict[str, Any]:
    return {"type": "reasoning", "summary": []} | ({"id": name} if name else {"encrypted_content": "gAAAA"}) | fields


FIRST = "0105b6f6953fb71a0068c6612a4e6881a2ac460e7cdb15a795"
SECOND = "0105b6f6953fb71a0068c66139634081a28a5703ef87918674"
RESPONSES_DOCS = "platform.openai.com/docs/api-reference/responses/create"

RESPONSES_ACCEPTED = [
    ("a text", RESPONSES_DOCS, {"model": "gpt-5", "input": "hi"}),
    (
        "messages in their short form",
        RESPONSES_DOCS,
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
    ),
    (
        "reasoning before each step, encrypted",
        "platform.openai.com/docs/guides/reasoning",
        [
            said("user", "a"),
            reasons(),
            function("c_1"),
            function("c_2"),
            output("c_2"),
            output("c_1"),
            reasons(),
            said("assistant", "b"),
        ],
    ),
    (
        "reasoning by id",
        "platform.openai.com/docs/guides/reasoning",
        [said("user", "a"), reasons(f"rs_{FIRST}"), function("c_1", id=f"fc_{SECOND}"), output("c_1")],
    ),
    (
        "an output answers a call on the server",
        RESPONSES_DOCS,
        {"model": "gpt-5", "previous_response_id": "resp_1", "input": [output("c_1")]},
    ),
    (
        "an output answers a call behind a reference",
        RESPONSES_DOCS,
        [said("user", "a"), {"type": "item_reference", "id": "fc_1"}, output("c_1")],
    ),
    (
        "words between a call and its output",
        "leookun/cursor-byok#307",
        [said("user", "a"), function("c_1"), said("assistant", "b"), output("c_1")],
    ),
    (
        "other tools",
        RESPONSES_DOCS,
        [
            said("user", "a"),
            {"type": "custom_tool_call", "call_id": "c_1", "name": "sh", "input": "ls"},
            output("c_1", "custom_tool_call"),
            {"type": "local_shell_call", "call_id": "c_2", "action": {}},
            {"type": "local_shell_call_output", "id": "c_2", "output": "a"},
            {"type": "tool_search_call", "execution": "server", "call_id": None, "arguments": {}},
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        ],
    ),
    ("a compaction", RESPONSES_DOCS, [{"type": "compaction", "encrypted_content": "gAAAA"}, said("user", "a")]),
]

RESPONSES_REJECTED = [
    (
        "call-unanswered",
        1,
        "symgraph/GhidrAssist#78",
        "No tool output found for function call call_U80UaBc1YfQVSXfZiKGqTvN7.",
        [said("user", "a"), function("call_U80"), said("user", "b")],
    ),
    (
        "call-unanswered",
        1,
        "openai/openai-agents-python#1855",
        "No tool output found for local shell call call_MEmrSaOboO5WG3MXGazSubb7.",
        [said("user", "a"), {"type": "local_shell_call", "call_id": "call_MEm", "action": {}}],
    ),
    (
        "call-unanswered",
        1,
        "diegosouzapw/OmniRoute#8946",
        "No tool output found for custom tool call call_nNNw7JP5hY7UXaATvHBRDYqc.",
        [said("user", "a"), {"type": "custom_tool_call", "call_id": "call_nNN", "name": "sh", "input": "ls"}],
    ),
    (
        "output-without-call",
        1,
        "continuedev/continue#10092",
        "No tool call found for function call output with call_id call_uelfkqtHfJDC4Btqeoozq82e.",
        [said("user", "a"), output("call_uel")],
    ),
    (
        "reasoning-alone",
        1,
        "openai/openai-node#1567",
        "of type 'reasoning' was provided without its required following item",
        [said("user", "a"), reasons("rs_68636f"), said("assistant", "3"), said("user", "b")],
    ),
    (
        "reasoning-alone",
        1,
        "anomalyco/opencode#1086",
        "of type 'reasoning' was provided without its required following item",
        [said("user", "a"), reasons("rs_68788e"), said("user", "b")],
    ),
    (
        "reasoning-late",
        1,
        "VRSEN/agency-swarm#367",
        "of type 'function_call' was provided without its required 'reasoning' item",
        [
            said("user", "a"),
            function("c_1", id=f"fc_{SECOND}"),
            output("c_1"),
            reasons(f"rs_{FIRST}"),
            said("assistant", "b", id="msg_1"),
        ],
    ),
    (
        "duplicate-item",
        2,
        "earendil-works/pi#5151",
        "Duplicate item found with id msg_4. Remove duplicate items from your input and try again.",
        [said("user", "a"), said("assistant", "b", id="msg_4"), said("assistant", "c", id="msg_4"), said("user", "d")],
    ),
    (
        "item-id",
        1,
        "nodetool-ai/nodetool#4252",
        "Invalid 'input[N].id': 'call_...'. Expected an ID that begins with 'fc'.",
        [said("user", "a"), function("call_1", id="call_1"), output("call_1")],
    ),
    (
        "item-id",
        1,
        "mastra-ai/mastra#10815",
        "Expected an ID that begins with 'msg'.",
        [said("user", "a"), said("assistant", "b", id="rs_050b68"), said("user", "c")],
    ),
    (
        "part-kind",
        1,
        "jeremychone/rust-genai#119",
        "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        [said("user", "a"), {"role": "assistant", "content": [{"type": "input_text", "text": "b"}]}, said("user", "c")],
    ),
]


def turn(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def do(name: str = "read", **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}}} | fields


def done(name: str = "read", **fields: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": "1"}} | fields}


def three(*contents: dict[str, Any], **head: Any) -> dict[str, Any]:
    return {"model": "gemini-3-pro-preview", "contents": list(contents)} | head


SIGNED = {"thoughtSignature": "CiQB"}
SIGNATURES = "ai.google.dev/gemini-api/docs/thought-signatures"
A = turn("user", {"text": "a"})

GEMINI_ACCEPTED = [
    ("a question without a role", "ai.google.dev/api/generate-content", [{"parts": [{"text": "hi"}]}]),
    (
        "an earlier model lets the model begin to answer",
        "ai.google.dev/api/generate-content",
        [A, turn("model", {"text": "b"})],
    ),
    (
        "parallel calls, the first signed",
        SIGNATURES,
        three(A, turn("model", do("read", **SIGNED), do("list")), turn("user", done("list"), done("read"))),
    ),
    (
        "steps of the present turn signed, those of earlier turns not",
        SIGNATURES,
        three(A, turn("model", do()), turn("user", done()), A, turn("model", do(**SIGNED)), turn("user", done())),
    ),
    (
        "snake case and the function role",
        "cloud.google.com/vertex-ai: function calling",
        [A, turn("model", {"function_call": {"name": "f"}}), turn("function", {"function_response": {"name": "f"}})],
    ),
    (
        "a signature on an empty text",
        SIGNATURES,
        three(A, turn("model", {"text": "b"}, {"text": "", "thoughtSignature": "CiQB"}), A),
    ),
    (
        "words of the user after the responses, in a content of their own",
        "vellum-ai/vellum-assistant#39495",
        [A, turn("model", do()), turn("user", done()), A],
    ),
    (
        "media, code and parts of the future",
        "ai.google.dev/api/caching#Part",
        [
            turn("user", {"inlineData": {"mimeType": "image/png", "data": "YQ=="}}, {"fileData": {"fileUri": "f"}}),
            turn("model", {"executableCode": {"code": "1"}}, {"codeExecutionResult": {"outcome": "OUTCOME_OK"}}),
            turn("user", {"hologram": {"x": 1}}),
        ],
    ),
]

CALL_PLACE = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
COUNT = "Please ensure that the number of function response parts is equal to the number of function call parts"
RESPONSE_PLACE = "Please ensure that function response turn comes immediately after a function call turn."
NO_DATA = "required oneof field 'data' must have one initialized field"

GEMINI_REJECTED = [
    ("first-role", 0, "google-gemini/gemini-cli#11814", CALL_PLACE, [turn("model", do()), turn("user", done())]),
    (
        "call-place",
        2,
        "quarkiverse/quarkus-langchain4j#1271",
        CALL_PLACE,
        [A, turn("model", do("f")), turn("model", do("g")), turn("user", done("f"), done("g"))],
    ),
    (
        "call-unanswered",
        1,
        "google-gemini/gemini-cli#3814",
        COUNT,
        [A, turn("model", do("f"), do("g")), turn("user", done("f"))],
    ),
    ("call-unanswered", 1, "google-gemini/gemini-cli#16984", COUNT, [A, turn("model", do()), A]),
    (
        "response-without-call",
        0,
        "BerriAI/litellm#26755",
        RESPONSE_PLACE,
        [turn("user", done()), turn("model", {"text": "b"}), A],
    ),
    (
        "response-without-call",
        3,
        "langchain-ai/langchain#27799",
        RESPONSE_PLACE,
        [A, turn("model", do()), A, turn("user", done())],
    ),
    (
        "signature-missing",
        1,
        "nanbingxyz/5ire#405",
        "Function call is missing a thought_signature in functionCall parts.",
        three(A, turn("model", do()), turn("user", done())),
    ),
    (
        "signature-missing",
        3,
        "lbjlaq/Antigravity-Manager#3202",
        "Function call is missing a thought_signature in functionCall parts.",
        three(A, turn("model", do(**SIGNED)), turn("user", done()), turn("model", do()), turn("user", done())),
    ),
    (
        "role",
        1,
        "songquanpeng/one-api#1385",
        "Please use a valid role: user, model.",
        [A, turn("assistant", {"text": "b"}), A],
    ),
    ("parts-empty", 1, "egoist/chatwise-releases#250", "contents.parts must not be empty.", [A, turn("model"), A]),
    ("part-data", 1, "router-for-me/CLIProxyAPI#1292", NO_DATA, [A, turn("model", {}), A]),
    (
        "text-empty",
        0,
        "glowingjade/obsidian-smart-composer#218",
        "Unable to submit request because it has an empty text parameter.",
        [turn("user", {"text": ""})],
    ),
    (
        "response-mixed",
        2,
        "vellum-ai/vellum-assistant#39495",
        "Requests ending with a model turn are not supported.",
        [A, turn("model", do()), turn("user", done(), {"text": "note"})],
    ),
    (
        "last-role",
        1,
        "crewAIInc/crewAI#6973",
        "Requests ending with a model turn are not supported.",
        three(A, turn("model", {"text": "b"})),
    ),
    ("system-text", None, "songquanpeng/one-api#2243", NO_DATA, three(A, systemInstruction={"parts": [{}]})),
]

_ACCEPTED = {
    "anthropic": ANTHROPIC_ACCEPTED,
    "openai-chat": CHAT_ACCEPTED,
    "openai-responses": RESPONSES_ACCEPTED,
    "gemini": GEMINI_ACCEPTED,
}
_REJECTED = {
    "anthropic": ANTHROPIC_REJECTED,
    "openai-chat": CHAT_REJECTED,
    "openai-responses": RESPONSES_REJECTED,
    "gemini": GEMINI_REJECTED,
}

ACCEPTED = [
    Case(name, dialect, source, payload) for dialect, rows in _ACCEPTED.items() for name, source, payload in rows
]
REJECTED = [
    Case(f"{rule} ({source})", dialect, source, payload, rule, message, says)
    for dialect, rows in _REJECTED.items()
    for rule, message, source, says, payload in rows
]
