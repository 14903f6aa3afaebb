// Describe the point under the pointer, and the points in view.

function markPoint(point) {
  if (point === look.hovered) return;
  look.hovered = point;
  panels.forEach((panel) => panel.redraw(true));
}

function hover(panel, point, x, y) {
  markPoint(point);
  panels.forEach((other) => { if (point < 0 || other !== panel) other.tip.hide(); });
  if (point >= 0) panel.tip.show(tipParts(described(point)), x, y, panel.view);
}

function rowText(point) {
  return rows ? `row ${grouped(rows[point])}` : "";
}

// A short name: the text of a point, or its row.
function nameOf(point) {
  return (texts.length && texts[0].values[point]) || rowText(point) || "landmark";
}

function shortDescription(point) {
  const choice = choices[state.color];
  const value = choice.kind === "column" ? `${choice.name}: ${valueText(choice.column, point)}` : "";
  return [rowText(point), value].filter(Boolean).join(", ");
}

// The image, texts, row and values of a point, beginning with the value that colors it.
function described(point) {
  const choice = choices[state.color];
  const axes = state.three ? [0, 1, 2] : state.axes;
  const columns = [
    ...(choice.kind === "column" ? [choice.column] : []),
    ...facts.colors,
    ...axes.map((axis) => facts.coordinates[axis]),
    ...facts.columns,
  ];
  // Use a map, since the column that colors the points may be listed twice.
  const values = new Map(columns.map((column) => [`${column.name}: ${valueText(column, point)}`, column]));
  const [first, ...others] = texts;
  return {
    head: rowText(point),
    picture: pictures.elementFor(point),
    text: first ? first.values[point] : "",
    values: [
      ...others.map((text) => [text.name, text.values[point]]),
      ...Array.from(values.values(), (column) => [column.name, valueText(column, point) || "missing"]),
    ],
  };
}

function viewNote(panel) {
  const { view } = panel;
  const all = facts.sampled;
  const inView = panel.visiblePoints().length;
  if (panel.atHome) {
    const [are, them] = all - inView === 1 ? ["is", "it"] : ["are", "them"];
    return inView < all ? `${plural(all - inView, "outlier")} ${are} out of view; press the frame button to see ${them}` : "";
  }
  const zoom = view.zoom < 9.95 ? view.zoom.toFixed(1) : Math.round(view.zoom);
  return `${zoom}×: ${grouped(inView)} of ${plural(all, "point")}`;
}
