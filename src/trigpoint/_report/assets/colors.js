// Colors that are distinct with any color vision.

// Stops along viridis; its yellow end is cut off on a light background.
const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
const DENSITY = {
  light: ["#dcebe7", "#a3d0c8", "#55a9a4", "#1f7a89", "#1c4f78", "#1e2a5c", "#170f3a"],
  dark: ["#17353d", "#1b555f", "#238078", "#4fae84", "#a3d27c", "#e8ea9a", "#fffbe0"],
};
const LABELS = facts.labelColors;
const BINS = 64;
const NO_VALUE = { light: [170, 174, 172], dark: [92, 102, 106] };
// Labels that share a color are gray, but not the gray of missing values.
const OTHERS = { light: [104, 110, 108], dark: [168, 176, 178] };

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

// Dark colors are lightened on a dark background; they repeat where cells outnumber them.
function labelColor(place, theme) {
  const color = rgb(LABELS[place % LABELS.length]);
  const light = (0.3 * color[0] + 0.59 * color[1] + 0.11 * color[2]) / 255;
  return theme === "dark" && light < 0.4 ? mixed(color, [255, 255, 255], 0.5 - light) : color;
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
  const count = LABELS.length;
  // A multiplier that gives consecutive landmarks different colors.
  const bins = Uint8Array.from(arrayAt(facts.cells), (cell) => ((cell * 2654435761) >>> 8) % count);
  return { bins, palette: Array.from({ length: count }, (_, i) => labelColor(i, theme)) };
}

// Labels without a color of their own share one.
function labelColoring(column, theme) {
  const { colored } = column;
  const palette = column.labels.slice(0, colored).map((_, place) => labelColor(place, theme));
  if (colored < column.labels.length) palette.push(OTHERS[theme]);
  const steps = stepsOf(column);
  const bins = Uint8Array.from(arrayAt(column.codes), (code) =>
    code > steps ? palette.length : Math.min(code, colored));
  return { bins, palette: [...palette, NO_VALUE[theme]], column, names: legendNames(column) };
}

// Names of the colors of labels.
function legendNames({ labels, colored }) {
  const others = labels.length - colored;
  const names = labels.slice(0, colored);
  return others ? [...names, `${grouped(others)} others`] : names;
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

// Some of the points, by bin.
function partsByBin(points, bins, count) {
  const parts = Array.from({ length: count }, () => []);
  for (const point of points) parts[bins[point]].push(point);
  return parts;
}

function canvasOf(width, height) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  return canvas;
}
