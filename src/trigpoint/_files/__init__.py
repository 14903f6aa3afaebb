"""Points from files and objects, and embeddings to files, block by block in bounded memory.

`read_points` recognizes its argument and returns a `PointSource`, which yields blocks of rows;
`load` turns it into one array, on disk if memory is short; `open_writer` writes rows as they come.
Each format has its own file. Optional libraries are imported only when a file needs them.
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
