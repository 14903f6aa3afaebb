// A canvas with points, landmarks and edges that can be panned and zoomed.
//
// A model tells a panel what to draw:
//   points()     {xs, ys} of the sample
//   bounds()     {low, high} of what is shown at first
//   extent()     {low, high} of everything
//   picture()    density {canvas, low, high}, or null
//   labels()     optional: {text, bin, x, y} of what is written among the points, or null
//   note(panel)  optional: what is said above the plot
//   landmarks()  {xs, ys}, or null
//   edges()      pairs of landmarks by kind, or null
//   names()      names of the axes, or null for none
//   landmarkPlaces() {xs, ys} of the landmarks, even if they are not shown
//   landmarkAlpha    their opacity, if not the default
//   equal        whether both axes share one scale
//   turn(dx, dy) optional: rotates the points instead of panning, if it returns true
// and a look tells it how:
//   colors, members   a coloring, and the points of each bin
//   selectedPoints, selectedMembers, count   the selected points, those of each bin, how many
//   style             colors of the page
//   hovered           point under the pointer in any panel, or -1

const EDGE_LOOKS = [
  { color: "ordinary", width: 0.7, dash: [], alpha: 0.42 },
  { color: "shortcut", width: 1.5, dash: [6, 3], alpha: 0.95 },
  { color: "bridge", width: 2, dash: [2, 3], alpha: 1 },
];
// From this many lines on, dashes cannot be seen and are slow to draw.
const MOST_DASHED = 5000;
const MOST_DISCS = 5000;
// While the view moves, this many points and edges are enough.
const MOST_MOVING_POINTS = 15000;
const MOST_MOVING_EDGES = 5000;
const SETTLED_MS = 160;
const IN_ONE_PATH = 100;
const FONT = "11px system-ui, sans-serif";

class Panel {
  constructor(canvas, model, look) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.model = model;
    this.look = look;
    this.view = new View();
    this.mostDiscs = MOST_DISCS;
    this.outline = null;
    this.pending = false;
    this.settling = 0;
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
    this.draw();
    this.onSettled();
  }

  fit(width, height) {
    const withAxes = width < NARROW ? NARROW_PADDING : AXES_PADDING;
    const padding = this.model.names() ? withAxes : PADDING;
    const bounds = this.everything ? this.model.extent() : this.model.bounds();
    this.view.fit(bounds, width, height, this.model.equal, padding);
  }

  // Show what is shown at first; or, if outliers are left out of that, everything.
  home(everything = false) {
    this.atHome = true;
    this.everything = everything;
    this.fit(this.canvas.clientWidth, this.canvas.clientHeight);
    this.redraw();
    this.onSettled();
  }

  // Show the part of the plane around some points.
  show(points) {
    const { xs, ys } = this.model.points();
    const { low, high } = boundsOf(points, xs, ys);
    const { view } = this;
    const across = Math.abs(view.kx) * (high[0] - low[0]);
    const up = Math.abs(view.ky) * (high[1] - low[1]);
    const room = 0.5 * Math.min(view.width / Math.max(across, 40), view.height / Math.max(up, 40));
    if (room > 0) this.zoom(Math.min(room, 6));
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

  // Draw coarsely now, and in full once nothing has moved for a moment.
  unsettle() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => { this.settling = 0; this.redraw(); this.onSettled(); }, SETTLED_MS);
    this.redraw();
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.draw(); });
  }

  draw() {
    const context = this.context;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.view.width, this.view.height);
    this.paint();
    this.drawHovered();
    if (this.outline) this.drawOutline();
    this.frames++;
  }

  // All that belongs to the picture, and not to what someone is doing with it.
  paint() {
    const picture = this.model.picture();
    if (picture) this.drawPicture(picture);
    const landmarks = this.model.landmarks();
    const edges = this.model.edges();
    if (edges) this.drawEdges(edges, this.model.landmarkPlaces());
    this.drawPoints(picture);
    this.drawSelected();
    if (landmarks) this.drawLandmarks(landmarks);
    const labels = this.model.labels && this.model.labels();
    if (labels) this.drawLabels(labels);
    if (this.model.names()) this.drawAxes(this.model.names());
  }

  // The same panel on another context, for pictures to save.
  paintOn(context) {
    const copy = Object.create(this);
    Object.assign(copy, { context, settling: 0, mostDiscs: Infinity });
    copy.paint();
  }

  get dimmed() {
    return this.look.count > 0;
  }

  cellSize(picture) {
    return (this.view.kx * (picture.high[0] - picture.low[0])) / picture.canvas.width;
  }

  // Size of the density cells on screen: beyond a few pixels, points take over.
  pointShare(picture) {
    return picture ? Math.max(0, Math.min(1, (this.cellSize(picture) - 2) / 3)) : 1;
  }

  // Estimated number of items in view, if spread evenly along lines or over the plane.
  inView(count, dimension) {
    return count / Math.max(1, this.view.zoom) ** dimension;
  }

  drawPicture(picture) {
    const { context, view } = this;
    // Far into it, cells are larger than what they show.
    const remaining = 1 - Math.max(0, Math.min(1, (this.cellSize(picture) - 6) / 24));
    context.globalAlpha = (this.dimmed ? 0.3 : 1) * (1 - 0.5 * this.pointShare(picture)) * remaining;
    context.imageSmoothingEnabled = true;
    const left = view.x(picture.low[0]);
    const top = view.y(picture.high[1]);
    context.drawImage(picture.canvas, left, top, view.x(picture.high[0]) - left, view.y(picture.low[1]) - top);
    context.globalAlpha = 1;
  }

  pointSize(count) {
    const size = count < 3000 ? 4.4 : count < 12000 ? 2.8 : 1.6;
    return Math.min(7, size * Math.max(1, this.view.zoom) ** 0.35);
  }

  pointAlpha(count, plain) {
    if (this.dimmed) return count > 3000 ? 0.14 : 0.25;
    return plain && count > 3000 ? 0.55 : 0.85;
  }

  drawPoints(picture) {
    const share = this.pointShare(picture);
    if (!share) return;
    const { palette, plain } = this.look.colors;
    const { xs, ys } = this.model.points();
    const size = this.pointSize(xs.length);
    const step = this.settling ? Math.ceil(this.inView(xs.length, 2) / MOST_MOVING_POINTS) : 1;
    this.context.globalAlpha = share * this.pointAlpha(xs.length, plain);
    this.look.members.forEach((members, bin) => {
      this.context.fillStyle = css(palette[bin]);
      this.drawMarks(members, xs, ys, size, step);
    });
    this.context.globalAlpha = 1;
  }

  // Markers for some of the points: discs for few, squares for many.
  drawMarks(members, xs, ys, size, step = 1) {
    const { context, view } = this;
    const discs = (size >= 3 || this.mostDiscs === Infinity) && this.inView(xs.length, 2) <= this.mostDiscs;
    const half = size / 2;
    for (let place = 0; place < members.length; place += step) {
      const x = view.x(xs[members[place]]);
      const y = view.y(ys[members[place]]);
      if (!(x > -size && y > -size && x < view.width + size && y < view.height + size)) continue;
      if (!discs) context.fillRect(x - half, y - half, size, size);
      else {
        context.beginPath();
        context.arc(x, y, half, 0, 2 * Math.PI);
        context.fill();
      }
    }
  }

  drawEdges(byKind, { xs, ys }) {
    byKind.forEach((ends, kind) => {
      const look = EDGE_LOOKS[kind];
      const inView = this.inView(ends.length / 2, 1);
      const step = this.settling ? Math.ceil(inView / MOST_MOVING_EDGES) : 1;
      this.context.globalAlpha = this.edgeAlpha(look, ends.length / 2);
      this.context.setLineDash(this.settling || ends.length / 2 > MOST_DASHED ? [] : look.dash);
      this.context.lineWidth = look.width;
      this.context.strokeStyle = this.look.style[look.color];
      this.context.beginPath();
      this.edgePath(ends, xs, ys, step);
      this.context.stroke();
    });
    this.context.setLineDash([]);
    this.context.globalAlpha = 1;
  }

  edgeAlpha(look, count) {
    return look.alpha * Math.max(0.25, Math.min(1, 60 / Math.sqrt(count + 1)));
  }

  edgePath(ends, xs, ys, step) {
    const { view, context } = this;
    for (let at = 0; at < ends.length; at += 2 * step) {
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

  // Share of the points that landmarks, with their rims, would hide when everything is in view.
  coveredByLandmarks() {
    this.fit(this.canvas.clientWidth, this.canvas.clientHeight);
    const landmarks = this.model.landmarkPlaces();
    const radius = this.landmarkRadius(landmarks.xs.length);
    return coveredShare(this.view, this.model.points(), landmarks, 2 * radius + Math.min(1.6, radius));
  }

  // Triangles, as on maps: no point has their shape. A smaller one within a larger one is much
  // faster than an outline.
  drawLandmarks({ xs, ys }) {
    const { context } = this;
    const radius = 1.35 * this.landmarkRadius(xs.length);
    context.globalAlpha = (this.model.landmarkAlpha || 0.9) * (this.dimmed ? 0.5 : 1);
    const rim = Math.min(2.2, 0.55 * radius);
    for (const [color, size] of [["landmark", radius + rim / 2], ["card", radius - rim / 2]]) {
      context.fillStyle = this.look.style[color];
      this.fillTriangles(xs, ys, size);
    }
    context.globalAlpha = 1;
  }

  // Those in view, a few hundred in a path: each alone is slow, and so are all in one.
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

  // In the colors of their classes; a single color would be that of all points.
  drawSelected() {
    if (!this.look.count) return;
    const { palette, plain } = this.look.colors;
    const { xs, ys } = this.model.points();
    const size = Math.max(2.4, 1.15 * this.pointSize(xs.length));
    const step = this.settling ? Math.ceil(this.look.count / MOST_MOVING_POINTS) : 1;
    this.context.globalAlpha = this.look.count > 5000 ? 0.8 : 0.95;
    this.look.selectedMembers.forEach((members, bin) => {
      this.context.fillStyle = plain ? this.look.style.pick : css(palette[bin]);
      this.drawMarks(members, xs, ys, size, step);
    });
    this.context.globalAlpha = 1;
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

  // Letters with a background-colored rim, to be readable on any color.
  write(text, x, y) {
    this.context.strokeText(text, x, y);
    this.context.fillText(text, x, y);
  }

  drawAxes([across, up]) {
    const { context, view } = this;
    const valueX = (px) => (px - view.bx) / view.kx;
    const valueY = (py) => (py - view.by) / view.ky;
    context.font = FONT;
    context.strokeStyle = this.look.style.card;
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.fillStyle = this.look.style.soft;
    context.textAlign = "center";
    // Within the space left by the tick labels, the axis names and the buttons.
    const [left, right, top, bottom] = [40, view.width - 24, 34, view.height - 26];
    const ticksX = niceTicks(valueX(left), valueX(right), tickCount(right - left, 110));
    const textsX = tickTexts(ticksX);
    ticksX.forEach((tick, place) => this.write(textsX.texts[place], view.x(tick), view.height - 8));
    context.textAlign = "left";
    const ticksY = niceTicks(valueY(bottom), valueY(top), tickCount(bottom - top, 80));
    const textsY = tickTexts(ticksY);
    ticksY.forEach((tick, place) => this.write(textsY.texts[place], 7, view.y(tick) + 4));
    context.fillStyle = this.look.style.ink;
    const named = (name, { shared }) => (shared ? `${name} \u2212 ${shared}` : name);
    // The buttons are next to the first; nothing is next to the second.
    this.write(`↑ ${shortened(context, named(up, textsY), view.width - (view.width < NARROW ? 140 : 80))}`, 8, 17);
    context.textAlign = "right";
    this.write(`${shortened(context, named(across, textsX), view.width - 36)} →`, view.width - 8, view.height - 24);
  }

  // Names of classes, the largest first; one that would hide another is left out, and so are those
  // of which nothing is selected.
  drawLabels(labels) {
    const { context, view } = this;
    context.font = `600 ${FONT.replace("11px", "13px")}`;
    context.textAlign = "center";
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = this.look.style.card;
    const boxes = [];
    for (const { text, bin, x, y } of labels) {
      if (this.dimmed && !this.look.selectedMembers[bin].length) continue;
      const name = shortened(context, text, 150);
      const box = freeBox(view.x(x), view.y(y), context.measureText(name).width, boxes);
      if (!box) continue;
      boxes.push(box);
      context.fillStyle = this.look.style.ink;
      this.write(name, (box.left + box.right) / 2, box.bottom - 4);
    }
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

  // Points whose canvas positions pass a test.
  pointsWhere(test) {
    const { xs, ys } = this.model.points();
    const found = [];
    for (let point = 0; point < xs.length; point++) {
      if (test(this.view.x(xs[point]), this.view.y(ys[point]))) found.push(point);
    }
    return found;
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

// As much of the start of a name as fits.
function shortened(context, name, room) {
  let length = name.length;
  const text = () => (length < name.length ? `${name.slice(0, length)}…` : name);
  while (length > 1 && context.measureText(text()).width > room) length--;
  return text();
}
