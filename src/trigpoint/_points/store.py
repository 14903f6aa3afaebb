"""Placeholder for type annotations of code that is about to go."""

from typing import Any

Store = Any
