"""``python -m trigpoint``: the same as the command ``trigpoint``."""

import sys

from trigpoint.cli import main

sys.exit(main())
