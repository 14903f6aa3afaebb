// Colors of points.

// Stops of the viridis color map. On a light background, its yellow end is cut off.
const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
const DENSITY = {
  light: ["#dcebe7", "#a3d0c8", "#55a9a4", "#1f7a89", "#1c4f78", "#1e2a5c", "#170f3a"],
  dark: ["#17353d", "#1b555f", "#238078", "#4fae84", "#a3d27c", "#e8ea9a", "#fffbe0"],
};
const BINS = 64;
const NO_VALUE = { light: [170, 174, 172], dark: [92, 102, 106] };
// Labels without a color of their own.
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

// Dark colors are lightened on a dark background.
function labelColor(place, theme) {
  const color = rgb(facts.labelColors[place]);
  const light = (0.3 * color[0] + 0.59 * color[1] + 0.11 * color[2]) / 255;
  return theme === "dark" && light < 0.4 ? mixed(color, [255, 255, 255], 0.5 - light) : color;
}

// A coloring gives each point a bin and each bin a color. The last bin is for missing values.
function coloring(choice, theme) {
  if (choice.kind === "plain") return plainColoring(theme);
  return choice.column.labels ? labelColoring(choice.column, theme) : numberColoring(choice.column, theme);
}

function plainColoring(theme) {
  const color = rgb(facts.accent[theme]);
  return { bins: new Uint8Array(facts.sampled), palette: [color], plain: ramp(DENSITY[theme], 256) };
}

// Labels without a color of their own share one bin.
function labelColoring(column, theme) {
  const { colored, labels } = column;
  const palette = labels.slice(0, colored).map((_, place) => labelColor(place, theme));
  palette.push(OTHERS[theme]);
  const bins = Uint8Array.from(arrayAt(column.codes), (code) => (code < labels.length ? Math.min(code, colored) : colored + 1));
  return { bins, palette: [...palette, NO_VALUE[theme]], column, labels };
}

function numberColoring(column, theme) {
  const palette = numberRamp(theme);
  const bins = Uint8Array.from(numbersOf(column), (value) =>
    Number.isNaN(value) ? BINS : binOf(shareOf(value, column.colorRange)));
  return { bins, palette: [...palette, NO_VALUE[theme]], column };
}

function binOf(share) {
  return Math.max(0, Math.min(BINS - 1, Math.floor(BINS * share)));
}

// The coloring of selected points, which highlights those without a color of their own.
function highlighted({ colors, style }) {
  const pick = rgb(style.pick);
  if (colors.plain) return { ...colors, plain: null, palette: [pick] };
  if (!colors.labels) return colors;
  return { ...colors, palette: colors.palette.map((color, bin) => (bin === colors.column.colored ? pick : color)) };
}

// The points of each bin.
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
