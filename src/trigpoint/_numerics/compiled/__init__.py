"""Inner loops that NumPy has no call for, compiled by numba at first use and cached after that.

Nothing here is imported with the library: whoever needs a loop imports its module inside the
function that runs it. Loops take arrays and fill arrays; they release the interpreter lock, so
threads of our own run them side by side, and Ctrl-C is answered between two calls: a block of
points or queries, or the building of a tree.
"""
