// Finding points by label, text or row number.

// Return {points, best, what}: the matching points, the best matches, and a description; if nothing
// matches, no points and the reason.
function found(query, page) {
  const wanted = query.trim();
  const row = /^(?:row\s*)?([\d,]+)$/i.exec(wanted);
  const isName = !row || !/^row/i.test(wanted);
  const inTexts = isName ? textsLike(wanted, page.texts) : null;
  return (isName && labelsLike(wanted, page, (label, lower) => label === lower))
    || (inTexts && inTexts.exact && inTexts)
    || (row && page.rows && rowFound(Number(row[1].replaceAll(",", "")), page))
    || (wanted.length > 1 && labelsLike(wanted, page, (label, lower) => label.includes(lower)))
    || inTexts
    || { points: [], best: [], what: `Nothing on this page matches “${wanted}”.${missingText(page)}` };
}

// Describe what the page leaves out, and how to include it.
function missingText({ points, usable, sampled, texts, columnsLeftOut }) {
  const parts = [];
  if (sampled < usable) {
    parts.push(` The page has ${grouped(sampled)} of ${grouped(points)} rows, drawn at random. To include all of them, `
      + `write it with sample=${points}, or --sample ${points} on the command line.`);
  }
  if (usable < points) {
    parts.push(` Rows with missing values are left out (${grouped(points - usable)}). To include them, open the data with missing="median".`);
  }
  if (columnsLeftOut) parts.push(` The values of the ${plural(columnsLeftOut, "column")} are left out. To include them, write the page with fewer points, such as sample=100000.`);
  for (const { name, cut } of texts) if (cut) parts.push(` Values of “${name}” are cut after ${cut} characters.`);
  return parts.join("");
}

function rowFound(row, page) {
  const point = page.rows.indexOf(row);
  if (point >= 0) return { points: [point], best: [point], what: `Row ${grouped(row)}` };
  const what = row < page.points
    ? `Row ${grouped(row)} is not on this page.${missingText(page)}`
    : `There is no row ${grouped(row)}: rows are counted from 0 to ${grouped(page.points - 1)}.`;
  return { points: [], best: [], what };
}

function labelsLike(wanted, { labeled }, fits) {
  const lower = wanted.toLowerCase();
  for (const column of labeled) {
    const codes = new Set();
    column.labels.forEach((label, code) => { if (fits(label.toLowerCase(), lower)) codes.add(code); });
    if (!codes.size) continue;
    const points = pointsWith(column, codes);
    const names = [...codes].slice(0, 3).map((code) => column.labels[code]).join(", ");
    return { points, best: [], what: `${column.name}: ${names}${codes.size > 3 ? ", …" : ""}` };
  }
  return null;
}

// Points whose label has one of the codes.
function pointsWith(column, codes) {
  const points = [];
  arrayAt(column.codes).forEach((code, point) => { if (codes.has(code)) points.push(point); });
  return points;
}

// Points whose text contains the query: exact matches first, then texts that begin with it, then
// others, shorter ones first. Columns with an exact match take precedence.
function textsLike(wanted, texts) {
  const lower = wanted.toLowerCase();
  let result = null;
  for (const { name, values } of texts) {
    const [equal, begins, others] = [[], [], []];
    values.forEach((text, point) => {
      const at = text.toLowerCase().indexOf(lower);
      if (at >= 0) (at ? others : text.length === wanted.length ? equal : begins).push(point);
    });
    const byLength = (a, b) => values[a].length - values[b].length;
    const points = [...equal, ...begins.sort(byLength), ...others.sort(byLength)];
    if (points.length && (!result || (equal.length && !result.exact))) {
      result = { points, best: points, exact: equal.length, what: `${name} with “${wanted}”` };
    }
  }
  return result;
}
