"""What every part of the library needs: parameter checks, warnings, progress, records, words."""
