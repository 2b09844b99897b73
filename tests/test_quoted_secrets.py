"""What is quoted and carried on holds no secret but the user's own: of tools, of calls, of what the agent said.

Secrets are planted wherever a checkpoint quotes from, at every distance from where quotations are cut. What is whole in
the view, and the originals, stay as they are.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from foldline import Budget, Compactor, MemoryArchive
from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter
from foldline.redact import MASK, redact
from foldline.testing import SUMMARY, FakeCaller, Session

PIECE = 12
"""Characters of a secret that nobody could come by otherwise."""
OPENING = "# Notes on the conversation so far"
OWN = f"ghp_{'a8Fk2Lq9Zx0P' * 3}"
RULE = f"Never deploy with another token than {OWN}."
LISTING = "\n".join(f"src/module_{number}.py: def handler_{number}(request): return {number}" for number in range(400))


def random_text(seed: int, length: int) -> str:
    bytes_ = b"".join(hashlib.sha256(f"{seed} {n}".encode()).digest() for n in range(length // 32 + 1))
    return base64.b64encode(bytes_).decode().replace("+", "p").replace("/", "s")[:length]


def key(seed):
    body = random_text(seed, 36)
    return body, f"ghp_{body}"


def login(seed):
    body = f"{random_text(seed, 14)}7!"
    return body, f"postgres://app:{body}@db.internal:5432/x"


def setting(seed):
    body = f"{random_text(seed, 14)}7x"
    return body, f"DB_PASSWORD={body}"


def header(seed):
    body = f"{random_text(seed, 40)}7x"
    return body, f"Authorization: Bearer {body}"


def private_key(seed):
    body = "\n".join(random_text(seed * 10 + line, 64) for line in range(4))
    return body, f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"


FORMS = (key, login, setting, header, private_key)


def ran(command, printed):
    return "Bash", json.dumps({"command": command}), printed


def used(name, printed, **arguments):
    return name, json.dumps(arguments), printed


PLACES = {
    "an error": lambda pad, secret: ran("make all", f"error: {pad} {secret} {pad}\nexit code 2"),
    "a failed test": lambda pad, secret: ran(
        "go test ./...", f"--- FAIL: TestIt (0.1s)\n    it_test.go:26: want {pad} {secret} got nil\nFAIL\nexit code 1"
    ),
    "how a check ended": lambda pad, secret: ran("npm test", f"12 passed {pad} {secret}\nexit code 0"),
    "a last line": lambda pad, secret: ran("make lint", f"checked {pad}\n{secret}"),
    "a command": lambda pad, secret: ran(f"echo {pad} && run {secret} {pad}", "fatal: no\nexit code 1"),
    "a command that went well": lambda pad, secret: ran(f"echo {pad} && run {secret} {pad}", "ok"),
    "a push": lambda pad, secret: ran("git push origin b", f"To {secret}\n   1234567..89abcde  b -> b {pad} {secret}"),
    "an answer in JSON": lambda pad, secret: ran(
        f"curl -X POST -H '{secret}' https://api.example.com/1 -d 1", json.dumps({"id": 1, "url": pad + " " + secret})
    ),
    "a file that was read": lambda pad, secret: used("Read", f"{pad}\n{secret}\n{pad}", file_path="/w/a.py"),
    "a file that was written": lambda pad, secret: used(
        "Write", "ok", file_path="/w/.env", content=f"{pad}\n{secret}\n{pad}"
    ),
    "an edit that failed": lambda pad, secret: used(
        "Edit", f"Error: {pad} {secret} not found", file_path="/w/b.py", old_string=secret, new_string=f"{pad} {secret}"
    ),
    "a task": lambda pad, secret: used("TodoWrite", "ok", todos=[{"content": f"{pad} {secret}", "status": "pending"}]),
    "what was made": lambda pad, secret: used("mcp__x__create_issue", f"made {pad} {secret}", token=secret),
    "a report": lambda pad, secret: used("Task", f"Report {pad}\n{secret}\n{pad}", prompt=f"look {secret}"),
    "a commit": lambda pad, secret: ran("git commit -am it", f"[b 1234567] {pad} {secret}\n 1 file changed"),
}
SAID, CURED = "what the agent said", "a check that passed in the end"
PLANTED = st.lists(
    st.tuples(st.sampled_from((*PLACES, SAID, CURED)), st.sampled_from(FORMS), st.integers(0, 110)),
    min_size=4,
    max_size=16,
)


def planted(script, bodies):
    """A session that is worth a fold, with secrets in these places; what is random in them goes to `bodies`."""
    session = Session().user(RULE if not bodies else "And now the rest of it.")
    session.tools(("Bash", json.dumps({"command": "grep -rn handler src"}), LISTING))
    for place, form, words in script:
        body, secret = form(len(bodies))
        bodies.append(body)
        pad = " ".join(["ab"] * words)
        if place == SAID:
            session.tools(ran("ls", "a.py"), text=f"I go on. {pad} {secret}")
        elif place == CURED:
            session.tools(ran(f"cd /w && make check {secret}", "error: it failed\nexit code 1"))
            session.tools(ran(f"cd /w && echo {pad} && make check {secret}", "3 passed\nexit code 0"))
        else:
            session.tools(PLACES[place](pad, secret))
    body, secret = key(len(bodies))
    bodies.append(body)
    return session.assistant(f"I have {secret} now. Shall I go on with {secret}?").user("yes, go on")


def leaks(text, bodies):
    pieces = {body[at : at + PIECE]: body for body in bodies for at in range(len(body) - PIECE + 1)}
    return [body for piece, body in pieces.items() if piece in text]


def notes_of(request):
    texts = [block["text"] for message in request["messages"] for block in _blocks(message) if "text" in block]
    return "\n".join(text for text in texts if OPENING in text)


def _blocks(message):
    content = message["content"]
    return [{"text": content}] if isinstance(content, str) else content


def compactor(window, model=None, archive=None):
    return Compactor(
        Budget(window=window, reserve=500), model, archive=archive, meter=Meter(Estimator()), secret=b"s" * 16
    )


@settings(max_examples=40)
@given(PLANTED, PLANTED, st.sampled_from((5_000, 9_000, 30_000)))
def test_no_checkpoint_and_no_handoff_carries_a_secret_on_that_is_not_the_users(first, second, window):
    bodies: list[str] = []
    archive = MemoryArchive()
    session = planted(first, bodies)
    folded = compactor(window, archive=archive).compact(session.request())
    again = planted(second, bodies)
    whole = {"messages": [*folded.request["messages"], *again.request()["messages"]]}
    twice = compactor(window, archive=archive).compact(whole)
    waiting = {"messages": whole["messages"][:-1]}
    handed = [compactor(window, archive=archive).handoff(one, to=4_000).text for one in (whole, waiting)]
    for text in (notes_of(folded.request), notes_of(twice.request), *handed):
        assert leaks(text, bodies) == []
        assert OWN in text
    assert redact(OWN).found
    assert notes_of(compactor(window).compact(session.request()).request) == notes_of(folded.request)


@settings(max_examples=40)
@given(PLANTED, st.sampled_from((9_000, 30_000)))
def test_nor_does_one_that_a_model_wrote(script, window):
    """The model copies every secret. The next one, shown masks, copies those; nobody takes them for invented."""
    bodies: list[str] = []
    session = planted(script, bodies)
    secrets = [form(n)[1].replace("\n", " ") for n, (_, form, _) in enumerate(script)]
    told = "\n".join(f"- the agent used {secret}" for secret in secrets)
    masks: list[str] = []

    def copied(ask):
        masks[:] = re.findall(rf"{re.escape(MASK)}[^]]*\]", str(ask))
        return f"{SUMMARY}\n## Critical Context\n" + "\n".join(f"- the agent used {mask}" for mask in masks)

    writing = compactor(window, FakeCaller([f"{SUMMARY}\n## Critical Context\n{told}\n", copied]))
    folded = writing.compact(session.request())
    assert leaks(notes_of(folded.request) + str(folded.receipt), bodies) == []
    assert folded.receipt.findings == () or leaks(repr(folded.receipt.findings), bodies) == []
    whole = {"messages": [*folded.request["messages"], *planted(script, bodies).request()["messages"]]}
    again = writing.compact(whole)
    text = notes_of(again.request)
    assert leaks(text, bodies) == []
    assert OWN in text
    assert not [finding for finding in again.receipt.findings if MASK in finding.text]
