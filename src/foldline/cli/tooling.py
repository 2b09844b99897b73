"""`foldline tools`: the agent's tools as a list, or as JSON for a provider. What they are is in foldline.tools."""

from __future__ import annotations

import click

from foldline.cli.options import print_json


@click.command("tools")
@click.option("--openai", "form", flag_value="openai", help="As JSON for OpenAI's chat completions.")
@click.option("--anthropic", "form", flag_value="anthropic", help="As JSON for Anthropic's messages.")
def command(form: str | None) -> None:
    """Show the agent's tools, for agents without MCP.

    Calls are answered by foldline.tools.call. compact_now works where the program has bound a live session.
    """
    from foldline import tools

    if form:
        print_json(tools.for_openai() if form == "openai" else tools.for_anthropic())
        return
    for tool in tools.TOOLS:
        needed = tool.schema["required"]
        takes = [name if name in needed else f"[{name}]" for name in tool.schema["properties"]]
        click.echo(f"{tool.name}({', '.join(takes)})\n    {tool.description}\n")
