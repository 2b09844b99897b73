"""`foldline validate`: what a provider would refuse in a conversation. The rules are in validators/."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from foldline.cli import exits
from foldline.cli.options import Given, common, load, notices_json, print_json, tell
from foldline.cli.screen import count, safe, say, working

if TYPE_CHECKING:
    from foldline.model import Notice
    from foldline.validators import Violation


@click.command("validate")
@common
def command(given: Given) -> int:
    """Check a conversation against its provider's rules.

    A transcript is checked as the request its agent would send next. Prints one line for each violation, and ends with
    exit code 1 if there are any.
    """
    from foldline.dialects.convert import api_of, as_request
    from foldline.validators import check

    with working(f"reading {given.name}", quiet=given.json) as life:
        conversation = load(given)
        life.step(f"checking {count(len(conversation), 'message')}")
        api = api_of(conversation.dialect)
        violations = check(as_request(conversation), api)
    if given.json:
        print_json(
            {
                "file": given.file,
                "dialect": conversation.dialect,
                "api": api,
                "messages": len(conversation),
                "valid": not violations,
                "violations": [asdict(violation) for violation in violations],
                "notices": notices_json(conversation.notices),
            }
        )
    else:
        _tell(given, api, violations, conversation.notices)
    return exits.VIOLATIONS if violations else exits.FINE


def _tell(given: Given, api: str, violations: list[Violation], notices: tuple[Notice, ...]) -> None:
    tell(notices)
    for violation in violations:
        click.echo(safe(str(violation)))
    number = len(violations)
    result = count(number, "violation") if number else "no violations"
    say(f"{safe(given.name)}: {result} of the rules of {api}")
