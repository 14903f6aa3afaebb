"""``python -m trigpoint``: the same as the command ``trigpoint``."""

import sys

from trigpoint._cli.cli import main

sys.exit(main())
