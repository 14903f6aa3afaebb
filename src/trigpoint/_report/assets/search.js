// Finding points by row, label or text.

// {points, what}: the points that a query means and what it was taken for; no points and a reason
// if there are none.
function found(query, { rows, labeled, texts }) {
  const wanted = query.trim();
  const row = /^(?:row\s*)?([\d,]+)$/i.exec(wanted);
  const inLabels = labelsLike(wanted, labeled);
  if (inLabels.points.length && !/^row/i.test(wanted)) return inLabels;
  if (row && rows) return rowFound(Number(row[1].replaceAll(",", "")), rows);
  const inTexts = textsLike(wanted, texts);
  if (inTexts.points.length) return inTexts;
  return { points: [], what: `Nothing on this page is called “${wanted}”` };
}

function rowFound(row, rows) {
  const point = rows.indexOf(row);
  if (point >= 0) return { points: [point], what: `Row ${grouped(row)}` };
  return { points: [], what: `Row ${grouped(row)} is not among the ${grouped(rows.length)} points on this page` };
}

// Points whose label is the query; or, if there is none, has it as a part.
function labelsLike(wanted, labeled) {
  const lower = wanted.toLowerCase();
  for (const fits of [(label) => label === lower, (label) => lower.length > 1 && label.includes(lower)]) {
    for (const column of labeled) {
      const codes = new Set(column.labels.keys());
      column.labels.forEach((label, code) => { if (!fits(label.toLowerCase())) codes.delete(code); });
      if (!codes.size) continue;
      const points = [];
      arrayAt(column.codes).forEach((code, point) => { if (codes.has(code)) points.push(point); });
      const names = [...codes].slice(0, 3).map((code) => column.labels[code]).join(", ");
      return { points, what: `${column.name}: ${names}${codes.size > 3 ? ", …" : ""}` };
    }
  }
  return { points: [], what: "" };
}

function textsLike(wanted, texts) {
  const lower = wanted.toLowerCase();
  for (const { name, values } of texts) {
    const points = [];
    values.forEach((text, point) => { if (text.toLowerCase().includes(lower)) points.push(point); });
    if (points.length) return { points, what: `${name} with “${wanted}”` };
  }
  return { points: [], what: "" };
}
