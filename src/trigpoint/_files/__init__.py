"""Points from files and objects, and embeddings to files, block by block in bounded memory.

`read_points` recognizes what it is given and returns a `PointSource`, which hands out blocks of
rows; `load` makes of it one array, on the disk where memory is short; `open_writer` writes rows as
they come. Formats are one file each. Optional libraries are imported where a file needs them.
"""

from trigpoint._common.errors import DamagedFileError
from trigpoint._files.loading import load
from trigpoint._files.read import read_points
from trigpoint._files.source import PointSource
from trigpoint._files.writers import PointWriter, open_writer, refuse_same_file

__all__ = [
    "DamagedFileError",
    "PointSource",
    "PointWriter",
    "load",
    "open_writer",
    "read_points",
    "refuse_same_file",
]
