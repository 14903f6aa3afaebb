"""One process of the fuzzer: read damaged files until one is read wrongly.

Each execution has a generator of its own, so that any of them can be repeated by its number.
"""

import logging
import sys
import time
import warnings
from collections import Counter
from itertools import chain
from pathlib import Path

import numpy as np

from tools.fuzz.damage import cuts, damaged, flips
from tools.fuzz.seeds import TARGETS, seeds
from tools.fuzz.targets import WrongError, check

_SECONDS_BETWEEN_SIGNS = 1.0


def content_of(target: str, seed: int, number: int, files: list[bytes]) -> bytes:
    """The damaged file of one execution."""
    rng = np.random.default_rng([seed, TARGETS.index(target), number])
    return damaged(files[rng.integers(len(files))], files, rng)


def main(target: str, seed: int, first: int, last: int, folder: Path, seconds: float) -> None:
    """Tell on standard output how far it got, what was wrong, and the counts of outcomes."""
    warnings.simplefilter("ignore")
    logging.disable()
    files, counts = seeds(target), Counter[str]()
    for content in files:
        # Memory for libraries, compiled loops and threads is not that of a damaged file.
        check(target, content, folder)
    began = told = time.monotonic()
    number = first
    print("at", number, flush=True)
    if target == "model" and first == 0:
        counts["of all bits and lengths"] = _every_bit(files, folder)
    while number < last and time.monotonic() - began < seconds:
        content = content_of(target, seed, number, files)
        # If this process ends, what it was reading is still there.
        (folder / "number").write_text(str(number))
        (folder / "content").write_bytes(content)
        try:
            counts[check(target, content, folder)] += 1
        except WrongError as error:
            print("wrong", " ".join(str(error).split()))
            break
        number += 1
        if time.monotonic() - told > _SECONDS_BETWEEN_SIGNS:
            told = time.monotonic()
            print("at", number, flush=True)
    print("at", number)
    for outcome, count in counts.items():
        print("count", count, outcome)
    print("end", flush=True)


def _every_bit(files: list[bytes], folder: Path) -> int:
    """Number of flipped bits and cut ends of the models that were noticed, which is all of them."""
    n_noticed = 0
    for content in files:
        for damage in chain(flips(content), cuts(content)):
            assert check("model", damage, folder) == "refused"
            n_noticed += 1
            if n_noticed % 1000 == 0:
                print("at", 0, flush=True)
    return n_noticed


if __name__ == "__main__":
    limit = float(sys.argv[6]) if len(sys.argv) > 6 else float("inf")
    main(sys.argv[1], *map(int, sys.argv[2:5]), Path(sys.argv[5]), limit)
