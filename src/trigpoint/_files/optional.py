"""Optional libraries: imported when they are needed, recognized without importing them."""

import importlib
from typing import Any

# What to install if it is not the package itself. Extras of trigpoint would not do everywhere: a
# copy of the sources may be used that no index knows.
_INSTALL = dict.fromkeys(("dask", "distributed"), "'dask[array]' distributed")


def require(module: str, task: str) -> Any:
    """Import an optional `module`, or say what to install for `task`.

    Parameters
    ----------
    module : str
        A module of one of the optional packages.
    task : str
        What needs it, such as "reading points.parquet".
    """
    package = module.split(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{task} needs {package}: pip install {_INSTALL.get(package, package)}", name=package
        ) from error


def is_from(thing: Any, package: str, *class_names: str) -> bool:
    """Whether `thing` is an instance of one of the named classes of `package`, or of a subclass.

    Class names suffice: an object of a library that was never imported cannot exist.
    """
    return any(
        base.__name__ in class_names and base.__module__.split(".")[0] == package
        for base in type(thing).__mro__
    )
