// The page: its state, its controls, and what they do to the panels.

const state = {
  theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
  tool: "move",
  color: 0,
  axes: [0, 1],
  columns: [...facts.firstColumns],
  showLandmarks: false,
  showGraph: false,
  three: false,
  turned: [0.6, 0.35],
};

const look = { colors: null, members: [], selectedPoints: [], count: 0, hovered: -1, style: {} };
const choices = colorChoices();
const pictures = new Map();

function colorChoices() {
  const named = (group, columns) => columns.map((column) => ({ kind: "column", group, name: column.name, column }));
  return [
    { kind: "plain", group: "Points", name: facts.images.length ? "point density" : "one color" },
    { kind: "cell", group: "Points", name: "landmark cell" },
    ...named("Points", facts.derived),
    ...named("Given", facts.colors),
    ...named("Columns of X", facts.columns),
    ...named("Coordinates", facts.coordinates.slice(0, facts.components)),
  ];
}

// Models of the two panels.

function rotated(columns) {
  const [a, b] = state.turned;
  const [sinA, cosA, sinB, cosB] = [Math.sin(a), Math.cos(a), Math.sin(b), Math.cos(b)];
  const ranges = facts.coordinates.slice(0, 3).map((column) => column.range);
  const width = Math.max(...ranges.map(([low, high]) => high - low)) || 1;
  const [xs, ys, zs] = columns.map((values, axis) => {
    const middle = (ranges[axis][0] + ranges[axis][1]) / 2;
    return values.map((value) => (2 * (value - middle)) / width);
  });
  return {
    xs: xs.map((x, i) => cosA * x + sinA * zs[i]),
    ys: ys.map((y, i) => cosB * y - sinB * (cosA * zs[i] - sinA * xs[i])),
  };
}

// Positions of the sample or of the landmarks in the embedding, cached until they rotate.
function placesIn(read) {
  if (state.three) return rotated(facts.coordinates.slice(0, 3).map(read));
  return { xs: read(facts.coordinates[state.axes[0]]), ys: read(facts.coordinates[state.axes[1]]) };
}

const kept = {};
function keptPlaces(name, read) {
  const key = state.three ? `turned ${state.turned}` : `axes ${state.axes}`;
  if (!kept[name] || kept[name].key !== key) kept[name] = { key, places: placesIn(read) };
  return kept[name].places;
}

const embeddingModel = {
  equal: facts.equalScales,
  points: () => keptPlaces("sample", sampleNumbers),
  landmarkPlaces: () => keptPlaces("landmarks", landmarkNumbers),
  landmarks: () => (state.showLandmarks && facts.points !== null ? embeddingModel.landmarkPlaces() : null),
  edges: () => (state.showGraph ? edgesOf(facts.graph) : null),
  names: () => (state.three ? null : state.axes.map((axis) => facts.coordinates[axis].name)),
  bounds() {
    if (state.three) return { low: [-1.2, -1.2], high: [1.2, 1.2] };
    const ranges = state.axes.map((axis) => facts.coordinates[axis].range);
    return { low: ranges.map(([low]) => low), high: ranges.map(([, high]) => high) };
  },
  picture() {
    const [across, up] = state.axes;
    const image = facts.images.find(({ axes }) => axes[0] === across && axes[1] === up);
    if (!image || state.three) return null;
    const key = `${state.axes} ${state.color} ${state.theme}`;
    if (!pictures.has(key)) {
      const { xs, ys } = this.points();
      pictures.clear();
      pictures.set(key, densityPicture(image, look.colors, xs, ys, state.theme));
    }
    return { canvas: pictures.get(key), low: image.low, high: image.high };
  },
  turn(dx, dy) {
    if (!state.three) return false;
    state.turned = [state.turned[0] + dx / 140, state.turned[1] + dy / 140];
    return true;
  },
};

const originalModel = {
  equal: false,
  // When a sheet is seen edge-on, landmarks would hide the points.
  landmarkAlpha: 0.45,
  points: () => ({
    xs: sampleNumbers(facts.columns[state.columns[0]]),
    ys: sampleNumbers(facts.columns[state.columns[1]]),
  }),
  landmarkPlaces: () => ({
    xs: landmarkNumbers(facts.columns[state.columns[0]]),
    ys: landmarkNumbers(facts.columns[state.columns[1]]),
  }),
  landmarks: () => (state.showLandmarks && facts.points !== null ? originalModel.landmarkPlaces() : null),
  edges: () => (state.showGraph ? edgesOf(facts.graph) : null),
  names: () => state.columns.map((column) => facts.columns[column].name),
  picture: () => null,
  bounds() {
    const ranges = state.columns.map((column) => facts.columns[column].range);
    return { low: ranges.map(([low]) => low), high: ranges.map(([, high]) => high) };
  },
};

const embedding = new Panel(byId("embedding"), embeddingModel, look);
const original = new Panel(byId("original"), originalModel, look);
const panels = [embedding, original];
const comparison = facts.neighborhoods.length ? new Comparison(look.style) : null;

function redrawAll() {
  panels.forEach((panel) => panel.redraw());
}

// Colors and theme.

function readStyle() {
  const computed = getComputedStyle(document.documentElement);
  for (const name of ["ink", "soft", "card", "pick", "ordinary", "shortcut", "bridge", "landmark"]) {
    look.style[name] = computed.getPropertyValue(`--${name}`).trim();
  }
}

function setTheme(theme) {
  state.theme = theme;
  document.documentElement.dataset.theme = theme;
  // The button names what pressing it does.
  const other = theme === "dark" ? "Light" : "Dark";
  byId("theme").querySelector("span").textContent = other;
  byId("theme").setAttribute("aria-label", `${other} colors`);
  readStyle();
  setColor(state.color);
  if (comparison) comparison.recolor(theme);
}

function setColor(place) {
  state.color = place;
  look.colors = coloring(choices[place], state.theme);
  look.members = membersByBin(look.colors.bins, look.colors.palette.length);
  showLegend();
  redrawAll();
}

function showLegend() {
  const choice = choices[state.color];
  const parts = {
    plain: densityLegend,
    cell: () => [`${plural(facts.landmarks, "cell")}; colors repeat`],
    column: () => (choice.column.labels ? labelLegend(choice.column) : numberLegend(choice.column)),
  }[choice.kind]();
  byId("legend").replaceChildren(...parts, ...missingLegend(choice));
}

function missingLegend({ kind }) {
  if (kind !== "column" || !look.members[look.members.length - 1].length) return [];
  const dot = document.createElement("i");
  dot.style.background = css(NO_VALUE[state.theme]);
  const both = document.createElement("span");
  both.className = "missing";
  both.append(dot, "missing");
  return [both];
}

function densityLegend() {
  const image = facts.images[0];
  if (!image) return [];
  return rampLegend(["1", `${plural(image.most, "point")} per cell`], DENSITY[state.theme]);
}

function numberLegend(column) {
  // A column without numbers has no scale to show.
  if (look.members[BINS].length === facts.sampled) return [];
  const [low, high] = column.colorRange;
  // The color scale omits outliers: see columns.py.
  const ends = [[column.range[0] < low, "≤", low], [high < column.range[1], "≥", high]];
  return rampLegend(ends.map(([cut, sign, end]) => (cut ? `${sign}\u00a0` : "") + numberText(column, end)), VIRIDIS);
}

function rampLegend([low, high], stops) {
  const bar = document.createElement("div");
  bar.className = "ramp";
  const shown = stops === VIRIDIS ? numberRamp(state.theme).map((color) => css(color)) : stops;
  bar.style.background = `linear-gradient(90deg, ${shown.join(", ")})`;
  return [low, bar, high];
}

// Labels are buttons: pressing one selects all points with that label.
function labelLegend(column) {
  return column.labels.map((label, place) => {
    const button = document.createElement("button");
    button.type = "button";
    const dot = document.createElement("i");
    dot.style.background = css(look.colors.palette[place]);
    const text = document.createElement("span");
    text.textContent = label;
    button.title = `Select ${label}`;
    button.append(dot, text);
    button.addEventListener("click", (event) => select([...look.members[place]], event.shiftKey));
    return button;
  });
}

// Selection and hovering.

function select(points, add = false) {
  const marks = new Set(add ? look.selectedPoints : []);
  points.forEach((point) => marks.add(point));
  look.selectedPoints = Uint32Array.from(marks).sort();
  look.count = look.selectedPoints.length;
  byId("clear").disabled = look.count === 0;
  for (const id of ["copy-rows", "save-rows"]) byId(id).disabled = look.count === 0;
  byId("taken").textContent = "";
  byId("selected").textContent = selectionText();
  redrawAll();
}

function selectionText() {
  if (!look.count) return "Nothing selected";
  if (facts.points === null) return `${plural(look.count, "landmark")} selected`;
  if (facts.points === facts.sampled) return `${plural(look.count, "point")} selected`;
  const all = (look.count / facts.sampled) * facts.points;
  const about = `about ${grouped(Number(all.toPrecision(3)))} of all ${grouped(facts.points)}`;
  return `${grouped(look.count)} of the ${grouped(facts.sampled)} points on this page selected, ${about}`;
}

async function copyRows() {
  const rows = selectedRows(look.selectedPoints);
  const done = await copied(rows.join(", "));
  byId("taken").textContent = done ? `${plural(rows.length, "row")} copied` : "Copying was blocked: save the rows instead";
}

function saveRows() {
  const axes = state.three ? [0, 1, 2] : state.axes;
  // The axis added to a single coordinate has no meaning.
  const shown = axes.filter((axis) => axis < facts.components).map((axis) => facts.coordinates[axis]);
  save(tableOf(look.selectedPoints, shown), "selected-rows.csv");
  byId("taken").textContent = `${plural(look.count, "row")} saved`;
}

function hover(panel, point, x, y) {
  if (point !== look.hovered) {
    look.hovered = point;
    redrawAll();
  }
  panels.forEach((other) => { other.tip.hidden = point < 0 || other !== panel; });
  if (point < 0) return;
  panel.tip.textContent = described(point);
  const left = Math.min(x + 14, panel.view.width - panel.tip.offsetWidth - 6);
  const below = y + 16 + panel.tip.offsetHeight < panel.view.height;
  const top = below ? y + 16 : y - 12 - panel.tip.offsetHeight;
  panel.tip.style.transform = `translate(${Math.max(6, left)}px, ${Math.max(6, top)}px)`;
}

function described(point) {
  const rows = facts.rows ? [`row ${grouped(arrayAt(facts.rows)[point])}`] : [];
  const choice = choices[state.color];
  const columns = [...state.axes.map((axis) => facts.coordinates[axis]), ...state.columns.map((at) => facts.columns[at])];
  const lines = [...new Set(columns)].map((column) => `${column.name}: ${valueText(column, point)}`);
  if (choice.kind === "column" && !columns.includes(choice.column)) {
    lines.unshift(`${choice.name}: ${valueText(choice.column, point)}`);
  }
  if (choice.kind === "cell") lines.unshift(`landmark ${grouped(arrayAt(facts.cells)[point])}`);
  return [...rows, ...lines].join("\n");
}

// Controls.

function fillSelect(id, names, chosen, onChange) {
  const element = byId(id);
  names.forEach((name, place) => element.append(new Option(name, String(place))));
  element.value = String(chosen);
  element.addEventListener("change", () => onChange(Number(element.value)));
}

function fillColors() {
  const element = byId("color");
  const groups = new Map();
  choices.forEach((choice, place) => {
    if (!groups.has(choice.group)) {
      const group = document.createElement("optgroup");
      group.label = choice.group;
      groups.set(choice.group, group);
      element.append(group);
    }
    groups.get(choice.group).append(new Option(choice.name, String(place)));
  });
  state.color = Math.max(0, choices.findIndex(({ group }) => group === "Given"));
  element.value = String(state.color);
  element.addEventListener("change", () => setColor(Number(element.value)));
}

function addZoomButtons(panel, plot, name) {
  const group = document.createElement("div");
  group.className = "zoom";
  const glyphs = { in: "M3 9h12M9 3v12", out: "M3 9h12", all: "M3 7V3h4M11 3h4v4M15 11v4h-4M7 15H3v-4" };
  const button = (glyph, label, action) => {
    const element = document.createElement("button");
    element.type = "button";
    element.title = label;
    element.setAttribute("aria-label", `${label}: ${name}`);
    element.innerHTML = `<svg viewBox="0 0 18 18" aria-hidden="true"><path d="${glyphs[glyph]}"/></svg>`;
    element.addEventListener("click", action);
    group.append(element);
  };
  button("in", "Zoom in", () => panel.zoom(1.6));
  button("out", "Zoom out", () => panel.zoom(1 / 1.6));
  button("all", "See everything", () => panel.home());
  plot.append(group);
}

function addTip(panel, plot) {
  panel.tip = document.createElement("div");
  panel.tip.className = "tip";
  panel.tip.hidden = true;
  plot.append(panel.tip);
}

function setAxis(which, place) {
  state.axes[which] = place;
  // The same coordinate on both axes would be a line.
  if (state.axes[0] === state.axes[1]) state.axes[1 - which] = place === 0 ? 1 : 0;
  byId("axis-x").value = String(state.axes[0]);
  byId("axis-y").value = String(state.axes[1]);
  embedding.home();
}

function setColumn(which, place) {
  state.columns[which] = place;
  // A name may be too long to fit.
  byId(which ? "column-y" : "column-x").title = facts.columns[place].name;
  original.home();
}

function setThree(on) {
  state.three = on;
  for (const id of ["axis-x", "axis-y"]) byId(id).disabled = on;
  embeddingModel.equal = on || facts.equalScales;
  embedding.home();
}

function setTool(tool) {
  state.tool = tool;
  panels.forEach(({ canvas }) => canvas.classList.toggle("crosshair", tool !== "move"));
}

function selectView() {
  const panel = lastPanel;
  const { width, height } = panel.view;
  select(panel.pointsWhere((x, y) => x >= 0 && y >= 0 && x <= width && y <= height));
}

let lastPanel = embedding;

function connectPanels() {
  const names = ["embedding", "original coordinates"];
  panels.forEach((panel, place) => {
    const plot = panel.canvas.parentElement;
    addZoomButtons(panel, plot, names[place]);
    addTip(panel, plot);
    addGestures(panel, { tool: () => state.tool, onSelect: select, onHover: hover, onClear: () => select([]) });
    for (const kind of ["pointerdown", "focus", "wheel"]) {
      panel.canvas.addEventListener(kind, () => { lastPanel = panel; }, { passive: true });
    }
  });
  if (!comparison) return;
  byId("compare").hidden = false;
  addZoomButtons(comparison.panel, byId("compared-plot"), "compared landmarks");
  addGestures(comparison.panel, { tool: () => "move", onSelect() {}, onHover() {}, onClear() {} });
}

function connectControls() {
  const coordinates = facts.coordinates.map(({ name }) => name);
  const columns = facts.columns.map(({ name }) => name);
  fillColors();
  fillSelect("axis-x", coordinates, 0, (place) => setAxis(0, place));
  fillSelect("axis-y", coordinates, 1, (place) => setAxis(1, place));
  fillSelect("column-x", columns, state.columns[0], (place) => setColumn(0, place));
  fillSelect("column-y", columns, state.columns[1], (place) => setColumn(1, place));
  state.columns.forEach((place, which) => setColumn(which, place));
  document.querySelectorAll("input[name=tool]").forEach((input) =>
    input.addEventListener("change", () => setTool(input.value)));
  byId("show-landmarks").checked = state.showLandmarks = !landmarksHide();
  byId("show-landmarks").addEventListener("change", (event) => {
    state.showLandmarks = event.target.checked;
    redrawAll();
  });
  byId("show-graph").addEventListener("change", (event) => {
    state.showGraph = event.target.checked;
    byId("edge-key").hidden = !state.showGraph;
    redrawAll();
  });
  byId("show-graph").disabled = !facts.graph;
  byId("show-landmarks").disabled = facts.points === null;
  byId("three-field").hidden = facts.components < 3;
  byId("three").addEventListener("change", (event) => setThree(event.target.checked));
  byId("select-view").addEventListener("click", selectView);
  byId("clear").addEventListener("click", () => select([]));
  byId("copy-rows").addEventListener("click", copyRows);
  byId("save-rows").addEventListener("click", saveRows);
  // Landmarks that were given as points have no row numbers.
  for (const id of ["copy-rows", "save-rows"]) byId(id).hidden = facts.rows === null;
  byId("theme").addEventListener("click", () => setTheme(state.theme === "dark" ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) =>
    setTheme(event.matches ? "dark" : "light"));
}

// Decided by the embedding alone, which people look at first.
function landmarksHide() {
  return facts.points !== null && embedding.coveredByLandmarks() > MOST_COVERED;
}

function shownText() {
  if (facts.points === null) return "No points were passed: only the landmarks are shown.";
  const hidden = choices[state.color].kind === "plain" && !facts.images.length ? "points" : "colors";
  const off = state.showLandmarks ? "" : ` The landmarks are off by default: they would hide the ${hidden}.`;
  if (facts.points === 1) return `The one point is shown.${off}`;
  if (facts.points === facts.sampled) return `All ${grouped(facts.points)} points are shown.${off}`;
  const { outside = 0 } = facts.images[0] || {};
  const far = outside ? ` ${plural(outside, "point")} too far away ${outside === 1 ? "is" : "are"} left out.` : "";
  const density = facts.images.length ? `All ${grouped(facts.points)} points are included in the density.${far} ` : "";
  const some = facts.sampled === 1 ? "One of them, drawn uniformly, appears" : `${grouped(facts.sampled)} of them, drawn uniformly, appear individually`;
  return `${density}${some} as you zoom in, and can be selected.${off}`;
}

connectControls();
connectPanels();
byId("shown").textContent = shownText();
setTheme(state.theme);
select([]);

// For tests and debugging: the state of the page as plain values, and the canvas position of a
// sampled point in a panel.
window.trigpoint = {
  state: () => ({
    ...state,
    axes: [...state.axes],
    columns: [...state.columns],
    colorName: choices[state.color].name,
    selected: look.count,
    neighborhood: comparison && { metric: comparison.all[comparison.chosen].metric, neighbors: comparison.all[comparison.chosen].neighbors },
    views: Object.fromEntries([["embedding", embedding], ["original", original]].map(([name, { view }]) =>
      [name, { zoom: view.zoom, x: view.bx, y: view.by }])),
  }),
  placeOf(name, point) {
    const panel = name === "original" ? original : embedding;
    const { xs, ys } = panel.model.points();
    return [panel.view.x(xs[point]), panel.view.y(ys[point])];
  },
  selectedPoints: () => [...look.selectedPoints],
};
