"""A parser of arguments that suggests what a misspelled word may have meant."""

import argparse
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """A parser whose errors name the nearest command, option or choice."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = list(action.choices)
            raise argparse.ArgumentError(
                action,
                f"{value!r} is not known{_meant(str(value), known)}; choose from "
                f"{', '.join(map(str, known))}",
            )

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """End with an error for arguments that nobody has asked for."""
        known = [option for action in self._actions for option in action.option_strings]
        words = [
            f"{word}{_meant(word.partition('=')[0], known) if word.startswith('-') else ''}"
            for word in unknown
        ]
        self.error(f"not understood: {' '.join(words)}")


def _meant(word: str, known: Iterable[str]) -> str:
    nearest = get_close_matches(word, [str(one) for one in known], n=1)
    return f" (did you mean {nearest[0]}?)" if nearest else ""
