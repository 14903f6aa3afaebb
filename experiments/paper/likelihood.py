"""How likely readings of table 1 make the numbers that it prints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import logsumexp

from experiments.framework.experiment import Row
from experiments.paper.simulated import (
    BEST_OF,
    FACTORS,
    NEIGHBORS,
    PLACES,
    POWERS,
    SHAPES,
    SIGMAS,
    STOPS,
    neighbors,
)
from experiments.paper.table1 import (
    COUNTS,
    EFFICIENT,
    KMEANS,
    KMEANS_PP,
    PRINTED,
    SEEDING,
    THE_FIVE,
    UNIFORM,
)

# What the caption states.
PAPER_RUNS = 50

# Scales that are compared, relative to that of the shape.
SCALES = tuple(np.round(np.geomspace(FACTORS[0], FACTORS[-1], 15), 4).tolist())

# Log-errors may be off by this much beyond chance (a standard deviation, one of these).
MISFITS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)

# Half a unit of the last printed digit has this standard deviation.
_ROUNDING = 0.001 / np.sqrt(12)

# What is open, in the order of the axes of a likelihood.
QUESTIONS = {
    "seeding by": ("squared distance", "distance"),
    "k-means ends": ("after 1 iteration", "after 3", "converged", f"best of {BEST_OF} runs"),
    "landmarks of k-means": ("centers", "nearest points"),
    "m": tuple(NEIGHBORS),
    "sigma of the repulsion": tuple(f"{sigma:g}" for sigma in SIGMAS),
}


class Evidence:
    """Likelihoods of readings of one half of the table.

    Log-errors are expected to be those simulated, up to chance (of the paper's runs and of ours),
    rounding, and a misfit of a given standard deviation.

    Parameters
    ----------
    rows : sequence of Row
        Those of complete shapes.
    printed : {"roll", "bowl"}
    """

    def __init__(self, rows: Sequence[Row], printed: str) -> None:
        self.printed = printed
        self.shapes = [data for data in SHAPES if SHAPES[data].printed == printed]
        self.shapes = [data for data in self.shapes if any(row["data"] == data for row in rows)]
        self._cells = {_key(row): _curves(row) for row in rows}

    def cells(self, data: str, row: str, reading: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Expected log-errors and their variances (scales, k) of a row of the table."""
        power, stop, place, m, sigma = reading
        key: list[Any] = [data, row, None, None, None, None, None]
        if row in (SEEDING, KMEANS_PP):
            key[2] = POWERS[power]
        if row in (KMEANS, KMEANS_PP):
            key[3:5] = STOPS[stop], PLACES[place]
        if row == EFFICIENT:
            key[5:] = neighbors(SHAPES[data])[m], SIGMAS[sigma]
        means, variances = self._cells[tuple(key)]
        return means, variances + (_ROUNDING / np.array(PRINTED[self.printed][row])) ** 2

    def logs(self, misfit: float) -> np.ndarray:
        """Log-likelihoods, with axes for shape and scale before those of the questions."""
        sizes = [len(options) for options in QUESTIONS.values()]
        total = np.zeros((len(self.shapes), len(SCALES), *sizes))
        # Rows of the table, and the questions that they depend on.
        parts = {
            UNIFORM: (),
            SEEDING: (0,),
            KMEANS: (1, 2),
            KMEANS_PP: (0, 1, 2),
            EFFICIENT: (3, 4),
        }
        for s, data in enumerate(self.shapes):
            for row, axes in parts.items():
                observed = np.log(PRINTED[self.printed][row])
                for options in product(*(range(sizes[axis]) for axis in axes)):
                    reading: list[Any] = [0] * len(sizes)
                    place: list[Any] = [slice(None)] * len(sizes)
                    for axis, option in zip(axes, options, strict=True):
                        reading[axis] = place[axis] = option
                    means, variances = self.cells(data, row, reading)
                    variances = variances + misfit**2
                    squares = (observed - means) ** 2 / variances + np.log(2 * np.pi * variances)
                    logs = -squares.sum(axis=1) / 2
                    total[(s, slice(None), *place)] += logs.reshape(
                        -1, *[1] * place.count(slice(None))
                    )
        return total


def _key(row: Row) -> tuple[Any, ...]:
    stop = None if row["stop"] is None else str(row["stop"])
    return row["data"], row["row"], row["power"], stop, row["place"], row["m"], row["sigma"]


def _curves(row: Row) -> tuple[np.ndarray, np.ndarray]:
    """Log-errors and variances of their means (scales, k), smooth over the scale."""
    simulated, wanted = np.log(FACTORS), np.log(SCALES)
    means, variances = [], []
    for k in COUNTS:
        logs = [row[f"log_{factor:g}_{k}"] for factor in FACTORS]
        deviations = [row[f"sd_{factor:g}_{k}"] for factor in FACTORS]
        means.append(np.polyval(np.polyfit(simulated, logs, 2), wanted))
        chance = np.interp(wanted, simulated, np.square(deviations))
        variances.append(chance / PAPER_RUNS + chance / row["runs"])
    return np.transpose(means), np.transpose(variances)


@dataclass(frozen=True)
class Posterior:
    """Weights of readings, all equally likely before.

    Attributes
    ----------
    halves : mapping of str to Evidence
    logs : mapping of str to ndarray
        Log-likelihoods of each half, with an axis for the misfit first.
    """

    halves: Mapping[str, Evidence]
    logs: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, halves: Mapping[str, Evidence]) -> "Posterior":
        """Compare all readings."""
        logs = {
            name: np.array([half.logs(misfit) for misfit in MISFITS])
            for name, half in halves.items()
        }
        return cls(halves, logs)

    def shared(self) -> np.ndarray:
        """Log-likelihoods over misfit and questions, whatever shapes and scales are."""
        return np.sum([_averaged(logs, (1, 2)) for logs in self.logs.values()], axis=0)

    def weights(self, axis: int) -> np.ndarray:
        """Weights of the options of a question, or of misfits (axis 0)."""
        return _weights(self.shared(), axis)

    def shape_weights(self, name: str, axis: int) -> np.ndarray:
        """Weights of the shapes (axis 1) or scales (axis 2) of one half."""
        total = self.logs[name]
        for other, logs in self.logs.items():
            if other != name:
                total = total + _averaged(logs, (1, 2))[:, None, None]
        return _weights(total, axis)

    def joint(self) -> np.ndarray:
        """Logarithms of the weights of readings of both halves; those of all scales are one.

        There are axes for the two shapes before those of the questions.
        """
        roll, bowl = (_averaged(logs, (2,)) for logs in self.logs.values())
        joint = roll[:, :, None] + bowl[:, None]
        return np.asarray(logsumexp(joint, axis=0) - logsumexp(joint))

    def best(self, logs: np.ndarray, count: int = 1) -> list["Reading"]:
        """The readings of the largest of some weights, of which these are the logarithms."""
        order = np.argsort(logs, axis=None)[::-1][:count]
        places = zip(*np.unravel_index(order, logs.shape), strict=True)
        return [self._reading(place, float(np.exp(logs[place]))) for place in places]

    def _reading(self, place: tuple[Any, ...], weight: float) -> "Reading":
        shapes, options = place[:2], tuple(int(option) for option in place[2:])
        chosen = {}
        for (name, logs), shape in zip(self.logs.items(), shapes, strict=True):
            by_scale = logsumexp(logs[(slice(None), shape, slice(None), *options)], axis=0)
            chosen[name] = int(shape), int(by_scale.argmax())
        return Reading(self, options, chosen, weight)


@dataclass(frozen=True)
class Reading:
    """One reading: an option for each question, and shape and scale for each half."""

    posterior: Posterior
    options: tuple[int, ...]
    chosen: Mapping[str, tuple[int, int]]
    weight: float

    def expected(self, name: str, row: str) -> tuple[np.ndarray, np.ndarray]:
        """Log-errors (k,) of a row of the table, and how far chance may take them."""
        half, (shape, scale) = self.posterior.halves[name], self.chosen[name]
        means, variances = half.cells(half.shapes[shape], row, self.options)
        return means[scale], np.sqrt(variances[scale])

    def ratios(self, name: str, row: str) -> np.ndarray:
        """Logarithms of the simulated over the printed errors."""
        return self.expected(name, row)[0] - np.log(PRINTED[name][row])

    def misses(self, name: str) -> float:
        """Root of the mean square of the log-ratios of one half."""
        return float(np.sqrt(np.mean([np.square(self.ratios(name, row)) for row in THE_FIVE])))

    def data(self, name: str) -> str:
        """Shape and scale of one half, in words."""
        shape, scale = self.chosen[name]
        data = SHAPES[self.posterior.halves[name].shapes[shape]]
        return f"{data.title}, scale {data.scale * SCALES[scale]:.3g}"

    def words(self) -> list[str]:
        """The options, in words."""
        return [
            names[option] for names, option in zip(QUESTIONS.values(), self.options, strict=True)
        ]


def only(logs: np.ndarray, axis: int, options: Sequence[int]) -> np.ndarray:
    """Logarithms of weights with some options on an axis; nothing else has any weight."""
    kept = np.isin(np.arange(logs.shape[axis]), options)
    return np.where(kept.reshape(-1, *[1] * (logs.ndim - axis - 1)), logs, -np.inf)


def _averaged(logs: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    count = np.prod([logs.shape[axis] for axis in axes])
    return np.asarray(logsumexp(logs, axis=axes) - np.log(count))


def _weights(logs: np.ndarray, axis: int) -> np.ndarray:
    others = tuple(other for other in range(logs.ndim) if other != axis)
    return np.asarray(np.exp(logsumexp(logs, axis=others) - logsumexp(logs)))
