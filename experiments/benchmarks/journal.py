"""Raw measurements on disk, one JSON line each, written as they are taken.

First comes a header with the environment, last a line that says when the group was finished. A
group that was interrupted goes on where it stopped, provided that library and machine are still
the same; otherwise it starts anew.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Record = dict[str, Any]

# Runs of more seconds than this are not repeated with other seeds.
ONE_SEED_FROM = 20.0


class Journal:
    """The measurements of one group."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: dict[str, Any] = {}
        self.records: list[Record] = []
        self.finished: dict[str, str] | None = None
        lines = path.read_text().splitlines() if path.exists() else []
        for line in map(json.loads, lines):
            if "header" in line:
                self.header = line["header"]
            elif "finished" in line:
                self.finished = line["finished"]
            else:
                self.records.append(line)

    def start(self, environment: dict[str, Any]) -> None:
        """Go on with an interrupted run of the same environment, or start anew."""
        if self.records and not self.finished and self.header["environment"] == environment:
            return
        self.header = {"started": now(), "environment": environment}
        self.records, self.finished = [], None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("")
        self._write({"header": self.header})

    def result(self, spec: dict[str, Any]) -> dict[str, Any] | None:
        """What was measured for `spec`, if it was."""
        return next((r["result"] for r in self.records if r["spec"] == spec), None)

    def hopeless(self, spec: dict[str, Any]) -> str | None:
        """Why a method is not tried, if so: it failed on fewer points, or was too slow on them.

        Measurements of one method on growing data share a ``family``. Too slow is what would break
        the time limit if time grew no faster than the number of points.
        """
        family = list(self._family(spec))
        # The largest says most.
        n = max((other["n"] for other, _ in family), default=0)
        for result in (result for other, result in family if other["n"] == n):
            if error := result.get("error"):
                again = n == spec["n"] or error.startswith("not tried")
                return error if again else f"not tried: {error} at n = {n:,}"
            expected = result.get("seconds", 0.0) * spec["n"] / n
            if n < spec["n"] and expected > spec["limit"]:
                return f"not tried: {result['seconds']:.0f} s at n = {n:,}"
        return None

    def slow(self, spec: dict[str, Any]) -> bool:
        """Whether another seed of the same took so long that one has to do."""
        return any(
            other["n"] == spec["n"]
            and other.get("k") == spec.get("k")
            and result.get("seconds", 0.0) > ONE_SEED_FROM
            for other, result in self._family(spec)
        )

    def _family(self, spec: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        for record in self.records:
            if spec.get("family") == record["spec"].get("family") is not None:
                yield record["spec"], record["result"]

    def add(self, spec: dict[str, Any], result: dict[str, Any]) -> None:
        """Keep one measurement."""
        record = {"spec": spec, "result": result}
        self.records.append(record)
        self._write(record)

    def finish(self, source: str) -> None:
        """Note that nothing is missing, and which state of the library was measured last."""
        self.finished = {"when": now(), "source": source}
        self._write({"finished": self.finished})

    def _write(self, line: dict[str, Any]) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def now() -> str:
    """Date and time to the minute."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
