"""The command ``trigpoint``; it contains no algorithms.

``arguments.py`` describes what each subcommand takes and imports nothing slow. Each subcommand has
a file of its own, with a function ``run`` that takes the parsed arguments, calls the library and
returns a `Result` to print.
"""
