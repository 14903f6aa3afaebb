// Round values along an axis, with distinct labels.

// Ticks with more digits are labeled by their difference from a shared number.
const MOST_TICK_DIGITS = 7;

// Approximate number of ticks on an axis. Steps are rounded up to at most two and a half times the
// requested size, so of five ticks at least two are left, and the scale can be read.
function tickCount(length, apart) {
  return Math.max(5, length / apart);
}

// A few round values between the ends of an axis.
function niceTicks(low, high, count) {
  const rough = (high - low) / count;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * unit).find((size) => size >= rough);
  // Counted in advance: beyond 2^53, adding a small step to a tick would never reach the end.
  const first = Math.ceil(low / step);
  const steps = Math.floor(high / step) - first;
  return Array.from({ length: steps + 1 }, (_, tick) => (first + tick) * step);
}

// Distinct tick labels. If ticks share too many digits, labels are differences from `shared`.
function tickTexts(ticks) {
  if (ticks.length < 2) return { texts: ticks.map(short), shared: "" };
  const step = ticks[1] - ticks[0];
  const largest = Math.max(Math.abs(ticks[0]), Math.abs(ticks[ticks.length - 1]));
  if (!(step > 0)) return { texts: ticks.map((_, tick) => (tick ? "" : short(largest))), shared: "" };
  if (Math.log10(largest / step) > MOST_TICK_DIGITS - 1) {
    const first = ticks[0];
    const { texts } = tickTexts(ticks.map((_, tick) => tick * step));
    return { texts, shared: String(Number(first.toPrecision(15))) };
  }
  const places = -Math.floor(Math.log10(step) + 1e-9);
  if (largest >= 10 ** MOST_TICK_DIGITS || places > MOST_TICK_DIGITS - 2) {
    const digits = Math.max(0, Math.floor(Math.log10(largest)) + places);
    return { texts: ticks.map((tick) => (tick === 0 ? "0" : exponential(tick, digits))), shared: "" };
  }
  return { texts: ticks.map((tick) => fixed(tick, Math.max(0, places))), shared: "" };
}

function exponential(number, digits) {
  return String(number.toExponential(digits)).replace("e+", "e");
}

// A number with fixed decimals, without a minus sign before zero.
function fixed(number, places) {
  const text = number.toFixed(places);
  return Number(text) === 0 ? (0).toFixed(places) : text;
}

// Ticks and names of both axes.
function drawAxes(panel, [across, up]) {
  const { context, view } = panel;
  const valueX = (px) => (px - view.bx) / view.kx;
  const valueY = (py) => (py - view.by) / view.ky;
  context.font = FONT;
  context.strokeStyle = panel.look.style.card;
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.fillStyle = panel.look.style.soft;
  context.textAlign = "center";
  // The remaining space is taken by tick labels, axis names and buttons.
  const [left, right, top, bottom] = [40, view.width - 24, 34, view.height - 26];
  const ticksX = niceTicks(valueX(left), valueX(right), tickCount(right - left, 110));
  const textsX = tickTexts(ticksX);
  ticksX.forEach((tick, place) => panel.write(textsX.texts[place], view.x(tick), view.height - 8));
  context.textAlign = "left";
  const ticksY = niceTicks(valueY(bottom), valueY(top), tickCount(bottom - top, 80));
  const textsY = tickTexts(ticksY);
  ticksY.forEach((tick, place) => panel.write(textsY.texts[place], 7, view.y(tick) + 4));
  context.fillStyle = panel.look.style.ink;
  const named = (name, { shared }) => (shared ? `${name} \u2212 ${shared}` : name);
  panel.write(`↑ ${named(up, textsY)}`, 8, 17);
  context.textAlign = "right";
  panel.write(`${named(across, textsX)} →`, view.width - 8, view.height - 24);
}
