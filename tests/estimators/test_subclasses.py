"""Subclasses: the class name changes nothing, neither after a fit nor after loading."""

from dataclasses import replace

import numpy as np
import pytest
from tests.report.browsing import unpacked

import trigpoint as tp
from trigpoint import _estimators
from trigpoint._common.errors import DamagedFileError
from trigpoint._estimators.tensors import read_tensors, write_tensors
from trigpoint._report.content import gather
from trigpoint._report.page import page


class CommuteTimeMaps(tp.LaplacianEigenmaps):
    """Eigenvectors divided by the roots of their eigenvalues, as in CONTRIBUTING.md."""

    def _spectrum(self, weights, n_components, eigenvectors):
        found = super()._spectrum(weights, n_components, eigenvectors)
        return replace(found, coordinates=found.coordinates / np.sqrt(found.eigenvalues))


# Subclasses and their bases. The first has other coordinates; the others differ in their name only.
RENAMED = [
    (type(f"Own{base.__name__}", (base,), {}), base)
    for base in (tp.DiffusionMaps, tp.Isomap, tp.KernelPCA, tp.LandmarkMap)
]
PAIRS = [(CommuteTimeMaps, tp.LaplacianEigenmaps), *RENAMED]


def made(kind):
    own = {"n_iter": 20} if issubclass(kind, tp.LandmarkMap) else {}
    if hasattr(kind(), "graph"):
        own = {"graph": tp.KNNGraph(8), "extension": "graph"}
    return kind(landmarks=60, random_state=0, **own)


@pytest.fixture(params=PAIRS, ids=lambda pair: pair[0].__name__)
def pair(request, monkeypatch):
    """Yield a subclass, registered like a class of the package, and its base."""
    name = request.param[0].__name__
    monkeypatch.setattr(_estimators, name, request.param[0], raising=False)
    return request.param


def test_the_same_after_loading(pair, roll, tmp_path):
    kind, base = pair
    X = roll[0][:800]
    emb = made(kind).fit(X)
    emb.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    assert type(again) is kind
    assert again.fitted_.method == emb.fitted_.method == kind.__name__
    np.testing.assert_array_equal(again.transform(X), emb.transform(X))
    found, expected = (one.quality(X, advise=False) for one in (again, emb))
    assert (found.method, found.verdict) == (kind.__name__, expected.verdict)
    assert found.figures() == expected.figures()
    source = tp.open_source(X)
    loaded, fresh = gather(again._subject(), source), gather(emb._subject(), source)
    assert loaded.title == fresh.title == f"{kind.__name__} of 800 points"
    assert loaded.parameters == fresh.parameters
    assert loaded.fitted.equal_scales is fresh.fitted.equal_scales is base._equal_scales
    if base is not tp.LandmarkMap:
        np.testing.assert_array_equal(again.eigenvalues_, emb.eigenvalues_)


def test_the_same_as_the_base(pair, roll):
    """Everything is equal except the name and, for the first, the coordinates."""
    kind, base = pair
    X = roll[0][:800]
    own, known = made(kind).fit(X), made(base).fit(X)
    if kind is not CommuteTimeMaps:
        verdicts = [emb.quality(X, advise=False).verdict for emb in (own, known)]
        assert verdicts[0] == verdicts[1]
        np.testing.assert_array_equal(own.transform(X), known.transform(X))
    if base is not tp.LandmarkMap:
        np.testing.assert_array_equal(own.eigenvalues_, known.eigenvalues_)
    pages = [page(gather(emb._subject(), None)) for emb in (own, known)]
    equal = [unpacked(html)[0]["equalScales"] for html in pages]
    assert equal == [base is not tp.LaplacianEigenmaps] * 2


def test_no_estimator_is_advised_instead_of_itself(roll):
    X = roll[0][:800]
    for kind, base in RENAMED[1:]:
        assert f"{base.__name__}(" not in made(kind).fit(X).quality(X).remedy


def forged(path, name, change):
    """Return whether a file with one changed array and a matching digest is refused."""
    arrays, metadata = read_tensors(path)
    if change is None:
        del arrays[name]
    else:
        arrays[name] = change(arrays.get(name, np.ones((60, 60))))
    other = path.with_name("forged.trig")
    write_tensors(other, arrays, metadata)
    with pytest.raises(DamagedFileError, match="does not describe a model"):
        tp.load(other)


# Changes to arrays that the files of each estimator hold or could hold.
FORGED = {
    tp.LaplacianEigenmaps: [("spectrum.eigenvalues", lambda a: a[:0])],
    tp.DiffusionMaps: [("spectrum.eigenvalues", lambda a: a[:0])],
    tp.Isomap: [
        ("spectrum.eigenvalues", lambda a: a[:0]),
        ("spectrum.eigenvalues", lambda a: 1e-160 * a),
        ("extras.geodesics", lambda a: -a),
        ("extras.geodesics", lambda a: a[1:]),
        ("extras.geodesics", lambda a: np.full_like(a, 1e160)),
        ("extras.geodesics", lambda a: a.astype(np.int64)),
    ],
    tp.KernelPCA: [
        ("spectrum.eigenvalues", lambda a: 1e-160 * a),
        ("extras.means", None),
        ("extras.means", lambda a: a[1:]),
        ("extras.bandwidth", None),
        ("extras.bandwidth", lambda a: 0 * a),
        ("extras.bandwidth", lambda a: -a),
        ("extras.bandwidth", lambda a: a + np.nan),
        ("extras.bandwidth", lambda a: a + np.inf),
        ("extras.bandwidth", lambda a: np.ones(60)),
    ],
    tp.LandmarkMap: [
        ("spectrum.eigenvalues", lambda _: np.ones(2)),
        ("extras.center", lambda a: a[1:]),
        ("extras.center", None),
        ("extras.components", None),
        ("extras.components", lambda a: a[1:]),
        ("extras.components", lambda a: a.ravel()),
        ("extras.components", lambda a: a.astype(np.float32)),
        ("extras.residual", None),
        ("extras.residual", lambda a: a[:0]),
        ("extras.residual", lambda a: -a),
        ("extras.odd", lambda a: a),
    ],
}


@pytest.mark.parametrize("is_subclass", [False, True])
def test_a_file_is_checked(pair, is_subclass, rng, roll, tmp_path):
    kind, base = pair
    # The file of a map of more than 50 columns contains its principal components.
    X = rng.normal(size=(300, 60)) if base is tp.LandmarkMap else roll[0][:300]
    path = tmp_path / "model.trig"
    made(kind if is_subclass else base).fit(X).save(path)
    for name, change in FORGED[base]:
        forged(path, name, change)
