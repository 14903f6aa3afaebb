// A selection as a CSV table: rows, texts, labels, coordinates and columns.

// Format the table from `columns` of the page and `texts`, which are named lists of strings.
function tableOf(points, columns, texts) {
  const parts = [
    ...(facts.rows ? [{ name: "row", at: (point) => String(arrayAt(facts.rows)[point]) }] : []),
    ...texts.map(({ name, values }) => ({ name, at: (point) => disarmed(values[point]) })),
    ...columns.map((column) => ({ name: column.name, at: (point) => disarmed(valueText(column, point)) })),
  ];
  const lines = Array.from(points, (point) => parts.map(({ at }) => quoted(at(point))).join(","));
  return `${[parts.map(({ name }) => quoted(disarmed(name))).join(","), ...lines].join("\n")}\n`;
}

// Spreadsheets would run a text that begins like a formula. An apostrophe prevents this.
function disarmed(text) {
  return /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
}

// Names and labels may contain separators.
function quoted(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
