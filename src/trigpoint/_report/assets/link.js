// Store the view in the address of the page, and restore it when the page opens or the address is
// edited. See address.js for the format.

const MOST_IN_LINK = 400;
const ADDRESS_MS = 500;

function currentHash() {
  const parameters = { color: choices[state.color].name };
  if (state.three) parameters.turned = listText(state.turned);
  else parameters.axes = listText(state.axes);
  if (original) parameters.columns = listText(state.columns);
  panels.forEach((panel, place) => {
    if (!panel.atHome) parameters[["view", "original"][place]] = listText([...panel.view.center, panel.view.zoom]);
  });
  const shown = { landmarks: state.showLandmarks, graph: state.showGraph, labels: state.showLabels };
  parameters.show = Object.keys(shown).filter((name) => shown[name]).join(",");
  if (look.selected.length && look.selected.length <= MOST_IN_LINK && rows) parameters.rows = rangesText(selectedRows(look.selected));
  return hashOf(parameters);
}

function writeHash() {
  const hash = currentHash();
  try {
    if (hash !== location.hash) history.replaceState(null, "", hash);
  } catch {
    // A page embedded in another page may not change its address.
  }
  return hash;
}

// Write the address once the user has paused.
function connectAddress() {
  let waiting = 0;
  const later = () => {
    clearTimeout(waiting);
    waiting = setTimeout(writeHash, ADDRESS_MS);
  };
  for (const kind of ["change", "click", "keyup", "pointerup", "wheel"]) {
    byId("explore").addEventListener(kind, later, { passive: true });
  }
}

async function copyLink() {
  const hash = writeHash();
  const done = await copied(location.href.replace(/#.*$/, "") + hash);
  const all = look.selected.length > MOST_IN_LINK ? ", without the selection, which is too large" : "";
  tell(done ? `Link to this view copied${all}` : "Copying was blocked: copy the address of this page instead");
}

// Apply the parameters of the address; everything else remains as it is.
function readHash() {
  const given = parametersOf(location.hash);
  const color = choices.findIndex(({ name }) => name === given.color);
  if (color >= 0) {
    byId("color").value = String(color);
    setColor(color);
  }
  const axes = numbersFrom(given.axes, 2);
  if (axes && axes.every((axis) => facts.coordinates[axis])) axes.forEach((axis, which) => setAxis(which, axis));
  const columns = numbersFrom(given.columns, 2);
  if (original && columns && columns.every((column) => numeric[column])) {
    columns.forEach((column, which) => setColumn(which, column));
  }
  const turned = numbersFrom(given.turned, 2);
  if (turned && facts.components >= 3) {
    state.turned = turned;
    byId("three").checked = true;
    setThree(true);
  }
  if ("show" in given) {
    const shown = given.show.split(",");
    for (const name of ["landmarks", "graph", "labels"]) setShown(name, shown.includes(name));
  }
  if (given.rows && rows) {
    const wanted = rangesTest(given.rows);
    select([...rows.keys()].filter((point) => wanted(rows[point])));
  }
  panels.forEach((panel, place) => {
    const view = numbersFrom(given[["view", "original"][place]], 3);
    if (!view || !(view[2] > 0)) return;
    panel.atHome = false;
    panel.view.look(view.slice(0, 2), view[2]);
    panel.unsettle();
  });
}
