"""Tables with numbers, categories, booleans, dates and missing values, through the estimators."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trigpoint as tp
from trigpoint._estimators.tensors import read_tensors, write_tensors

N = 300


@pytest.fixture
def frame(rng):
    """A table in which a category, a boolean and a date follow one of two groups."""
    group = rng.integers(2, size=N)
    return pd.DataFrame(
        {
            "width": rng.normal(size=N) + 2 * group,
            "length": rng.normal(50, 1000, size=N),
            "kind": np.where(group, "oak", "elm"),
            "tall": group == 1,
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(900, size=N), "D"),
        }
    )


@pytest.fixture
def holes(frame):
    """The same table with missing values in rows 3, 5 and 8."""
    frame = frame.astype({"tall": object})
    frame.loc[3, "width"] = np.nan
    frame.loc[5, "kind"] = None
    frame.loc[8, "tall"] = None
    return frame


@pytest.fixture
def emb():
    return tp.LaplacianEigenmaps(landmarks=60, metric="table", random_state=0)


def rows_under(emb, X):
    """Rows as the metric compares them."""
    source = tp.open_source(X, missing="median") if isinstance(X, pd.DataFrame) else X
    return emb.model_.space(source.matching(emb.model_.columns).take(None))


def test_every_kind_of_column_counts_alike(frame, emb):
    emb.fit(frame)
    assert emb.feature_names_in_.tolist() == ["width", "length", "kind", "tall", "seen"]
    rows = rows_under(emb, frame)
    assert rows.shape == (N, 6)
    for j in (0, 1, 5):
        assert rows[:, j].std() == pytest.approx(1, abs=0.15)
    different = frame["kind"].to_numpy() != frame["kind"].to_numpy()[0]
    for part in (slice(2, 4), slice(4, 5)):
        apart = np.linalg.norm(rows[:, part] - rows[0, part], axis=1)
        np.testing.assert_allclose(apart, np.sqrt(2) * different)


def test_columns_of_pandas_types(rng):
    numbers = rng.normal(size=N)
    frame = pd.DataFrame(
        {
            "categories": pd.Categorical(rng.integers(3, size=N)),
            "intervals": pd.cut(numbers, 4),
            "integers": pd.array([None, *range(1, N)], dtype="Int64"),
            "booleans": pd.array([None, *[True, False] * (N // 2)][:N], dtype="boolean"),
            "several types": [1, "a", None] * (N // 3),
            "sparse": pd.arrays.SparseArray(rng.integers(2, size=N).astype(float)),
            "zoned": pd.date_range("2020-01-01", periods=N, tz="Europe/Berlin"),
            "stamps": [f"2020-01-{1 + row % 28:02}T12:00" for row in range(N)],
            "complex": numbers + 1j,
            "durations": pd.to_timedelta(np.arange(N), "D"),
        }
    )
    source = tp.open_source(frame, missing="median")
    found = {kind.name: (kind.kind, len(kind.levels), kind.gaps) for kind in source.columns.kinds}
    assert found == {
        "categories": ("category", 3, 0),
        "intervals": ("category", 4, 0),
        "integers": ("number", 0, 1),
        "booleans": ("boolean", 0, 1),
        "several types": ("category", 2, N // 3),
        "sparse": ("number", 0, 0),
        "zoned": ("date", 0, 0),
        "stamps": ("date", 0, 0),
    }
    emb = tp.KernelPCA(landmarks=30, metric="table", random_state=0).fit(source)
    assert np.isfinite(emb.transform(frame)).all()


def test_text_that_differs_in_every_row_is_left_out_by_name(frame, emb):
    labeled = frame.assign(label=[f"tree {row}" for row in range(N)])
    with pytest.warns(
        tp.ParameterWarning, match=r"left out: label \(more than 100 different texts"
    ):
        emb.fit(labeled)
    assert "label" not in emb.feature_names_in_
    np.testing.assert_array_equal(emb.transform(labeled), emb.transform(frame))


def test_every_kind_of_table_gives_the_same(frame, emb, tmp_path):
    wanted = emb.fit_transform(frame)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for X in (pl.from_pandas(frame), pa.Table.from_pandas(frame), str(tmp_path / "t.parquet")):
        np.testing.assert_array_equal(emb.fit_transform(X), wanted)
    np.testing.assert_allclose(emb.fit_transform(str(tmp_path / "t.csv")), wanted, atol=1e-9)
    # Columns are found by name.
    np.testing.assert_array_equal(emb.fit(frame).transform(frame[frame.columns[::-1]]), wanted)


def test_outliers_do_not_change_the_scale(rng):
    X = rng.normal(size=(500, 2))
    wild = X.copy()
    wild[:10, 0] = 1e3
    emb = tp.KernelPCA(landmarks=30, metric="table", random_state=0)
    scales = [emb.fit(points).model_.space.arrays()["scales"][0] for points in (X, wild)]
    assert scales[1] == pytest.approx(scales[0], rel=0.15)


def test_a_missing_value_is_an_error_by_default(holes, emb):
    with pytest.raises(ValueError, match=r"'width' .* 1 missing .*the first in row 3.*'median'"):
        emb.fit(holes)
    with pytest.raises(ValueError, match="missing='mean' is not known"):
        tp.open_source(holes, missing="mean")


def test_infinity_is_not_missing(holes, emb):
    holes.loc[5, "length"] = np.inf
    with pytest.raises(ValueError, match=r"contains infinity \(inf\) in row 5, column 'length':"):
        emb.fit(tp.open_source(holes, missing="median"))
    with pytest.raises(ValueError, match=r"contains infinity \(inf\) in row 5, column 'length':"):
        emb.fit(tp.open_source(holes, missing="drop"))


def test_missing_values_are_filled_and_marked(holes, emb):
    emb.fit(tp.open_source(holes, missing="median"))
    rows = rows_under(emb, holes)
    assert rows.shape == (N, 6 + 3)
    assert rows[3, 0] == 0
    np.testing.assert_array_equal(np.flatnonzero(rows[:, 1]), [3])
    # A gap is as far from a category as another category.
    near = np.linalg.norm(rows[5, 3:6] - rows[:, 3:6], axis=1)
    np.testing.assert_allclose(np.delete(near, 5), np.sqrt(2))
    assert np.isfinite(emb.transform(holes)).all()
    # Without the metric for tables, gaps are filled, but not marked.
    numbers = tp.open_source(holes, columns=["width", "length"], missing="median")
    taken = np.asarray(numbers)
    assert taken[3, 0] == holes["width"].median()
    assert np.isfinite(tp.Isomap(landmarks=40).fit_transform(numbers)).all()


def test_rows_that_are_dropped_stay_in_the_output(holes, emb, tmp_path):
    source = tp.open_source(holes, missing="drop")
    Y = emb.fit_transform(source)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(Y).any(axis=1)), [3, 5, 8])
    assert not set(emb.landmark_indices_) & {3, 5, 8}
    whole = holes.drop([3, 5, 8])
    np.testing.assert_array_equal(np.delete(Y, [3, 5, 8], axis=0), emb.transform(whole))
    assert emb.quality(source, advise=False).n_points == N
    for name, read in (("Y.csv", pd.read_csv), ("Y.parquet", pd.read_parquet)):
        emb.transform(source, out=tmp_path / name)
        empty = read(tmp_path / name).isna().all(axis=1)
        assert np.flatnonzero(empty).tolist() == [3, 5, 8]
    assert (tmp_path / "Y.csv").read_text().splitlines()[4] == ","
    # Gaps in columns that are not embedded do not matter.
    more = tp.open_source(holes.assign(note=None), missing="drop")
    assert emb.quality(more).n_points == N
    # All points are landmarks of a map.
    Z = tp.LandmarkMap(metric="table", random_state=0).fit_transform(source)
    np.testing.assert_array_equal(np.isnan(Z), np.isnan(Y))
    # A page shows the other rows, one by one or as a density.
    for sample in (N, 100):
        emb.report(tmp_path / "page.html", source, sample=sample)
    with pytest.raises(ValueError, match="device='cpu' cannot be used with missing='drop'"):
        emb.transform(source, device="cpu")


def test_new_rows_have_gaps_and_categories_of_their_own(holes, frame, emb, tmp_path):
    emb.fit(tp.open_source(holes, missing="median"))
    new = frame.head(20).copy()
    new.loc[2, "kind"] = "yew"
    new.loc[4, "length"] = np.nan
    rows = rows_under(emb, new)
    apart = np.linalg.norm(rows[2, 3:6] - np.eye(3), axis=1)
    assert apart[0] == apart[1]
    assert rows[4, 2] == 0
    emb.save(tmp_path / "m.trig")
    again = tp.load(tmp_path / "m.trig")
    np.testing.assert_array_equal(again.transform(new), emb.transform(new))
    with pytest.raises(ValueError, match="no column 'kind', which the model was fitted to"):
        emb.transform(new.drop(columns="kind"))
    with pytest.raises(ValueError, match="pass a DataFrame or the path of a table"):
        emb.transform(np.zeros((3, 5)))
    # A model fitted without gaps refuses them.
    with pytest.raises(ValueError, match=r"NaN in row 4, column 'length'"):
        emb.fit(frame).transform(new)


def test_levels_come_from_all_rows(rng, tmp_path, monkeypatch):
    monkeypatch.setattr("trigpoint._pool.LEAST_ROWS", 200)
    kinds = np.array(["a", "b"], dtype=object)[rng.integers(2, size=2000)]
    kinds[1234] = "rare"
    frame = pd.DataFrame({"x": rng.normal(size=2000), "kind": kinds})
    emb = tp.LaplacianEigenmaps(landmarks=3, metric="table", random_state=0).fit(frame)
    assert emb.model_.columns.kinds[1].levels == ("a", "b", "rare")


def test_medians_of_long_tables(rng, monkeypatch):
    monkeypatch.setattr("trigpoint._sources.mixed._MEASURED_ROWS", 1000)
    frame = pd.DataFrame({"x": rng.normal(7, 2, size=200_000), "t": rng.random(200_000) < 0.5})
    kind = tp.open_source(frame, missing="median").columns.kinds[0]
    # Standard errors from 500 to 1,000 values are about 0.1.
    assert kind.center == pytest.approx(7, abs=0.5)
    # The standard deviation of a normal distribution clipped at its 5 % and 95 % quantiles.
    assert kind.scale == pytest.approx(2 * 0.912, abs=0.3)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "seuclidean"])
def test_other_metrics_refuse_categories(frame, holes, metric):
    with pytest.raises(ValueError, match=r"'kind' .* does not hold numbers: choose metric='table'"):
        tp.Isomap(metric=metric).fit(frame[["width", "kind"]])
    with pytest.raises(ValueError, match=f"'kind' holds categories, which metric='{metric}'"):
        tp.Isomap(metric=metric).fit(tp.open_source(holes, missing="median"))


def test_tables_without_columns_to_compare(emb):
    names = [f"tree {row}" for row in range(200)]
    with pytest.raises(ValueError, match=r"no column to compare \(a: .*different texts; b: no val"):
        emb.fit(pd.DataFrame({"a": names, "b": [None] * 200}))
    with pytest.raises(ValueError, match="missing='drop' applies to tables"):
        tp.open_source(np.eye(3), missing="drop")


def test_methods_and_subsets_of_tables(frame):
    found = tp.compare_methods(frame, metric="table", random_state=0)
    assert found.best.metric == "table"
    subset = tp.select(frame, 20, metric="table", random_state=0)
    assert len(set(subset.indices)) == 20


@pytest.mark.parametrize(
    "change",
    [
        lambda columns: columns.update(kinds=None),
        lambda columns: columns.update(missing="ignore"),
        lambda columns: columns["kinds"][0].__setitem__(3, -1.0),
        lambda columns: columns["kinds"][2].__setitem__(4, ["elm", "elm"]),
        lambda columns: columns["kinds"][2].__setitem__(1, "text"),
        lambda columns: columns["kinds"].pop(),
    ],
)
def test_forged_models_are_refused(frame, emb, tmp_path, change):
    emb.fit(frame).save(tmp_path / "m.trig")
    arrays, metadata = read_tensors(tmp_path / "m.trig")
    model = json.loads(metadata["model"])
    change(model["columns"])
    write_tensors(tmp_path / "n.trig", arrays, metadata | {"model": json.dumps(model)})
    with pytest.raises(tp.DamagedFileError):
        tp.load(tmp_path / "n.trig")


def test_nanoseconds_of_dates_are_cut_off(rng, tmp_path):
    stamps = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(2**50, size=N), unit="ns")
    emb = tp.KernelPCA(2, metric="table", random_state=0)
    table = pd.DataFrame({"at": stamps, "x": rng.random(N)})
    expected = emb.fit_transform(table.assign(at=stamps.floor("us")))
    assert np.array_equal(emb.transform(table), expected)
    table.to_csv(tmp_path / "t.csv", index=False)
    assert np.array_equal(emb.fit_transform(tmp_path / "t.csv"), expected)
