"""Checkpoints: the text that stands for a history, its notes, and how it is known when it comes back."""
