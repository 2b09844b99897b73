"""The history as a list of messages: cycles of calls, legal cuts, mending, and how far two of them are the same."""
