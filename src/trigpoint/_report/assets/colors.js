// Colors that are distinct with any color vision, and images made from them.

// Stops along viridis; its yellow end is cut off on a light background.
const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
const DENSITY = {
  light: ["#dcebe7", "#a3d0c8", "#55a9a4", "#1f7a89", "#1c4f78", "#1e2a5c", "#170f3a"],
  dark: ["#17353d", "#1b555f", "#238078", "#4fae84", "#a3d27c", "#e8ea9a", "#fffbe0"],
};
// The second half repeats the hues, darker or lighter.
const LABELS = facts.labelColors;
const BINS = 64;
const NO_VALUE = { light: [170, 174, 172], dark: [92, 102, 106] };
// Labels that share a color are gray, but not the gray of missing values.
const OTHERS = { light: [104, 110, 108], dark: [168, 176, 178] };

const COLOR_CELLS = 256;

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function css(color, alpha = 1) {
  return `rgb(${color[0]} ${color[1]} ${color[2]} / ${alpha})`;
}

function mixed(a, b, share) {
  return a.map((value, channel) => Math.round(value + share * (b[channel] - value)));
}

// Colors between the stops, in equal steps.
function ramp(stops, count) {
  const colors = stops.map(rgb);
  return Array.from({ length: count }, (_, step) => {
    const place = (step / Math.max(1, count - 1)) * (colors.length - 1);
    const below = Math.min(Math.floor(place), colors.length - 2);
    return mixed(colors[below], colors[below + 1], place - below);
  });
}

function numberRamp(theme) {
  return theme === "dark" ? ramp(VIRIDIS.slice(1), BINS) : ramp(VIRIDIS.slice(0, 9), BINS);
}

function labelColor(place, theme) {
  const color = rgb(LABELS[place % LABELS.length]);
  const other = theme === "dark" ? [255, 255, 255] : [0, 0, 0];
  return place < LABELS.length ? color : mixed(color, other, 0.45);
}

// A coloring gives each sampled point a bin and each bin a color; the last is for missing values.
function coloring(choice, theme) {
  if (choice.kind === "plain") return plainColoring(theme);
  if (choice.kind === "cell") return cellColoring(theme);
  return choice.column.labels ? labelColoring(choice.column, theme) : numberColoring(choice.column, theme);
}

function plainColoring(theme) {
  const color = rgb(facts.accent[theme]);
  return { bins: new Uint8Array(facts.sampled), palette: [color], plain: true };
}

function cellColoring(theme) {
  const count = 2 * LABELS.length;
  // A multiplier that gives consecutive landmarks different colors.
  const bins = Uint8Array.from(arrayAt(facts.cells), (cell) => ((cell * 2654435761) >>> 8) % count);
  return { bins, palette: Array.from({ length: count }, (_, i) => labelColor(i, theme)) };
}

function labelColoring(column, theme) {
  const palette = column.labels.map((_, place) => labelColor(place, theme));
  if (column.others) palette[palette.length - 1] = OTHERS[theme];
  const codes = arrayAt(column.codes);
  const bins = Uint8Array.from(codes, (code) => (code === MISSING ? palette.length : code));
  return { bins, palette: [...palette, NO_VALUE[theme]], column };
}

function numberColoring(column, theme) {
  const palette = numberRamp(theme);
  const bins = Uint8Array.from(sampleNumbers(column), (value) =>
    Number.isNaN(value) ? BINS : binOf(shareOf(value, column.colorRange)));
  return { bins, palette: [...palette, NO_VALUE[theme]], column };
}

function binOf(share) {
  return Math.max(0, Math.min(BINS - 1, Math.floor(BINS * share)));
}

// Members of each bin, so that all points of one color are drawn together.
function membersByBin(bins, count) {
  const sizes = new Uint32Array(count);
  for (const bin of bins) sizes[bin]++;
  const members = Array.from(sizes, (size) => new Uint32Array(size));
  const filled = new Uint32Array(count);
  bins.forEach((bin, point) => { members[bin][filled[bin]++] = point; });
  return members;
}

function canvasOf(width, height) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  return canvas;
}

// The density of all points as an image, in density colors or those of the nearby sample.
function densityPicture(image, colors, xs, ys, theme) {
  return colors.plain ? plainPicture(image, theme) : coloredPicture(image, colors, xs, ys);
}

function plainPicture(image, theme) {
  const palette = ramp(DENSITY[theme], 256);
  return picture(image, (level) => palette[level], (level) => 40 + Math.min(215, level * 4));
}

function coloredPicture(image, colors, xs, ys) {
  const result = picture(image, () => [0, 0, 0], (level) => 60 + 195 * (level / 255) ** 0.8);
  const context = result.getContext("2d");
  context.globalCompositeOperation = "source-in";
  context.imageSmoothingEnabled = true;
  context.drawImage(colorField(image, colors, xs, ys), 0, 0, image.width, image.height);
  return result;
}

function picture(image, colorOf, alphaOf) {
  const levels = arrayAt(image.levels);
  const canvas = canvasOf(image.width, image.height);
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(image.width, image.height);
  for (let row = 0; row < image.height; row++) {
    // Rows of the image go up, rows of a canvas down.
    const target = (image.height - 1 - row) * image.width;
    for (let column = 0; column < image.width; column++) {
      const level = levels[row * image.width + column];
      if (!level) continue;
      pixels.data.set(colorOf(level), 4 * (target + column));
      pixels.data[4 * (target + column) + 3] = alphaOf(level);
    }
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}

// Mean color of the sample in each part of the plane; empty parts take that of a larger part
// around them.
function colorField(image, colors, xs, ys) {
  const levels = [summedColors(image, colors, xs, ys)];
  while (levels[levels.length - 1].size > 1) levels.push(halved(levels[levels.length - 1]));
  for (let level = levels.length - 2; level >= 0; level--) filled(levels[level], levels[level + 1]);
  const canvas = canvasOf(COLOR_CELLS, COLOR_CELLS);
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(COLOR_CELLS, COLOR_CELLS);
  const { sums } = levels[0];
  for (let cell = 0; cell < COLOR_CELLS ** 2; cell++) {
    const weight = sums[4 * cell + 3] || 1;
    for (let c = 0; c < 3; c++) pixels.data[4 * cell + c] = sums[4 * cell + c] / weight;
    pixels.data[4 * cell + 3] = 255;
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}

function summedColors(image, colors, xs, ys) {
  const size = COLOR_CELLS;
  const sums = new Float32Array(4 * size * size);
  const scaleX = size / (image.high[0] - image.low[0]);
  const scaleY = size / (image.high[1] - image.low[1]);
  for (let point = 0; point < xs.length; point++) {
    const column = Math.floor((xs[point] - image.low[0]) * scaleX);
    const row = size - 1 - Math.floor((ys[point] - image.low[1]) * scaleY);
    if (column < 0 || row < 0 || column >= size || row >= size) continue;
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

function filled(fine, coarse) {
  for (let row = 0; row < fine.size; row++) {
    for (let column = 0; column < fine.size; column++) {
      const to = 4 * (row * fine.size + column);
      if (fine.sums[to + 3]) continue;
      const from = 4 * ((row >> 1) * coarse.size + (column >> 1));
      for (let c = 0; c < 4; c++) fine.sums[to + c] = coarse.sums[from + c];
    }
  }
}
