// The legend of a coloring.

// Maximum number of labels to list at once. Longer legends can be searched.
const MOST_UNSEARCHED = 12;
const MOST_LISTED = 200;

// Elements of the legend; `onPick(points, add)` selects the points of a label.
function legendParts(choice, look, theme, onPick) {
  if (choice.kind === "plain") return densityLegend(theme);
  const parts = choice.column.labels ? labelLegend(look.colors, onPick) : numberLegend(choice.column, look, theme);
  const missing = look.members[look.members.length - 1].length;
  if (!missing) return parts;
  const both = document.createElement("span");
  both.className = "missing";
  both.append(dotOf(NO_VALUE[theme]), choice.group === "Points" ? "not measured" : "missing");
  return [...parts, both];
}

function densityLegend(theme) {
  return facts.sampled > MOST_DISCS ? rampLegend(["few points", "many points"], DENSITY[theme]) : [];
}

function numberLegend(column, look, theme) {
  // A column without numbers has no scale.
  if (look.members[BINS].length === facts.sampled) return [];
  return rampLegend(rampEnds(column), numberRamp(theme).map((color) => css(color)));
}

// Labels at the ends of the color scale, which leaves out outliers; see columns.py.
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
function labelLegend({ column, palette }, onPick) {
  const { labels, colored } = column;
  const list = document.createElement("div");
  list.className = "labels";
  const listed = (query) => {
    const codes = [...labels.keys()].filter((code) => labels[code].toLowerCase().includes(query));
    list.replaceChildren(...codes.slice(0, MOST_LISTED).map((code) => {
      const button = document.createElement("button");
      button.type = "button";
      button.title = `Select ${labels[code]}`;
      button.append(dotOf(palette[Math.min(code, colored)]), line("span", labels[code]));
      button.addEventListener("click", (event) => onPick(pointsWith(column, new Set([code])), event.shiftKey));
      return button;
    }));
    if (codes.length > MOST_LISTED) list.append(`and ${grouped(codes.length - MOST_LISTED)} more`);
  };
  listed("");
  if (labels.length <= MOST_UNSEARCHED) return [list];
  const parts = [list];
  if (colored < labels.length) {
    const most = `The ${colored} most frequent of ${grouped(labels.length)} labels have a color.`;
    parts.unshift(line("p", `${most} Press any label to highlight it.`));
  }
  const field = Object.assign(document.createElement("input"), { type: "search", placeholder: "Find in the legend" });
  field.setAttribute("aria-label", "Find in the legend");
  field.addEventListener("input", () => listed(field.value.trim().toLowerCase()));
  return [field, ...parts];
}

// Entries {text, color} of the legend in a saved image.
function legendEntries(choice, look) {
  const { colors } = look;
  if (choice.kind !== "column") return [];
  if (colors.labels) {
    const { labels, colored } = choice.column;
    const entries = labels.slice(0, colored).map((text, code) => ({ text, color: css(colors.palette[code]) }));
    const others = labels.length - colored;
    return others ? [...entries, { text: `${grouped(others)} others`, color: css(colors.palette[colored]) }] : entries;
  }
  const [low, high] = rampEnds(choice.column);
  const steps = [0, 0.25, 0.5, 0.75, 1].map((share) => css(colors.palette[Math.round(share * (BINS - 1))]));
  const texts = [`${choice.name}: ${low}`, "", "", "", high];
  return steps.map((color, step) => ({ text: texts[step], color }));
}
