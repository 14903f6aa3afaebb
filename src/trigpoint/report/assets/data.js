// What the page carries: facts as JSON, and arrays as bytes that the facts point into.

const byId = (id) => document.getElementById(id);

const facts = JSON.parse(byId("facts").textContent);
const bytes = decoded(byId("arrays").textContent);

const MISSING = 65535;
const STEPS = 65534;
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

// Values of a column as numbers; missing ones are NaN. Kept, since every redraw asks for them.
function numbersOf(column) {
  if (!column.numbers) {
    const [low, high] = column.range;
    const codes = arrayAt(column.codes);
    column.numbers = Float64Array.from(codes, (code) =>
      code === MISSING ? NaN : low + (code / STEPS) * (high - low));
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

function plural(count, word) {
  return `${grouped(count)} ${word}${count === 1 ? "" : "s"}`;
}

function short(number) {
  if (Number.isNaN(number)) return "missing";
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return number.toExponential(2);
  return String(Number(number.toPrecision(4)));
}
