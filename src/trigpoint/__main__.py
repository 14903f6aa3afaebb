"""``python -m trigpoint``: the same as the command ``trigpoint``."""

import sys

from trigpoint._command.cli import main

sys.exit(main())
