// Columns of numbers and labels, and formatting of their values.

const byId = (id) => document.getElementById(id);

const ARRAYS = {
  u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f32: Float32Array, f64: Float64Array,
};
const MISSING_NUMBER = -(2 ** 31);
const MISSING_LABEL = { u8: 2 ** 8 - 1, u16: 2 ** 16 - 1, u32: 2 ** 32 - 1 };

// The array at a location in the data. The first bytes of all numbers are stored first, then the
// second bytes, and so on, which compresses better.
function arrayAt(place) {
  if (!place.array) {
    place.array = new ARRAYS[place.type](place.length);
    const into = new Uint8Array(place.array.buffer);
    const size = place.array.BYTES_PER_ELEMENT;
    for (let byte = 0; byte < size; byte++) {
      const start = place.start + byte * place.length;
      for (let item = 0; item < place.length; item++) into[item * size + byte] = bytes[start + item];
    }
  }
  return place.array;
}

// Numbers of a column; missing ones are NaN. Cached, because every redraw needs them.
function numbersOf(column) {
  if (!column.numbers) {
    const { divisor } = column;
    column.numbers = Float64Array.from(arrayAt(column.codes));
    const codes = column.numbers;
    for (let at = 0; at < codes.length; at++) codes[at] = codes[at] === MISSING_NUMBER ? NaN : codes[at] / divisor;
  }
  return column.numbers;
}

function landmarkNumbers(column) {
  return arrayAt(column.landmarks);
}

// Edges as arrays of landmarks for each kind: ordinary, suspected shortcut, bridge.
function edgesOf(graph) {
  if (!graph) return null;
  if (!graph.byKind) {
    const ends = arrayAt(graph.ends);
    graph.byKind = [[], [], []];
    arrayAt(graph.kinds).forEach((kind, edge) => graph.byKind[kind].push(ends[2 * edge], ends[2 * edge + 1]));
  }
  return graph.byKind;
}

function grouped(count) {
  return Math.round(count).toLocaleString("en-US");
}

// Position of a value between two ends, from 0 to 1. Values are halved so that huge ranges do not overflow.
function shareOf(value, [low, high]) {
  return high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0;
}

function plural(count, word) {
  return `${grouped(count)} ${word}${count === 1 ? "" : "s"}`;
}

function short(number) {
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return number.toExponential(2);
  return String(Number(number.toPrecision(4)));
}

// Round a number to about a thousandth of a range, but to at least four digits, for scales and
// summaries.
function roundedText(number, [low, high]) {
  const digits = Math.ceil(3 - Math.log10(high / 2 - low / 2) - Math.log10(2));
  if (!(high > low) || Math.abs(digits) > 12 || Math.max(Math.abs(low), Math.abs(high)) >= 1e15) return short(number);
  const needed = Math.max(digits, 3 - Math.floor(Math.log10(Math.abs(number) || 1)));
  return String(Number(number.toFixed(Math.max(0, Math.min(12, needed)))));
}

// Format a number with all its digits. 32-bit numbers have fewer digits than their 64-bit copies.
function exactText(number, column) {
  if (column.codes.type === "f32") {
    for (let digits = 6; digits < 10; digits++) {
      const fewer = Number(number.toPrecision(digits));
      if (Math.fround(fewer) === number) return String(fewer);
    }
  }
  return String(number);
}

// Format milliseconds since 1970 as a date, with the precision of the column.
function dateText(moment, { unit }) {
  const [day, time] = new Date(moment).toISOString().split("T");
  const digits = { minute: 5, second: 8, millisecond: 12 }[unit];
  return digits ? `${day} ${time.slice(0, digits)}` : day;
}

function numberText(column, number) {
  return column.unit ? dateText(number, column) : roundedText(number, column.range);
}

// The value of a point in a column as text; empty if it is missing.
function valueText(column, point) {
  if (column.labels) {
    const code = arrayAt(column.codes)[point];
    return code === MISSING_LABEL[column.codes.type] ? "" : column.labels[code];
  }
  const number = numbersOf(column)[point];
  if (Number.isNaN(number)) return "";
  return column.unit ? dateText(number, column) : exactText(number, column);
}
