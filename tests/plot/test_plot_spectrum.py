"""`plot.spectrum`: the eigenvalues, and their largest gap."""

from types import SimpleNamespace

import numpy as np
import pytest

import trigpoint as tp
from trigpoint import plot


def fitted(eigenvalues):
    """An estimator that has come to these eigenvalues."""
    estimator = tp.LaplacianEigenmaps()
    estimator.eigenvalues_ = np.array(eigenvalues)
    return estimator


def band(axes):
    """Lower and upper end of the marked gap."""
    (patch,) = axes.patches
    corners = patch.get_path().vertices if not hasattr(patch, "get_y") else None
    if corners is None:
        return patch.get_y(), patch.get_y() + patch.get_height()
    return corners[:, 1].min(), corners[:, 1].max()


@pytest.mark.parametrize(
    ("values", "ends", "after"),
    [([0.1, 0.2, 0.7, 0.8], (0.2, 0.7), 2), ([9.0, 4.0, 3.5, 1.0], (4.0, 9.0), 1)],
)
def test_the_largest_gap_is_marked(values, ends, after):
    axes = plot.spectrum(fitted(values), title="here")
    np.testing.assert_allclose(axes.lines[0].get_xdata(), [1, 2, 3, 4])
    np.testing.assert_allclose(axes.lines[0].get_ydata(), values)
    np.testing.assert_allclose(band(axes), ends)
    (text,) = axes.get_legend().get_texts()
    assert text.get_text() == f"largest gap: {ends[1] - ends[0]:.2g}, after coordinate {after}"
    assert axes.get_title() == "here"


@pytest.mark.parametrize("values", [[0.5], [0.5, 0.5]])
def test_without_a_gap_none_is_marked(values):
    axes = plot.spectrum(fitted(values))
    assert not axes.patches
    assert axes.get_legend() is None


def test_three_clusters_have_their_gap_after_two_coordinates():
    """The graph of three clusters falls apart but for its bridges: two small eigenvalues."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) + np.repeat([0, 40, 80], 100)[:, None] * [1, 0, 0]
    with pytest.warns(tp.DisconnectedGraphWarning):
        emb = tp.LaplacianEigenmaps(6, landmarks=90, random_state=0).fit(X)
    axes = plot.spectrum(emb)
    np.testing.assert_allclose(band(axes), emb.eigenvalues_[1:3])


def test_every_estimator_has_a_spectrum(eigenmaps, kernel_pca):
    for estimator in (eigenmaps, kernel_pca):
        values = plot.spectrum(estimator).lines[0].get_ydata()
        np.testing.assert_allclose(values, estimator.eigenvalues_)


def test_what_has_no_eigenvalues_is_refused(roll):
    with pytest.raises(ValueError, match="not fitted"):
        plot.spectrum(tp.Isomap())
    with pytest.raises(TypeError, match="has no eigenvalues_: pass a fitted estimator"):
        plot.spectrum(tp.Uniform(10).fit(roll[0]))
    with pytest.raises(TypeError, match="is not understood"):
        plot.spectrum(SimpleNamespace(eigenvalues_=[1.0]))
