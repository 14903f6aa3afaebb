// A selection as a CSV table: rows, labels, text, coordinates and columns.

// Lines of the table; `columns` are those of the page, `texts` named lists of strings.
function tableOf(points, columns, texts) {
  const rows = facts.rows ? arrayAt(facts.rows) : null;
  const parts = [
    ...(rows ? [{ name: "row", at: (point) => String(rows[point]) }] : []),
    ...texts.map(({ name, values }) => ({ name, at: (point) => values[point] })),
    ...columns.map((column) => ({ name: column.name, at: (point) => cellText(column, point) })),
  ];
  const lines = Array.from(points, (point) => parts.map(({ at }) => quoted(at(point))).join(","));
  return `${[parts.map(({ name }) => quoted(name)).join(","), ...lines].join("\n")}\n`;
}

// Missing values are empty; numbers have all the digits that the page knows.
function cellText(column, point) {
  if (column.labels || column.unit) {
    const text = valueText(column, point);
    return text === "missing" ? "" : text;
  }
  const number = numbersOf(column)[point];
  return Number.isNaN(number) ? "" : String(Number(number.toPrecision(7)));
}

// Names and labels may contain separators.
function quoted(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
