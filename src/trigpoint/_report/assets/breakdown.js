// What a selection is made of: counts of classes, or the middle of numbers.

// Rows {name, color, count, share, ofClass} of the classes in a selection, the most frequent first.
function classCounts(selectedMembers, members, colors) {
  const total = selectedMembers.reduce((sum, part) => sum + part.length, 0);
  return [...colors.names, "missing"]
    .map((name, bin) => ({
      name,
      color: colors.palette[bin],
      count: selectedMembers[bin].length,
      share: selectedMembers[bin].length / total,
      ofClass: selectedMembers[bin].length / members[bin].length,
    }))
    .filter(({ count }) => count)
    .sort((a, b) => b.count - a.count);
}

// Quartiles of the numbers of some points; null if all are missing.
function quartiles(numbers, points) {
  const known = Float64Array.from(points, (point) => numbers[point]).filter((value) => !Number.isNaN(value)).sort();
  if (!known.length) return null;
  return [0.25, 0.5, 0.75].map((share) => known[Math.floor(share * (known.length - 1))]);
}

function breakdownTable(rows) {
  const table = document.createElement("table");
  table.className = "breakdown";
  const head = table.createTHead().insertRow();
  for (const text of ["class", "", "points", "of the selection", "of the class"]) {
    head.append(Object.assign(document.createElement("th"), { textContent: text, scope: "col" }));
  }
  const body = table.createTBody();
  for (const { name, color, count, share, ofClass } of rows) {
    const row = body.insertRow();
    const title = document.createElement("th");
    title.scope = "row";
    title.append(dotOf(color), name);
    const bar = document.createElement("i");
    bar.style.width = `${100 * share}%`;
    bar.style.background = css(color);
    row.append(title);
    row.insertCell().append(bar);
    for (const text of [grouped(count), percent(share), percent(ofClass)]) row.insertCell().textContent = text;
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
  return `${shown >= 9.95 || shown === 0 ? Math.round(shown) : shown.toFixed(1)}%`;
}
