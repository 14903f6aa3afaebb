// What is under the pointer, and what the view shows.

function markPoint(point) {
  if (point === look.hovered) return;
  look.hovered = point;
  redrawAll();
}

function hover(panel, point, x, y) {
  markPoint(point);
  panels.forEach((other) => { if (point < 0 || other !== panel) other.tip.hide(); });
  if (point >= 0) panel.tip.show(tipParts(described(point)), x, y, panel.view);
}

function rowText(point) {
  return sampledRows ? `row ${grouped(sampledRows[point])}` : "";
}

function shortDescription(point) {
  const choice = choices[state.color];
  const value = choice.kind === "column" ? `${choice.name}: ${valueText(choice.column, point)}` : "";
  return [rowText(point), value].filter(Boolean).join(", ");
}

// The thing itself: its picture, its text and its row, what colors it first.
function described(point) {
  const choice = choices[state.color];
  const axes = state.three ? [0, 1, 2] : state.axes;
  const columns = new Set([
    ...(choice.kind === "column" ? [choice.column] : []),
    ...facts.colors,
    ...axes.map((axis) => facts.coordinates[axis]),
    ...(pictures.any ? [] : facts.columns),
  ]);
  const values = [...columns].map((column) => [column.name, valueText(column, point)]);
  if (choice.kind === "cell") values.unshift(["landmark", grouped(arrayAt(facts.cells)[point])]);
  return {
    head: rowText(point),
    picture: pictures.elementFor(point, arrayAt(facts.cells)[point]),
    text: facts.text ? facts.text.values[point] : "",
    values,
  };
}

function showNote(panel) {
  panel.noteElement.textContent = viewNote(panel);
  panel.noteElement.hidden = !panel.noteElement.textContent;
}

function viewNote(panel) {
  const { view, model } = panel;
  const { xs, ys } = model.points();
  let inView = 0;
  for (let point = 0; point < xs.length; point++) if (view.shows(xs[point], ys[point])) inView++;
  if (panel.atHome) {
    const outside = xs.length - inView;
    const [are, them] = outside === 1 ? ["is", "it"] : ["are", "them"];
    return outside ? `${plural(outside, "outlier")} ${are} out of view; press the frame button to see ${them}` : "";
  }
  const zoom = `${view.zoom < 9.95 ? view.zoom.toFixed(1) : Math.round(view.zoom)}×`;
  if (facts.points === null || facts.points === facts.sampled) return `${zoom}: ${grouped(inView)} of ${grouped(xs.length)}`;
  const all = Number(model.countWithin(view, inView).toPrecision(2));
  return `${zoom}: ${plural(inView, "point")} drawn of about ${grouped(Math.max(inView, all))} here`;
}
