// State of the page, its controls, and their effect on the panels.

const state = {
  theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
  tool: "move",
  color: 0,
  axes: [0, 1],
  columns: [...facts.firstColumns],
  showLandmarks: false,
  showGraph: false,
  showLabels: true,
  three: false,
  turned: [0.6, 0.35],
};

const look = { colors: null, members: [], selected: new Uint32Array(0), found: [], hovered: -1, style: {}, nameOf };
const rows = facts.rows ? arrayAt(facts.rows) : null;
const { texts } = facts;
for (const text of texts) text.values = new TextDecoder().decode(arrayAt(text.joined)).split("\0");
// Columns of labels by which points can be found.
const labeled = [...facts.colors, ...facts.columns].filter(({ labels }) => labels);
// Columns that can be axes.
const numeric = facts.columns.filter(({ labels }) => !labels);
const choices = colorChoices();
const pictures = new Pictures(facts.tiles, facts.addresses);
const MOST_IN_GALLERY = 96;
const MOST_RESULTS = 8;
// Maximum zoom after a search.
const FOUND_ZOOM = 8;

function colorChoices() {
  const named = (group, columns) => columns.map((column) => ({ kind: "column", group, name: column.name, column }));
  return [
    { kind: "plain", group: "Points", name: facts.sampled > MOST_DISCS ? "point density" : "one color" },
    ...named("Points", facts.derived),
    ...named("Given", facts.colors),
    ...named("Columns of X", facts.columns),
    ...named("Coordinates", facts.coordinates.slice(0, facts.components)),
  ];
}

// Panels.

const words = {
  shown: () => state.showLabels,
  texts: texts.some(({ isId }) => !isId),
  images: Boolean(facts.tiles),
  first: arrayAt(facts.landmarkPoints),
  textOf: (point) => texts[0].values[point],
  imageOf: (point) => pictures.partOf(point),
};
const embedding = new Panel(byId("embedding"), embeddingModel(state, look, words), look);
const original = numeric.length > 1 ? new Panel(byId("original"), originalModel(state), look) : null;
const panels = original ? [embedding, original] : [embedding];
const gallery = pictures.any
  ? new Gallery(byId("gallery"), pictures, { describe: shortDescription, onHover: markPoint, onPick: (point) => select([point]) })
  : null;
let lastPanel = embedding;

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
  // Label the button with the theme that it switches to.
  const other = theme === "dark" ? "Light" : "Dark";
  byId("theme").querySelector("span").textContent = other;
  byId("theme").setAttribute("aria-label", `${other} colors`);
  readStyle();
  setColor(state.color);
}

function setColor(place) {
  state.color = place;
  look.colors = coloring(choices[place], state.theme);
  look.members = membersByBin(look.colors.bins, look.colors.palette.length);
  byId("legend").replaceChildren(...legendParts(choices[place], look, state.theme, select));
  showBreakdown();
  showGallery();
  redrawAll();
}

// Selection.

function select(points, add = false) {
  const marked = new Uint8Array(facts.sampled);
  if (add) for (const point of look.selected) marked[point] = 1;
  for (const point of points) marked[point] = 1;
  look.selected = Uint32Array.from(marked.keys()).filter((point) => marked[point]);
  look.found = [];
  for (const id of ["clear", "copy-rows", "save-rows"]) byId(id).disabled = !look.selected.length;
  byId("results").replaceChildren();
  tell("");
  byId("selected").textContent = selectionText();
  showBreakdown();
  showGallery();
  redrawAll();
}

function selectionText() {
  const count = look.selected.length;
  if (!count) return "Nothing selected";
  if (facts.points === null) return `${plural(count, "landmark")} selected`;
  if (facts.allRows) return `${plural(count, "point")} selected`;
  const about = grouped(Number(((count / facts.sampled) * facts.points).toPrecision(3)));
  return `${grouped(count)} of the ${grouped(facts.sampled)} points on this page selected, about ${about} of all ${grouped(facts.points)}`;
}

// Classes of the selection, or the quartiles of the numbers that color it.
function showBreakdown() {
  const place = byId("breakdown");
  const choice = choices[state.color];
  place.hidden = !look.selected.length || choice.kind !== "column";
  if (place.hidden) return;
  if (look.colors.labels) {
    place.replaceChildren(breakdownTable(classCounts(look.selected, look.colors)));
    return;
  }
  const numbers = numbersOf(choice.column);
  const middle = (points) => {
    const known = quartiles(numbers, points);
    if (!known) return "all missing";
    const [low, half, high] = known.map((value) => numberText(choice.column, value));
    return `median ${half}, middle half from ${low} to ${high}`;
  };
  place.replaceChildren(line("p", `${choice.name} of the selection: ${middle(look.selected)}; of all points: ${middle([...numbers.keys()])}.`));
}

// Images of the selection, or of points in view.
function showGallery() {
  if (!gallery) return;
  byId("load-pictures").hidden = !pictures.waiting;
  const points = look.selected.length ? look.selected : embedding.visiblePoints();
  const shown = gallery.show(points, (point) => look.colors.palette[look.colors.bins[point]], MOST_IN_GALLERY);
  const which = look.selected.length ? "selected" : "in view";
  byId("gallery-note").textContent = pictures.waiting
    ? "Images are not stored in this page. Load them from their original locations."
    : `Images: ${grouped(shown)} of ${grouped(points.length)} ${which}`;
}

function tell(text) {
  byId("taken").textContent = text;
}

async function copyRows() {
  const rows = selectedRows(look.selected);
  const done = await copied(rows.join(", "));
  tell(done ? `${plural(rows.length, "row")} copied` : "Copying was blocked: save the rows instead");
}

function saveRows() {
  // Leave out the axis that is added to a single coordinate, since it has no meaning.
  const coordinates = facts.coordinates.slice(0, facts.components);
  const columns = [...facts.colors, ...coordinates, ...facts.columns, ...facts.derived];
  const addresses = facts.addresses ? [{ name: "image", values: facts.addresses }] : [];
  save(new Blob([tableOf(look.selected, columns, [...texts, ...addresses])], { type: "text/csv" }), "selected-rows.csv");
  tell(`${plural(look.selected.length, "row")} saved`);
}

function saveFigure() {
  const figure = figureOf(lastPanel, document.title, legendEntries(choices[state.color], look), look.style);
  figure.toBlob((blob) => save(blob, "view.png"), "image/png");
  tell("view.png saved");
}

function search(query) {
  if (!query.trim()) return;
  const { points, best, exact, what } = found(query, { ...facts, rows, labeled });
  if (!points.length) return tell(what);
  select(points);
  look.found = best;
  embedding.show(exact ? best.slice(0, exact) : points, FOUND_ZOOM);
  const equal = exact && exact < points.length ? `, ${grouped(exact)} of them exactly` : "";
  tell(`${what}: ${plural(points.length, "point")}${equal}`);
  if (best.length > 1) showResults(best);
}

// The best results of a search, as buttons that show single points.
function showResults(best) {
  byId("results").replaceChildren(...best.slice(0, MOST_RESULTS).map((point) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: nameOf(point) });
    button.addEventListener("click", () => {
      look.found = [point];
      embedding.show([point], FOUND_ZOOM);
    });
    return button;
  }));
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
  // Pressing the button again also shows outliers.
  button("all", "See everything", () => panel.home(panel.atHome && !panel.everything));
  plot.append(group);
}

function addNote(panel, plot) {
  const note = Object.assign(document.createElement("output"), { className: "view-note", hidden: true });
  plot.append(note);
  panel.onSettled = () => {
    note.textContent = viewNote(panel);
    note.hidden = !note.textContent;
    if (panel === embedding && !look.selected.length) showGallery();
  };
}

function setAxis(which, place) {
  state.axes[which] = place;
  // With the same coordinate on both axes, all points would lie on a line.
  if (state.axes[0] === state.axes[1]) state.axes[1 - which] = place === 0 ? 1 : 0;
  byId("axis-x").value = String(state.axes[0]);
  byId("axis-y").value = String(state.axes[1]);
  embedding.home();
}

function setColumn(which, place) {
  state.columns[which] = place;
  byId(which ? "column-y" : "column-x").value = String(place);
  original.home();
}

function setThree(on) {
  state.three = on;
  for (const id of ["axis-x", "axis-y"]) byId(id).disabled = on;
  embedding.model.equal = on || facts.equalScales;
  embedding.home();
}

function setTool(tool) {
  state.tool = tool;
  panels.forEach(({ canvas }) => canvas.classList.toggle("crosshair", tool !== "move"));
}

function setShown(name, on) {
  byId(`show-${name}`).checked = on;
  state[{ landmarks: "showLandmarks", graph: "showGraph", labels: "showLabels" }[name]] = on;
  byId("edge-key").hidden = !state.showGraph;
  redrawAll();
}

function connectPanels() {
  const names = ["embedding", "original coordinates"];
  panels.forEach((panel, place) => {
    const plot = panel.canvas.parentElement;
    addZoomButtons(panel, plot, names[place]);
    addNote(panel, plot);
    panel.tip = new Tip(plot);
    addGestures(panel, { tool: () => state.tool, onSelect: select, onHover: hover, onClear: () => select([]) });
    for (const kind of ["pointerdown", "focus", "wheel"]) {
      panel.canvas.addEventListener(kind, () => { lastPanel = panel; }, { passive: true });
    }
  });
}

function connectColumns() {
  byId("original-panel").hidden = !original;
  byId("gallery-panel").hidden = !gallery;
  pictures.onReady = () => { showGallery(); redrawAll(); };
  byId("load-pictures").addEventListener("click", () => {
    pictures.loading = true;
    showGallery();
  });
  if (!original) return;
  const columns = numeric.map(({ name }) => name);
  fillSelect("column-x", columns, state.columns[0], (place) => setColumn(0, place));
  fillSelect("column-y", columns, state.columns[1], (place) => setColumn(1, place));
}

function connectSearch() {
  const names = new Set(labeled.flatMap(({ labels }) => labels.slice(0, 200)));
  byId("search-names").append(...[...names].slice(0, 400).map((name) => new Option(name)));
  byId("search-form").hidden = !(labeled.length || texts.length || rows);
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    search(byId("search").value);
  });
}

function connectControls() {
  const coordinates = facts.coordinates.map(({ name }) => name);
  fillColors();
  fillSelect("axis-x", coordinates, 0, (place) => setAxis(0, place));
  fillSelect("axis-y", coordinates, 1, (place) => setAxis(1, place));
  document.querySelectorAll("input[name=tool]").forEach((input) =>
    input.addEventListener("change", () => setTool(input.value)));
  byId("axes").hidden = coordinates.length < 3;
  byId("labels-field").hidden = !(labeled.length || words.texts || words.images);
  byId("graph-field").hidden = !facts.graph;
  byId("landmarks-field").hidden = facts.points === null;
  for (const name of ["landmarks", "graph", "labels"]) {
    byId(`show-${name}`).addEventListener("change", (event) => setShown(name, event.target.checked));
  }
  byId("three-field").hidden = facts.components < 3;
  byId("three").addEventListener("change", (event) => setThree(event.target.checked));
  byId("select-view").addEventListener("click", () => select(lastPanel.visiblePoints()));
  byId("clear").addEventListener("click", () => select([]));
  byId("copy-rows").addEventListener("click", copyRows);
  byId("save-rows").addEventListener("click", saveRows);
  byId("save-png").addEventListener("click", saveFigure);
  byId("copy-link").addEventListener("click", copyLink);
  // Landmarks that were given as points have no row numbers.
  for (const id of ["copy-rows", "save-rows"]) byId(id).hidden = facts.rows === null;
  byId("theme").addEventListener("click", () => setTheme(state.theme === "dark" ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) =>
    setTheme(event.matches ? "dark" : "light"));
  addEventListener("hashchange", readHash);
}

function shownText() {
  if (facts.points === null) return "No points were passed: only the landmarks are shown.";
  if (facts.points === 1) return "The one point is shown.";
  if (facts.allRows) return `All ${grouped(facts.points)} points are shown.${missingText(facts)}`;
  return missingText(facts).trim();
}

connectControls();
connectPanels();
connectColumns();
connectSearch();
connectAddress();
connectHelp();
byId("shown").textContent = shownText();
setTheme(state.theme);
select([]);
readHash();

// For tests and debugging: the state of the page as plain values, and the canvas position of a point
// in a panel.
window.trigpoint = {
  state: () => ({
    ...state,
    axes: [...state.axes],
    columns: [...state.columns],
    colorName: choices[state.color].name,
    selected: look.selected.length,
    found: [...look.found],
    frames: embedding.frames,
    views: Object.fromEntries(panels.map(({ view }, place) =>
      [["embedding", "original"][place], { zoom: view.zoom, x: view.bx, y: view.by }])),
  }),
  placeOf(name, point) {
    const panel = name === "original" ? original : embedding;
    const { xs, ys } = panel.model.points();
    return [panel.view.x(xs[point]), panel.view.y(ys[point])];
  },
  selectedPoints: () => [...look.selected],
  settled: () => panels.every(({ pending, settling }) => !pending && !settling),
};
