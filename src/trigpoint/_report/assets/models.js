// Models of the two panels, which show the embedding and two of the original columns.

// Project three coordinates of some points, as seen from an angle.
function rotated(columns, [a, b]) {
  const [sinA, cosA, sinB, cosB] = [Math.sin(a), Math.cos(a), Math.sin(b), Math.cos(b)];
  const ranges = facts.coordinates.slice(0, 3).map(usualRange);
  const width = Math.max(...ranges.map(([low, high]) => high - low)) || 1;
  const [xs, ys, zs] = columns.map((values, axis) => {
    const middle = (ranges[axis][0] + ranges[axis][1]) / 2;
    return values.map((value) => (2 * (value - middle)) / width);
  });
  return {
    xs: xs.map((x, i) => cosA * x + sinA * zs[i]),
    ys: ys.map((y, i) => cosB * y - sinB * (cosA * zs[i] - sinA * xs[i])),
  };
}

// Cache a result until its key changes.
function remembered() {
  const kept = new Map();
  return (name, key, make) => {
    if (!kept.has(name) || kept.get(name).key !== key) kept.set(name, { key, result: make() });
    return kept.get(name).result;
  };
}

function embeddingModel(state, look, words) {
  const recall = remembered();
  const key = () => (state.three ? `turned ${state.turned}` : `axes ${state.axes}`);
  const chosen = () => state.axes.map((axis) => facts.coordinates[axis]);
  // Positions of points or landmarks, until they rotate.
  const places = (name, read) => recall(name, key(), () => {
    if (state.three) return rotated(facts.coordinates.slice(0, 3).map(read), state.turned);
    const [xs, ys] = chosen().map(read);
    return { xs, ys };
  });
  return {
    equal: facts.equalScales,
    words,
    points: () => places("points", numbersOf),
    landmarkPlaces: () => places("landmarks", landmarkNumbers),
    landmarks() {
      return state.showLandmarks ? this.landmarkPlaces() : null;
    },
    edges: () => (state.showGraph ? edgesOf(facts.graph) : null),
    names: () => (state.three ? null : chosen().map(({ name }) => name)),
    bounds: () => (state.three ? { low: [-1.2, -1.2], high: [1.2, 1.2] } : boundsFrom(chosen().map(usualRange))),
    extent() {
      return state.three ? this.bounds() : boundsFrom(chosen().map(({ range }) => range));
    },
    labels() {
      if (!state.showLabels || !look.colors.labels) return null;
      return recall("labels", `${key()} ${state.color}`, () =>
        classLabels(this.points(), this.bounds(), look.colors, look.members));
    },
    turn(dx, dy) {
      if (!state.three) return false;
      state.turned = [state.turned[0] + dx / 140, state.turned[1] + dy / 140];
      return true;
    },
  };
}

function originalModel(state) {
  const chosen = () => state.columns.map((column) => numeric[column]);
  const places = (read) => {
    const [xs, ys] = chosen().map(read);
    return { xs, ys };
  };
  const withLandmarks = Boolean(numeric[0].landmarks);
  return {
    equal: false,
    points: () => places(numbersOf),
    landmarkPlaces: () => places(landmarkNumbers),
    landmarks() {
      return state.showLandmarks && withLandmarks ? this.landmarkPlaces() : null;
    },
    edges: () => (state.showGraph && withLandmarks ? edgesOf(facts.graph) : null),
    names: () => chosen().map(({ name }) => name),
    bounds: () => boundsFrom(chosen().map(usualRange)),
    extent: () => boundsFrom(chosen().map(({ range }) => range)),
  };
}
