// The legend of a coloring.

// Elements of the legend; `onPick(bin, add)` selects the points of a label.
function legendParts(choice, look, theme, onPick) {
  const parts = {
    plain: () => densityLegend(theme),
    cell: () => [`${plural(facts.landmarks, "cell")}; colors repeat`],
    column: () => (choice.column.labels ? labelLegend(look.colors, onPick) : numberLegend(choice.column, look, theme)),
  }[choice.kind]();
  return [...parts, ...missingLegend(choice, look, theme)];
}

function missingLegend({ kind }, look, theme) {
  if (kind !== "column" || !look.members[look.members.length - 1].length) return [];
  const both = document.createElement("span");
  both.className = "missing";
  both.append(dotOf(NO_VALUE[theme]), "missing");
  return [both];
}

function densityLegend(theme) {
  const image = facts.images[0];
  if (!image) return [];
  return rampLegend(["1", `${plural(image.most, "point")} per cell`], DENSITY[theme]);
}

function numberLegend(column, look, theme) {
  // A column without numbers has no scale to show.
  if (look.members[BINS].length === facts.sampled) return [];
  return rampLegend(rampEnds(column), numberRamp(theme).map((color) => css(color)));
}

// Texts at the ends of the color scale, which omits outliers: see columns.py.
function rampEnds(column) {
  const [low, high] = column.colorRange;
  const ends = [[column.range[0] < low, "≤", low], [high < column.range[1], "≥", high]];
  return ends.map(([cut, sign, end]) => (cut ? `${sign}\u00a0` : "") + numberText(column, end));
}

function rampLegend([low, high], stops) {
  const bar = document.createElement("div");
  bar.className = "ramp";
  bar.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
  return [low, bar, high];
}

// Labels are buttons: pressing one selects all points with that label.
function labelLegend(colors, onPick) {
  return colors.names.map((label, bin) => {
    const button = document.createElement("button");
    button.type = "button";
    const text = document.createElement("span");
    text.textContent = label;
    button.title = `Select ${label}`;
    button.append(dotOf(colors.palette[bin]), text);
    button.addEventListener("click", (event) => onPick(bin, event.shiftKey));
    return button;
  });
}

// Entries {text, color} of the legend of a picture to save.
function legendEntries(choice, look) {
  const { colors } = look;
  if (choice.kind !== "column") return [];
  if (colors.names) return colors.names.map((text, bin) => ({ text, color: css(colors.palette[bin]) }));
  const [low, high] = rampEnds(choice.column);
  const steps = [0, 0.25, 0.5, 0.75, 1].map((share) => css(colors.palette[Math.round(share * (BINS - 1))]));
  const texts = [`${choice.name}: ${low}`, "", "", "", high];
  return steps.map((color, step) => ({ text: texts[step], color }));
}

// Whether the entries of a legend do not fit one line; then they are as wide as the widest.
function severalLines(legend) {
  legend.classList.remove("many");
  legend.style.setProperty("--entry", `${Math.max(...Array.from(legend.children, (child) => child.offsetWidth))}px`);
  const tops = Array.from(legend.children, (child) => child.offsetTop + child.offsetHeight / 2);
  return Math.max(...tops) - Math.min(...tops) > 12;
}
