"""What results may depend on: the state of the library, versions, the machine."""

import hashlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import trigpoint

PACKAGES = ("trigpoint", "numpy", "scipy", "scikit-learn", "numba")

# Code that draws and prints does not affect results.
_NO_PART_OF_RESULTS = ("plot", "_cli", "_report", "__main__")


def source_digest() -> str:
    """Eight hex digits that identify a state of the library."""
    root = Path(trigpoint.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0].removesuffix(".py") not in _NO_PART_OF_RESULTS:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def versions(*packages: str) -> dict[str, str | None]:
    """Versions of packages; ``None`` for those that are not installed."""
    found: dict[str, str | None] = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def machine() -> dict[str, Any]:
    """Processor, cores, memory in bytes and system."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0,
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _memory() -> int:
    if not hasattr(os, "sysconf"):  # Windows.
        return 0
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())
