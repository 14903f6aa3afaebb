"""Lint the scripts of the report in one scope, as on the page: ``python -m tools.lint_page``.

Runs oxlint, which ``npx`` fetches from the npm registry at the first use and caches.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from trigpoint._report.page import page_script

LINTER = "oxlint@1.93.0"
RULES = {
    "env": {"browser": True, "es2022": True},
    "categories": {"correctness": "error"},
    "rules": dict.fromkeys(
        ("eqeqeq", "no-redeclare", "no-undef", "no-unused-vars", "no-var", "prefer-const"), "error"
    ),
}


def main() -> int:
    """Print problems of the scripts; return 0 if there are none, or if Node.js is not installed."""
    npx = shutil.which("npx")
    if npx is None:
        print("scripts of the page are not linted: that needs npx, which comes with Node.js")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        script, rules = Path(folder, "report.js"), Path(folder, "rules.json")
        script.write_text(page_script(), encoding="utf-8")
        rules.write_text(json.dumps(RULES), encoding="utf-8")
        command = [npx, "--yes", LINTER, "--config", str(rules), str(script)]
        return subprocess.run(command, check=False, cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(main())
