"""The paper's experiments and the benchmarks: outside the library, and not in its wheel."""
