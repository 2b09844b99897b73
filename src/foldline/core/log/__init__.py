"""The summary that needs no model: a work log of the agent's own lines, chosen to fit."""
