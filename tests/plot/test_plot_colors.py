"""Colors of classes, as seen with color vision deficiencies.

The colors were chosen with Machado's simulation and OKLab; the tests use Viénot's simulation (1999)
and CIELAB, which are independent of these.
"""

import matplotlib as mpl
import numpy as np
import pytest

from trigpoint._common.palette import CLASS_COLORS, GRAY, OKABE_ITO

RGB = [mpl.colors.to_rgb(color) for color in CLASS_COLORS]

TO_LMS = np.array(
    [[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]]
)
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175],
     [0.0193339, 0.119192, 0.9503041]]
)  # fmt: skip


def as_seen(colors, vision):
    """Return CIELAB coordinates of RGB colors."""
    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    cones = linear @ TO_LMS.T
    if vision == "protanopia":
        cones[:, 0] = 2.02344 * cones[:, 1] - 2.52581 * cones[:, 2]
    if vision == "deuteranopia":
        cones[:, 1] = 0.494207 * cones[:, 0] + 1.24827 * cones[:, 2]
    linear = np.clip(cones @ np.linalg.inv(TO_LMS).T, 0, 1)
    relative = linear @ TO_XYZ.T / [0.95047, 1, 1.08883]
    x, y, z = np.where(
        relative > 216 / 24389, np.cbrt(relative), (24389 / 27 * relative + 16) / 116
    ).T
    return np.column_stack([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def least_difference(colors, vision):
    seen = as_seen(np.asarray(colors), vision)
    return np.linalg.norm(seen[:, None] - seen, axis=2)[~np.eye(len(seen), dtype=bool)].min()


@pytest.mark.parametrize("vision", ["normal", "protanopia", "deuteranopia"])
def test_class_colors_are_distinguishable_with_any_color_vision(vision):
    """A color difference of 2.3 is just noticeable."""
    for n, least in ((8, 15), (14, 15), (20, 11)):
        assert least_difference(RGB[:n], vision) > least


def test_colors_differ_from_each_other_the_background_and_missing_values():
    others = [mpl.colors.to_rgb("white"), mpl.colors.to_rgb(GRAY)]
    assert least_difference([*RGB, *others], "normal") > 15
    # The two grays of a light page.
    grays = np.array([[170, 174, 172], [104, 110, 108]]) / 255
    assert least_difference([*RGB, *grays], "normal") > 15
    assert CLASS_COLORS[:7] == OKABE_ITO[:7]
    assert len(set(CLASS_COLORS)) == len(CLASS_COLORS) == 40
