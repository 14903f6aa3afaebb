// Map values to the canvas by x * kx + bx, and likewise for y, which points up. `center` and `zoom`
// describe a view independently of the canvas size.

const PADDING = { left: 22, right: 22, top: 22, bottom: 22 };
// Margins for the tick labels and the buttons.
const AXES_PADDING = { left: 54, right: 54, top: 34, bottom: 44 };
const NARROW_PADDING = { left: 40, right: 26, top: 52, bottom: 42 };
const NARROW = 420;
const LEAST_ZOOM = 0.5;
// Coordinates have six significant digits.
const MOST_ZOOM = 2000;

class View {
  constructor() {
    this.kx = this.ky = 1;
    this.bx = this.by = 0;
    this.width = this.height = 1;
    this.homeScale = 1;
  }

  // Fit the bounds; with equal scales, a unit has the same length on both axes.
  fit({ low, high }, width, height, equal, padding = PADDING) {
    this.width = width;
    this.height = height;
    const extent = low.map((value, axis) => high[axis] - value || 1);
    let kx = (width - padding.left - padding.right) / extent[0];
    let ky = (height - padding.top - padding.bottom) / extent[1];
    if (equal) kx = ky = Math.min(kx, ky);
    this.kx = this.homeScale = kx;
    this.ky = -ky;
    this.bx = (padding.left + width - padding.right) / 2 - (kx * (low[0] + high[0])) / 2;
    this.by = (padding.top + height - padding.bottom) / 2 + (ky * (low[1] + high[1])) / 2;
  }

  get zoom() {
    return this.kx / this.homeScale;
  }

  x(value) {
    return value * this.kx + this.bx;
  }

  y(value) {
    return value * this.ky + this.by;
  }

  move(dx, dy) {
    this.bx += dx;
    this.by += dy;
  }

  // Zoom around a position on the canvas, which stays fixed.
  zoomAt(px, py, factor) {
    const zoom = Math.max(LEAST_ZOOM, Math.min(MOST_ZOOM, this.zoom * factor));
    const applied = zoom / this.zoom;
    this.kx *= applied;
    this.ky *= applied;
    this.bx = px - (px - this.bx) * applied;
    this.by = py - (py - this.by) * applied;
  }

  get center() {
    return [(this.width / 2 - this.bx) / this.kx, (this.height / 2 - this.by) / this.ky];
  }

  // Center the view on some values, at a zoom relative to the initial view.
  look([x, y], zoom) {
    this.zoomAt(this.width / 2, this.height / 2, zoom / this.zoom);
    this.bx = this.width / 2 - x * this.kx;
    this.by = this.height / 2 - y * this.ky;
  }

  // Whether a value is on the canvas.
  shows(x, y) {
    const [px, py] = [this.x(x), this.y(y)];
    return px >= 0 && py >= 0 && px <= this.width && py <= this.height;
  }

  // Resize the canvas; the center stays in place.
  resize(width, height) {
    this.bx += (width - this.width) / 2;
    this.by += (height - this.height) / 2;
    this.width = width;
    this.height = height;
  }
}
