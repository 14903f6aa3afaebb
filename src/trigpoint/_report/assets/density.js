// The density of all points as a picture, in density colors or those of the nearby sample.

const COLOR_CELLS = 256;
// Cells around the picture, into which its edges fade.
const RIM = 3;
// How many points the color around a place counts for, beside those at the place.
const PRIOR = 0.6;

// {canvas, low, high}: the picture and the part of the plane that it covers.
function densityPicture(image, colors, xs, ys, theme) {
  const field = smoothField(image);
  const canvas = colors.plain ? plainPicture(field, theme) : coloredPicture(field, colors, xs, ys);
  return { canvas, low: field.low, high: field.high };
}

// The levels from 0 to 1, with a rim, smoothed so that neither cells nor edges show.
function smoothField(image) {
  const levels = arrayAt(image.levels);
  const width = image.width + 2 * RIM;
  const height = image.height + 2 * RIM;
  let values = new Float32Array(width * height);
  for (let row = 0; row < image.height; row++) {
    for (let column = 0; column < image.width; column++) {
      values[(row + RIM) * width + column + RIM] = levels[row * image.width + column] / 255;
    }
  }
  for (let pass = 0; pass < 2; pass++) values = smoothed(smoothed(values, width, height, 1), width, height, width);
  const cell = image.low.map((low, axis) => (image.high[axis] - low) / [image.width, image.height][axis]);
  return {
    values, width, height,
    low: image.low.map((low, axis) => low - RIM * cell[axis]),
    high: image.high.map((high, axis) => high + RIM * cell[axis]),
  };
}

// Weights 1, 2, 1 along neighbors `step` apart; the outermost cells are empty and stay so.
function smoothed(values, width, height, step) {
  const result = new Float32Array(values.length);
  for (let row = 1; row < height - 1; row++) {
    for (let at = row * width + 1; at < (row + 1) * width - 1; at++) {
      result[at] = (values[at - step] + 2 * values[at] + values[at + step]) / 4;
    }
  }
  return result;
}

function plainPicture(field, theme) {
  const palette = ramp(DENSITY[theme], 256);
  return picture(field, (level) => palette[Math.round(255 * level)], (level) => Math.min(1, 14 * level));
}

function coloredPicture(field, colors, xs, ys) {
  const result = picture(field, () => [0, 0, 0], (level) => Math.min(1, 12 * level) * (0.3 + 0.7 * level ** 0.7));
  const context = result.getContext("2d");
  context.globalCompositeOperation = "source-in";
  context.imageSmoothingEnabled = true;
  context.drawImage(colorField(field, colors, xs, ys), 0, 0, field.width, field.height);
  return result;
}

function picture({ values, width, height }, colorOf, alphaOf) {
  const canvas = canvasOf(width, height);
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(width, height);
  for (let row = 0; row < height; row++) {
    // Rows of the field go up, rows of a canvas down.
    const target = (height - 1 - row) * width;
    for (let column = 0; column < width; column++) {
      const level = values[row * width + column];
      if (!level) continue;
      pixels.data.set(colorOf(level), 4 * (target + column));
      pixels.data[4 * (target + column) + 3] = 255 * alphaOf(level);
    }
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}

// Mean color of the sample around each place: from the whole plane down to small parts, each part
// has the mean of its own points and, for a share of a point, of the larger part around it.
function colorField(field, colors, xs, ys) {
  const levels = [summedColors(field, colors, xs, ys)];
  while (levels[levels.length - 1].size > 1) levels.push(halved(levels[levels.length - 1]));
  let means = { size: 1, colors: meanOf(levels[levels.length - 1].sums) };
  for (let level = levels.length - 2; level >= 0; level--) means = refined(levels[level], means);
  const canvas = canvasOf(COLOR_CELLS, COLOR_CELLS);
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(COLOR_CELLS, COLOR_CELLS);
  for (let cell = 0; cell < COLOR_CELLS ** 2; cell++) {
    for (let c = 0; c < 3; c++) pixels.data[4 * cell + c] = means.colors[3 * cell + c];
    pixels.data[4 * cell + 3] = 255;
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}

function summedColors(field, colors, xs, ys) {
  const size = COLOR_CELLS;
  const sums = new Float32Array(4 * size * size);
  const scaleX = size / (field.high[0] - field.low[0]);
  const scaleY = size / (field.high[1] - field.low[1]);
  for (let point = 0; point < xs.length; point++) {
    const column = Math.floor((xs[point] - field.low[0]) * scaleX);
    const row = size - 1 - Math.floor((ys[point] - field.low[1]) * scaleY);
    if (!(column >= 0 && row >= 0 && column < size && row < size)) continue;
    const color = colors.palette[colors.bins[point]];
    const at = 4 * (row * size + column);
    for (let c = 0; c < 3; c++) sums[at + c] += color[c];
    sums[at + 3] += 1;
  }
  return { size, sums };
}

function halved({ size, sums }) {
  const half = size / 2;
  const result = new Float32Array(4 * half * half);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const to = 4 * ((row >> 1) * half + (column >> 1));
      for (let c = 0; c < 4; c++) result[to + c] += sums[4 * (row * size + column) + c];
    }
  }
  return { size: half, sums: result };
}

function meanOf(sums) {
  return Float32Array.from([0, 1, 2], (c) => sums[c] / (sums[3] || 1));
}

function refined({ size, sums }, around) {
  const colors = new Float32Array(3 * size * size);
  const mean = [0, 0, 0];
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const at = row * size + column;
      between(around, row / 2 - 0.25, column / 2 - 0.25, mean);
      const weight = sums[4 * at + 3] + PRIOR;
      for (let c = 0; c < 3; c++) colors[3 * at + c] = (sums[4 * at + c] + PRIOR * mean[c]) / weight;
    }
  }
  return { size, colors };
}

// Color at a place between four cells.
function between({ size, colors }, row, column, result) {
  const top = Math.max(0, Math.min(size - 1, Math.floor(row)));
  const left = Math.max(0, Math.min(size - 1, Math.floor(column)));
  const below = Math.min(size - 1, top + 1);
  const right = Math.min(size - 1, left + 1);
  const down = Math.max(0, Math.min(1, row - top));
  const across = Math.max(0, Math.min(1, column - left));
  for (let c = 0; c < 3; c++) {
    const upper = colors[3 * (top * size + left) + c] * (1 - across) + colors[3 * (top * size + right) + c] * across;
    const lower = colors[3 * (below * size + left) + c] * (1 - across) + colors[3 * (below * size + right) + c] * across;
    result[c] = upper * (1 - down) + lower * down;
  }
}

// About how many points lie between two corners of the plane, from the levels of the cells.
function countWithin(image, low, high) {
  const levels = arrayAt(image.levels);
  const scale = [image.width, image.height].map((cells, axis) => cells / (image.high[axis] - image.low[axis]));
  const first = low.map((value, axis) => Math.max(0, Math.floor((value - image.low[axis]) * scale[axis])));
  const last = high.map((value, axis) =>
    Math.min([image.width, image.height][axis], Math.ceil((value - image.low[axis]) * scale[axis])));
  let total = 0;
  for (let row = first[1]; row < last[1]; row++) {
    for (let column = first[0]; column < last[0]; column++) {
      const level = levels[row * image.width + column];
      if (level) total += Math.expm1((level / 255) * Math.log1p(image.most));
    }
  }
  return total;
}
