"""The peers: what is installed for each, and the adapter that speaks for it. Their parts are named by the adapters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ADAPTERS = Path(__file__).parent / "adapters"


@dataclass(frozen=True)
class Peer:
    """`packages` is what pip is given; the first one's version is reported."""

    name: str
    packages: tuple[str, ...]
    remark: str = ""

    @property
    def adapter(self) -> Path:
        return ADAPTERS / f"on_{self.name.replace('-', '_')}.py"


US = Peer("foldline", ())
PEERS = (
    Peer("langchain", ("langchain",)),
    Peer("langmem", ("langmem",)),
    Peer("pydantic-ai-harness", ("pydantic-ai-harness",)),
    Peer("strands", ("strands-agents",)),
    Peer("agent-framework", ("agent-framework-core",)),
    Peer("haystack", ("haystack-ai",)),
    Peer("inspect-ai", ("inspect-ai",), "raises where what it kept is still above the threshold"),
    Peer("litellm", ("litellm",)),
    Peer("headroom", ("headroom-ai",), "its text model comes from a hub, so only its other compressors are measured"),
    Peer("autogen", ("autogen-core", "autogen-ext[openai]", "tiktoken")),
    Peer("llama-index", ("llama-index-core",)),
    Peer("hermes", ("hermes-agent",), "its window cannot be set below 64,000 tokens, so its tail is set on the object"),
)
