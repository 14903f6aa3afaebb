// Copying to the clipboard, and saving to files.

// Rows of the selected points, in ascending order like the points.
function selectedRows(points) {
  const rows = arrayAt(facts.rows);
  return Array.from(points, (point) => rows[point]);
}

// Copy text; resolves to true if it succeeded.
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

// Offer a file for saving.
function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // Some browsers read the file only after this function has returned.
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
