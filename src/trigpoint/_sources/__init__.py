"""Points from arrays, files and other objects, and files of coordinates.

`open_source` recognizes its argument and returns a `Source`, which takes rows, yields blocks and
applies a model to all of them. Each format has a file of its own and a line in `opening.FORMATS`.
"""

from trigpoint._common.errors import DamagedFileError
from trigpoint._sources.base import Columns, Source
from trigpoint._sources.opening import open_source
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
