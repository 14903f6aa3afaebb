"""Labeled patches of head-and-neck CT scans."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import ndimage

from trigpoint._common.checks import as_generator, check_count, check_positive
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint.datasets._arguments import check_interval
from trigpoint.datasets._ct_volumes import CLASS_NAMES, NO_CLASS, PathLike, Volume, read_volumes

# Well above air (-1000) and well below fat (-100): a voxel that is a third air still counts.
_TISSUE_HU = -300


@dataclass(frozen=True)
class CTPatches:
    """Patches of CT volumes, returned by `load_ct_patches`.

    Attributes
    ----------
    X : float32 ndarray of shape (n, a * b * c)
        One patch per row; ``X.reshape(-1, *patch_shape)`` gives the patches back.
    y : int64 ndarray of shape (n,)
        The class of the voxel at the patch's center, an index into `class_names`.
    groups : int64 ndarray of shape (n,)
        The volume a patch comes from, an index into `volume_names`. Neighboring patches overlap,
        so split training and test patches by volume.
    class_names : tuple of str
        ``("surroundings", "brainstem", "left parotid", "right parotid")``.
    volume_names : tuple of str
        Names of the files or folders.
    patch_shape : tuple of int
        Size in voxels: toward the left, toward the back, and across slices.
    """

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    class_names: tuple[str, ...]
    volume_names: tuple[str, ...]
    patch_shape: tuple[int, int, int]


@dataclass(frozen=True)
class _Region:
    """The part of a volume that patches are cut from.

    `classes` has one entry for each position of the patch within `hu`.
    """

    name: str
    hu: np.ndarray
    classes: np.ndarray


def load_ct_patches(
    source: PathLike | Sequence[PathLike],
    *,
    patch_shape: tuple[int, int, int] = (7, 7, 3),
    n_patches: int | None = None,
    balanced: bool = True,
    surroundings: float = 20.0,
    window: tuple[float, float] | None = (-200.0, 300.0),
    random_state: Any = None,
) -> CTPatches:
    """Cut labeled patches out of CT scans of the head and neck.

    A patch belongs to the class of the voxel at its center: brainstem, left parotid gland, right
    parotid gland, or the tissue around them. Nothing is downloaded.

    Parameters
    ----------
    source : path or sequence of paths
        Each is one of

        - a folder with ``ct.nii.gz`` (Hounsfield units) and ``labels.nii.gz`` (1 brainstem, 2 left
          parotid, 3 right parotid, anything else other); needs ``pip install nibabel``;
        - an ``.npz`` file of OpenKBP [1]_ with ``ct`` (Hounsfield units + 1024, clipped to 0..4095;
          0 means not recorded), ``labels`` (bit masks), ``roi_names`` (the bits' names, among them
          Brainstem, LeftParotid and RightParotid) and ``voxel_mm``;
        - a folder of such ``.npz`` files.
    patch_shape : three odd int
        Size in voxels: toward the left, toward the back, and across slices.
    n_patches : int or None
        Total number of patches; ``None`` takes all there are.
    balanced : bool
        Draw the same number from each class: `n_patches` must be a multiple of four, and ``None``
        takes as many from each class as the rarest has. ``False`` draws uniformly among all
        voxels, most of which are surroundings.
    surroundings : float
        Margin in millimeters. Surroundings are the tissue voxels that carry none of the three
        labels within the bounding box of a scan's three organs, grown by this margin on all sides.
        Tissue is the largest connected part of the box above -300 HU, which excludes air around
        the head, airways, and objects that do not touch the head.
    window : pair of float or None
        Hounsfield units mapped to 0 and 1; values outside are clipped. ``None`` keeps Hounsfield
        units.
    random_state : int, RandomState, Generator or None
        Seed of the draw.

    Returns
    -------
    CTPatches
        The patches, ordered by volume, then by position: shuffle before taking a subset.

    Raises
    ------
    FileNotFoundError
        If `source` holds none of these formats.
    ImportError
        If `source` has NIfTI files and nibabel is not installed.
    ValueError
        If a file is damaged or incomplete, or there are fewer patches than requested.

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
    shape = _check_patch_shape(patch_shape)
    margin = check_positive("surroundings", surroundings, zero=True)
    levels = None if window is None else check_interval("window", window)
    if n_patches is not None:
        n_patches = check_count("n_patches", n_patches)
    rng = as_generator(random_state)

    regions = [_region(volume, shape, margin) for volume in read_volumes(source)]
    # One long list of the candidates of all volumes, from which rows are drawn.
    places = [np.flatnonzero(region.classes != NO_CLASS) for region in regions]
    classes = np.concatenate(
        [region.classes.flat[place] for region, place in zip(regions, places, strict=True)]
    )
    rows = _draw(classes, n_patches, balanced, rng)
    starts = np.cumsum([0, *map(len, places)])
    cuts = np.searchsorted(rows, starts)

    X = np.empty((len(rows), int(np.prod(shape))), np.float32)
    groups = np.empty(len(rows), np.int64)
    for number, (region, place) in enumerate(zip(regions, places, strict=True)):
        mine = slice(cuts[number], cuts[number + 1])
        groups[mine] = number
        _cut(region, place[rows[mine] - starts[number]], shape, levels, out=X[mine])
    return CTPatches(
        X=X,
        y=classes[rows].astype(np.int64),
        groups=groups,
        class_names=CLASS_NAMES,
        volume_names=tuple(region.name for region in regions),
        patch_shape=shape,
    )


def _check_patch_shape(patch_shape: Any) -> tuple[int, int, int]:
    if not isinstance(patch_shape, (tuple, list)) or len(patch_shape) != 3:
        raise ParameterTypeError(
            "patch_shape",
            patch_shape,
            "{parameter} must be three whole numbers, got {got!r}",
            got=patch_shape,
        )
    left, back, head = (check_count("patch_shape", size) for size in patch_shape)
    if not (left % 2 and back % 2 and head % 2):
        raise ParameterValueError(
            "patch_shape",
            patch_shape,
            "{parameter=} has an even size, so no voxel is its center",
            "choose odd numbers",
        )
    return left, back, head


def _region(volume: Volume, shape: tuple[int, int, int], margin: float) -> _Region:
    """Cut out the box that patches may come from and give each position in it a class."""
    organs = (volume.classes > 0) & (volume.classes != NO_CLASS)
    box = ndimage.find_objects(organs.astype(np.uint8))
    if not box:
        raise ValueError(
            f"{volume.name} has no voxel of {', '.join(CLASS_NAMES[1:])}: leave it out of source"
        )
    centers, reach = [], []
    for axis, span in enumerate(box[0]):
        half, grow = shape[axis] // 2, int(margin / volume.voxel_mm[axis])
        low = max(span.start - grow, half)
        high = min(span.stop + grow, volume.hu.shape[axis] - half)
        if low >= high:
            raise ParameterValueError(
                "patch_shape",
                shape,
                "{parameter=} does not fit around any organ of {volume}, of {voxels} voxels",
                ("choose a smaller {parameter}", "leave the volume out"),
                volume=volume.name,
                voxels=volume.hu.shape,
            )
        centers.append(slice(low, high))
        reach.append(slice(low - half, high + half))
    hu = volume.hu[tuple(reach)]
    if not np.isfinite(hu).all():
        raise ValueError(
            f"{volume.name} has intensities that are NaN or infinite: repair or drop it"
        )
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
    counts = np.bincount(classes, minlength=len(CLASS_NAMES))
    there_are = ", ".join(f"{name} {n}" for name, n in zip(CLASS_NAMES, counts, strict=True))
    if not len(classes):
        raise ParameterValueError(
            "patch_shape",
            None,
            "no patch of {parameter} lies entirely within the recorded part of {source}",
            ("choose a smaller {parameter}", "other volumes"),
        )
    if not balanced:
        if n_patches is None:
            return np.arange(len(classes))
        if n_patches > len(classes):
            raise ParameterValueError(
                "n_patches",
                n_patches,
                "{parameter=} is more than there are ({there_are})",
                ("choose {parameter} <= {most}", "None"),
                there_are=there_are,
                most=len(classes),
            )
        return np.sort(rng.choice(len(classes), n_patches, replace=False, shuffle=False))
    rarest = int(counts.min())
    if rarest == 0:
        raise ParameterValueError(
            "balanced",
            True,
            "{parameter=} needs patches of every class, but there are {there_are}",
            (
                "add volumes to {source}",
                "choose a smaller {patch_shape}",
                "a larger {surroundings}",
                "{parameter}=False",
            ),
            there_are=there_are,
        )
    if n_patches is not None and n_patches % len(counts):
        raise ParameterValueError(
            "n_patches",
            n_patches,
            "{parameter=} cannot be divided equally among {n_classes} classes",
            ("choose a multiple of {n_classes}", "{balanced=}"),
            n_classes=len(counts),
            balanced=False,
        )
    each = rarest if n_patches is None else n_patches // len(counts)
    if each > rarest:
        raise ParameterValueError(
            "n_patches",
            n_patches,
            "{parameter=} needs {each} of each class, but there are {there_are}",
            ("choose {parameter} <= {most}", "None", "{balanced=}"),
            each=each,
            there_are=there_are,
            most=len(counts) * rarest,
            balanced=False,
        )
    drawn = []
    for number in range(len(counts)):
        members = np.flatnonzero(classes == number)
        drawn.append(members[rng.choice(len(members), each, replace=False, shuffle=False)])
    return np.sort(np.concatenate(drawn))


def _cut(
    region: _Region,
    place: np.ndarray,
    shape: tuple[int, int, int],
    levels: tuple[float, float] | None,
    out: np.ndarray,
) -> None:
    """Write the patches at the flat positions `place` to the rows of `out`."""
    hu = region.hu.astype(np.float32)
    if levels is not None:
        low, high = levels
        hu = ((np.clip(hu, low, high) - low) / (high - low)).astype(np.float32)
    windows = sliding_window_view(hu, shape)
    for rows in row_blocks(len(place), block_rows(out.itemsize * out.shape[1])):
        where = np.unravel_index(place[rows], region.classes.shape)
        out[rows] = windows[where].reshape(-1, out.shape[1])
