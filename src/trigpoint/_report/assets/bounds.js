// Initial bounds of a panel, which leave out a few outliers.

// Share of the points to drop at each end before measuring the usual range.
const FAR_SHARE = 0.004;
// Points farther outside that range, in units of its width, are outliers.
const FAR = 0.5;
// Outliers are left out only if the other points take up less than this share of the full range.
const WORTHWHILE = 0.55;

// Range of a column without its outliers; cached.
function usualRange(column) {
  if (!column.usual) column.usual = withoutOutliers(numbersOf(column), column.range);
  return column.usual;
}

function withoutOutliers(numbers, [low, high]) {
  const sorted = Float64Array.from(numbers.filter((value) => !Number.isNaN(value))).sort();
  if (sorted.length < 50) return [low, high];
  const cut = Math.ceil(FAR_SHARE * sorted.length);
  const [first, last] = [sorted[cut], sorted[sorted.length - 1 - cut]];
  const far = FAR * (last - first);
  const inside = sorted.filter((value) => value >= first - far && value <= last + far);
  const usual = [inside[0], inside[inside.length - 1]];
  return last > first && usual[1] - usual[0] < WORTHWHILE * (high - low) ? usual : [low, high];
}

// Bounds of two columns, as {low, high}.
function boundsFrom(ranges) {
  return { low: ranges.map(([low]) => low), high: ranges.map(([, high]) => high) };
}

// Bounds of some points.
function boundsOf(points, xs, ys) {
  const low = [Infinity, Infinity];
  const high = [-Infinity, -Infinity];
  for (const point of points) {
    [xs[point], ys[point]].forEach((value, axis) => {
      low[axis] = Math.min(low[axis], value);
      high[axis] = Math.max(high[axis], value);
    });
  }
  return { low, high };
}
