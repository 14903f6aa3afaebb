"""Do the tests notice when a line of the numerics is wrong? Run with ``make mutate``."""
