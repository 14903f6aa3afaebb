"""Entry point of ``python -m experiments``, which `make reproduce` and `make bench` call."""

import sys

from experiments.runner import main

if __name__ == "__main__":
    sys.exit(main())
