"""Embed millions of points from a few diverse landmarks."""

import lazy_loader as _lazy

__version__ = "0.1.0"

# The names are in `__init__.pyi`, where type checkers find them. Each is imported when it is first
# used: the libraries behind them take a second or two to import.
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
