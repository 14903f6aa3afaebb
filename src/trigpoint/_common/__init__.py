"""Shared helpers: parameter checks, errors, progress, records, words and colors."""
