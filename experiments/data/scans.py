"""CT volumes with labels, read from NIfTI and OpenKBP files into one orientation.

For every file, the first axis runs toward the patient's left, the second toward the back, the third
across slices toward the head.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CLASS_NAMES = ("surroundings", "brainstem", "left parotid", "right parotid")
NO_CLASS = 255

# The classes as OpenKBP calls them; the numbers are also the labels in the NIfTI files.
_ROI_NAMES = {1: "Brainstem", 2: "LeftParotid", 3: "RightParotid"}
_OPENKBP_OFFSET = 1024


@dataclass(frozen=True)
class Volume:
    """A labeled scan in the common orientation.

    Attributes
    ----------
    name : str
        Name of the file or folder.
    hu : ndarray of shape (a, b, c)
        Hounsfield units.
    classes : uint8 ndarray of shape (a, b, c)
        0 for no organ, an index into `CLASS_NAMES`, or `NO_CLASS` where organs overlap.
    recorded : bool ndarray of shape (a, b, c) or None
        Where the intensities are known; ``None`` if they are known everywhere.
    voxel_mm : tuple of float
        Sizes of a voxel along the axes.
    """

    name: str
    hu: np.ndarray
    classes: np.ndarray
    recorded: np.ndarray | None
    voxel_mm: tuple[float, ...]


def read_volumes(path: Path) -> Iterator[Volume]:
    """Read the volumes of a file or folder one at a time, so that only one is in memory."""
    if path.is_file():
        yield _read_npz(path)
    elif (path / "ct.nii.gz").is_file():
        yield _read_nifti(path)
    elif files := sorted(path.glob("*.npz"), key=_natural_order):
        yield from map(_read_npz, files)
    else:
        raise FileNotFoundError(f"{path} has neither ct.nii.gz and labels.nii.gz nor .npz files")


def _natural_order(path: Path) -> list[tuple[int, str]]:
    """Sort ``pt_9`` before ``pt_10``."""
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
        # Where two organs overlap, the class is unknown.
        classes[inside] = np.where(classes[inside] == 0, number, NO_CLASS)
    hu = np.clip(ct, 0, 4095).astype(np.int16) - np.int16(_OPENKBP_OFFSET)
    # The arrays run toward the back, left and feet: swap the first two axes, reverse the third.
    hu, classes, recorded = (
        array.transpose(1, 0, 2)[:, :, ::-1] for array in (hu, classes, ct > 0)
    )
    back, left, feet = (float(size) for size in voxel_mm)
    return Volume(path.stem, hu, classes, recorded, (left, back, feet))
