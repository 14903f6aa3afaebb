"""Read points from arrays, files and other objects, and write coordinates to files.

`open_source` recognizes the type of its argument and returns a `Source`, which selects rows, yields
blocks and applies a model to all rows. Each format has its own module and a line in
`opening.FORMATS`.
"""

from trigpoint._common.errors import DamagedFileError
from trigpoint._sources.base import Source
from trigpoint._sources.opening import open_source
from trigpoint._sources.values import Columns
from trigpoint._sources.writers import Output, check_output, open_output

__all__ = [
    "Columns",
    "DamagedFileError",
    "Output",
    "Source",
    "check_output",
    "open_output",
    "open_source",
]
