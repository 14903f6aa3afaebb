"""The subcommands of ``trigpoint``, one file each; there are no algorithms in them.

A subcommand is a function that adds its arguments to a parser, and one that takes what was parsed,
calls the library, and returns a `Result` to be printed.
"""
