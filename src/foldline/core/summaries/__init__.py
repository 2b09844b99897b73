"""Summaries: their styles and headings, the prompts that ask for them, and how they are read."""
