// The landmarks embedded from other neighborhoods: one large plot, and all as thumbnails.

const METRIC_NAMES = { euclidean: "Euclidean", bhattacharyya: "Bhattacharyya" };
const GLIDE_MS = 420;
const UNIT = { low: [0, 0], high: [1, 1] };

class Comparison {
  constructor(style) {
    this.all = facts.neighborhoods;
    this.chosen = this.start();
    this.places = this.placesOf(this.all[this.chosen]);
    this.look = { count: 0, hovered: -1, style, selectedPoints: [] };
    this.panel = new Panel(byId("compared"), this.model(), this.look);
    this.thumbnails = this.all.map((one, place) => this.thumbnail(one, place));
    this.switches();
    this.tell();
  }

  // Start with the one closest to the fitted model: Bhattacharyya, if available.
  start() {
    const like = this.all.findIndex((one) => one.metric === "bhattacharyya" && one.neighbors >= 20);
    return Math.max(0, like);
  }

  // Relative to the extent of each axis, so that all embeddings fit one frame.
  placesOf(one) {
    const [xs, ys] = one.coordinates.map((column) =>
      Float64Array.from(arrayAt(column.codes), (code) => code / stepsOf(column)));
    return { xs, ys };
  }

  model() {
    return {
      equal: false,
      points: () => this.places,
      bounds: () => UNIT,
      extent: () => UNIT,
      picture: () => null,
      landmarks: () => null,
      landmarkPlaces: () => this.places,
      edges: () => edgesOf(this.all[this.chosen].graph),
      names: () => null,
    };
  }

  // Colored along the first coordinate of the model, to show where an embedding folds or mixes.
  recolor(theme) {
    const values = landmarkNumbers(facts.coordinates[0]);
    const palette = numberRamp(theme);
    const bins = Uint8Array.from(values, (value) => binOf(shareOf(value, facts.coordinates[0].range)));
    this.look.colors = { bins, palette };
    this.look.members = membersByBin(bins, palette.length);
    this.panel.redraw();
    this.thumbnails.forEach((draw) => draw());
  }

  choose(place) {
    // A combination that could not be embedded changes nothing, including the switches.
    if (place >= 0 && place !== this.chosen) {
      this.chosen = place;
      this.glide(this.places, this.placesOf(this.all[place]));
    }
    this.tell();
  }

  glide(from, to) {
    const target = this.all[this.chosen];
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const start = performance.now();
    const step = (now) => {
      if (this.all[this.chosen] !== target) return;
      const share = still ? 1 : Math.max(0, Math.min(1, (now - start) / GLIDE_MS));
      const eased = share * share * (3 - 2 * share);
      const between = (a, b) => a.map((value, place) => value + eased * (b[place] - value));
      this.places = share === 1 ? to : { xs: between(from.xs, to.xs), ys: between(from.ys, to.ys) };
      this.panel.redraw();
      if (share < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  switches() {
    const metrics = [...new Set(this.all.map((one) => one.metric))];
    const numbers = [...new Set(this.all.map((one) => one.neighbors))];
    const find = (metric, neighbors) =>
      this.all.findIndex((one) => one.metric === metric && one.neighbors === neighbors);
    this.metricInputs = metrics.map((metric) =>
      radio("metrics", "metric", metric, METRIC_NAMES[metric], () =>
        this.choose(find(metric, this.all[this.chosen].neighbors))));
    this.numberInputs = numbers.map((number) =>
      radio("numbers", "number", String(number), String(number), () =>
        this.choose(find(this.all[this.chosen].metric, number))));
  }

  thumbnail(one, place) {
    const button = document.createElement("button");
    button.type = "button";
    const canvas = canvasOf(280, 224);
    const caption = document.createElement("span");
    const name = document.createElement("b");
    name.textContent = `${METRIC_NAMES[one.metric]} ${one.neighbors}`;
    caption.append(name, `${grouped(one.graph.shortcuts)} suspected\n${plural(one.graph.bridges, "bridge")}`);
    button.append(canvas, caption);
    button.addEventListener("click", () => this.choose(place));
    byId("thumbnails").append(button);
    one.button = button;
    const places = this.placesOf(one);
    return () => this.drawThumbnail(canvas, one, places);
  }

  drawThumbnail(canvas, one, places) {
    const panel = Object.create(Panel.prototype);
    const view = new View();
    Object.assign(panel, { context: canvas.getContext("2d"), look: this.look, view, settling: 0, mostDiscs: MOST_DISCS });
    view.fit(UNIT, canvas.width, canvas.height, false);
    panel.context.clearRect(0, 0, canvas.width, canvas.height);
    panel.drawEdges([[], ...edgesOf(one.graph).slice(1)], places);
    this.look.members.forEach((members, bin) => {
      panel.context.fillStyle = css(this.look.colors.palette[bin]);
      panel.drawMarks(members, places.xs, places.ys, 4.6);
    });
  }

  tell() {
    const one = this.all[this.chosen];
    this.all.forEach((other) => other.button.setAttribute("aria-pressed", String(other === one)));
    this.metricInputs.forEach((input) => { input.checked = input.value === one.metric; });
    this.numberInputs.forEach((input) => { input.checked = input.value === String(one.neighbors); });
    const title = document.createElement("strong");
    title.textContent = `${METRIC_NAMES[one.metric]}, ${plural(one.neighbors, "neighbor")}`;
    byId("compare-counts").replaceChildren(title, `${plural(one.graph.total, "edge")}: ${counted(one.graph)}`);
  }
}

function counted(graph) {
  return `${plural(graph.shortcuts, "suspected shortcut")}, ${plural(graph.bridges, "bridge")}`;
}

function radio(parent, name, value, text, onChange) {
  const label = document.createElement("label");
  const input = Object.assign(document.createElement("input"), { type: "radio", name, value });
  const caption = document.createElement("span");
  caption.textContent = text;
  label.append(input, caption);
  input.addEventListener("change", onChange);
  byId(parent).append(label);
  return input;
}
