"""CT patches agree with a slow version, whatever the file's format and orientation."""

import itertools

import numpy as np
import pytest

from experiments.data.ct_patches import load_ct_patches
from experiments.data.scans import read_volumes

VOXEL_MM = (2.0, 2.0, 3.0)
ROI_NAMES = np.array(["SpinalCord", "RightParotid", "Larynx", "LeftParotid", "Brainstem"])
BITS = {1: 4, 2: 3, 3: 1}


def scene(seed=None):
    """Return a head of 16 x 14 x 12 voxels: to the left, to the back, to the head.

    Every voxel of tissue has an intensity of its own, so a patch tells where it was cut.
    """
    hu = np.arange(16 * 14 * 12).reshape(16, 14, 12)
    if seed is not None:
        hu = np.random.default_rng(seed).permutation(hu.ravel()).reshape(hu.shape)
    labels = np.zeros(hu.shape, int)
    labels[7:9, 8:10, 5:10] = 1
    labels[11:13, 5:8, 4:7] = 2
    labels[3:5, 5:8, 3:7] = 3
    labels[7, 7, 0:3] = 4  # Another organ counts as surroundings.
    hu[:, :5] = -1000  # Air in front of the face,
    hu[9:11, 7, 4:7] = -900  # an airway,
    hu[5, 3, 5] = 100  # and a crumb of something in front of the face.
    return hu, labels


def write_nifti(folder, hu, labels, axes="LPS", affine_of_labels=None):
    """Write both volumes with the array's axes along `axes`."""
    nibabel = pytest.importorskip("nibabel")
    folder.mkdir(parents=True, exist_ok=True)
    affine, order, flips = np.zeros((4, 4)), [], []
    affine[3, 3] = 1.0
    for column, axis in enumerate(axes):
        number = ["LR", "PA", "SI"].index(next(p for p in ("LR", "PA", "SI") if axis in p))
        # World coordinates grow to the right, to the front and to the head.
        affine[number, column] = VOXEL_MM[number] * (1 if axis in "RAS" else -1)
        order.append(number)
        flips.append(slice(None) if axis in "LPS" else slice(None, None, -1))
    for name, array, dtype in (("ct", hu, np.int16), ("labels", labels, np.uint8)):
        array = array.transpose(order)[tuple(flips)].astype(dtype)
        matrix = affine if name == "ct" or affine_of_labels is None else affine_of_labels
        nibabel.save(nibabel.Nifti1Image(array, matrix), folder / f"{name}.nii.gz")
    return folder


def openkbp_order(array):
    """Turn an array from left, back, head to OpenKBP's order, index by index."""
    left, back, head = np.indices(array.shape)
    turned = np.empty((array.shape[1], array.shape[0], array.shape[2]), array.dtype)
    turned[back, left, array.shape[2] - 1 - head] = array
    return turned


def npz_arrays(hu, labels, recorded=True):
    masks = np.zeros(hu.shape, np.uint16)
    for label, bit in BITS.items():
        masks[labels == label] = 1 << bit
    masks[labels == 4] = 1 << 0
    return {
        "ct": openkbp_order(np.where(recorded, hu + 1024, 0).astype(np.uint16)),
        "labels": openkbp_order(masks),
        "roi_names": ROI_NAMES,
        "voxel_mm": np.array([VOXEL_MM[1], VOXEL_MM[0], VOXEL_MM[2]]),
    }


def write_npz(path, hu, labels, recorded=True):
    np.savez_compressed(path, **npz_arrays(hu, labels, recorded))
    return path


def slow_patches(hu, labels, shape, margin, recorded=None):
    """Cut the patches one by one. The tissue of `scene` is known, so nothing is connected here."""
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


@pytest.fixture
def npz(tmp_path):
    return write_npz(tmp_path / "one.npz", *scene())


@pytest.mark.parametrize("shape", [(7, 7, 3), (3, 5, 1), (1, 1, 1)])
@pytest.mark.parametrize(("margin_mm", "margin"), [(0.0, (0, 0, 0)), (5.0, (2, 2, 1))])
@pytest.mark.parametrize("kind", ["nifti", "npz"])
def test_every_patch_agrees_with_the_slow_version(tmp_path, kind, shape, margin_mm, margin):
    write = write_nifti if kind == "nifti" else write_npz
    source = write(tmp_path / "scan.npz", *scene())
    patches = load_ct_patches(
        source, patch_shape=shape, balanced=False, surroundings=margin_mm, window=None
    )
    X, y = slow_patches(*scene(), shape, np.array(margin))
    assert patches.X.dtype == np.float32
    assert patches.y.dtype == patches.groups.dtype == np.int64
    np.testing.assert_array_equal(patches.X, X)
    np.testing.assert_array_equal(patches.y, y)
    assert set(y) == {0, 1, 2, 3}


@pytest.mark.parametrize("axes", ["RAS", "LAS", "PIR", "SLA"])
def test_orientation_of_a_nifti_file_does_not_matter(tmp_path, axes):
    straight = load_ct_patches(write_nifti(tmp_path / "a", *scene()), random_state=0)
    turned = load_ct_patches(write_nifti(tmp_path / "b", *scene(), axes=axes), random_state=0)
    np.testing.assert_array_equal(straight.X, turned.X)
    np.testing.assert_array_equal(straight.y, turned.y)


def test_patches_across_the_edge_of_what_is_recorded_are_left_out(tmp_path):
    hu, labels = scene()
    recorded = np.ones(hu.shape, bool)
    recorded[:, :, 7:] = False
    recorded |= (labels >= 1) & (labels <= 3)
    source = write_npz(tmp_path / "masked.npz", hu, labels, recorded)
    patches = load_ct_patches(source, balanced=False, surroundings=5.0, window=None)
    hu[~recorded] = -1024
    X, y = slow_patches(hu, labels, (7, 7, 3), np.array([2, 2, 1]), recorded)
    np.testing.assert_array_equal(patches.X, X)
    np.testing.assert_array_equal(patches.y, y)
    assert 0 < np.sum(y == 1) < np.sum(labels == 1)
    assert patches.X.min() >= -1000


def test_voxels_of_two_organs_have_no_class(tmp_path):
    arrays = npz_arrays(*scene())
    both = arrays["labels"] == 1 << BITS[1]
    both &= np.cumsum(both).reshape(both.shape) == 1
    arrays["labels"][both] |= 1 << BITS[2]
    np.savez(tmp_path / "overlap.npz", **arrays)
    counts = [
        np.bincount(load_ct_patches(tmp_path / name, patch_shape=(1, 1, 1), balanced=False).y)
        for name in (write_npz(tmp_path / "plain.npz", *scene()).name, "overlap.npz")
    ]
    np.testing.assert_array_equal(counts[0] - counts[1], [0, 1, 0, 0])


def centers(patches):
    return patches.X.reshape(-1, 7, 7, 3)[:, 3, 3, 1]


def test_draws_are_seeded_and_without_repetition(npz):
    settings = {"n_patches": 200, "balanced": False, "window": None}
    one, two, other = (load_ct_patches(npz, **settings, random_state=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.X, two.X)
    np.testing.assert_array_equal(one.y, two.y)
    assert not np.array_equal(one.X, other.X)
    for patches in (one, load_ct_patches(npz, window=None, random_state=0)):
        tissue = centers(patches)[centers(patches) >= 0]
        assert len(np.unique(tissue)) == len(tissue) > 0


def test_groups_tell_the_volumes_of_a_folder_in_natural_order(tmp_path):
    for number in (10, 9, 101):
        write_npz(tmp_path / f"pt_{number}.npz", *scene(seed=number))
    patches = load_ct_patches(tmp_path, window=None, balanced=False, n_patches=600, random_state=0)
    assert patches.volume_names == ("pt_9", "pt_10", "pt_101")
    assert np.bincount(patches.groups).min() > 100
    for group, number in enumerate((9, 10, 101)):
        single = load_ct_patches(tmp_path / f"pt_{number}.npz", window=None, balanced=False)
        known = {(row.tobytes(), label) for row, label in zip(single.X, single.y, strict=True)}
        mine = patches.groups == group
        rows = zip(patches.X[mine], patches.y[mine], strict=True)
        assert all((row.tobytes(), label) in known for row, label in rows)


def real(data_dir, *parts):
    path = data_dir.joinpath("ct", *parts)
    if not path.exists():
        pytest.skip(f"no CT scans: {path} does not exist")
    if "rtog" in path.name:
        pytest.importorskip("nibabel", reason="NIfTI files need nibabel")
    return path


@pytest.mark.parametrize("parts", [("rtog-0522c0002",), ("openkbp",)])
def test_real_volumes_are_turned_to_left_back_head(data_dir, parts):
    for volume in read_volumes(real(data_dir, *parts)):
        places = np.argwhere(volume.classes)
        kinds = volume.classes[tuple(places.T)]
        brainstem, left, right = (places[kinds == kind].mean(axis=0) for kind in (1, 2, 3))
        assert left[0] > brainstem[0] + 5 > right[0] + 10, volume.name
        assert max(left[1], right[1]) < brainstem[1], volume.name
        assert max(left[2], right[2]) < brainstem[2], volume.name
        assert volume.voxel_mm[0] == volume.voxel_mm[1] != volume.voxel_mm[2], volume.name
