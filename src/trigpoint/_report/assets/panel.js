// A canvas with points, landmarks and edges that can be panned and zoomed.
//
// A model tells a panel what to draw:
//   points()     {xs, ys} of the points on the page
//   bounds()     {low, high} of the initial view
//   extent()     {low, high} of everything
//   labels()     optional: {text, bin, x, y} of the class names, or null
//   words        optional: texts and images of single points; see labels.js
//   landmarks()  {xs, ys}, or null if they are not shown
//   edges()      pairs of landmarks by kind, or null
//   names()      names of the axes, or null for none
//   landmarkPlaces() {xs, ys} of the landmarks, even if they are not shown
//   equal        whether both axes share one scale
//   turn(dx, dy) optional: rotates the points instead of panning, if it returns true
// and a look tells it how:
//   colors       a coloring, with the bin of each point
//   selected     the selected points
//   found        points found by a search, the best ones first
//   style        CSS colors of the page
//   hovered      point under the pointer in any panel, or -1

const EDGE_LOOKS = [
  { color: "ordinary", width: 0.7, dash: [], alpha: 0.42 },
  { color: "shortcut", width: 1.5, dash: [6, 3], alpha: 0.95 },
  { color: "bridge", width: 2, dash: [2, 3], alpha: 1 },
];
// Above this number, lines are drawn without dashes, which are slow and would not be visible.
const MOST_DASHED = 5000;
// Above this number, points are drawn as an image.
const MOST_DISCS = 6000;
const LEAST_SIZE = 1.1;
const MOST_SIZE = 7;
// While the view moves, at most this many points are drawn.
const MOST_MOVING = 250_000;
// The view counts as settled after this many milliseconds without movement.
const SETTLED_MS = 160;
const IN_ONE_PATH = 100;
const FONT = "11px system-ui, sans-serif";
const LABEL_FONT = "600 13px system-ui, sans-serif";
const MOST_NAMED = 24;

class Panel {
  constructor(canvas, model, look) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.model = model;
    this.look = look;
    this.view = new View();
    this.outline = null;
    this.pending = false;
    this.settling = 0;
    this.copy = canvasOf(1, 1);
    this.stale = true;
    this.atHome = true;
    this.everything = false;
    this.onSettled = () => {};
    this.frames = 0;
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.ratio = ratio;
    if (this.atHome) this.fit(width, height);
    else this.view.resize(width, height);
    this.stale = true;
    this.draw();
    this.onSettled();
  }

  fit(width, height) {
    const withAxes = width < NARROW ? NARROW_PADDING : AXES_PADDING;
    const padding = this.model.names() ? withAxes : PADDING;
    const bounds = this.everything ? this.model.extent() : this.model.bounds();
    this.view.fit(bounds, width, height, this.model.equal, padding);
  }

  // Restore the initial view, or show everything, including outliers.
  home(everything = false) {
    this.atHome = true;
    this.everything = everything;
    this.fit(this.canvas.clientWidth, this.canvas.clientHeight);
    this.redraw();
    this.onSettled();
  }

  // Show the part of the plane around some points, without zooming in farther than `most`.
  show(points, most) {
    const { xs, ys } = this.model.points();
    const { low, high } = boundsOf(points, xs, ys);
    const { view } = this;
    const across = Math.abs(view.kx) * (high[0] - low[0]);
    const up = Math.abs(view.ky) * (high[1] - low[1]);
    const room = 0.6 * Math.min(view.width / Math.max(across, 1), view.height / Math.max(up, 1));
    this.zoom(Math.min(room, most / view.zoom));
    this.move(view.width / 2 - view.x((low[0] + high[0]) / 2), view.height / 2 - view.y((low[1] + high[1]) / 2));
  }

  move(dx, dy) {
    if (!(this.model.turn && this.model.turn(dx, dy))) {
      this.atHome = false;
      this.view.move(dx, dy);
    }
    this.unsettle();
  }

  zoom(factor, px = this.view.width / 2, py = this.view.height / 2) {
    this.atHome = false;
    this.view.zoomAt(px, py, factor);
    this.unsettle();
  }

  // Draw a coarse version now, and all points once the view has settled.
  unsettle() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => { this.settling = 0; this.redraw(); this.onSettled(); }, SETTLED_MS);
    this.redraw();
  }

  // Temporary marks, such as that of the point under the pointer, are drawn on a copy of everything
  // else.
  redraw(onlyMarks = false) {
    this.stale = this.stale || !onlyMarks;
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.draw(); });
  }

  draw() {
    const context = this.context;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.view.width, this.view.height);
    if (this.stale) {
      this.paint();
      Object.assign(this.copy, { width: this.canvas.width, height: this.canvas.height });
      this.copy.getContext("2d").drawImage(this.canvas, 0, 0);
      this.stale = false;
    } else context.drawImage(this.copy, 0, 0, this.view.width, this.view.height);
    this.drawHovered();
    if (this.outline) this.drawOutline();
    this.frames++;
  }

  // Draw everything that a saved image also shows.
  paint() {
    const { look } = this;
    const edges = this.model.edges();
    if (edges) this.drawEdges(edges, this.model.landmarkPlaces());
    const visible = this.visiblePoints();
    const size = this.pointSize(visible.length);
    const dimmed = look.selected.length > 0;
    this.drawPoints(visible, size, dimmed ? 0.3 : 1, look.colors);
    if (dimmed) this.drawPoints(look.selected, 1.3 * this.pointSize(look.selected.length), 1, highlighted(look));
    const landmarks = this.model.landmarks();
    if (landmarks) this.drawLandmarks(landmarks);
    const boxes = this.drawFound();
    const labels = this.model.labels && this.model.labels();
    if (labels) this.drawLabels(labels, boxes);
    if (this.model.words) drawWords(this, this.model.words, visible, boxes, Boolean(labels));
    if (this.model.names()) drawAxes(this, this.model.names());
  }

  // Draw the panel on another context, for saved images.
  paintOn(context, ratio) {
    const copy = Object.create(this);
    Object.assign(copy, { context, ratio, settling: 0 });
    copy.paint();
  }

  // Points whose centers are on the canvas, or a subset of them while the view moves.
  visiblePoints() {
    const { xs, ys } = this.model.points();
    const { kx, ky, bx, by, width, height } = this.view;
    if (!this.room || this.room.length < xs.length) this.room = new Uint32Array(xs.length);
    const step = this.settling ? Math.ceil(xs.length / MOST_MOVING) : 1;
    let count = 0;
    for (let point = 0; point < xs.length; point += step) {
      const x = xs[point] * kx + bx;
      const y = ys[point] * ky + by;
      if (x >= 0 && y >= 0 && x <= width && y <= height) this.room[count++] = point;
    }
    return this.room.subarray(0, count);
  }

  // The fewer points, the larger they are drawn.
  pointSize(count) {
    const each = (this.view.width * this.view.height) / Math.max(1, count);
    return Math.max(LEAST_SIZE, Math.min(MOST_SIZE, 0.68 * Math.cbrt(each)));
  }

  drawPoints(points, size, opacity, colors) {
    const { context, view, ratio } = this;
    const places = this.model.points();
    context.globalAlpha = opacity;
    if (points.length > MOST_DISCS) drawSplat(context, places, points, colors, view, this.settling ? 1 : ratio, size);
    else this.drawDiscs(points, places, size / 2, colors);
    context.globalAlpha = 1;
  }

  drawDiscs(points, { xs, ys }, radius, { bins, palette }) {
    const { context, view } = this;
    const styles = palette.map((color) => css(color));
    context.globalAlpha *= 0.88;
    for (const point of points) {
      context.fillStyle = styles[bins[point]];
      context.beginPath();
      context.arc(view.x(xs[point]), view.y(ys[point]), radius, 0, 2 * Math.PI);
      context.fill();
    }
  }

  drawEdges(byKind, { xs, ys }) {
    byKind.forEach((ends, kind) => {
      const look = EDGE_LOOKS[kind];
      this.context.globalAlpha = this.edgeAlpha(look, ends.length / 2);
      this.context.setLineDash(ends.length / 2 > MOST_DASHED ? [] : look.dash);
      this.context.lineWidth = look.width;
      this.context.strokeStyle = this.look.style[look.color];
      this.context.beginPath();
      this.edgePath(ends, xs, ys);
      this.context.stroke();
    });
    this.context.setLineDash([]);
    this.context.globalAlpha = 1;
  }

  edgeAlpha(look, count) {
    return look.alpha * Math.max(0.25, Math.min(1, 60 / Math.sqrt(count + 1)));
  }

  edgePath(ends, xs, ys) {
    const { view, context } = this;
    for (let at = 0; at < ends.length; at += 2) {
      const x1 = view.x(xs[ends[at]]);
      const y1 = view.y(ys[ends[at]]);
      const x2 = view.x(xs[ends[at + 1]]);
      const y2 = view.y(ys[ends[at + 1]]);
      if ((x1 < 0 && x2 < 0) || (y1 < 0 && y2 < 0)) continue;
      if ((x1 > view.width && x2 > view.width) || (y1 > view.height && y2 > view.height)) continue;
      context.moveTo(x1, y1);
      context.lineTo(x2, y2);
    }
  }

  landmarkRadius(count) {
    const base = Math.max(1.1, Math.min(2.4, 42 / Math.sqrt(count)));
    const scale = Math.max(0.7, Math.min(1, this.view.width / 560)) * Math.max(1, this.view.zoom) ** 0.4;
    return Math.min(4.5, base * scale);
  }

  // Draw triangles, as on survey maps. Drawing a small triangle on top of a larger one is much
  // faster than drawing an outline.
  drawLandmarks({ xs, ys }) {
    const { context } = this;
    const radius = 1.35 * this.landmarkRadius(xs.length);
    context.globalAlpha = this.look.selected.length ? 0.4 : 0.8;
    const rim = Math.min(2.2, 0.55 * radius);
    for (const [color, size] of [["landmark", radius + rim / 2], ["card", radius - rim / 2]]) {
      context.fillStyle = this.look.style[color];
      this.fillTriangles(xs, ys, size);
    }
    context.globalAlpha = 1;
  }

  // Paths of a hundred triangles are faster than single triangles and than one long path.
  fillTriangles(xs, ys, radius) {
    const { view, context } = this;
    const half = 0.87 * radius;
    let open = 0;
    context.beginPath();
    for (let place = 0; place < xs.length; place++) {
      const x = view.x(xs[place]);
      const y = view.y(ys[place]);
      if (!(x > -radius && y > -radius && x < view.width + radius && y < view.height + radius)) continue;
      context.moveTo(x, y - radius);
      context.lineTo(x + half, y + radius / 2);
      context.lineTo(x - half, y + radius / 2);
      context.closePath();
      if (++open % IN_ONE_PATH === 0) {
        context.fill();
        context.beginPath();
      }
    }
    context.fill();
  }

  // Rings and names of the points that a search has found; returns the boxes of the names.
  drawFound() {
    const { context, view, look } = this;
    const { xs, ys } = this.model.points();
    const boxes = [];
    for (const point of look.found.slice(0, MOST_NAMED)) {
      if (!view.shows(xs[point], ys[point])) continue;
      const [x, y] = [view.x(xs[point]), view.y(ys[point])];
      context.beginPath();
      context.arc(x, y, 8, 0, 2 * Math.PI);
      context.lineWidth = 3;
      context.strokeStyle = look.style.pick;
      context.stroke();
      this.prepareLabels();
      context.fillStyle = look.style.pick;
      this.writeIn(freeBox(x, y - 18, linesOf(look.nameOf(point)), this, boxes), boxes);
    }
    return boxes;
  }

  drawHovered() {
    const point = this.look.hovered;
    if (point < 0) return;
    const { xs, ys } = this.model.points();
    this.context.strokeStyle = this.look.style.ink;
    this.context.lineWidth = 2;
    this.context.beginPath();
    this.context.arc(this.view.x(xs[point]), this.view.y(ys[point]), 7, 0, 2 * Math.PI);
    this.context.stroke();
  }

  // Outline letters in the background color, so that they are legible on any color.
  write(text, x, y) {
    this.context.strokeText(text, x, y);
    this.context.fillText(text, x, y);
  }

  prepareLabels() {
    const { context } = this;
    context.font = LABEL_FONT;
    context.textAlign = "center";
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = this.look.style.card;
    context.fillStyle = this.look.style.ink;
  }

  // Draw class names, the largest classes first. Names that would overlap are left out, and so are
  // those of classes without selected points.
  drawLabels(labels, boxes) {
    const { view, look } = this;
    const chosen = look.selected.length ? new Set(Array.from(look.selected, (point) => look.colors.bins[point])) : null;
    this.prepareLabels();
    for (const { text, bin, x, y } of labels) {
      if ((chosen && !chosen.has(bin)) || !view.shows(x, y)) continue;
      this.writeIn(freeBox(view.x(x), view.y(y), linesOf(text), this, boxes), boxes);
    }
  }

  // Draw the lines of a box, unless there was no room for it.
  writeIn(box, boxes) {
    if (!box) return;
    boxes.push(box);
    box.lines.forEach((text, line) => this.write(text, (box.left + box.right) / 2, box.top + 13 + LABEL_HEIGHT * line));
  }

  drawOutline() {
    const { context } = this;
    context.beginPath();
    this.outline.forEach(([x, y]) => context.lineTo(x, y));
    context.closePath();
    context.fillStyle = this.look.style.pick;
    context.globalAlpha = 0.12;
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = this.look.style.pick;
    context.lineWidth = 1.5;
    context.stroke();
  }

  nearestPoint(px, py, reach) {
    const { xs, ys } = this.model.points();
    let nearest = -1;
    let least = reach * reach;
    for (let point = 0; point < xs.length; point++) {
      const dx = this.view.x(xs[point]) - px;
      const dy = this.view.y(ys[point]) - py;
      if (dx * dx + dy * dy < least) {
        least = dx * dx + dy * dy;
        nearest = point;
      }
    }
    return nearest;
  }
}
