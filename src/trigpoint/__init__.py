"""Embed millions of points from a few diverse landmarks."""

import lazy_loader as _lazy

__version__ = "1.0.0rc1"

# Names are listed in `__init__.pyi`, for type checkers, and imported when first used: their
# dependencies take a second or two to import.
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
