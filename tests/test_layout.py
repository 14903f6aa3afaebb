"""The layout of maps, compared with sums over all pairs, and independent of threads."""

import numpy as np
import pytest
from scipy.spatial import procrustes

import trigpoint._layout
from trigpoint._kernels.forces import TOGETHER, calibrate, repel
from trigpoint._layout import (
    _ANCHOR,
    _ENLARGED_AFTER,
    _ENLARGED_RADIUS,
    _EVERY,
    _LONGEST_STEP,
    _MOMENTUM,
    _PHASES,
    _SMOOTHED,
    REACH,
    START_RADIUS,
    affinities,
    layout,
    mass_tree,
    principal_start,
    scaled_start,
    shared_affinities,
)
from trigpoint._neighbors.cells import nearest_of, neighbors_of_all


def among(points, masses, perplexity, n_threads=1):
    """Return affinities to all other points, or to the nearest 3 x `perplexity` of them."""
    m = min(round(3 * perplexity), len(points) - 1)
    found = neighbors_of_all(points, m, np.random.default_rng(0), n_threads)
    return affinities(*nearest_of(points, found, m, n_threads), masses, perplexity, n_threads)


def pairs(points):
    differences = points[:, None] - points[None]
    kernel = 1 / (1 + np.square(differences).sum(axis=-1))
    np.fill_diagonal(kernel, 0)
    return differences, kernel


def repelled(points, masses, angle):
    """Return forces and sums of all points, in their original order."""
    tree = mass_tree(points, masses)
    forces, sums = np.empty_like(points), np.empty(len(points))
    repel(tree, angle, 0, len(points), forces, sums)
    back = np.argsort(tree.order)
    return forces[back], sums[back]


def walk(tree, points, masses, i, angle):
    """Return force and sum of one point; nodes seen under a small angle count as one point each.

    The angle is measured from the nearest position in the box around the points that traverse the
    tree together.
    """
    force, total = np.zeros(3), 0.0
    first = int(np.flatnonzero(tree.order == i)[0]) // TOGETHER * TOGETHER
    company = points[tree.order[first : first + TOGETHER]]
    node = 0
    while node < len(tree.starts):
        start, stop, past = tree.starts[node], tree.stops[node], tree.past[node]
        center, (mass, square_side) = tree.values[node, :3], tree.values[node, 3:]
        shares_points = start < first + TOGETHER and first < stop
        nearest = np.clip(center, company.min(axis=0), company.max(axis=0))
        distance = np.linalg.norm(nearest - center)
        taken = []
        if not shares_points and np.sqrt(square_side) < angle * distance:
            taken = [(center, mass)]
        elif past == node + 1:
            taken = [(points[j], masses[j]) for j in tree.order[start:stop] if j != i]
        for other, share in taken:
            kernel = 1 / (1 + np.square(points[i] - other).sum())
            force += share * kernel**2 * (points[i] - other)
            total += share * kernel
        node = past if taken else node + 1
    return force, total


@pytest.fixture(params=[1, 2, 3], ids=lambda count: f"{count}-D")
def cloud(request, rng):
    points = np.zeros((300, 3))
    points[:, : request.param] = 5 * rng.normal(size=(300, request.param))
    # Some points coincide.
    points[7:12] = points[6]
    return points, rng.uniform(0.5, 5, size=300)


def test_repulsion_is_the_sum_over_all_pairs(cloud):
    points, masses = cloud
    differences, kernel = pairs(points)
    expected = np.einsum("j,ij,ijc->ic", masses, kernel**2, differences)
    forces, sums = repelled(points, masses, 1e-6)
    np.testing.assert_allclose(forces, expected, atol=1e-12 * abs(expected).max())
    np.testing.assert_allclose(sums, kernel @ masses, rtol=1e-12)
    # Treating nodes as points gives nearly the same result.
    forces, sums = repelled(points, masses, 0.6)
    tree = mass_tree(points, masses)
    for i in range(25):
        force, total = walk(tree, points, masses, i, 0.6)
        np.testing.assert_allclose(forces[i], force, atol=1e-12)
        assert sums[i] == pytest.approx(total, rel=1e-12)
    assert np.linalg.norm(forces - expected) < 0.1 * np.linalg.norm(expected)
    assert masses @ sums == pytest.approx(masses @ kernel @ masses, rel=0.03)


def test_nodes_have_the_mass_of_their_points(cloud):
    points, masses = cloud
    tree = mass_tree(points, masses)
    assert sorted(tree.order) == list(range(300))
    for start, stop, values in zip(tree.starts, tree.stops, tree.values, strict=True):
        inside = tree.order[start:stop]
        center = np.average(points[inside], axis=0, weights=masses[inside])
        np.testing.assert_allclose(values[:3], center, atol=1e-12)
        np.testing.assert_allclose(values[3], masses[inside].sum())
        assert values[4] == np.ptp(points[inside], axis=0).max() ** 2
    # Points are divided into smaller and smaller nodes.
    assert tree.values[tree.past == np.arange(len(tree.past)) + 1, 4].max() < tree.values[0, 4] / 4


def calibrated(squares, perplexity):
    shares = np.full_like(squares, np.nan)
    calibrate(squares, perplexity, shares)
    return shares


@pytest.mark.parametrize("perplexity", [1.5, 10.0, 29.0])
@pytest.mark.parametrize("outlier", [1.0, 1e10, 1e30])
def test_shares_are_gaussian_and_have_the_perplexity(perplexity, outlier, rng):
    squares = 5 + rng.random((200, 30))
    squares[:, 7] *= outlier
    shares = calibrated(squares, perplexity)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    logarithms = np.log(np.maximum(shares, 1e-300))
    entropies = -(shares * logarithms).sum(axis=1)
    np.testing.assert_allclose(entropies, np.log(perplexity), rtol=0, atol=1.001e-9)
    # Logarithms decrease linearly with the squares.
    for row, excess in zip(shares, squares - squares.min(axis=1, keepdims=True), strict=True):
        last = np.where(row > 1e-250, excess, 0).argmax()
        slope = np.log(row[last] / row.max()) / excess[last]
        np.testing.assert_allclose(row, row.max() * np.exp(slope * excess), rtol=1e-6, atol=1e-300)
    for unit in (2.0**-120, 2.0**120):
        np.testing.assert_array_equal(calibrated(squares * unit, perplexity), shares)


def test_shares_of_equal_distances(rng):
    """If more neighbors than the perplexity are nearest and equally far, only they have shares."""
    squares = 1 + rng.random((10, 6))
    squares[:, [1, 2, 5]] = 1.0
    expected = np.zeros((10, 6))
    expected[:, [1, 2, 5]] = 1 / 3
    np.testing.assert_allclose(calibrated(squares, 2.5), expected, atol=1e-15)
    np.testing.assert_array_equal(calibrated(np.ones((2, 6)), 2.5), np.full((2, 6), 1 / 6))


@pytest.mark.parametrize(("k", "d"), [(2, 3), (8, 3), (25, 3), (200, 30)])
def test_affinities_have_the_perplexity_and_the_masses(k, d, rng):
    """Neighbors may come in any order, and need not be the nearest."""
    points, masses = rng.normal(size=(k, d)), rng.uniform(1, 9, size=k)
    m = min(30, k - 1)
    neighbors = np.array([rng.permutation(np.delete(np.arange(k), i))[:m] for i in range(k)])
    joint = affinities(*nearest_of(points, neighbors, m, 2), masses, 10.0, 2).toarray()
    np.testing.assert_array_equal(joint, joint.T)
    assert joint.sum() == pytest.approx(1)
    assert (np.diag(joint) == 0).all()
    directed = np.zeros((k, k))
    for i, others in enumerate(neighbors):
        squares = np.square(points[others] - points[i]).sum(axis=1)
        shares = calibrated(squares[None], min(10.0, max(1.0, m / REACH)))[0]
        directed[i, others] = shares * masses[i] / masses.sum()
    np.testing.assert_allclose(joint, (directed + directed.T) / 2, atol=1e-10)


def test_duplicates_are_neighbors_of_each_other_but_not_of_themselves(rng):
    """There may be more duplicates than neighbors."""
    joint = among(np.repeat(rng.normal(size=(3, 2)), 9, axis=0), np.ones(27), 2.0).toarray()
    assert (np.diag(joint) == 0).all()
    groups = np.arange(27) // 9
    assert joint[groups[:, None] == groups].sum() == pytest.approx(1)


def test_shared_affinities_add_up_over_the_points(rng):
    """Compared with a sum over pairs, point by point."""
    points, landmarks = rng.normal(size=(80, 2)), rng.normal(size=(12, 2))
    squares = np.square(points[:, None] - landmarks).sum(axis=-1)
    order = np.argsort(squares, axis=1)[:, :5]
    near = np.take_along_axis(squares, order, axis=1)
    expected = np.zeros((12, 12))
    for columns, row in zip(order, near, strict=True):
        shares = np.square(1 - row[:4] / row[4])
        shares /= shares.sum()
        for a in range(4):
            for b in range(4):
                expected[columns[a], columns[b]] += shares[a] * shares[b] * (a != b)
    found = shared_affinities(12, [(order[:30], near[:30]), (order[30:], near[30:])]).toarray()
    np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-14)
    np.testing.assert_array_equal(found, found.T)


def test_points_as_far_from_all_landmarks_tie_all():
    found = shared_affinities(3, [(np.array([[0, 1, 2]]), np.ones((1, 3)))]).toarray()
    assert found[0, 1] == found[1, 0] == 0.5
    assert found.sum() == 1


def divergence(joint, masses, positions):
    """Return the Kullback-Leibler divergence of the model from the affinities, over all pairs."""
    shares = masses / masses.sum()
    model = shares[:, None] * shares * pairs(positions)[1]
    model /= model.sum()
    there = joint > 0
    return (joint[there] * np.log(joint[there] / model[there])).sum()


def test_forces_are_the_gradient_of_the_divergence(rng, monkeypatch):
    monkeypatch.setattr(trigpoint._layout, "_ANGLE", 1e-6)
    masses = rng.uniform(1, 4, size=60)
    joint = among(rng.normal(size=(60, 5)), masses, 5.0)
    points = np.zeros((60, 3))
    points[:, :2] = 2 * rng.normal(size=(60, 2))
    shares = masses / masses.sum()
    both = trigpoint._layout._HostForces(joint, masses, 1)
    forces = both.attraction(points, slice(0, 60)) + both.repulsion(points)
    for i, c in ((0, 0), (7, 1), (30, 0)):
        step = np.zeros_like(points)
        step[i, c] = 1e-5
        ends = [divergence(joint.toarray(), masses, points + sign * step) for sign in (1, -1)]
        slope = (ends[0] - ends[1]) / 2e-5
        assert forces[i, c] == pytest.approx(-slope / (4 * shares[i]), rel=1e-5)


def slow_layout(joint, masses, points, exaggeration, n_iter):
    """Follow the gradient over all pairs, with momentum; return landmarks that reach the limit."""
    shares, velocities, n_limited = masses / masses.sum(), np.zeros_like(points), 0
    points = given = points - shares @ points
    for _ in range(_SMOOTHED):
        points = joint @ points / joint.sum(axis=1)[:, None]
        points = points - shares @ points
    points = start = points * np.sqrt((shares @ given**2) / (shares @ points**2))
    anchor = min(_ANCHOR[0], _ANCHOR[1] / len(points))
    for step in range(n_iter):
        if step == int(_ENLARGED_AFTER * n_iter):
            radius = np.sqrt(shares @ np.square(points).sum(axis=1))
            wanted = _ENLARGED_RADIUS * np.sqrt(len(points)) / max(exaggeration, 1)
            points, velocities = points * max(1, wanted / radius), np.zeros_like(points)
        phase = sum(step >= share * n_iter for share, _, _ in _PHASES)
        _, early, length = _PHASES[phase]
        strength = max(exaggeration, early)
        differences, kernel = pairs(points)
        attraction = -np.einsum("ij,ijc->ic", joint * kernel, differences) / shares[:, None]
        if step % _EVERY == 0:
            repulsion = np.einsum("j,ij,ijc->ic", shares, kernel**2, differences)
            repulsion /= shares @ kernel @ shares
            scale = shares @ (points * start).sum(axis=1) / (shares @ np.square(start).sum(axis=1))
        forces = attraction + repulsion / strength + anchor * (scale * start - points)
        velocities = _MOMENTUM * velocities + length * forces
        lengths = np.linalg.norm(velocities, axis=1, keepdims=True)
        velocities = np.where(lengths > _LONGEST_STEP, _LONGEST_STEP / lengths, 1) * velocities
        n_limited += np.count_nonzero(lengths > _LONGEST_STEP)
        points = points + velocities
        points = points - shares @ points
    return points, n_limited


@pytest.mark.parametrize("exaggeration", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_steps_of_the_layout_by_definition(exaggeration, n_components, rng, monkeypatch):
    monkeypatch.setattr(trigpoint._layout, "_ANGLE", 1e-6)
    masses = rng.uniform(1, 4, size=60)
    joint = among(rng.normal(size=(60, 5)), masses, 5.0)
    start = rng.normal(size=(60, n_components))
    expected, n_limited = slow_layout(joint.toarray(), masses, start, exaggeration, 12)
    found = layout(joint, masses, start, exaggeration=exaggeration, n_iter=12)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert (n_limited > 0) == (exaggeration < 1)


def test_attraction_is_never_less_than_asked_for(rng):
    """Early exaggeration decreases to the user's value, and has no effect if it is lower."""
    factors = [factor for _, factor, _ in _PHASES]
    assert factors == sorted(factors, reverse=True)
    assert factors[-1] == 0
    points, masses = rng.normal(size=(90, 4)), np.ones(90)
    joint, start = among(points, masses, 5.0), principal_start(points, masses, 2, rng)
    most = max(factors)
    found = layout(joint, masses, start, exaggeration=most, n_iter=20)
    expected, _ = slow_layout(joint.toarray(), masses, start, most, 20)
    with pytest.MonkeyPatch.context() as patched:
        plain = [(share, 0.0, length) for share, _, length in _PHASES]
        patched.setattr(trigpoint._layout, "_PHASES", plain)
        np.testing.assert_array_equal(
            layout(joint, masses, start, exaggeration=most, n_iter=20), found
        )
    # Treating nodes as points makes a small difference.
    assert np.abs(found - expected).max() < 0.2 * np.abs(expected).max()


def test_a_few_far_points_change_neither_the_axes_nor_the_scale_of_the_start(rng):
    points, masses = rng.normal(size=(500, 6)) * [9, 5, 1, 1, 1, 1], np.ones(500)
    far = points.copy()
    far[::100, 5] = [1e6, -1e9, 1e12, 1e6, -1e6]
    near = np.arange(500) % 100 != 0
    expected, found = (
        principal_start(some, masses, 2, np.random.default_rng(0))[near] for some in (points, far)
    )
    assert procrustes(expected, found)[2] < 0.02
    assert found.std() > 0.8 * expected.std()


def test_starts_are_centered_and_scaled_by_the_masses(rng):
    given, masses = 1e9 + rng.normal(size=(400, 3)), rng.uniform(1, 9, size=400)
    start = scaled_start(given, masses, rng)
    radius = np.sqrt(np.average(np.square(start).sum(axis=1), weights=masses))
    assert radius == pytest.approx(START_RADIUS * np.sqrt(400), rel=1e-3)
    np.testing.assert_allclose(np.average(start, axis=0, weights=masses), 0, atol=0.01)
    # Only noise separates coordinates that coincide.
    once = scaled_start(np.ones((400, 2)), masses, rng)
    assert once.std() < 0.01
    assert len(np.unique(once, axis=0)) == 400


def test_large_starts_are_limited(rng):
    """If rows of a class start far apart, they end in separate islands."""
    given, masses = rng.normal(size=(40_000, 2)), np.ones(40_000)
    start = scaled_start(given, masses, rng)
    assert np.sqrt(np.square(start).sum(axis=1).mean()) == pytest.approx(20.0, rel=1e-3)


def test_same_bits_with_any_number_of_threads(rng):
    points, masses = rng.normal(size=(3000, 20)), rng.integers(1, 20, size=3000).astype(float)
    start = principal_start(points, masses, 2, np.random.default_rng(0))
    joints = [among(points, masses, 10.0, n_threads) for n_threads in (1, 2, 4)]
    results = [
        layout(joint, masses, start, n_iter=30, n_threads=n_threads)
        for joint, n_threads in zip(joints, (1, 2, 4), strict=True)
    ]
    for joint, result in zip(joints[1:], results[1:], strict=True):
        np.testing.assert_array_equal(joint.indices, joints[0].indices)
        np.testing.assert_array_equal(joint.data, joints[0].data)
        np.testing.assert_array_equal(result, results[0])


def test_heavy_landmarks_take_more_room():
    """Of two groups with equally many landmarks, the one that represents more points is larger."""
    rng = np.random.default_rng(0)
    group = rng.normal(size=(200, 5))
    points = np.concatenate([group, group + 30])
    masses = np.repeat([1.0, 5.0], 200)
    joint = among(points, masses, 10.0)
    end = layout(joint, masses, principal_start(points, masses, 2, rng), n_iter=500)
    light, heavy = (np.sqrt(end[part].var(axis=0).sum()) for part in (slice(200), slice(200, 400)))
    assert heavy > 1.4 * light


def test_landmarks_on_a_line_unfold_into_the_plane(rng):
    points, masses = rng.normal(size=(100, 1)), np.ones(100)
    end = layout(among(points, masses, 5.0), masses, principal_start(points, masses, 2, rng))
    assert end.std(axis=0).min() > 0.1
