"""Load real data from local files: MNIST, and labeled patches of head-and-neck CT scans."""

import gzip
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import ndimage

# MNIST ----------------------------------------------------------------------------------------


def load_mnist(folder: str | Path, *, split: str = "train") -> tuple[np.ndarray, np.ndarray]:
    """Load MNIST images as float32 rows with values from 0 to 1, and their labels.

    `split` is "train" or "test". The folder holds files such as ``train-images-idx3-ubyte``,
    optionally compressed (``.gz``).
    """
    prefix = {"train": "train", "test": "t10k"}[split]
    images = _read_idx(Path(folder), f"{prefix}-images-idx3-ubyte", n_dims=3)
    labels = _read_idx(Path(folder), f"{prefix}-labels-idx1-ubyte", n_dims=1)
    if len(images) != len(labels) or images.shape[1:] != (28, 28):
        raise ValueError(f"{folder} has images {images.shape} and {len(labels)} labels")
    X = images.reshape(len(images), -1).astype(np.float32)
    X /= 255
    return X, labels.astype(np.int64)


def _read_idx(folder: Path, name: str, *, n_dims: int) -> np.ndarray:
    """Read an array of unsigned bytes from an IDX file, which may be compressed."""
    path = next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
    if path is None:
        raise FileNotFoundError(f"{name} (or the same with .gz) not found in {folder}")
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    # The header has two zero bytes, type code 8 for unsigned bytes, the number of dimensions, and
    # the size of each.
    header = 4 + 4 * n_dims
    if content[:4] != bytes([0, 0, 8, n_dims]) or len(content) < header:
        raise ValueError(f"{path} does not start like an idx file of bytes in {n_dims} dimensions")
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", count=n_dims, offset=4))
    if len(content) - header != math.prod(shape):
        raise ValueError(f"{path} holds {len(content) - header} bytes of data for shape {shape}")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


# CT scans -------------------------------------------------------------------------------------

CLASS_NAMES = ("surroundings", "brainstem", "left parotid", "right parotid")
NO_CLASS = 255

# Class names in OpenKBP, by number. The numbers are also the labels in the NIfTI files.
_ROI_NAMES = {1: "Brainstem", 2: "LeftParotid", 3: "RightParotid"}
_OPENKBP_OFFSET = 1024


@dataclass(frozen=True)
class Volume:
    """A labeled scan, with axes toward the patient's left, the back and the head.

    `hu` holds the intensities in Hounsfield units. `classes` holds indices into `CLASS_NAMES`,
    where 0 means no organ, or `NO_CLASS` where organs overlap. `recorded` masks the voxels with
    known intensities (None if all are known), and `voxel_mm` is the voxel size along each axis.
    """

    name: str
    hu: np.ndarray
    classes: np.ndarray
    recorded: np.ndarray | None
    voxel_mm: tuple[float, ...]


def read_volumes(path: Path) -> Iterator[Volume]:
    """Yield the volumes of a file or folder one at a time, to limit memory.

    A volume is either a folder with ``ct.nii.gz`` (Hounsfield units) and ``labels.nii.gz`` (1 for
    brainstem, 2 for left parotid, 3 for right parotid, other values for no organ), or an ``.npz``
    file of OpenKBP.
    """
    if path.is_file():
        yield _read_npz(path)
    elif (path / "ct.nii.gz").is_file():
        yield _read_nifti(path)
    elif files := sorted(path.glob("*.npz"), key=_natural_order):
        yield from map(_read_npz, files)
    else:
        raise FileNotFoundError(f"{path} has neither ct.nii.gz and labels.nii.gz nor .npz files")


def _natural_order(path: Path) -> list[tuple[int, str]]:
    """Return a sort key that places ``pt_9`` before ``pt_10``."""
    parts: list[str] = re.findall(r"\d+|\D+", path.name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _read_nifti(folder: Path) -> Volume:
    import nibabel as nib

    to_left_back_head = nib.orientations.axcodes2ornt("LPS")
    turned = []
    for name in ("ct.nii.gz", "labels.nii.gz"):
        image = nib.load(folder / name)
        now = nib.io_orientation(image.affine)
        turned.append(image.as_reoriented(nib.orientations.ornt_transform(now, to_left_back_head)))
    ct, labels = turned
    if ct.shape != labels.shape or not np.allclose(ct.affine, labels.affine, atol=1e-3):
        raise ValueError(f"ct.nii.gz and labels.nii.gz in {folder} do not lie on the same grid")
    hu, values = (np.asanyarray(image.dataobj) for image in turned)
    classes = np.where(np.isin(values, tuple(_ROI_NAMES)), values, 0).astype(np.uint8)
    voxel_mm = tuple(float(size) for size in ct.header.get_zooms())
    return Volume(folder.resolve().name, hu, classes, None, voxel_mm)


def _read_npz(path: Path) -> Volume:
    with np.load(path, allow_pickle=False) as file:
        ct, labels = file["ct"], file["labels"]
        names, voxel_mm = [str(name) for name in file["roi_names"]], file["voxel_mm"]
    classes = np.zeros(ct.shape, np.uint8)
    for number, name in _ROI_NAMES.items():
        inside = (labels >> names.index(name)) & 1 == 1
        # The class is unknown where two organs overlap.
        classes[inside] = np.where(classes[inside] == 0, number, NO_CLASS)
    hu = np.clip(ct, 0, 4095).astype(np.int16) - np.int16(_OPENKBP_OFFSET)
    # The axes point to the back, the left and the feet. Swap the first two, and reverse the third.
    hu, classes, recorded = (
        array.transpose(1, 0, 2)[:, :, ::-1] for array in (hu, classes, ct > 0)
    )
    back, left, feet = (float(size) for size in voxel_mm)
    return Volume(path.stem, hu, classes, recorded, (left, back, feet))


# Patches of CT scans --------------------------------------------------------------------------

# Threshold between air (-1000) and fat (-100). A voxel that is one third air counts as tissue.
_TISSUE_HU = -300

# Range of soft tissue, to which intensities are clipped.
WINDOW_HU = (-200.0, 300.0)

# The paper states a bandwidth of 5, but not the unit of intensity. This unit gives the bandwidth
# the same scale relative to distances as for the digits, whose pixels range from 0 to 1: in both
# data sets, the median distance to the nearest of 2,000 other points is 1.1 bandwidths.
UNIT_HU = 140.0

SOURCES = {"openkbp": "openkbp", "rtog": "rtog-0522c0002"}

# Of some 150,000 patches of three scans, at the resolution of the paper, about 40,000 can be from
# organs.
ORGAN_SHARE = 0.3

# As in the paper, slightly more than half of the patches are used for training.
TRAIN_SHARE = 80 / 150

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Patches:
    """Labeled patches, ordered by volume: points, their classes, and their volumes (patients)."""

    X: np.ndarray
    y: np.ndarray
    patients: np.ndarray


def cut_patches(
    source: str | Path,
    *,
    patch_shape: Shape = (7, 7, 3),
    margin: float = 20.0,
    window: tuple[float, float] | None = WINDOW_HU,
) -> Patches:
    """Extract patches from head-and-neck CT scans, as float32.

    A patch has the class of the voxel at its center: brainstem, left or right parotid gland, or the
    surrounding tissue. Patches that extend beyond the volume are omitted. OpenKBP records
    intensities only within a mask and within the labeled organs. Patches that cross the edge of
    that region are also omitted, because they would show the outline of their own label.

    The shape is in voxels. The bounding box of a scan's three organs is grown by `margin`
    millimeters on all sides. Surroundings are in that box, within its largest connected part above
    -300 HU. That excludes air around the head, airways, and objects that do not touch the head. The
    Hounsfield units of `window` are mapped to 0 and 1, and values outside are clipped; ``None``
    keeps Hounsfield units.
    """
    parts = []
    for patient, volume in enumerate(read_volumes(Path(source))):
        hu, classes = _region(volume, patch_shape, margin)
        where = np.nonzero(classes != NO_CLASS)
        X = sliding_window_view(_scaled(hu, window), patch_shape)[where]
        labels = classes[where].astype(np.int64)
        parts.append((X.reshape(len(X), -1), labels, np.full(len(X), patient)))
    return Patches(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _scaled(hu: np.ndarray, window: tuple[float, float] | None) -> np.ndarray:
    hu = hu.astype(np.float32)
    if window is None:
        return hu
    low, high = window
    return ((np.clip(hu, low, high) - low) / (high - low)).astype(np.float32)


def _region(volume: Volume, shape: Shape, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the box from which patches are cut, and the class of each patch position in it."""
    organs = (volume.classes > 0) & (volume.classes != NO_CLASS)
    box = ndimage.find_objects(organs.astype(np.uint8))
    if not box:
        raise ValueError(f"{volume.name} has no voxel of {', '.join(CLASS_NAMES[1:])}")
    centers, reach = [], []
    for axis, span in enumerate(box[0]):
        half, grow = shape[axis] // 2, int(margin / volume.voxel_mm[axis])
        low = max(span.start - grow, half)
        high = min(span.stop + grow, volume.hu.shape[axis] - half)
        if low >= high:
            raise ValueError(f"patches of {shape} do not fit around any organ of {volume.name}")
        centers.append(slice(low, high))
        reach.append(slice(low - half, high + half))
    hu = np.ascontiguousarray(volume.hu[tuple(reach)])
    classes = volume.classes[tuple(centers)].copy()
    tissue = _largest_component(volume.hu[tuple(centers)] > _TISSUE_HU)
    classes[(classes == 0) & ~tissue] = NO_CLASS
    if volume.recorded is not None:
        whole = ndimage.minimum_filter(volume.recorded[tuple(reach)].astype(np.uint8), size=shape)
        inner = tuple(slice(n // 2, size - n // 2) for n, size in zip(shape, hu.shape, strict=True))
        classes[whole[inner] == 0] = NO_CLASS
    return hu, classes


def _largest_component(mask: np.ndarray) -> np.ndarray:
    numbered, count = ndimage.label(mask)
    if count <= 1:
        return mask
    largest: np.ndarray = numbered == 1 + np.argmax(np.bincount(numbered.ravel())[1:])
    return largest


@lru_cache(maxsize=2)
def load_patches(folder: Path, source: str, n_patches: int) -> Patches:
    """Load the patches of the head-and-neck experiment, with a fixed share from organs."""
    every = cut_patches(folder / SOURCES[source])
    rng = np.random.default_rng(0)
    n_organs = round(ORGAN_SHARE * n_patches)
    parts = [
        rng.choice(np.flatnonzero(every.y > 0), n_organs, replace=False),
        rng.choice(np.flatnonzero(every.y == 0), n_patches - n_organs, replace=False),
    ]
    rows = np.sort(np.concatenate(parts))
    unit = np.float32((WINDOW_HU[1] - WINDOW_HU[0]) / UNIT_HU)
    return Patches(every.X[rows] * unit, every.y[rows], every.patients[rows])


def split_rows(patches: Patches, split: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Split rows into training and test sets at random, with a given seed.

    With "patch", as in the paper, neighboring and overlapping patches fall into both sets. With
    "patient", all patches of a patient are in the same set.
    """
    rng = np.random.default_rng(seed)
    n = len(patches.y)
    wanted = round(TRAIN_SHARE * n)
    if split == "patch":
        order = rng.permutation(n)
        return order[:wanted], order[wanted:]
    counts = np.bincount(patches.patients)
    order = rng.permutation(np.flatnonzero(counts))
    # Choose the number of patients whose patches come closest to the wanted number.
    sums = np.cumsum(counts[order])[:-1]
    n_train = 1 + int(np.argmin(np.abs(sums - wanted)))
    trained = np.isin(patches.patients, order[:n_train])
    return rng.permutation(np.flatnonzero(trained)), rng.permutation(np.flatnonzero(~trained))
