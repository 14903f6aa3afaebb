// How much of the points landmarks would hide.

// Landmarks over more than a quarter of the places where points are leave too little of the colors
// to read, be it that half of the points are landmarks or that all of them lie on a line. A surface
// of many points with a thousand landmarks has about a tenth of its places covered.
const MOST_COVERED = 0.25;

// Of the places on the canvas that have points, as squares of one side, the share with landmarks.
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
