"""The agent's own plan: it outlives every fold, because it is kept outside the conversation.

store.py   the log of entries on disk
state.py   the values, and how entries become a board of plans
rules.py   what the agent asks for → entries, or a refusal it can act on
adopt.py   the agent's own todo lists → entries
show.py    a plan as text and as data
tool.py    Agenda: the door to all of it
"""

from foldline.agenda.adopt import from_transcript
from foldline.agenda.state import Board, Entry, Plan, Task
from foldline.agenda.tool import Agenda, Outcome

__all__ = ["Agenda", "Board", "Entry", "Outcome", "Plan", "Task", "from_transcript"]
