"""The ``trigpoint`` command-line tool, a thin layer over the library.

``arguments.py`` defines the options of each subcommand and imports nothing slow. Each subcommand
has its own module with a function ``run``, which takes the parsed arguments, calls the library and
returns a `Result` to print.
"""
