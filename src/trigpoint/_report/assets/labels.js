// Where the names of classes are written among their points.

const LABEL_CELLS = 24;
const LABEL_HEIGHT = 17;

// {text, x, y, color} of each class with a color of its own, the largest first.
function classLabels({ xs, ys }, { low, high }, colors, members) {
  const named = colors.names.slice(0, colors.column.colored).map((text, bin) => ({ text, bin }));
  return named
    .filter(({ bin }) => members[bin].length)
    .sort((a, b) => members[b.bin].length - members[a.bin].length)
    .map(({ text, bin }) => ({ text, color: colors.palette[bin], ...densestPlace(members[bin], xs, ys, low, high) }));
}

// Mean of the points in the fullest part of the plane and the parts around it.
function densestPlace(points, xs, ys, low, high) {
  const cellOf = (value, axis) =>
    Math.max(0, Math.min(LABEL_CELLS - 1, Math.floor(LABEL_CELLS * shareOf(value, [low[axis], high[axis]]))));
  const counts = new Uint32Array(LABEL_CELLS ** 2);
  for (const point of points) counts[cellOf(ys[point], 1) * LABEL_CELLS + cellOf(xs[point], 0)]++;
  const around = (cell) => [-1, 0, 1].reduce((sum, row) =>
    sum + [-1, 0, 1].reduce((part, column) => part + (counts[cell + row * LABEL_CELLS + column] || 0), 0), 0);
  let fullest = 0;
  counts.forEach((_, cell) => { if (around(cell) > around(fullest)) fullest = cell; });
  const near = points.filter((point) =>
    Math.abs(cellOf(xs[point], 0) - (fullest % LABEL_CELLS)) <= 1
    && Math.abs(cellOf(ys[point], 1) - Math.floor(fullest / LABEL_CELLS)) <= 1);
  const chosen = near.length ? near : points;
  const mean = (values) => chosen.reduce((sum, point) => sum + values[point], 0) / chosen.length;
  return { x: mean(xs), y: mean(ys) };
}

// A box for a name around a place, moved up or down where others are; null if there is no room.
function freeBox(x, y, width, taken) {
  for (const shift of [0, 1, -1]) {
    const middle = y + shift * LABEL_HEIGHT;
    const box = { left: x - width / 2 - 2, right: x + width / 2 + 2, top: middle - LABEL_HEIGHT / 2, bottom: middle + LABEL_HEIGHT / 2 };
    const hits = (other) =>
      box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom;
    if (!taken.some(hits)) return box;
  }
  return null;
}
