"""Fuzzing: every reader and the model format, given files that were damaged at random.

``make fuzz`` runs the long form; ``python -m tools.fuzz --help`` shows the options.
"""
