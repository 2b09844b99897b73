"""The audit: what a summary claims, held against what was said and done."""
