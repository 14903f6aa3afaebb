"""Inner loops that NumPy has no call for, compiled by numba at first use and cached after that.

Nothing here is imported with the library: a function that runs a loop imports its module itself.
Loops take arrays and fill arrays; they release the interpreter lock, so our own threads run them in
parallel, and Ctrl-C takes effect between two calls: a block of points or queries, or the building
of a tree.
"""
