// Export a selection to the clipboard or to a file.

// Rows of the selected points, in ascending order like the points.
function selectedRows(points) {
  const rows = arrayAt(facts.rows);
  return Array.from(points, (point) => rows[point]);
}

// Copy text; resolves to whether it succeeded.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // In some browsers, pages opened from files have no clipboard or may not use it.
    return copiedByHand(text);
  }
}

// Fallback: copy the selected text of a field.
function copiedByHand(text) {
  const field = document.createElement("textarea");
  const focused = document.activeElement;
  field.value = text;
  field.className = "aside";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  // Restore the focus that the field took.
  if (focused) focused.focus();
  return done;
}

// CSV table with a column of row numbers and one for each given column.
function tableOf(points, columns) {
  const numbers = columns.map(sampleNumbers);
  const head = ["row", ...columns.map(({ name }) => quoted(name))];
  const lines = selectedRows(points).map((row, place) =>
    [row, ...numbers.map((values) => Number(values[points[place]].toPrecision(6)))].join(","));
  return `${[head.join(","), ...lines].join("\n")}\n`;
}

// Column names may contain separators.
function quoted(name) {
  return /[",\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}

function save(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  // Some browsers read it only after this function has returned.
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
