"""What secrets look like: the keys of known services, and values that stand beside a telling name.

    KEYS      how a key of a service begins and goes on          NAMES    which names tell of a secret

    looks_made_up(body)      xxxx, your-key-here: a placeholder        secretive(value, trust)   a secret, by its name

Pure judgement of short strings; where they stand in a text is found in secretfinder.py. Every pattern is matched at a
place that a plain search found, and repeats one class at a time without giving back, so the time it takes is in
proportion to what it reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

Trust: TypeAlias = Literal["password", "guess", "secret", "token"]
"""How much a name says about its value: beside "password" almost any value is a secret, beside "token" only one that
looks random. "guess" is for what is a password or something else, as in `pass`."""


class Key(NamedTuple):
    """A service's key: the text it begins with, its whole shape, and whether it may begin in the middle of a word."""

    kind: str
    begins: str
    shape: re.Pattern[str]
    anywhere: bool = True


def _key(kind: str, begins: str, rest: str, *, anywhere: bool = True) -> Key:
    return Key(kind, begins, re.compile(re.escape(begins) + f"(?P<body>{rest})"), anywhere)


def _behind(kind: str, before: str, begins: str, rest: str) -> Key:
    """A key that is recognised by a piece inside it and by what stands before that piece."""
    return Key(kind, begins, re.compile(f"(?<={before}){re.escape(begins)}(?P<body>{rest})"))


_WORD = r"[A-Za-z0-9]"
_HEX = r"[a-f0-9]{32}[A-Za-z0-9]*+"
_URLSAFE = r"[A-Za-z0-9_-]"

KEYS = (
    _key("anthropic-key", "sk-ant-", _URLSAFE + "{16,}+"),
    _key("openai-key", "sk-proj-", _URLSAFE + "{20,}+"),
    _key("openai-key", "sk-svcacct-", _URLSAFE + "{20,}+"),
    _key("openai-key", "sk-admin-", _URLSAFE + "{20,}+"),
    _key("openai-key", "sk-None-", _URLSAFE + "{20,}+"),
    _key("openrouter-key", "sk-or-v1-", _WORD + "{32,}+"),
    _key("api-key", "sk-", _WORD + "{20,}+", anywhere=False),
    _key("google-key", "AIza", _URLSAFE + "{35,}+", anywhere=False),
    _key("google-token", "ya29.", _URLSAFE + "{20,}+", anywhere=False),
    _key("google-secret", "GOCSPX-", _URLSAFE + "{20,}+"),
    _key("aws-key", "AKIA", "[A-Z0-9]{16}[A-Za-z0-9]*+", anywhere=False),
    _key("aws-key", "ASIA", "[A-Z0-9]{16}[A-Za-z0-9]*+", anywhere=False),
    *(_key("github-token", f"gh{letter}_", _WORD + "{36,}+") for letter in "pousr"),
    _key("github-token", "github_pat_", r"\w{22,}+"),
    _key("gitlab-token", "glpat-", r"[A-Za-z0-9_.-]{20,}+"),
    *(_key("gitlab-token", f"gl{what}-", r"[A-Za-z0-9_.-]{20,}+") for what in ("rt", "dt", "cbt", "ptt")),
    *(_key("slack-token", f"xox{letter}-", r"[A-Za-z0-9-]{10,}+") for letter in "bparesc"),
    _key("slack-token", "xoxd-", r"[A-Za-z0-9%/+=-]{20,}+"),
    _key("slack-token", "xapp-", r"[A-Za-z0-9-]{20,}+"),
    _key("slack-webhook", "hooks.slack.com/services/", r"[A-Za-z0-9/]{20,}+"),
    *(_key("stripe-key", f"{who}k_{mode}_", _WORD + "{16,}+") for who in "sr" for mode in ("live", "test")),
    _key("stripe-key", "whsec_", r"[A-Za-z0-9+/=]{24,}+"),
    _key("npm-token", "npm_", _WORD + "{36,}+"),
    _key("pypi-token", "pypi-", _URLSAFE + "{50,}+"),
    _key("huggingface-token", "hf_", _WORD + "{30,}+", anywhere=False),
    _key("groq-key", "gsk_", _WORD + "{40,}+"),
    _key("xai-key", "xai-", _WORD + "{40,}+"),
    _key("perplexity-key", "pplx-", _WORD + "{32,}+"),
    _key("sendgrid-key", "SG.", r"[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+", anywhere=False),
    *(_key("docker-token", f"dckr_{what}_", _URLSAFE + "{20,}+") for what in ("pat", "oat")),
    *(_key("shopify-token", f"shp{what}_", _HEX) for what in ("at", "ss", "ca", "pa")),
    *(_key("square-token", f"sq0{what}-", _URLSAFE + "{22,}+") for what in ("atp", "csp")),
    *(_key("langsmith-key", f"lsv2_{what}_", r"\w{32,}+") for what in ("pt", "sk")),
    *(_key("planetscale-token", f"pscale_{what}_", r"[\w.=-]{32,}+") for what in ("tkn", "pw")),
    *(_key("linear-key", f"lin_{what}_", _WORD + "{32,}+") for what in ("api", "oauth")),
    _key("notion-token", "ntn_", _WORD + "{40,}+", anywhere=False),
    _key("notion-token", "secret_", _WORD + "{43}", anywhere=False),
    _key("figma-token", "figd_", _URLSAFE + "{36,}+"),
    _key("atlassian-token", "ATATT3", r"[A-Za-z0-9_=-]{60,}+"),
    _key("bitbucket-token", "ATBB", _WORD + "{32,}+", anywhere=False),
    _key("databricks-token", "dapi", _HEX, anywhere=False),
    _key("supabase-token", "sbp_", _HEX, anywhere=False),
    _key("supabase-key", "sb_secret_", _URLSAFE + "{20,}+"),
    _key("replicate-token", "r8_", _WORD + "{37,}+", anywhere=False),
    _key("grafana-token", "glsa_", r"\w{32,}+"),
    _key("grafana-token", "glc_", r"[A-Za-z0-9+/=]{40,}+", anywhere=False),
    _key("newrelic-key", "NRAK-", "[A-Z0-9]{27}[A-Za-z0-9]*+"),
    _key("postman-key", "PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}"),
    *(
        _key("doppler-token", f"dp.{what}.", r"(?:[a-z0-9_-]{2,35}\.)?+[A-Za-z0-9]{40,}+", anywhere=False)
        for what in ("pt", "st", "ct", "sa", "scim", "audit")
    ),
    _key("pulumi-token", "pul-", _HEX, anywhere=False),
    _key("terraform-token", ".atlasv1.", r"[A-Za-z0-9_=-]{60,}+"),
    _key("rubygems-key", "rubygems_", _HEX),
    _key("fly-token", "fo1_", _URLSAFE + "{40,}+", anywhere=False),
    *(_key("fly-token", f"{begins}_", r"[A-Za-z0-9+/=_-]{70,}+", anywhere=False) for begins in ("fm2", "fm1r", "fm1a")),
    _key("netlify-token", "nfp_", _WORD + "{36,}+", anywhere=False),
    _key("sentry-token", "sntrys_", r"[A-Za-z0-9+/=_-]{60,}+"),
    _key("sentry-token", "sntryu_", _HEX),
    _key("heroku-key", "HRKU-", r"[\w-]{36,}+"),
    _key("cerebras-key", "csk-", _WORD + "{40,}+", anywhere=False),
    _key("nvidia-key", "nvapi-", _URLSAFE + "{60,}+"),
    _key("tavily-key", "tvly-", _URLSAFE + "{20,}+"),
    _key("pinecone-key", "pcsk_", r"\w{40,}+"),
    _key("elevenlabs-key", "sk_", _HEX, anywhere=False),
    _key("firecrawl-key", "fc-", _HEX, anywhere=False),
    _key("mailgun-key", "key-", _HEX, anywhere=False),
    _key("tailscale-key", "tskey-", _URLSAFE + "{20,}+"),
    _key("buildkite-token", "bkua_", _HEX),
    _key("circleci-token", "CCIPAT_", r"\w{40,}+"),
    _key("typeform-token", "tfp_", r"[\w.=-]{40,}+", anywhere=False),
    *(_key("brevo-key", f"x{what}sib-", r"[a-f0-9]{64}-[A-Za-z0-9]{16}") for what in ("key", "smtp")),
    _key("dynatrace-token", "dt0c01.", r"[A-Z0-9a-z]{24}\.[A-Z0-9a-z]{60,}+"),
    _key("google-token", "1//0", _URLSAFE + "{40,}+", anywhere=False),
    _key("azure-signature", "sig=", r"[A-Za-z0-9%/+=]{43,}+", anywhere=False),
    _key("discord-webhook", "/api/webhooks/", r"[0-9]{17,20}/[A-Za-z0-9_-]{60,}+"),
    _key("teams-webhook", ".webhook.office.com/webhookb2/", r"[A-Za-z0-9@/-]{36,}+"),
    _behind("telegram-token", "[0-9]{8}", ":AA", _URLSAFE + "{33}(?![A-Za-z0-9_-])"),
    _behind("azure-secret", "[0-9]", "Q~", r"[A-Za-z0-9_.~-]{31,34}"),
    *(_key("digitalocean-token", f"do{what}_v1_", r"[a-f0-9]{40}[A-Za-z0-9]*+") for what in "por"),
    *(_key("vault-token", f"hv{what}.", _URLSAFE + "{24,}+", anywhere=False) for what in "sb"),
    _key("age-key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{50}[A-Za-z0-9]*+"),
    _key("jwt", "eyJ", r"[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]{8,}+){1,3}+", anywhere=False),
)

_SIGNS = "_-."
"""Signs that stand in the beginnings of keys, and not in most words."""


def _by_sign() -> Mapping[str, Mapping[str, tuple[Key, ...]]]:
    signs: dict[str, dict[str, tuple[Key, ...]]] = {}
    for key in KEYS:
        sign = next((sign for sign in _SIGNS if key.begins.find(sign) > 1), "")
        before = key.begins.partition(sign)[0][-2:] if sign else key.begins
        hints = signs.setdefault(sign, {})
        hints[before] = (*hints.get(before, ()), key)
    return signs


KEYS_BY_SIGN = _by_sign()
"""The keys by a sign in their beginnings, then by the two characters before it; under "", by their whole beginnings,
where no sign has so many before it. One look at what stands before such signs spares most texts most searches."""


def begun_in(text: str) -> Iterator[Key]:
    """The keys whose beginnings stand in a text."""
    for sign, hints in KEYS_BY_SIGN.items():
        if not sign:
            near = [hint for hint in hints if hint in text]
        elif sign in text:
            ends = {piece[-2:] for piece in text.split(sign)}
            near = [hint for hint in hints if hint in ends]
        else:
            continue
        yield from (key for hint in near for key in hints[hint] if key.begins in text)


AWS_SECRET = re.compile(r"[\s,:;|\"']{1,5}+(?P<body>[A-Za-z0-9/+]{40,}+)")
"""The other half of an AWS key, where it directly follows the first."""

NAME_HINTS = ("pass", "pwd", "secret", "credential", "key", "token")
"""Parts of names: every name in NAMES contains one of these."""
NAMES: Mapping[str, tuple[str, Trust]] = {
    "password": ("password", "password"),
    "passwd": ("password", "password"),
    "passphrase": ("password", "password"),
    "pass": ("password", "guess"),
    "pwd": ("password", "secret"),
    "secret": ("secret", "secret"),
    "credential": ("secret", "secret"),
    "credentials": ("secret", "secret"),
    "key": ("api-key", "secret"),
    "token": ("token", "token"),
}
"""The last words, in lower case, of names that point to a secret. `trusted` decides which names do, and how much."""

_OPENS = re.compile(
    r"(?:api|access|private|auth|encryption|signing|account|master|storage|subscription|ssh|deploy|secret)[_-]?\Z", re.I
)
_OTHER = re.compile(
    r"(?:PUBLIC|PRIMARY|FOREIGN|CACHE|PARTITION|SORT|OBJECT|UNIQUE|IDEMPOTENCY|QUERY|ROUTING|DEDUP|DEDUPLICATION|GROUP"
    r"|INDEX|LOOKUP|SHARD|LOCK|ROW|RANGE)_\Z"
)
_OF_LOGINS = (
    "db|database|user|usr|smtp|imap|pop3?|e?mail|mysql|mariadb|mssql|sql|pg|pgsql|postgres|postgresql|oracle|jdbc|mongo"
    "|mongodb|redis|rabbit|rabbitmq|amqp|mqtt|s?ftp|ssh|ldap|root|admin|sudo|login|auth|https?|keystore|truststore|cert"
    "|vpn|wifi|wlan|jenkins|nexus|registry"
)
_LOGIN = re.compile(rf"(?:{_OF_LOGINS})[_-]\Z|(?:\A|[^A-Za-z]|\\[nrt])(?:{_OF_LOGINS})\Z|-pass(?:in|out)? \Z", re.I)
"""What stands before "pass" and "pwd" where these can only be a password."""
_CAMEL = re.compile(rf"(?:{_OF_LOGINS})\Z", re.I)
_ALONE = re.compile(r"(?:\A|[^A-Za-z0-9_-]|\\[nrt]|(?<![-])--)\Z")
"""What stands before a name of one word."""
_MADE_UP = re.compile(
    r"(?<![A-Za-z0-9])(?:your|x{4})|x{4}(?![A-Za-z0-9])|x{8}|example|placeholder|change.?me|\*{3}|\.{3}|redacted|[<>]"
    r"|0{8}",
    re.I,
)
"""Signs of a placeholder. The short ones stand at the edge of a word: of two thousand long keys one has "YoUr" or four
x somewhere inside."""
_EMPTY_WORDS = """
string required optional password passwd passphrase secret token username user pass undefined null none true false
default value test hidden
"""
_WORDS = frozenset(_EMPTY_WORDS.split())
"""Values that stand beside such names in schemas, forms and examples."""
_REFERS = re.compile(r"[$%{<\[(:,}\])]|process\.|os\.|env\.|vault:|secrets?\.|file:|https?:|/run/|/etc/", re.I)
"""How a value begins that refers to another place."""
_CODE = re.compile(r"[&*@!|>/.~#=-]|[A-Za-z_$][\w$]*+(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*+)++\Z")
"""How a value is formed that is more likely a piece of code."""
_SPECIAL = re.compile(r"[0-9]|.[!@#$%^&*?~+].", re.S)
_ALGORITHM = re.compile(
    r"(?:rsa|ecdsa|dsa|ecdh|ec|ed|hmac|sha|aes|md5|pbkdf|with|and|gcm|cbc|ctr|pkcs|oaep|ssa|pss|mgf|chacha|poly"
    r"|x25519|p(?=256|384|521)|secp|[0-9]{1,5}|[-_/])++(?:[rk]1)?+\Z",
    re.I,
)
"""The name of a way to sign or encrypt: RSA2048withSHA256."""
_FEWEST = 8
"""Different characters that a key has at least. Random ones of 16 digits have fewer once in thousands of cases,
longer ones never."""
_SHORTEST: dict[Trust, int] = {"password": 6, "guess": 6, "secret": 8, "token": 16}
_PIECE: dict[Trust, int] = {"secret": 6, "token": 8}
"""Characters from which letters and digits in one piece are not an ordinary word, by how much the name says."""


def trusted(word: str, before: str, name: str) -> Trust | None:
    """How much a name says that ends in this word of NAMES, written as `name`; None for a name of other things."""
    trust = NAMES[word][1]
    if word == "key":
        return trust if _names_key(before, name) else None
    if word in ("pass", "pwd") and (_LOGIN.search(before) or (name[0].isupper() and _CAMEL.search(before))):
        return "password"
    if word == "pass" and not (_ALONE.search(before) or (name.isupper() and before.endswith("_"))):
        return None
    return trust


def _names_key(before: str, word: str) -> bool:
    """Whether a name that ends in `word` ("key" in some form) names a secret key: api_key, OPENAI_KEY."""
    if _OPENS.search(before):
        return True
    return word.isupper() and before.endswith("_") and not _OTHER.search(before)


def looks_made_up(body: str) -> bool:
    """It only shows the form of a key, as a placeholder does."""
    return len(set(body)) < _FEWEST or _MADE_UP.search(body) is not None


def secretive(value: str, trust: Trust, *, literal: bool) -> bool:
    """Whether a value is a secret, given how much its name says. `literal`: only a literal value can stand there."""
    if value.lower() in _WORDS or _MADE_UP.search(value) or _REFERS.match(value):
        return False
    if literal and trust == "password":
        return len(value) >= 4
    if len(value) < _SHORTEST[trust] or _CODE.match(value):
        return False
    if trust in ("password", "guess"):
        return _SPECIAL.search(value) is not None and any(map(str.isalpha, value))
    if _ALGORITHM.match(value):
        return False
    return len(set(value)) >= _FEWEST - 2 and any(_mixed(piece, _PIECE[trust]) for piece in _PIECES.split(value))


_PIECES = re.compile(r"[-_./:\\]")


def _mixed(piece: str, length: int) -> bool:
    return len(piece) >= length and any(map(str.isdigit, piece)) and any(map(str.isalpha, piece))
