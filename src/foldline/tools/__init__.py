"""The agent's own tools: to search what was said, read it back, keep a plan, load project memory, watch the window.

    table.py     what tools there are: names, descriptions, schemas; and those in the forms providers take
    desk.py      Desk: what they work on
    asked.py     the arguments of a call, checked
    calling.py   one call, from its name and arguments to its answer
    searching.py · reading.py · working.py     what each tool does
    shown.py     how answers look: pages, and a fence around what others wrote

    desk = Desk(archive=compactor.archive)
    tools = for_anthropic(desk.tools)
    answer = call("session_search", {"query": "parse_config"}, desk)

No tool raises what an agent could cause: a wrong call is answered with what to do instead. No protocol is known here.
"""

from foldline.tools.calling import answer, call
from foldline.tools.desk import Desk, Live
from foldline.tools.shown import Answer
from foldline.tools.table import TOOLS, Tool, for_anthropic, for_openai

__all__ = ["TOOLS", "Answer", "Desk", "Live", "Tool", "answer", "call", "for_anthropic", "for_openai"]
