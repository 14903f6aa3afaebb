"""`plot.spectrum`: the leading eigenvalues, those of the coordinates, and their widest gap."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import decomposition

import trigpoint as tp
from trigpoint import plot
from trigpoint.plot._eigenvalues import leading_eigenvalues, widest_gap


def drawn(axes):
    """Places and values of the dots, by what the legend calls them."""
    return {line.get_label(): np.transpose(line.get_data()) for line in axes.lines}


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize(
    ("sizes", "after"),
    [
        ([0.1, 0.2, 0.7, 0.8], 2),
        ([1 / 9, 1 / 4, 1 / 3.5, 1.0], 3),
        ([0.0, 0.0, 1.0], 2),
        ([1.0, 1.4, 1.9], None),
        ([0.5, 0.5], None),
        ([0.5], None),
    ],
)
def test_the_widest_gap_is_the_largest_ratio(sizes, after):
    assert widest_gap(np.array(sizes)) == after


def test_three_clusters_have_their_gap_after_two(islands):
    """The graph of three clusters falls apart but for its bridges: two small eigenvalues."""
    axes = plot.spectrum(islands, title="here")
    assert legend(axes) == ["coordinate", "not used", "widest gap by ratio, after 2"]
    assert set(drawn(axes)["widest gap by ratio, after 2"][:, 0]) == {2.5}
    assert axes.get_title() == "here"


def test_gaps_of_diffusion_maps_are_distances_from_one(islands):
    """With alpha=0, eigenvalues are one minus those of Laplacian eigenmaps."""
    same = {"landmarks": islands.landmarks_, "graph": islands.graph_}
    diffusion = tp.DiffusionMaps(2, alpha=0.0, random_state=0, **same).fit(islands.landmarks_)
    assert leading_eigenvalues(diffusion).gap == leading_eigenvalues(islands).gap == 2


def test_every_estimator_has_a_spectrum(eigenmaps, kernel_pca, roll):
    others = [
        kind(2, landmarks=80, random_state=0).fit(roll[0]) for kind in (tp.DiffusionMaps, tp.Isomap)
    ]
    for estimator in (eigenmaps, kernel_pca, *others):
        found = drawn(plot.spectrum(estimator))
        own = estimator.eigenvalues_
        np.testing.assert_allclose(found["coordinate"][:, 1], own, rtol=1e-6)
        # Independent eigenvectors leave gaps.
        numbers = found["coordinate"][:, 0]
        assert numbers[0] == 1
        assert (np.diff(numbers) >= 1).all()
        assert found["not used"][0, 0] not in numbers


def test_eigenvectors_that_were_passed_over_are_shown_too(roll):
    """Between coordinates that are no neighbors there is no gap but eigenvectors not used."""
    emb = tp.LaplacianEigenmaps(
        2, landmarks=200, eigenvectors="independent", graph=tp.KNNGraph(10), random_state=0
    ).fit(roll[0])
    all_of_them = tp.LaplacianEigenmaps(
        30, landmarks=emb.landmark_indices_, graph=tp.KNNGraph(10), random_state=0
    ).fit(roll[0])
    leading = leading_eigenvalues(emb)
    np.testing.assert_allclose(leading.values, all_of_them.eigenvalues_, rtol=1e-6)
    np.testing.assert_allclose(leading.values[leading.used], emb.eigenvalues_, rtol=1e-6)
    assert leading.used[0]
    assert not leading.used[1], "on a roll the second is a function of the first"
    assert leading.gap == leading_eigenvalues(all_of_them).gap
    found = drawn(plot.spectrum(emb))
    np.testing.assert_allclose(found["coordinate"][:, 0] - 1, np.flatnonzero(leading.used))


def test_equal_eigenvalues_are_told_apart():
    """Those of a ring come in pairs."""
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    emb = tp.LaplacianEigenmaps(
        4, landmarks=60, graph=tp.KNNGraph(4, metric="euclidean"), random_state=0
    )
    leading = leading_eigenvalues(emb.fit(ring))
    assert leading.used[:6].tolist() == [True] * 4 + [False] * 2


def test_what_has_no_eigenvalues_is_refused(roll):
    with pytest.raises(ValueError, match="not fitted"):
        plot.spectrum(tp.Isomap())
    with pytest.raises(TypeError, match="has no eigenvalues_: pass a fitted estimator"):
        plot.spectrum(tp.Uniform(10).fit(roll[0]))
    with pytest.raises(TypeError, match="is not understood"):
        plot.spectrum(SimpleNamespace(eigenvalues_=[1.0]))
    other = decomposition.KernelPCA(2).fit(roll[0][:50])
    with pytest.raises(
        TypeError, match="a KernelPCA from another library: pass a fitted estimator"
    ):
        plot.spectrum(other)
