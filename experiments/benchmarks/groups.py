"""The groups by name, in the order of RESULTS.md. Imported one at a time, and only when asked."""

from importlib import import_module
from types import ModuleType

# The name is what `make bench ONLY=...` takes; a module cannot be called "import".
MODULES = {
    "headline": "headline",
    "selection": "selection",
    "quality": "quality",
    "rule": "rule",
    "neighbors": "neighbors",
    "embedding": "embedding",
    "mnist": "mnist",
    "growth": "growth",
    "memory_map": "memory_map",
    "import": "import_time",
    "forecast": "forecast",
}


def group_module(name: str) -> ModuleType:
    """Module of a group."""
    return import_module(f"experiments.benchmarks.{MODULES[name]}")
