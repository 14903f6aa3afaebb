// Taking a selection out of the page: to the clipboard, or to a file.

// Rows of the selected points, ascending as the points are.
function selectedRows(points) {
  const rows = arrayAt(facts.rows);
  return Array.from(points, (point) => rows[point]);
}

// Copy text; resolves to whether it went well.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages from files have no clipboard in some browsers, or may not use it.
    return copiedByHand(text);
  }
}

// As people copy: what is selected in a field.
function copiedByHand(text) {
  const field = document.createElement("textarea");
  const focused = document.activeElement;
  field.value = text;
  field.className = "aside";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  // The field took the focus along.
  if (focused) focused.focus();
  return done;
}

// Lines of a table with a column of rows and one for each of the given columns.
function tableOf(points, columns) {
  const numbers = columns.map(sampleNumbers);
  const head = ["row", ...columns.map(({ name }) => quoted(name))];
  const lines = selectedRows(points).map((row, place) =>
    [row, ...numbers.map((values) => Number(values[points[place]].toPrecision(6)))].join(","));
  return `${[head.join(","), ...lines].join("\n")}\n`;
}

// Names of columns may hold what separates them.
function quoted(name) {
  return /[",\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}

function save(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  // Some browsers read it only after this has returned.
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
