"""Secrets are found wherever they stand, masked without a trace, and nothing else is touched."""

import io
import json
import logging
import string
import time

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from foldline.core.words import secretfinder
from foldline.core.words.secretforms import KEYS
from foldline.redact import MASK, RedactingFilter, redact, redact_value

ALNUM = string.ascii_letters + string.digits
RANDOM = "a8Fk2Lq9Zx0PwB7vNc3RtY6uHs1JdG5mKe4QfW"
UPPER = "Q3EGRIBTZ7XNMC4DQ3EGRIBTZ7XNMC4DQ3EGRIBTZ7XNMC4DHJ"
HEX = "8f14e45fceea167a5a36dedd4bea2543d41d8cd9"


def opens(key):
    return "" if key.shape.match(key.begins + body_of(key)) else BEFORE


def body_of(key):
    """Something random that a key of this service may go on with."""
    return next(body for body in BODIES if key.shape.fullmatch(BEFORE + key.begins + body, len(BEFORE)))


BEFORE = "123456789"
"""Some keys are known by the digits before them."""
BODIES = [
    *(RANDOM * 2, HEX, UPPER[:16], UPPER[:27], UPPER, RANDOM[:34], (RANDOM * 2)[:33], (RANDOM * 2)[:43]),
    *(f"hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.{RANDOM}", f"{RANDOM}.{RANDOM}", f"{RANDOM[:24]}.{RANDOM * 2}"),
    *(f"{HEX[:24]}-{HEX[:34]}", f"{(HEX * 2)[:64]}-{RANDOM[:16]}", f"123456789012345678/{RANDOM * 2}"),
]
SERVICE_KEYS = [pytest.param(key, opens(key), key.begins + body_of(key), id=key.begins) for key in KEYS]
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{RANDOM * 2}\n{RANDOM}\n-----END RSA PRIVATE KEY-----"
NAMED = [
    ("DB_PASSWORD=correcthorse", "correcthorse"),
    ("export API_KEY='abc123def456'", "abc123def456"),
    ('{"password": "hunter2x"}', "hunter2x"),
    ('{"userPassword":"it\'s2late"}', "it's2late"),
    (r'{"password": "p\"w1\\xyz"}', r"p\"w1\\xyz"),
    ("password: hunter22", "hunter22"),
    ("  db_password:   tr0ub4dor+3  # yes", "tr0ub4dor+3"),
    ("'client_secret' => 'a1b2c3d4e5'", "a1b2c3d4e5"),
    ("password: str = 'hunter2a'", "hunter2a"),
    ("mysql --password hunter22 --host db", "hunter22"),
    ("login --token=9f8e7d6c5b4a39281706", "9f8e7d6c5b4a39281706"),
    ("aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCY12+/abcdEFGH", "wJalrXUtnFEMIK7MDENGbPxRfiCY12+/abcdEFGH"),
    (f"OPENAI_KEY={RANDOM}", RANDOM),
    ("x-api-key: 0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"),
    (f"Authorization: Bearer {RANDOM}", RANDOM),
    (f"curl -H 'authorization: bearer {RANDOM}'", RANDOM),
    ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    (f"Authorization: token {HEX}", HEX),
    (f"Authorization: {RANDOM}", RANDOM),
    (f"curl -H 'X-Authorization: ApiKey {RANDOM}'", RANDOM),
    ("_auth = YWRtaW46cGFzc3dvcmQxMjM=", "YWRtaW46cGFzc3dvcmQxMjM="),
    ('{"auths": {"ghcr.io": {"auth": "YWRtaW46cGFzc3dvcmQxMjM="}}}', "YWRtaW46cGFzc3dvcmQxMjM="),
    ("curl -u admin:S3cr3tPass99 https://host", "S3cr3tPass99"),
    ("curl --user 'admin:S3cr3tPass99' https://host", "S3cr3tPass99"),
    ('DB_PASSWORD="correct horse battery"', "correct horse battery"),
    ("postgres://bob:s3cretpw@db.host/x", "s3cretpw"),
    ("redis://:topsecret@cache:6379", "topsecret"),
    (f"AKIA{UPPER[:16]},wJalrXUtnFEMIK7MDENGbPxRfiCY12+/abcdEFGH", "wJalrXUtnFEMIK7MDENGbPxRfiCY12+/abcdEFGH"),
    ("DB_PASS=hunter2x!", "hunter2x!"),
    ("SMTP_PASS=correcthorse", "correcthorse"),
    ("DBPASS=hunter", "hunter"),
    ("ACME_PASS=hunter2x", "hunter2x"),
    ("one\nPASS=hunter2x", "hunter2x"),
    ("MYSQL_PWD=hunter", "hunter"),
    ('{"user": "bob", "pass": "hunter2x"}', "hunter2x"),
    ("auth: {user: 'bob', pass: 'hunter2x'}", "hunter2x"),
    ("{dbPass: 'hunter2x'}", "hunter2x"),
    ("smtp_pass: hunter2x", "hunter2x"),
    ("GET /login?user=bob&pass=hunter2x&next=1", "hunter2x"),
    ("mail --pass hunter2x --db-pass 7correct", "7correct"),
    ("openssl rsa -passin pass:hunter2x -in k", "hunter2x"),
    ("CREATE USER 'bob'@'%' IDENTIFIED BY 'hunter';", "hunter"),
    ("create user 'bob' identified by 'hunter';", "hunter"),
    ("IDENTIFIED WITH mysql_native_password BY 'hunter'", "hunter"),
    ("CREATE ROLE bob WITH PASSWORD 'hunter2'", "hunter2"),
    ("sshpass -p hunter ssh host", "hunter"),
    ("sshpass -p'hunter' ssh host", "hunter"),
    ("machine host.example\n  login bob\n  password hunter\n", "hunter"),
    ("default login bob password hunter2", "hunter2"),
    ("\x1b[01;31m\x1b[KDB_PASSWORD\x1b[m\x1b[K=hunter", "hunter"),
    ("DB_\x1b[01;31m\x1b[KPASS\x1b[m\x1b[K=hunter2x", "hunter2x"),
    ("password: \x1b[32mhunter22\x1b[0m and on", "hunter22"),
    ("\\e[1mpassword: \\e[32mhunter22\\e[0m and on", "hunter22"),
    ('\x1b[34;1m"password"\x1b[0m\x1b[1;39m:\x1b[0m \x1b[0;32m"hunter22"\x1b[0m', "hunter22"),
    ("postgres://localhost:s3cretpw@db", "s3cretpw"),
    ("signing_key: RSA2048x99secret", "RSA2048x99secret"),
    (PEM, RANDOM),
    (PEM.partition("-----END")[0] + "and then it broke off", RANDOM),
    (PEM.replace("\n", '\\n" +\n "'), RANDOM),
    (PEM.replace("\n", "\n     2→"), RANDOM),
]
PLAIN = [
    "token = tokenizer.next()",
    "password: string",
    "password: Optional[str] = None",
    "sk-...",
    "<your-key>",
    "sk-ant-your-key-here-please-now",
    "ghp_" + "x" * 36,
    "AKIAIOSFODNN7EXAMPLE",
    "AKIAQ3EG",
    HEX,
    f"commit {HEX}",
    "550e8400-e29b-41d4-a716-446655440000",
    f'cache_key = "{HEX}"',
    f"PUBLIC_KEY={RANDOM}",
    'api_key=os.environ["OPENAI_API_KEY"]',
    "api_key = settings.openai2.api_key",
    "password = getpass.getpass()",
    "password=self.config.password2",
    "PASSWORD=$1 SECRET=${X} TOKEN=$(cat /run/token1234567890)",
    "PASSWORD=/run/secrets/db",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    '"max_tokens": 4096, "tokens": 12345678',
    '{"password": 12345678}',
    'password: "Enter at least 8 characters"',
    '<input type="password">',
    "https://user:pass@host and https://host:8080/a@b",
    "secretName: my-tls-2, secret: my-app-secret",
    "Bearer authentication is required here",
    "Authorization: Basic realm",
    "task-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1",
    "data:image/png;base64," + RANDOM * 20,
    "the basic authorization scheme",
    "authorization: see the section on middleware2, authorization=required",
    '{"auth": "oauth2", "author": "somebody"}',
    "auth: Optional[str] = None, self.auth = MultiDomainBasicAuth(",
    "docker run -u 1000:1000 img && curl -u $USER:$PASS x && git push -u origin main",
    "key-value store, fc-list, sk_buff, r8_unorm, secret_name, pul-ley, dapi, sig=ed25519",
    f"commit sk-{HEX[:12]} and time 12:AA:bb",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    f"-----BEGIN CERTIFICATE-----\n{RANDOM * 2}\n-----END CERTIFICATE-----",
    f"C:\\npm_{RANDOM}",
    *(f"{word}AKIA{UPPER[:16]}" for word in ("x", "7", "_", "-", "[K", "[t", "x[0-9m", "b1[32", "x3d", "u003d", "033")),
    *("    pass", "else: pass", "pass: 12", '"pass": true, "pass": 12', "tests_pass=3 pass=12"),
    *("--- PASS: TestFoo2 (0.00s)", "PASS: tests/test_1.py", "PASS tests/a1.test.js", "ok, pass: v1.2.3b"),
    *("COMPASS=north12x", "bypass=abc123x", "render_pass: RenderPass2D,", "passes: abc123x", "tests_pass: abc123x"),
    *("proxy_pass: http://app1:8080", "fastcgi_pass = 'unix2_x'", "OLDPWD=/home/a1b2c3d4", "DB_PASS=$1 SMTP_PASS=${X}"),
    *(
        "IDENTIFIED BY '%s'",
        "identified by 'name'",
        'identified with "Total2 (blocks)"',
        "the login form password field",
    ),
    *('sshpass -p "$PASS" ssh', "sshpass -f /run/secret ssh", "machine learning", "login bob password $PASSWORD2"),
    *("IDEMPOTENCY_KEY=order12345abc", 'QUERY_KEY = "orders2024bydate"', "signing_key: RSA2048withSHA256"),
    *(
        "encryption_key: aes-256-gcm",
        "auth_key = 'ed25519-sha512'",
        "http://localhost:3000@foo http://127.0.0.1:3000@x",
    ),
]
BEHIND = [
    *(
        "\x1b[32m",
        "\x1b[01;31m\x1b[K",
        "\x1b[m",
        "\x1b[38;2;255;100;200;48;2;10;20;30m",
        "\x1b(B",
        "\x9b1m",
        "[32m",
        "^[[0m",
    ),
    *(
        "\\u001b[32m",
        "\\\\u001b[0m",
        "\\033[0;1m",
        "\\x1b[K",
        "\\e[1m",
        "\\E[m",
        "\\033(B",
        "\\u009b1m",
        "\\a",
        "\\007",
    ),
    *("密钥", "clé", "ключ", "\\x3d", "\\u003d", "\\075", "\\0", "\\n", "%3D", "=3D", "“"),
]
"""What ends in a letter or a digit that is no part of the word behind it."""


def wrapped(text):
    """The text where it may stand: alone, among words, in JSON, in JSON in JSON, after escapes."""
    yield text
    yield f"see {text} there"
    yield json.dumps({"content": [f"first\n{text}\nlast"]})
    yield json.dumps({"arguments": json.dumps({"command": f"one\t{text}\n"})})


class TestFinding:
    @pytest.mark.parametrize(("key", "before", "secret"), SERVICE_KEYS)
    def test_a_service_key_is_masked_wherever_it_stands(self, key, before, secret):
        for text in wrapped(before + secret):
            masked = redact(text)
            assert [(found.kind, text[found.start : found.end]) for found in masked.found] == [(key.kind, secret)]
            assert secret[-8:] not in masked.text
            assert f"{MASK}{key.kind}" in masked.text

    @pytest.mark.parametrize(("text", "secret"), NAMED)
    def test_a_value_is_masked_by_what_stands_beside_it(self, text, secret):
        masked = redact(text)
        assert secret in text
        assert secret not in masked.text
        assert MASK in masked.text

    @pytest.mark.parametrize(("text", "secret"), NAMED)
    def test_and_also_inside_json(self, text, secret):
        for level in (json.dumps({"a": text}), json.dumps({"a": json.dumps([text])})):
            said = json.dumps(json.loads(redact(level).text))
            inner = json.dumps(secret)[1:-1]
            assert inner not in said
            assert json.dumps(inner)[1:-1] not in said

    @pytest.mark.parametrize("text", PLAIN)
    def test_what_is_no_secret_stays(self, text):
        assert redact(text).found == ()
        assert redact(text).text is text

    def test_a_percent_escape_is_no_part_of_the_word(self):
        assert redact(f"q=%20AIza{RANDOM[:35]}").found[0].kind == "google-key"
        assert redact(f"q=x20AIza{RANDOM[:35]}").found == ()

    @pytest.mark.parametrize("key", [key for key in KEYS if not key.anywhere], ids=lambda key: key.begins)
    def test_a_key_is_masked_behind_escapes_colours_and_other_scripts(self, key):
        for before in BEHIND:
            text = f"{before}{key.begins}{body_of(key)}"
            for level in (text, json.dumps(text), json.dumps([json.dumps(text, ensure_ascii=False)])):
                assert [found.kind for found in redact(level).found] == [key.kind], level

    def test_what_comes_to_light_behind_a_secret_is_found_too_in_so_many_rounds(self, monkeypatch):
        text = f"xai-{RANDOM}12ghp_{'x' * 36}ghp_{RANDOM}"
        assert len(redact(text).found) == 2
        monkeypatch.setattr(secretfinder, "_ROUNDS", 1)
        assert len(redact(text).found) == 1

    def test_capital_i_with_a_dot_moves_nothing(self):
        text = "İİİ password: hunter22"
        assert redact(text).text == "İİİ password: [masked password]"


class TestMasks:
    def test_equal_keys_have_equal_masks_and_others_other_ones(self):
        one, other = "ghp_" + RANDOM, "ghp_" + RANDOM[::-1]
        first, second, third = redact(f"{one} {other} {one}").text.split("] ")
        assert first == third.rstrip("]")
        assert first != second

    def test_an_escape_stays_whole_where_a_key_breaks_off(self):
        text = json.dumps(f"-----BEGIN PRIVATE KEY-----\ud800{RANDOM}")
        assert json.loads(redact(text).text)

    def test_what_could_be_guessed_has_no_hash(self):
        assert redact("DB_PASSWORD=correcthorse").text == "DB_PASSWORD=[masked password]"
        assert redact("postgres://a:s3cretpw@h").text == "postgres://a:[masked url-password]@h"

    def test_a_key_in_a_named_value_is_one_secret(self):
        text = f'GITHUB_TOKEN="ghp_{RANDOM}"'
        assert len(redact(text).found) == 1

    def test_the_key_of_a_pem_block_goes_and_its_frame_stays(self):
        lines = redact(PEM).text
        assert lines.startswith("-----BEGIN RSA PRIVATE KEY-----[masked private-key ")
        assert lines.endswith("]-----END RSA PRIVATE KEY-----")


FRAGMENTS = st.sampled_from(
    [key.begins + body_of(key) for key in KEYS]
    + [key.begins for key in KEYS]
    + [text for text, _ in NAMED]
    + PLAIN
    + [*'"\\\n \t=:,;[](){}<>-_/@%$', "'", "\\n", '\\"', "\\\\", "\\u0041", "%20", "é", "İ", "密", "\ud800"]
    + [*BEHIND, "Authorization", "passwords", "db_pass", "PASS=", "pass: ", "identified by '", "login bob password "]
    + ["password", "PASSWORD", "secret", "api_key", "token", "TOKEN=", "bearer ", "Basic ", "://", "--", RANDOM, HEX]
    + ["password='", 'password="', "-----BEGIN PRIVATE KEY-----", "-----END ", MASK, "[masked password]", "e5", "7"]
)
TEXTS = st.lists(FRAGMENTS | st.text(max_size=8), max_size=12).map("".join)


class TestProperties:
    @given(TEXTS)
    @example(f"Authorization: Basic dXNlcjpwYXNzsk-ant-{RANDOM}")
    @example(f"DB_PASSWORD=abc123-sk-proj-{RANDOM}/your")
    @example(f"AKIA{UPPER[:16]}eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.{RANDOM}")
    def test_masking_twice_is_masking_once(self, text):
        once = redact(text).text
        assert redact(once).text == once

    @given(TEXTS)
    def test_the_spans_are_in_order_and_everything_between_them_stays(self, text):
        masked, at = redact(text), 0
        rest = masked.text
        for found in masked.found:
            assert at <= found.start < found.end
            assert rest.startswith(text[at : found.start] + MASK)
            rest, at = rest[found.start - at :].partition("]")[2], found.end
        assert rest == text[at:]

    @given(st.recursive(TEXTS | st.integers() | st.floats() | st.none() | st.booleans(), _containers := (
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)
    ), max_leaves=6), st.booleans(), st.sampled_from([None, (",", ":")]))  # fmt: skip
    def test_json_stays_json(self, value, ascii_only, separators):
        for text in (dumped := json.dumps(value, ensure_ascii=ascii_only, separators=separators), json.dumps(dumped)):
            json.loads(redact(text).text)

    @given(st.text(st.characters(exclude_characters="=:@-_.", exclude_categories=["Cs"])))
    def test_text_without_any_sign_of_a_secret_is_the_same_object(self, text):
        if "AKIA" not in text and "eyJ" not in text:
            assert redact(text).text is text

    @settings(max_examples=50)
    @given(st.sampled_from(KEYS), st.text(ALNUM, min_size=80, max_size=80))
    @example(KEYS[0], f"{RANDOM}YoUr{RANDOM}"[:80])
    @example(KEYS[0], f"{RANDOM}xxXX{RANDOM}"[:80])
    def test_random_keys_are_found(self, key, tail):
        if not key.shape.match(key.begins + tail):
            return  # keys of this service are of other characters, or shorter
        assume(not tail.lower().startswith(("your", "xxxx")) and not tail.lower().endswith("xxxx"))
        made_up = len(set(tail)) < 8 or any(sign in tail.lower() for sign in ("x" * 8, "0" * 8))
        assert bool(redact(f"({key.begins}{tail})").found) is not made_up


class TestValues:
    def test_strings_are_masked_where_they_stand(self):
        value = {"a": [f"ghp_{RANDOM}", 5, None, True], "b": ("x", {"c": "password: hunter22"})}
        masked = redact_value(value)
        assert masked["a"][1:] == [5, None, True]
        assert masked["a"][0].startswith("[masked github-token ")
        assert masked["b"] == ["x", {"c": "password: [masked password]"}]
        assert value["b"][1]["c"] == "password: hunter22"

    def test_a_key_tells_of_its_value(self):
        assert redact_value({"password": "hunter22", "pin": "hunter22"}) == {
            "password": "[masked password]",
            "pin": "hunter22",
        }
        assert redact_value({"password": 12345678, "tokens": 12345678, "passwd": True}) == {
            "password": "[masked password]",
            "tokens": 12345678,
            "passwd": True,
        }
        assert redact_value({"public_key": RANDOM, "api_key": RANDOM}) == {
            "public_key": RANDOM,
            "api_key": "[masked api-key]",
        }
        assert redact_value({"password": "Enter 8 characters", 7: "x"}) == {"password": "Enter 8 characters", 7: "x"}

    def test_keys_are_masked_and_no_entry_is_lost(self):
        masked = redact_value({f"ghp_{RANDOM}": 1, "plain": 2, 7: 3, None: 4})
        assert list(masked)[1:] == ["plain", 7, None]
        assert next(iter(masked)).startswith("[masked github-token ")
        same = {"password: hunter22": 1, "password: hunter33": 2, "password: [masked password]": 3}
        assert redact_value(same) == {
            "password: [masked password] (2)": 1,
            "password: [masked password] (3)": 2,
            "password: [masked password]": 3,
        }

    def test_a_key_tells_of_what_is_in_a_list(self):
        assert redact_value({"password": ["hunter22", ["hunter33"], {"hint": "hunter44"}]}) == {
            "password": ["[masked password]", ["[masked password]"], {"hint": "hunter44"}]
        }
        assert redact_value({"passwords": ["hunter22", 12345678], "api_keys": [RANDOM], "API_KEYS": RANDOM}) == {
            "passwords": ["[masked password]", "[masked password]"],
            "api_keys": ["[masked api-key]"],
            "API_KEYS": "[masked api-key]",
        }
        plain = {
            "passwords": 12345678,
            "tokens": ["hello", 7, 1.5, None],
            "sort_keys": [RANDOM],
            "pass": [True, 123456],
        }
        assert redact_value(plain) == plain

    def test_a_header_is_masked_as_in_a_text(self):
        masked = redact_value({"Authorization": f"Token {HEX}", "Proxy-Authorization": ["Basic dXNlcjpwYXNz"]})
        assert masked["Authorization"].startswith("Token [masked token ")
        assert masked["Proxy-Authorization"] == ["Basic [masked authorization]"]
        assert redact_value({"auth": "YWRtaW46cGFzc3dvcmQxMjM=", "author": "YWRtaW46cGFzc3dvcmQxMjM="}) == {
            "auth": "[masked authorization]",
            "author": "YWRtaW46cGFzc3dvcmQxMjM=",
        }
        (masked,) = redact_value({f"ghp_{RANDOM} authorization": f"Bearer {RANDOM}"}).values()
        assert masked.startswith("Bearer [masked bearer-token ")
        plain = {"auth": "oauth2", "authorization": "required", "Authorization": "see the section on middleware2"}
        assert redact_value(plain) == plain

    def test_pass_is_judged_by_its_value(self):
        plain = {
            "pass": 123456,
            "tests_pass": "abc123x",
            "render_pass": "shadow2d",
            "compass": "north12x",
            "passed": True,
        }
        assert redact_value(plain) == plain
        assert redact_value({"pass": "hunter22", "dbPass": "hunter22", "db_pass": 123456}) == {
            "pass": "[masked password]",
            "dbPass": "[masked password]",
            "db_pass": "[masked password]",
        }

    @given(st.dictionaries(TEXTS, TEXTS | st.integers() | st.lists(TEXTS, max_size=2), max_size=4))
    def test_no_entry_of_a_mapping_is_lost(self, value):
        assert len(redact_value(value)) == len(value)

    @given(st.dictionaries(TEXTS, TEXTS | st.integers() | st.lists(TEXTS, max_size=2), max_size=4))
    def test_masking_a_value_twice_is_masking_it_once(self, value):
        once = redact_value(value)
        assert redact_value(once) == once


class TestLogging:
    def logged(self, write):
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        handler.addFilter(RedactingFilter())
        logger = logging.Logger("test")
        logger.addHandler(handler)
        write(logger)
        return stream.getvalue()

    def test_messages_and_their_arguments_are_masked(self):
        said = self.logged(lambda logger: logger.info("sent %s to %s", f"ghp_{RANDOM}", "host"))
        assert RANDOM not in said
        assert said.endswith("] to host\n")

    def test_tracebacks_are_masked(self):
        def fail(logger):
            try:
                raise ValueError(f"no such key: ghp_{RANDOM}")
            except ValueError:
                logger.exception("failed")

        said = self.logged(fail)
        assert "Traceback" in said
        assert "ValueError: no such key: [masked github-token" in said
        assert RANDOM not in said

    def test_a_record_without_a_traceback_gets_none(self):
        assert self.logged(lambda logger: logger.error("plain", exc_info=False)) == "plain\n"


ADVERSARIES = {
    **{f"{key.begins} again and again": key.begins for key in KEYS},
    **{f"almost {key.begins}": key.begins + body_of(key)[:9] for key in KEYS},
    **{f"many {key.begins}": f"{key.begins}{body_of(key)} " for key in KEYS},
    "one key without end": RANDOM,
    "names": "password=",
    "quotes": "password='",
    "open strings": 'password="a',
    "escaped strings": 'secret=\\"a1',
    "backslashes": "\\",
    "backslashes behind a name": "token=\\\\",
    "escapes": "\\n",
    "blocks that only begin": "-----BEGIN PRIVATE KEY-----",
    "blocks that begin with text": "-----BEGIN PRIVATE KEY-----abc ",
    "dashes": "-",
    "addresses": "://a:b",
    "bearers": "bearer aaaaaaaaaaaaaaaaaaaa1.",
    "basic": "authorization basic YTpi",
    "spaces": "token    \t    ",
    "flags": "--token ",
    "colours": "\x1b[32m",
    "colours that only begin": "\x1b[",
    "colours behind a name": "pass\x1b[0m\x1b[1m",
    "colours written out": "\\u001b[0msk-",
    "colours in values": "password=\\e[1m",
    "numbers of colours": "sk-\\u001b[0;1;2;3;4;5",
    "passes": "DB_PASS=x ",
    "passes of anything": "db_pass: ",
    "logins": "machine a login b password c1",
    "grants": "identified by 'a",
    "algorithms": "signing_key: ecdsaecdsaecdsaecdsa! ",
}


@pytest.mark.speed
@pytest.mark.parametrize("piece", [pytest.param(piece, id=name) for name, piece in ADVERSARIES.items()])
def test_time_grows_with_the_text_and_no_faster(piece):
    def seconds(size):
        text = piece * (size // len(piece))
        before = time.process_time()
        redact(text)
        return time.process_time() - before

    small = max(min(seconds(50_000) for _ in range(2)), 0.004)  # below that the clock says nothing
    large = min(seconds(200_000) for _ in range(2))
    assert large < small * 8, f"{small:.3f} s, then {large:.3f} s for four times the text"


@pytest.mark.speed
@pytest.mark.parametrize("name", ["one key without end", "names", "backslashes", "open strings", "dashes"])
def test_a_long_opening_is_read_once(name):
    """What opens a secret, and then megabytes that never end it."""
    for opening in ("sk-", "password='", "password=", "eyJ", "-----BEGIN PRIVATE KEY-----", "://a:", "bearer "):
        text = opening + ADVERSARIES[name] * (1_000_000 // len(ADVERSARIES[name]))
        before = time.process_time()
        redact(text)
        assert time.process_time() - before < 4
