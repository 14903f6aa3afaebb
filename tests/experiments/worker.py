"""Stand-in for a peer in a separate process, with few imports."""

import os
import time

import numpy as np

from experiments.benchmarks.measuring import timed
from experiments.runner import MissingDataError


def do(case, settings):
    """Fail in some way, or wait."""
    match case["do"]:
        case "raise":
            raise ValueError("no  such\nthing")
        case "miss":
            raise MissingDataError("no digits")
        case "memory":
            np.empty(10**15)
        case "die":
            os._exit(3)
        case "prepare":
            time.sleep(0.6)
    seconds = timed(lambda: time.sleep(case.get("sleep", 0)))[0]
    return {"seconds": seconds, "quick": settings.quick, "data": str(settings.data)}
