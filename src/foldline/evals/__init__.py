"""Measures what a strategy keeps: on real sessions, without a model, against what the agent then really did.

    sessions ── splits ──> Split ── strategies ──> view ── metrics ──> scores ── stats ──> figures ── report

A door: it uses the compactor as anyone would, and nothing else in the package uses it but the command line.
"""
