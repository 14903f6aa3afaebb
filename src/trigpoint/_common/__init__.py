"""Used throughout the library: parameter checks, errors, progress, records, words, colors."""
