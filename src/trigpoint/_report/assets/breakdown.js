// Summary of a selection: the number of points per class, or the quartiles of a numeric column.

const MOST_CLASSES_LISTED = 12;

// Rows {name, color, count, share, ofClass} of the classes in a selection, the most frequent first.
function classCounts(selected, { column, palette }) {
  const codes = arrayAt(column.codes);
  const counted = (points) => {
    const counts = new Map();
    for (const point of points) counts.set(codes[point], (counts.get(codes[point]) || 0) + 1);
    return counts;
  };
  const all = counted(codes.keys());
  return [...counted(selected)]
    .map(([code, count]) => ({
      name: code < column.labels.length ? column.labels[code] : "missing",
      color: palette[code < column.labels.length ? Math.min(code, column.colored) : column.colored + 1],
      count,
      share: count / selected.length,
      ofClass: count / all.get(code),
    }))
    .sort((a, b) => b.count - a.count);
}

// Quartiles of a numeric column over some points; null if all values are missing.
function quartiles(numbers, points) {
  const known = Float64Array.from(points, (point) => numbers[point]).filter((value) => !Number.isNaN(value)).sort();
  if (!known.length) return null;
  return [0.25, 0.5, 0.75].map((share) => known[Math.floor(share * (known.length - 1))]);
}

function breakdownTable(rows) {
  const table = document.createElement("table");
  table.className = "breakdown";
  const head = table.createTHead().insertRow();
  for (const text of ["class", "points", "share", "of class"]) {
    head.append(Object.assign(document.createElement("th"), { textContent: text, scope: "col" }));
  }
  const body = table.createTBody();
  for (const { name, color, count, share, ofClass } of rows.slice(0, MOST_CLASSES_LISTED)) {
    const row = body.insertRow();
    const title = document.createElement("th");
    title.scope = "row";
    title.append(dotOf(color), name);
    row.append(title);
    for (const text of [grouped(count), percent(share), percent(ofClass)]) row.insertCell().textContent = text;
  }
  if (rows.length > MOST_CLASSES_LISTED) {
    table.createCaption().textContent = `The ${MOST_CLASSES_LISTED} most frequent of ${grouped(rows.length)} classes`;
  }
  return table;
}

function dotOf(color) {
  const dot = document.createElement("i");
  dot.className = "dot";
  dot.style.background = css(color);
  return dot;
}

function percent(share) {
  const shown = 100 * share;
  return `${shown >= 9.95 || shown === 0 ? Math.round(shown) : shown.toFixed(1)} %`;
}
