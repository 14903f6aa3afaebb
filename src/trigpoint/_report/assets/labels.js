// Where the names of classes are written among their points.

const LABEL_CELLS = 24;
const LABEL_HEIGHT = 17;
// The middle of a class is well filled with this share of the points in its fullest part.
const FILLED = 0.25;

// {text, bin, x, y} of each class with a color of its own, the largest first.
function classLabels({ xs, ys }, { low, high }, colors, members) {
  const named = colors.names.slice(0, colors.column.colored).map((text, bin) => ({ text, bin }));
  return named
    .filter(({ bin }) => members[bin].length)
    .sort((a, b) => members[b.bin].length - members[a.bin].length)
    .map(({ text, bin }) => ({ text, bin, ...densestPlace(members[bin], xs, ys, low, high) }));
}

// The middle of the points if it is well filled; otherwise, as for a ring or two islands, the middle
// of those in the fullest part of the plane.
function densestPlace(points, xs, ys, low, high) {
  const cellOf = (value, axis) =>
    Math.max(0, Math.min(LABEL_CELLS - 1, Math.floor(LABEL_CELLS * shareOf(value, [low[axis], high[axis]]))));
  const counts = new Uint32Array(LABEL_CELLS ** 2);
  for (const point of points) counts[cellOf(ys[point], 1) * LABEL_CELLS + cellOf(xs[point], 0)]++;
  const around = (cell) => [-1, 0, 1].reduce((sum, row) =>
    sum + [-1, 0, 1].reduce((part, column) => part + (counts[cell + row * LABEL_CELLS + column] || 0), 0), 0);
  let fullest = 0;
  counts.forEach((_, cell) => { if (around(cell) > around(fullest)) fullest = cell; });
  const middle = { x: medianOf(points, xs), y: medianOf(points, ys) };
  if (around(cellOf(middle.y, 1) * LABEL_CELLS + cellOf(middle.x, 0)) > FILLED * around(fullest)) return middle;
  const near = points.filter((point) =>
    Math.abs(cellOf(xs[point], 0) - (fullest % LABEL_CELLS)) <= 1
    && Math.abs(cellOf(ys[point], 1) - Math.floor(fullest / LABEL_CELLS)) <= 1);
  return { x: medianOf(near, xs), y: medianOf(near, ys) };
}

function medianOf(points, values) {
  const sorted = Float64Array.from(points, (point) => values[point]).sort();
  return sorted[Math.floor(sorted.length / 2)];
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
