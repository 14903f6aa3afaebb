// The data of the page: facts as JSON, and arrays as bytes that the facts point into.

const byId = (id) => document.getElementById(id);

const facts = JSON.parse(byId("facts").textContent);
const bytes = decoded(byId("arrays").textContent);

// The largest code of a column is for missing values; the others are steps from low to high.
const MISSING = { u16: 2 ** 16 - 1, u32: 2 ** 32 - 1 };
const ARRAYS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array };

function decoded(base64) {
  const text = atob(base64);
  const result = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) result[i] = text.charCodeAt(i);
  return result;
}

function arrayAt(place) {
  return new ARRAYS[place.type](bytes.buffer, place.start, place.length);
}

function stepsOf(column) {
  return MISSING[column.codes.type] - 1;
}

// Values of a column as numbers; missing ones are NaN. Cached, because every redraw needs them.
// The ends are weighted separately, because the range may exceed the largest number.
function numbersOf(column) {
  if (!column.numbers) {
    const [low, high] = column.range;
    const codes = arrayAt(column.codes);
    const steps = stepsOf(column);
    column.numbers = Float64Array.from(codes, (code) =>
      code > steps ? NaN : low * (1 - code / steps) + high * (code / steps));
  }
  return column.numbers;
}

function landmarkNumbers(column) {
  return numbersOf(column).subarray(facts.firstLandmark, facts.firstLandmark + facts.landmarks);
}

function sampleNumbers(column) {
  return numbersOf(column).subarray(0, facts.sampled);
}

// Edges as two arrays of landmarks for each kind: ordinary, suspected shortcut, bridge.
function edgesOf(graph) {
  if (!graph) return null;
  if (!graph.byKind) {
    const ends = arrayAt(graph.ends);
    const kinds = arrayAt(graph.kinds);
    graph.byKind = [[], [], []];
    kinds.forEach((kind, edge) => graph.byKind[kind].push(ends[2 * edge], ends[2 * edge + 1]));
  }
  return graph.byKind;
}

function grouped(count) {
  return Math.round(count).toLocaleString("en-US");
}

// Position of a value between two ends, as a share; halved, because the ends may be far apart.
function shareOf(value, [low, high]) {
  return high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0;
}

function plural(count, word) {
  return `${grouped(count)} ${word}${count === 1 ? "" : "s"}`;
}

function short(number) {
  if (Number.isNaN(number)) return "missing";
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return number.toExponential(2);
  return String(Number(number.toPrecision(4)));
}

// A number of a column, to the digits that its range needs and its codes have.
function plainText(number, column) {
  if (Number.isNaN(number)) return "missing";
  const [low, high] = column.range;
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const step = (high / 2 - low / 2) / (stepsOf(column) / 2);
  if (!(step > 0)) return short(number);
  if (largest >= 1e15 || largest < 1e-3) return String(Number(number.toPrecision(5)).toExponential());
  return String(Number(number.toFixed(Math.max(0, Math.min(12, Math.floor(-Math.log10(step)))))));
}

// Milliseconds since 1970 as a date, to the precision of the column.
function dateText(moment, column) {
  const { unit, range: [low, high] } = column;
  // A decoded time is off by up to half a step; slightly late, it is still in the same unit.
  const [day, time] = new Date(moment + (0.51 * (high - low)) / stepsOf(column)).toISOString().split("T");
  const digits = { minute: 5, second: 8, millisecond: 12 }[unit];
  if (digits) return `${day} ${time.slice(0, digits)}`;
  return unit === "year" ? day.slice(0, -6) : day;
}

function numberText(column, number) {
  return column.unit && !Number.isNaN(number) ? dateText(number, column) : plainText(number, column);
}

// The value of a point in a column, as text.
function valueText(column, point) {
  if (!column.labels) return numberText(column, numbersOf(column)[point]);
  const code = arrayAt(column.codes)[point];
  return code > stepsOf(column) ? "missing" : column.labels[code];
}
