"""One measurement in this process: ``python -m experiments.benchmarks.worker {...}``."""

import json
import re
import sys
import traceback
import warnings

from experiments.benchmarks.harness import open_channel


def reason(error: Exception) -> str:
    """Why it failed, in a table cell."""
    if isinstance(error, MemoryError):
        asked = re.search(r"allocate ([\d.]+ \w+)", str(error))
        return f"out of memory (asked for {asked[1]})" if asked else "out of memory"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:90]}{'…' if len(text) > 90 else ''}"


def main() -> None:
    """Measure what the argument describes and report it."""
    from experiments.benchmarks.groups import group_module

    channel = open_channel()
    warnings.filterwarnings("ignore")  # They would drown the reason of a failure.
    spec = json.loads(sys.argv[1])
    try:
        result = group_module(spec["group"]).work(spec)
    except Exception as error:  # Whatever a peer raises is its result, and goes into its row.
        traceback.print_exc()
        result = {"error": reason(error)}
    channel.tell(result=result)


if __name__ == "__main__":
    main()
