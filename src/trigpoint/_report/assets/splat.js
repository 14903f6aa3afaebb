// Draw points as an image. Each pixel has the mean color of its points, and the more points it has,
// the more opaque or darker it is. This is fast enough to draw a million points per frame.

const LEVELS = 256;
// Opacity of a pixel with a single point.
const LEAST_OPACITY = 0.72;
// Pixels with at least this many times the mean number of points are opaque.
const DENSE = 8;

const splat = { canvas: null, sums: new Float32Array(0) };

function drawSplat(context, { xs, ys }, points, { bins, palette, plain }, view, ratio, size) {
  const [width, height] = [Math.ceil(view.width * ratio), Math.ceil(view.height * ratio)];
  const sums = emptySums(4 * width * height);
  const side = Math.max(1, Math.round(size * ratio));
  const [kx, ky] = [view.kx * ratio, view.ky * ratio];
  const colors = Float32Array.from(palette.flat());
  const [bx, by] = [view.bx * ratio - (side - 1) / 2, view.by * ratio - (side - 1) / 2];
  for (let place = 0; place < points.length; place++) {
    const point = points[place];
    const left = Math.floor(xs[point] * kx + bx);
    const top = Math.floor(ys[point] * ky + by);
    if (!(left >= 0 && top >= 0 && left + side <= width && top + side <= height)) continue;
    const color = 3 * bins[point];
    for (let row = top; row < top + side; row++) {
      for (let at = 4 * (row * width + left), end = at + 4 * side; at < end; at += 4) {
        sums[at] += colors[color];
        sums[at + 1] += colors[color + 1];
        sums[at + 2] += colors[color + 2];
        sums[at + 3] += 1;
      }
    }
  }
  if (!splat.canvas) splat.canvas = canvasOf(width, height);
  Object.assign(splat.canvas, { width, height });
  const target = splat.canvas.getContext("2d");
  const image = target.createImageData(width, height);
  fillPixels(image.data, sums, plain);
  target.putImageData(image, 0, 0);
  context.drawImage(splat.canvas, 0, 0, view.width, view.height);
}

function emptySums(length) {
  if (splat.sums.length < length) splat.sums = new Float32Array(length);
  return splat.sums.subarray(0, length).fill(0);
}

function fillPixels(pixels, sums, ramp) {
  const levels = levelsOf(sums);
  for (let at = 0; at < sums.length; at += 4) {
    const count = sums[at + 3];
    if (!count) continue;
    const level = levels[Math.min(LEVELS - 1, count)];
    const color = ramp && ramp[Math.round(level * (LEVELS - 1))];
    for (let channel = 0; channel < 3; channel++) pixels[at + channel] = color ? color[channel] : sums[at + channel] / count;
    pixels[at + 3] = ramp ? 255 : 255 * (LEAST_OPACITY + (1 - LEAST_OPACITY) * level);
  }
}

// Opacity levels from 0 to 1, on a logarithmic scale of the number of points in a pixel.
function levelsOf(sums) {
  let [filled, total] = [0, 0];
  for (let at = 3; at < sums.length; at += 4) {
    if (!sums[at]) continue;
    filled++;
    total += sums[at];
  }
  const most = Math.log(Math.max(4, (DENSE * total) / Math.max(1, filled)));
  return Float32Array.from({ length: LEVELS }, (_, count) => Math.min(1, Math.log(Math.max(1, count)) / most));
}
