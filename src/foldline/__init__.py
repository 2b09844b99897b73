"""Foldline."""
