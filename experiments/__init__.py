"""Experiments of the paper, and benchmarks. They are not part of the library or its wheel."""
