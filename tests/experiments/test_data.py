"""MNIST is read exactly, and CT patches agree with a slow version in any format."""

import itertools

import numpy as np
import pytest

from experiments.data import cut_patches, load_mnist, read_volumes


def test_the_real_files(data_dir):
    folder = data_dir / "mnist"
    if not folder.is_dir():
        pytest.skip(f"no MNIST files: {folder} does not exist")
    X, y = load_mnist(folder, split="test")
    assert X.shape == (10_000, 784)
    # Counts of the digits and mean gray value of the test images, which are widely published.
    counts = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    np.testing.assert_array_equal(np.bincount(y), counts)
    assert X.mean(dtype=np.float64) == pytest.approx(0.1325, abs=1e-4)
    # The border of the images is empty, which it would not be if rows were shifted.
    assert X.reshape(-1, 28, 28)[:, [0, -1], :].mean() < 1e-3


# CT patches -----------------------------------------------------------------------------------

VOXEL_MM = (2.0, 2.0, 3.0)
ROI_NAMES = np.array(["SpinalCord", "RightParotid", "Larynx", "LeftParotid", "Brainstem"])
BITS = {1: 4, 2: 3, 3: 1}


def scene(seed=None):
    """Return a head of 16 x 14 x 12 voxels; axes point left, back and up.

    Every voxel of tissue has a unique intensity, so a patch reveals where it was cut.
    """
    hu = np.arange(16 * 14 * 12).reshape(16, 14, 12)
    if seed is not None:
        hu = np.random.default_rng(seed).permutation(hu.ravel()).reshape(hu.shape)
    labels = np.zeros(hu.shape, int)
    labels[7:9, 8:10, 5:10] = 1
    labels[11:13, 5:8, 4:7] = 2
    labels[3:5, 5:8, 3:7] = 3
    # Another organ counts as surroundings. There are air in front of the face, an airway, and a
    # small object in front of the face.
    labels[7, 7, 0:3] = 4
    hu[:, :5] = -1000  # Air in front of the face,
    hu[9:11, 7, 4:7] = -900  # an airway,
    hu[5, 3, 5] = 100  # and a crumb of something in front of the face.
    return hu, labels


def write_nifti(folder, hu, labels, axes):
    """Write both volumes with the axes of the arrays along `axes`."""
    nibabel = pytest.importorskip("nibabel")
    affine, order, flips = np.zeros((4, 4)), [], []
    affine[3, 3] = 1.0
    for column, axis in enumerate(axes):
        number = ["LR", "PA", "SI"].index(next(p for p in ("LR", "PA", "SI") if axis in p))
        # World coordinates increase to the right, to the front and upward.
        affine[number, column] = VOXEL_MM[number] * (1 if axis in "RAS" else -1)
        order.append(number)
        flips.append(slice(None) if axis in "LPS" else slice(None, None, -1))
    for name, array, dtype in (("ct", hu, np.int16), ("labels", labels, np.uint8)):
        array = array.transpose(order)[tuple(flips)].astype(dtype)
        nibabel.save(nibabel.Nifti1Image(array, affine), folder / f"{name}.nii.gz")
    return folder


def openkbp_order(array):
    """Reorder an array from left, back, up to the order of OpenKBP, index by index."""
    left, back, head = np.indices(array.shape)
    turned = np.empty((array.shape[1], array.shape[0], array.shape[2]), array.dtype)
    turned[back, left, array.shape[2] - 1 - head] = array
    return turned


def write_npz(path, hu, labels, recorded=True):
    masks = np.zeros(hu.shape, np.uint16)
    for label, bit in BITS.items():
        masks[labels == label] = 1 << bit
    masks[labels == 4] = 1 << 0
    np.savez_compressed(
        path,
        ct=openkbp_order(np.where(recorded, hu + 1024, 0).astype(np.uint16)),
        labels=openkbp_order(masks),
        roi_names=ROI_NAMES,
        voxel_mm=np.array([VOXEL_MM[1], VOXEL_MM[0], VOXEL_MM[2]]),
    )
    return path


def slow_patches(hu, labels, shape, margin, recorded=None):
    """Cut patches one by one; the tissue of `scene` is given, so no components are searched."""
    organ = np.argwhere((labels >= 1) & (labels <= 3))
    low, high = organ.min(axis=0) - margin, organ.max(axis=0) + margin
    rows, classes = [], []
    for center in itertools.product(*map(range, hu.shape)):
        label = labels[center] if labels[center] <= 3 else 0
        start = np.array(center) - np.array(shape) // 2
        stop = start + shape
        cut = tuple(map(slice, start, stop))
        if (start < 0).any() or (stop > hu.shape).any():
            continue
        if label == 0 and ((center < low).any() or (center > high).any()):
            continue
        if label == 0 and (hu[center] <= -300 or center == (5, 3, 5)):
            continue
        if recorded is not None and not recorded[cut].all():
            continue
        rows.append(hu[cut].ravel())
        classes.append(label)
    return np.array(rows, np.float32), np.array(classes)


@pytest.mark.parametrize("shape", [(7, 7, 3), (3, 5, 1)])
@pytest.mark.parametrize(("margin_mm", "margin"), [(0.0, (0, 0, 0)), (5.0, (2, 2, 1))])
@pytest.mark.parametrize("kind", ["npz", "LPS", "RAS", "PIR", "SLA"])
def test_every_patch_agrees_with_the_slow_version(tmp_path, kind, shape, margin_mm, margin):
    """NIfTI files may have any orientation."""
    if kind == "npz":
        source = write_npz(tmp_path / "scan.npz", *scene())
    else:
        source = write_nifti(tmp_path, *scene(), axes=kind)
    patches = cut_patches(source, patch_shape=shape, margin=margin_mm, window=None)
    X, y = slow_patches(*scene(), shape, np.array(margin))
    assert patches.X.dtype == np.float32
    assert patches.y.dtype == patches.patients.dtype == np.int64
    np.testing.assert_array_equal(patches.X, X)
    np.testing.assert_array_equal(patches.y, y)
    assert set(y) == {0, 1, 2, 3}


def test_patches_across_the_edge_of_what_is_recorded_are_left_out(tmp_path):
    hu, labels = scene()
    recorded = np.ones(hu.shape, bool)
    recorded[:, :, 7:] = False
    recorded |= (labels >= 1) & (labels <= 3)
    source = write_npz(tmp_path / "masked.npz", hu, labels, recorded)
    patches = cut_patches(source, margin=5.0, window=None)
    hu[~recorded] = -1024
    X, y = slow_patches(hu, labels, (7, 7, 3), np.array([2, 2, 1]), recorded)
    np.testing.assert_array_equal(patches.X, X)
    np.testing.assert_array_equal(patches.y, y)
    assert 0 < np.sum(y == 1) < np.sum(labels == 1)


def test_patches_say_which_volume_of_a_folder_they_are_from(tmp_path):
    for number in (10, 9, 101):
        write_npz(tmp_path / f"pt_{number}.npz", *scene(seed=number))
    patches = cut_patches(tmp_path, window=None)
    for group, number in enumerate((9, 10, 101)):
        single = cut_patches(tmp_path / f"pt_{number}.npz", window=None)
        np.testing.assert_array_equal(patches.X[patches.patients == group], single.X)
        np.testing.assert_array_equal(patches.y[patches.patients == group], single.y)


@pytest.mark.parametrize("name", ["rtog-0522c0002", "openkbp"])
def test_real_volumes_are_turned_to_left_back_head(data_dir, name):
    path = data_dir / "ct" / name
    if not path.exists():
        pytest.skip(f"no CT scans: {path} does not exist")
    if name == "rtog-0522c0002":
        pytest.importorskip("nibabel", reason="NIfTI files need nibabel")
    for volume in read_volumes(path):
        places = np.argwhere(volume.classes)
        kinds = volume.classes[tuple(places.T)]
        brainstem, left, right = (places[kinds == kind].mean(axis=0) for kind in (1, 2, 3))
        assert left[0] > brainstem[0] + 5 > right[0] + 10, volume.name
        assert max(left[1], right[1]) < brainstem[1], volume.name
        assert max(left[2], right[2]) < brainstem[2], volume.name
        assert volume.voxel_mm[0] == volume.voxel_mm[1] != volume.voxel_mm[2], volume.name
