"""The paper's experiments and the benchmarks: beside the library, and no part of its wheel."""
