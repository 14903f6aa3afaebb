"""A small, fully typed project that uses trigpoint: an atlas in which new points are looked up.

`make lint` checks it with ``mypy --strict`` against the library as it is installed: what it sees of
the library's types is what other projects see.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

import trigpoint as tp


@dataclass(frozen=True)
class Atlas:
    """A fitted map, and a name for each of its landmarks."""

    model: tp.LaplacianEigenmaps
    names: list[str]

    @classmethod
    def of(cls, points: NDArray[np.float32], names: list[str], landmarks: int = 200) -> Self:
        """Fit the points and give every landmark the name of its row."""
        model = tp.LaplacianEigenmaps(landmarks=landmarks, random_state=0).fit(points)
        rows = model.landmark_indices_
        assert rows is not None, "landmarks that are drawn are rows"
        return cls(model, [names[row] for row in rows])

    def look_up(self, points: NDArray[np.float32]) -> list[str]:
        """Return the name of the landmark nearest to each new point in the embedding."""
        coordinates: np.ndarray = self.model.transform(points)
        known: np.ndarray = self.model.landmark_embedding_
        squares = ((coordinates[:, None, :] - known[None, :, :]) ** 2).sum(axis=2)
        return [self.names[nearest] for nearest in squares.argmin(axis=1)]

    def save(self, folder: Path) -> None:
        """Write the model and the names."""
        self.model.save(folder / "atlas.trig")
        (folder / "names.txt").write_text("\n".join(self.names))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote."""
        model = tp.load(folder / "atlas.trig")
        if not isinstance(model, tp.LaplacianEigenmaps):
            raise TypeError(f"{folder} holds a {type(model).__name__}")
        return cls(model, (folder / "names.txt").read_text().splitlines())
