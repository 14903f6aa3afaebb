// The page: its state, its controls, and what they do to the panels.

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

const look = { colors: null, members: [], selectedPoints: [], selectedMembers: [], count: 0, hovered: -1, style: {} };
const choices = colorChoices();
const pictures = new Pictures(facts.tiles, facts.addresses);
const texts = facts.text ? [facts.text] : [];
// Columns of names that points can be found by.
const labeled = facts.colors.filter(({ labels }) => labels);
const sampledRows = facts.rows ? arrayAt(facts.rows) : null;
const MOST_IN_GALLERY = 96;

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

// Panels.

const models = makeModels(state, look);
const embedding = new Panel(byId("embedding"), models.embedding, look);
const original = pictures.any ? null : new Panel(byId("original"), models.original, look);
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
  // The button names what pressing it does.
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
  look.selectedMembers = partsByBin(look.selectedPoints, look.colors.bins, look.colors.palette.length);
  byId("legend").replaceChildren(...legendParts(choices[place], look, state.theme, (bin, add) => select([...look.members[bin]], add)));
  byId("legend").classList.toggle("many", Boolean(look.colors.names) && severalLines(byId("legend")));
  byId("labels-field").hidden = !look.colors.names;
  showBreakdown();
  showGallery();
  redrawAll();
}

// Selection.

function select(points, add = false) {
  const marks = new Set(add ? look.selectedPoints : []);
  points.forEach((point) => marks.add(point));
  look.selectedPoints = Uint32Array.from(marks).sort();
  look.count = look.selectedPoints.length;
  look.selectedMembers = partsByBin(look.selectedPoints, look.colors.bins, look.colors.palette.length);
  for (const id of ["clear", "copy-rows", "save-rows"]) byId(id).disabled = look.count === 0;
  tell("");
  byId("selected").textContent = selectionText();
  showBreakdown();
  showGallery();
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

// Classes of the selection, or the quartiles of what colors it.
function showBreakdown() {
  const place = byId("breakdown");
  const choice = choices[state.color];
  place.hidden = !look.count || choice.kind !== "column";
  if (place.hidden) return;
  if (look.colors.names) {
    place.replaceChildren(breakdownTable(classCounts(look.selectedMembers, look.members, look.colors)));
    return;
  }
  const numbers = numbersOf(choice.column);
  const middle = (points) => {
    const found = quartiles(numbers, points);
    if (!found) return "all missing";
    const [low, half, high] = found.map((value) => numberText(choice.column, value));
    return `median ${half}, middle half from ${low} to ${high}`;
  };
  const everyone = Uint32Array.from({ length: facts.sampled }, (_, point) => point);
  const all = middle(everyone);
  place.replaceChildren(line("p", `${choice.name} of the selection: ${middle(look.selectedPoints)}; of all points: ${all}.`));
}

// Pictures of the selection, or of points in view.
function showGallery() {
  if (!gallery) return;
  byId("load-pictures").hidden = !pictures.waiting;
  const inView = () => embedding.pointsWhere((x, y) => x >= 0 && y >= 0 && x <= embedding.view.width && y <= embedding.view.height);
  const points = look.count ? [...look.selectedPoints] : inView();
  const colorOf = (point) => look.colors.palette[look.colors.bins[point]];
  const shown = gallery.show(points, arrayAt(facts.cells), colorOf, MOST_IN_GALLERY);
  const of = look.count ? "selected" : "in view";
  byId("gallery-note").textContent = pictures.waiting
    ? "Images are not stored in this page. Load them from their original locations."
    : `${grouped(shown)} of ${grouped(points.length)} ${of}`;
}

function tell(text) {
  byId("taken").textContent = text;
}

async function copyRows() {
  const rows = selectedRows(look.selectedPoints);
  const done = await copied(rows.join(", "));
  tell(done ? `${plural(rows.length, "row")} copied` : "Copying was blocked: save the rows instead");
}

function saveRows() {
  // The axis added to a single coordinate has no meaning.
  const coordinates = facts.coordinates.slice(0, facts.components);
  const columns = [...facts.colors, ...coordinates, ...facts.columns, ...facts.derived];
  const addresses = facts.addresses ? [{ name: "image", values: facts.addresses }] : [];
  save(new Blob([tableOf(look.selectedPoints, columns, [...texts, ...addresses])], { type: "text/csv" }), "selected-rows.csv");
  tell(`${plural(look.count, "row")} saved`);
}

async function saveFigure(make, name) {
  const title = document.title;
  save(await figureOf(lastPanel, title, legendEntries(choices[state.color], look), look.style, make), name);
  tell(`${name} saved`);
}

function selectView() {
  const { width, height } = lastPanel.view;
  select(lastPanel.pointsWhere((x, y) => x >= 0 && y >= 0 && x <= width && y <= height));
}

function search(query) {
  if (!query.trim()) return;
  const { points, what } = found(query, { rows: sampledRows, labeled, texts });
  if (points.length) {
    select(points);
    if (points.length === 1) embedding.show(points);
  }
  tell(points.length ? `${what}: ${plural(points.length, "point")}` : what);
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
  // Pressed again, it also shows outliers.
  button("all", "See everything", () => panel.home(panel.atHome && !panel.everything));
  plot.append(group);
}

function addNote(panel, plot) {
  panel.noteElement = Object.assign(document.createElement("output"), { className: "view-note", hidden: true });
  plot.append(panel.noteElement);
  panel.onSettled = () => {
    showNote(panel);
    if (panel === embedding && !look.count) showGallery();
  };
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
  const id = which ? "column-y" : "column-x";
  state.columns[which] = place;
  byId(id).value = String(place);
  // A name may be too long to fit.
  byId(id).title = facts.columns[place].name;
  original.home();
}

function setThree(on) {
  state.three = on;
  for (const id of ["axis-x", "axis-y"]) byId(id).disabled = on;
  models.embedding.equal = on || facts.equalScales;
  embedding.home();
}

function setTool(tool) {
  state.tool = tool;
  panels.forEach(({ canvas }) => canvas.classList.toggle("crosshair", tool !== "move"));
}

function setShown(name, on) {
  const control = byId(`show-${name}`);
  if (control.disabled) return;
  control.checked = on;
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
  if (gallery) {
    pictures.onReady = showGallery;
    byId("load-pictures").addEventListener("click", () => {
      pictures.loading = true;
      showGallery();
    });
    return;
  }
  const columns = facts.columns.map(({ name }) => name);
  fillSelect("column-x", columns, state.columns[0], (place) => setColumn(0, place));
  fillSelect("column-y", columns, state.columns[1], (place) => setColumn(1, place));
  state.columns.forEach((place, which) => setColumn(which, place));
}

function connectSearch() {
  const names = new Set(labeled.flatMap(({ labels }) => labels.slice(0, 200)));
  byId("search-names").append(...[...names].slice(0, 400).map((name) => new Option(name)));
  byId("search-form").hidden = !(labeled.length || texts.length || sampledRows);
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
  byId("show-landmarks").checked = state.showLandmarks = !landmarksHide();
  byId("show-graph").disabled = !facts.graph;
  byId("show-landmarks").disabled = facts.points === null;
  for (const name of ["landmarks", "graph", "labels"]) {
    byId(`show-${name}`).addEventListener("change", (event) => setShown(name, event.target.checked));
  }
  byId("three-field").hidden = facts.components < 3;
  byId("three").addEventListener("change", (event) => setThree(event.target.checked));
  byId("select-view").addEventListener("click", selectView);
  byId("clear").addEventListener("click", () => select([]));
  byId("copy-rows").addEventListener("click", copyRows);
  byId("save-rows").addEventListener("click", saveRows);
  byId("save-png").addEventListener("click", () => saveFigure(pngFigure, "view.png"));
  byId("save-svg").addEventListener("click", () => saveFigure(svgFigure, "view.svg"));
  byId("copy-link").addEventListener("click", copyLink);
  // Landmarks that were given as points have no row numbers.
  for (const id of ["copy-rows", "save-rows"]) byId(id).hidden = facts.rows === null;
  byId("theme").addEventListener("click", () => setTheme(state.theme === "dark" ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) =>
    setTheme(event.matches ? "dark" : "light"));
  addEventListener("hashchange", readHash);
}

// Decided by the embedding alone, which people look at first.
function landmarksHide() {
  return facts.points !== null && embedding.coveredByLandmarks() > MOST_COVERED;
}

function shownText() {
  if (facts.points === null) return "No points were passed: only the landmarks are shown.";
  const hidden = choices[state.color].kind === "plain" && !facts.images.length ? "points" : "colors";
  const off = state.showLandmarks ? "" : ` Landmarks are hidden by default so that they do not cover the ${hidden}.`;
  if (facts.points === 1) return `The one point is shown.${off}`;
  if (facts.points === facts.sampled) return `All ${grouped(facts.points)} points are shown.${off}`;
  const { outside = 0 } = facts.images[0] || {};
  const far = outside ? ` ${plural(outside, "point")} too far away ${outside === 1 ? "is" : "are"} omitted.` : "";
  const density = facts.images.length ? `All ${grouped(facts.points)} points are included in the density.${far} ` : "";
  const some = facts.sampled === 1 ? "One of them, drawn at random, appears" : `${grouped(facts.sampled)} of them, drawn at random, appear individually`;
  return `${density}${some} as you zoom in, and can be selected.${off}`;
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

// For tests and debugging: the state of the page as plain values, and the canvas position of a
// sampled point in a panel.
window.trigpoint = {
  state: () => ({
    ...state,
    axes: [...state.axes],
    columns: [...state.columns],
    colorName: choices[state.color].name,
    selected: look.count,
    frames: embedding.frames,
    views: Object.fromEntries(panels.map(({ view }, place) =>
      [["embedding", "original"][place], { zoom: view.zoom, x: view.bx, y: view.by }])),
  }),
  placeOf(name, point) {
    const panel = name === "original" ? original : embedding;
    const { xs, ys } = panel.model.points();
    return [panel.view.x(xs[point]), panel.view.y(ys[point])];
  },
  selectedPoints: () => [...look.selectedPoints],
  settled: () => panels.every(({ pending, settling }) => !pending && !settling),
};
