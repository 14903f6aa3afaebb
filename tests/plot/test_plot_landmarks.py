"""`plot.landmarks`: marks, ellipses and what lies behind them."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import trigpoint as tp
from trigpoint import plot


def measured(X, sampler, covariance="full"):
    """An estimator whose landmarks have local covariances."""
    graph = tp.KNNGraph(covariance=covariance)
    return tp.LaplacianEigenmaps(landmarks=sampler, graph=graph, extension="graph").fit(X)


def ellipses_of(axes):
    return next(c for c in axes.collections if hasattr(c, "get_widths"))


@pytest.mark.parametrize("covariance", ["full", "diag"])
@pytest.mark.parametrize(("plane", "n_std"), [((0, 1), 1), ((2, 0), 2)])
def test_ellipses_are_the_projected_covariances(plane, n_std, covariance, roll):
    emb = measured(roll[0], tp.EfficientDPP(50, random_state=0), covariance)
    points, ellipses, marks = plot.landmarks(emb, roll[0], plane=plane, n_std=n_std).collections
    np.testing.assert_allclose(points.get_offsets(), roll[0][:, plane])
    np.testing.assert_allclose(ellipses.get_offsets(), emb.landmarks_[:, plane])
    np.testing.assert_allclose(marks.get_offsets(), emb.landmarks_[:, plane])
    angles = np.radians(ellipses.get_angles())
    sizes = np.column_stack([ellipses.get_widths(), ellipses.get_heights()])
    for angle, size, measure in zip(angles, sizes, emb.covariances_, strict=True):
        full = measure if covariance == "full" else np.diag(measure)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        found = turn @ np.diag((size / 2 / n_std) ** 2) @ turn.T
        np.testing.assert_allclose(found, full[np.ix_(plane, plane)], rtol=1e-6, atol=1e-9)


def test_the_axes_hold_the_ellipses(roll):
    emb = measured(roll[0], tp.EfficientDPP(50, random_state=0))
    axes = plot.landmarks(emb, plane=(1, 2), n_std=3)
    reach = 3 * np.sqrt(emb.covariances_[:, 1, 1])
    low, high = axes.get_xlim()
    assert (low < emb.landmarks_[:, 1] - reach).all()
    assert (high > emb.landmarks_[:, 1] + reach).all()
    assert axes.get_aspect() == 1


def test_many_points_are_drawn_as_density(rng):
    X = rng.normal(size=(25_000, 2))
    sampler = tp.Uniform(30, random_state=0).fit(X)
    axes = plot.landmarks(sampler, X, covariances=False)
    assert (10 ** axes.images[0].get_array()).sum() == pytest.approx(25_000)
    (marks,) = axes.collections
    np.testing.assert_allclose(marks.get_offsets(), sampler.landmarks_)
    # Black would hide the marks.
    assert axes.images[0].get_cmap()(1.0)[0] > 0.4


def test_many_landmarks_are_pixels_in_vector_files(rng):
    X = rng.normal(size=(3000, 2))
    emb = measured(X, tp.EfficientDPP(2000, random_state=0), "diag")
    assert [c.get_rasterized() for c in plot.landmarks(emb).collections] == [True, True]
    few = measured(X, tp.EfficientDPP(20, random_state=0), "diag")
    assert [c.get_rasterized() for c in plot.landmarks(few).collections] == [False, False]


def test_columns_are_called_by_their_names(roll):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(roll[0], columns=["east", "north", "up"])
    sampler = tp.Uniform(10, random_state=0).fit(frame)
    axes = plot.landmarks(sampler, frame, covariances=False, plane=(0, 2), title="here")
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("east", "up", "here")
    np.testing.assert_allclose(axes.collections[0].get_offsets(), roll[0][:, [0, 2]])


def test_columns_of_very_different_length_are_not_drawn_to_one_scale(rng):
    X = rng.normal(size=(100, 2)) * [1, 1000]
    axes = plot.landmarks(tp.Uniform(10, random_state=0).fit(X), X, covariances=False)
    assert axes.get_aspect() == "auto"


def test_without_covariances_it_is_said_how_to_get_them(roll, kernel_pca):
    for source in (kernel_pca, tp.EfficientDPP(10).fit(roll[0]), tp.Uniform(10).fit(roll[0])):
        with pytest.raises(
            ValueError, match="no covariances: fit an estimator with graph='bhattacharyya'"
        ):
            plot.landmarks(source, covariances=True)
        for covariances in (None, False):
            assert len(plot.landmarks(source, covariances=covariances).collections) == 1


def test_an_estimator_read_from_a_file_may_have_no_covariances(rng, tmp_path):
    emb = tp.LaplacianEigenmaps(landmarks=50, random_state=0).fit(rng.normal(size=(400, 20)))
    emb.save(tmp_path / "wide.trig")
    again = tp.load(tmp_path / "wide.trig")
    assert again.covariances_ is None
    with pytest.raises(ValueError, match="model files omit full covariances above 16"):
        plot.landmarks(again, covariances=True)
    (marks,) = plot.landmarks(again).collections
    np.testing.assert_allclose(marks.get_offsets(), emb.landmarks_[:, :2])


def test_wrong_sources_and_points_are_refused(roll, eigenmaps):
    with pytest.raises(ValueError, match="not fitted"):
        plot.landmarks(tp.EfficientDPP())
    # Not the array itself, of which there would be pages.
    message = r"^source of type ndarray and shape \(50, 3\) is not understood: pass a fitted est"
    with pytest.raises(TypeError, match=message):
        plot.landmarks(roll[0][:50], roll[0])
    with pytest.raises(TypeError, match="pass a fitted estimator or sampler"):
        plot.landmarks(tp.EfficientDPP)
    with pytest.raises(ValueError, match="X has 2 columns and the landmarks have 3"):
        plot.landmarks(eigenmaps, roll[0][:, :2])
    with pytest.raises(ValueError, match=r"X has shape \(3,\)"):
        plot.landmarks(eigenmaps, np.ones(3))
    with pytest.raises(ValueError, match=r"plane=\(0, 3\)"):
        plot.landmarks(eigenmaps, plane=(0, 3))
    with pytest.raises(ValueError, match="n_std=0"):
        plot.landmarks(eigenmaps, n_std=0)
    assert not plt.get_fignums()
