"""Labeled patches of head-and-neck CT scans."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import ndimage

from experiments.data.scans import CLASS_NAMES, NO_CLASS, Volume, read_volumes

# Well above air (-1000) and well below fat (-100): a voxel that is a third air still counts.
_TISSUE_HU = -300
_ROWS_AT_ONCE = 50_000

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class CTPatches:
    """Patches of CT volumes.

    Attributes
    ----------
    X : float32 ndarray of shape (n, a * b * c)
        One patch per row; ``X.reshape(-1, *patch_shape)`` gives the patches back.
    y : int64 ndarray of shape (n,)
        The class of the voxel at the patch's center: surroundings, brainstem, left parotid or right
        parotid.
    groups : int64 ndarray of shape (n,)
        The volume a patch comes from, an index into `volume_names`. Neighboring patches overlap,
        so split training and test patches by volume.
    volume_names : tuple of str
        Names of the files or folders.
    """

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    volume_names: tuple[str, ...]


@dataclass(frozen=True)
class _Region:
    """The part of a volume that patches are cut from.

    `classes` has one entry for each position of the patch within `hu`.
    """

    name: str
    hu: np.ndarray
    classes: np.ndarray


def load_ct_patches(
    source: str | Path,
    *,
    patch_shape: Shape = (7, 7, 3),
    n_patches: int | None = None,
    balanced: bool = True,
    surroundings: float = 20.0,
    window: tuple[float, float] | None = (-200.0, 300.0),
    random_state: int = 0,
) -> CTPatches:
    """Cut labeled patches out of CT scans of the head and neck.

    A patch belongs to the class of the voxel at its center: brainstem, left parotid gland, right
    parotid gland, or the tissue around them.

    Parameters
    ----------
    source : path
        A folder with ``ct.nii.gz`` (Hounsfield units) and ``labels.nii.gz`` (1 brainstem, 2 left
        parotid, 3 right parotid, anything else other); or an ``.npz`` file of OpenKBP [1]_, or a
        folder of them.
    patch_shape : three odd int
        Size in voxels: toward the left, toward the back, and across slices.
    n_patches : int or None
        Total number of patches, a multiple of four if `balanced`; ``None`` takes as many as there
        are.
    balanced : bool
        Draw the same number from each class. ``False`` draws uniformly among all voxels, most of
        which are surroundings.
    surroundings : float
        Margin in millimeters. Surroundings are the tissue voxels that carry none of the three
        labels within the bounding box of a scan's three organs, grown by this margin on all sides.
        Tissue is the largest connected part of the box above -300 HU, which excludes air around
        the head, airways, and objects that do not touch the head.
    window : pair of float or None
        Hounsfield units mapped to 0 and 1; values outside are clipped. ``None`` keeps Hounsfield
        units.
    random_state : int
        Seed of the draw.

    Returns
    -------
    CTPatches
        The patches, ordered by volume, then by position: shuffle before taking a subset.

    Notes
    -----
    All volumes are reoriented to the patient's left, back, head. NIfTI files are reoriented by
    their affine. OpenKBP arrays run toward the back, the left, and the feet; the third axis is the
    slice axis, as ``voxel_mm`` confirms.

    Patches that would extend beyond the volume are left out. OpenKBP records intensities only
    within a mask and within the labeled organs. A patch across that edge would show the outline of
    its own label, so patches with a voxel that is not recorded are left out too. Its intensities
    are only roughly Hounsfield units + 1024: fat and brainstem are about 20 HU too low in many
    scans.

    References
    ----------
    .. [1] A. Babier et al., "OpenKBP: the open-access knowledge-based planning grand challenge and
       dataset", Medical Physics 48, 2021.
    """
    regions = [_region(volume, patch_shape, surroundings) for volume in read_volumes(Path(source))]
    # One long list of the candidates of all volumes, from which rows are drawn.
    places = [np.flatnonzero(region.classes != NO_CLASS) for region in regions]
    classes = np.concatenate(
        [region.classes.flat[place] for region, place in zip(regions, places, strict=True)]
    )
    rows = _draw(classes, n_patches, balanced, np.random.default_rng(random_state))
    starts = np.cumsum([0, *map(len, places)])
    cuts = np.searchsorted(rows, starts)

    X = np.empty((len(rows), int(np.prod(patch_shape))), np.float32)
    groups = np.empty(len(rows), np.int64)
    for number, (region, place) in enumerate(zip(regions, places, strict=True)):
        mine = slice(cuts[number], cuts[number + 1])
        groups[mine] = number
        _cut(region, place[rows[mine] - starts[number]], patch_shape, window, out=X[mine])
    names = tuple(region.name for region in regions)
    return CTPatches(X, classes[rows].astype(np.int64), groups, names)


def _region(volume: Volume, shape: Shape, margin: float) -> _Region:
    """Cut out the box that patches may come from and give each position in it a class."""
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
    hu = volume.hu[tuple(reach)]
    classes = volume.classes[tuple(centers)].copy()
    tissue = _largest_component(volume.hu[tuple(centers)] > _TISSUE_HU)
    classes[(classes == 0) & ~tissue] = NO_CLASS
    if volume.recorded is not None:
        whole = ndimage.minimum_filter(volume.recorded[tuple(reach)].astype(np.uint8), size=shape)
        inner = tuple(slice(n // 2, size - n // 2) for n, size in zip(shape, hu.shape, strict=True))
        classes[whole[inner] == 0] = NO_CLASS
    return _Region(volume.name, np.ascontiguousarray(hu), classes)


def _largest_component(mask: np.ndarray) -> np.ndarray:
    numbered, count = ndimage.label(mask)
    if count <= 1:
        return mask
    sizes = np.bincount(numbered.ravel())
    largest: np.ndarray = numbered == 1 + np.argmax(sizes[1:])
    return largest


def _draw(
    classes: np.ndarray, n_patches: int | None, balanced: bool, rng: np.random.Generator
) -> np.ndarray:
    """Choose among the candidates; rows are returned in increasing order."""
    if not balanced:
        if n_patches is None:
            return np.arange(len(classes))
        return np.sort(rng.choice(len(classes), n_patches, replace=False, shuffle=False))
    counts = np.bincount(classes, minlength=len(CLASS_NAMES))
    each = int(counts.min()) if n_patches is None else n_patches // len(counts)
    if not 0 < each <= counts.min():
        there_are = ", ".join(f"{name} {n}" for name, n in zip(CLASS_NAMES, counts, strict=True))
        raise ValueError(f"no {each} patches of each class: there are {there_are}")
    drawn = []
    for number in range(len(counts)):
        members = np.flatnonzero(classes == number)
        drawn.append(members[rng.choice(len(members), each, replace=False, shuffle=False)])
    return np.sort(np.concatenate(drawn))


def _cut(
    region: _Region,
    place: np.ndarray,
    shape: Shape,
    window: tuple[float, float] | None,
    out: np.ndarray,
) -> None:
    """Write the patches at the flat positions `place` to the rows of `out`."""
    hu = region.hu.astype(np.float32)
    if window is not None:
        low, high = window
        hu = ((np.clip(hu, low, high) - low) / (high - low)).astype(np.float32)
    windows = sliding_window_view(hu, shape)
    for start in range(0, len(place), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        where = np.unravel_index(place[rows], region.classes.shape)
        out[rows] = windows[where].reshape(-1, out.shape[1])
