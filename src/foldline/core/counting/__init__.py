"""Counting tokens: of text, pictures, messages; and the budget they are held against."""
