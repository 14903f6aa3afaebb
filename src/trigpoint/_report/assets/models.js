// What the two panels draw: the embedding, and two of the original columns.

// With this share of the points on the page, their colors need no density behind them.
const ENOUGH_POINTS = 0.4;

function makeModels(state, look) {
  return { embedding: embeddingModel(state, look), original: originalModel(state) };
}

// Three coordinates of some points as seen from an angle.
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

// Keeps a result until its key changes.
function remembered() {
  const kept = new Map();
  return (name, key, make) => {
    if (!kept.has(name) || kept.get(name).key !== key) kept.set(name, { key, result: make() });
    return kept.get(name).result;
  };
}

function embeddingModel(state, look) {
  const recall = remembered();
  const key = () => (state.three ? `turned ${state.turned}` : `axes ${state.axes}`);
  const chosen = () => state.axes.map((axis) => facts.coordinates[axis]);
  // Positions of the sample or of the landmarks, until they rotate.
  const places = (name, read) => recall(name, key(), () => {
    if (state.three) return rotated(facts.coordinates.slice(0, 3).map(read), state.turned);
    const [xs, ys] = chosen().map(read);
    return { xs, ys };
  });
  const image = () => facts.images.find(({ axes }) => !state.three && axes[0] === state.axes[0] && axes[1] === state.axes[1]);
  return {
    equal: facts.equalScales,
    points: () => places("sample", sampleNumbers),
    landmarkPlaces: () => places("landmarks", landmarkNumbers),
    landmarks() {
      return state.showLandmarks && facts.points !== null ? this.landmarkPlaces() : null;
    },
    edges: () => (state.showGraph ? edgesOf(facts.graph) : null),
    names: () => (state.three ? null : chosen().map(({ name }) => name)),
    bounds: () => (state.three ? { low: [-1.2, -1.2], high: [1.2, 1.2] } : boundsFrom(chosen().map(usualRange))),
    extent() {
      return state.three ? this.bounds() : boundsFrom(chosen().map(({ range }) => range));
    },
    picture() {
      const seen = image();
      if (!seen || (!look.colors.plain && facts.sampled > ENOUGH_POINTS * facts.points)) return null;
      const { xs, ys } = this.points();
      return recall("picture", `${key()} ${state.color} ${state.theme}`, () =>
        densityPicture(seen, look.colors, xs, ys, state.theme));
    },
    labels() {
      if (!state.showLabels || !look.colors.names) return null;
      return recall("labels", `${key()} ${state.color} ${state.theme}`, () =>
        classLabels(this.points(), this.bounds(), look.colors, look.members));
    },
    // About how many of all points are in view: by the density, or by their share in the sample.
    countWithin(view, inView) {
      if (!image()) return (inView / facts.sampled) * facts.points;
      const corner = (px, py) => [(px - view.bx) / view.kx, (py - view.by) / view.ky];
      return countWithin(image(), corner(0, view.height), corner(view.width, 0));
    },
    turn(dx, dy) {
      if (!state.three) return false;
      state.turned = [state.turned[0] + dx / 140, state.turned[1] + dy / 140];
      return true;
    },
  };
}

function originalModel(state) {
  const chosen = () => state.columns.map((column) => facts.columns[column]);
  const places = (read) => {
    const [xs, ys] = chosen().map(read);
    return { xs, ys };
  };
  return {
    equal: false,
    // When a sheet is seen edge-on, landmarks would hide the points.
    landmarkAlpha: 0.6,
    points: () => places(sampleNumbers),
    landmarkPlaces: () => places(landmarkNumbers),
    landmarks() {
      return state.showLandmarks && facts.points !== null ? this.landmarkPlaces() : null;
    },
    edges: () => (state.showGraph ? edgesOf(facts.graph) : null),
    names: () => chosen().map(({ name }) => name),
    picture: () => null,
    bounds: () => boundsFrom(chosen().map(usualRange)),
    extent: () => boundsFrom(chosen().map(({ range }) => range)),
    countWithin: (view, inView) => (inView / facts.sampled) * facts.points,
  };
}
