"""CT volumes with labels, read from NIfTI and OpenKBP files into one orientation.

For every file, the first axis runs toward the patient's left, the second toward the back, the third
across slices toward the head.
"""

import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._sources.problems import require

CLASS_NAMES = ("surroundings", "brainstem", "left parotid", "right parotid")
NO_CLASS = 255

# The classes as OpenKBP calls them; the numbers are also the labels in the NIfTI files.
_ROI_NAMES = {1: "Brainstem", 2: "LeftParotid", 3: "RightParotid"}
_OPENKBP_OFFSET = 1024

PathLike = str | os.PathLike[str]


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


def read_volumes(source: PathLike | Sequence[PathLike]) -> Iterator[Volume]:
    """Read the volumes one at a time, so that only one is in memory."""
    sources = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if not sources:
        raise ParameterValueError(
            "source", source, "{parameter} is empty", "name at least one folder or .npz file"
        )
    for path in map(Path, sources):
        if path.is_file() and path.suffix == ".npz":
            yield _read_npz(path)
        elif (path / "ct.nii.gz").is_file() and (path / "labels.nii.gz").is_file():
            yield _read_nifti(path)
        elif files := sorted(path.glob("*.npz"), key=_natural_order):
            yield from map(_read_npz, files)
        else:
            raise FileNotFoundError(
                f"source={str(path)!r} is neither a folder with ct.nii.gz and labels.nii.gz, nor "
                f"an .npz file, nor a folder of .npz files: name one; nothing is downloaded"
            )


def _natural_order(path: Path) -> list[tuple[int, str]]:
    """Sort ``pt_9`` before ``pt_10``."""
    parts: list[str] = re.findall(r"\d+|\D+", path.name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _read_nifti(folder: Path) -> Volume:
    nib = require("nibabel", f"reading the NIfTI files in {folder}")
    broken = (nib.filebasedimages.ImageFileError, EOFError, OSError, ValueError, zlib.error)
    to_left_back_head = nib.orientations.axcodes2ornt("LPS")
    turned, arrays = [], []
    for name in ("ct.nii.gz", "labels.nii.gz"):
        try:
            image = nib.load(folder / name)
            if len(image.shape) != 3:
                raise ValueError(f"its shape is {image.shape}, not three axes")
            now = nib.io_orientation(image.affine)
            turn = nib.orientations.ornt_transform(now, to_left_back_head)
            turned.append(image.as_reoriented(turn))
            arrays.append(np.asanyarray(turned[-1].dataobj))
        except broken as error:
            raise ValueError(f"{folder / name} cannot be read ({error}): fetch it again") from error
    ct, labels = turned
    if ct.shape != labels.shape or not np.allclose(ct.affine, labels.affine, atol=1e-3):
        raise ValueError(
            f"ct.nii.gz and labels.nii.gz in {folder} do not lie on the same grid (shapes "
            f"{ct.shape} and {labels.shape} once reoriented): resample one to the other"
        )
    hu, values = arrays
    classes = np.where(np.isin(values, tuple(_ROI_NAMES)), values, 0).astype(np.uint8)
    voxel_mm = tuple(float(size) for size in ct.header.get_zooms())
    return Volume(folder.resolve().name, hu, classes, None, voxel_mm)


def _whole(*arrays: np.ndarray) -> bool:
    return all(np.issubdtype(array.dtype, np.integer) for array in arrays)


def _read_npz(path: Path) -> Volume:
    wanted = ("ct", "labels", "roi_names", "voxel_mm")
    try:
        # Opened here because np.load leaves a damaged file open.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            ct, labels, roi_names, voxel_mm = (file[name] for name in wanted)
    except KeyError as error:
        raise ValueError(
            f"{path} lacks an array: it needs {', '.join(wanted)} ({error})"
        ) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, TypeError, ValueError) as error:
        raise ValueError(f"{path} cannot be read ({error}): fetch it again") from error
    if ct.ndim != 3 or labels.shape != ct.shape or not _whole(ct, labels):
        raise ValueError(
            f"{path} has ct of {ct.dtype} {ct.shape} and labels of {labels.dtype} {labels.shape}: "
            f"both must hold whole numbers on the same three axes"
        )
    if voxel_mm.shape != (3,) or not np.all(voxel_mm > 0):
        raise ValueError(f"{path} has voxel_mm={voxel_mm}: it must be three sizes > 0")
    names = [str(name) for name in roi_names]
    if absent := [name for name in _ROI_NAMES.values() if name not in names]:
        raise ValueError(f"{path} lacks {', '.join(absent)} in roi_names ({', '.join(names)})")
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
