"""Used by every part of the library: parameter checks, warnings, progress, records, wording."""
