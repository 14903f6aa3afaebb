"""The subcommands of ``trigpoint``, one file each; they contain no algorithms.

A subcommand has a function that adds its arguments to a parser, and one that takes the parsed
arguments, calls the library, and returns a `Result` to print.
"""
