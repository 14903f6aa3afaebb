"""What the paper's experiments and the benchmarks share: rows, resuming, pages, statistics.

`experiment` says what an experiment is. `runner` runs the cases that its table (`rows`) does not
have yet, here or in a process of their own (`worker`), and `page` shows the rows.
"""
