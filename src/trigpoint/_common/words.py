"""Words for counts."""


def plural(noun: str, count: int) -> str:
    """The noun as it follows a count: "point" after 1, else "points"."""
    return noun if count == 1 else f"{noun}s"


def counted(count: int, noun: str) -> str:
    """Return "1 point", "2 points", "3,000 points"."""
    return f"{count:,} {plural(noun, count)}"
