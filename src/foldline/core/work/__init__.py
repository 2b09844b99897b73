"""What the agent did: its calls and how they ended, files, errors, tasks, deeds that reach far."""
