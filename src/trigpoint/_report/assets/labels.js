// Class names, and the words or images of single points.

const LABEL_CELLS = 24;
const LABEL_HEIGHT = 17;
const LABEL_LETTERS = 26;
// A class name is drawn at the center of its class if the density there is at least this fraction
// of the maximum.
const FILLED = 0.25;

// Minimum zoom at which words are drawn if there are class names, too.
const WORDS_ZOOM = 3;
// Images are drawn at this zoom or more, and only if at most this many points are in view.
const IMAGES_ZOOM = 1.5;
const IMAGES_IN_VIEW = 400;
const MOST_WORDS = 60;
const MOST_CANDIDATES = 2000;
const WORD_LETTERS = 32;

// {text, bin, x, y} of each class with a color of its own, the largest first.
function classLabels({ xs, ys }, { low, high }, colors, members) {
  const named = colors.labels.slice(0, colors.column.colored).map((text, bin) => ({ text, bin }));
  return named
    .filter(({ bin }) => members[bin].length)
    .sort((a, b) => members[b.bin].length - members[a.bin].length)
    .map(({ text, bin }) => ({ text, bin, ...densestPlace(members[bin], xs, ys, low, high) }));
}

// The center of the points if it is dense enough. Otherwise, as for a ring or two islands, the
// center of the densest part.
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

// Break a text into lines of a few words each.
function linesOf(text) {
  const lines = [];
  for (const word of text.split(/\s+/)) {
    const last = lines[lines.length - 1];
    if (last !== undefined && last.length + word.length < LABEL_LETTERS) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

// A box for some lines of text around a position, moved into the plot, and moved up or down if it
// would overlap other boxes; null if there is no room.
function freeBox(place, y, lines, { context, view }, taken) {
  const half = Math.max(...lines.map((text) => context.measureText(text).width)) / 2 + 2;
  const x = Math.max(half, Math.min(place, view.width - half));
  const height = LABEL_HEIGHT * lines.length;
  for (const shift of [0, 1, -1]) {
    const top = y + shift * height - height / 2;
    const box = { left: x - half, right: x + half, top, bottom: top + height, lines };
    if (!taken.some((other) => overlap(box, other, 0))) return box;
  }
  return null;
}

function overlap(box, other, apart) {
  return box.left < other.right + apart && other.left < box.right + apart
    && box.top < other.bottom + apart && other.top < box.bottom + apart;
}

// Words or images of points, landmarks first, where there is room. `words` has
//   shown()      whether they are shown
//   first        points that are preferred
//   textOf(point)  what is written, or null
//   imageOf(point) what is drawn: {sheet, left, top, width, height}, or null
function drawWords(panel, words, visible, boxes, withLabels) {
  const { view } = panel;
  const images = words.images && view.zoom >= IMAGES_ZOOM && visible.length <= IMAGES_IN_VIEW;
  if (!words.shown() || (!images && (!words.texts || (withLabels && view.zoom < WORDS_ZOOM)))) return;
  const { xs, ys } = panel.model.points();
  const apart = Math.max(2, Math.min(40, visible.length / 40));
  panel.prepareLabels();
  panel.context.font = FONT.replace("11px", "12px");
  let count = 0;
  const candidates = [words.first, spreadOut(visible, MOST_CANDIDATES)];
  for (const point of candidates.flatMap((points) => Array.from(points))) {
    if (count >= MOST_WORDS) return;
    if (!view.shows(xs[point], ys[point])) continue;
    const [x, y] = [view.x(xs[point]), view.y(ys[point])];
    const drawn = images ? drawImage(panel, words.imageOf(point), x, y, boxes) : writeWord(panel, words.textOf(point), x, y, boxes, apart);
    if (drawn) count++;
  }
}

function writeWord(panel, text, x, y, boxes, apart) {
  if (!text) return false;
  const short = text.length > WORD_LETTERS ? `${text.slice(0, WORD_LETTERS - 1)}…` : text;
  const box = freeBox(x, y - 12, [short], panel, boxes.map((other) => ({
    left: other.left - apart, right: other.right + apart, top: other.top - apart, bottom: other.bottom + apart,
  })));
  panel.writeIn(box, boxes);
  return Boolean(box);
}

function drawImage({ context, look }, image, x, y, boxes) {
  const half = 20;
  const box = { left: x - half, right: x + half, top: y - half, bottom: y + half };
  if (!image || boxes.some((other) => overlap(box, other, 3))) return false;
  boxes.push(box);
  context.imageSmoothingEnabled = false;
  context.drawImage(image.sheet, image.left, image.top, image.width, image.height, box.left, box.top, 2 * half, 2 * half);
  context.lineWidth = 2;
  context.strokeStyle = css(look.colors.palette[look.colors.bins[image.point]]);
  context.strokeRect(box.left, box.top, 2 * half, 2 * half);
  return true;
}
