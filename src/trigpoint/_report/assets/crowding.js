// How many of the points the landmarks would hide.

// If landmarks cover more than a quarter of the area with points, the colors cannot be read: for
// example if half of the points are landmarks, or all points lie on a line. On a surface of many
// points, a thousand landmarks cover about a tenth of the area.
const MOST_COVERED = 0.25;

// Share of the canvas squares with points that also have landmarks.
function coveredShare(view, points, landmarks, side) {
  const taken = squaresOf(view, points, side);
  const covered = squaresOf(view, landmarks, side);
  return [...taken].filter((square) => covered.has(square)).length / taken.size;
}

function squaresOf(view, { xs, ys }, side) {
  const across = Math.ceil(view.width / side);
  const square = (x, place) => Math.floor(view.x(x) / side) + across * Math.floor(view.y(ys[place]) / side);
  return new Set(Array.from(xs, square));
}
