// Parameters in the address of the page, so that a link opens the same view.

// Parameters in the hash of an address, by name.
function parametersOf(hash) {
  return Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
}

function hashOf(parameters) {
  const text = new URLSearchParams(parameters).toString();
  return text ? `#${text}` : "";
}

// Parse a list of numbers; null unless there are exactly `count` finite ones.
function numbersFrom(text, count) {
  const numbers = (text || "").split(",").map(Number);
  return text && numbers.length === count && numbers.every(Number.isFinite) ? numbers : null;
}

// Few digits keep links short.
function listText(numbers) {
  return numbers.map((number) => Number(number.toPrecision(6))).join(",");
}

// Rows in ascending order as "3,7-12".
function rangesText(rows) {
  const parts = [];
  for (const row of rows) {
    const last = parts[parts.length - 1];
    if (last && last[1] === row - 1) last[1] = row;
    else parts.push([row, row]);
  }
  return parts.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

// Parse a list of rows, such as "3,7-12", into a function that tests whether a row is in it.
function rangesTest(text) {
  const parts = text.split(",").map((part) => part.split("-").map(Number));
  const all = parts.map(([first, last = first]) => [first, last]).filter(([first]) => Number.isFinite(first));
  return (row) => all.some(([first, last]) => row >= first && row <= last);
}
