// Image of a panel to save: title, plot and legend.

const FIGURE_MARGIN = 20;
const FIGURE_LINE = 22;
// Pixels of the image per pixel of the page.
const FIGURE_SCALE = 2;

// A canvas with the figure; `entries` are those of the legend.
function figureOf(panel, title, entries, style) {
  const { width, height } = panel.view;
  const canvas = canvasOf(1, 1);
  const context = canvas.getContext("2d");
  const legend = placedLegend(entries, width, context);
  const top = FIGURE_MARGIN + 30;
  const size = { width: width + 2 * FIGURE_MARGIN, height: top + height + legend.height + FIGURE_MARGIN };
  Object.assign(canvas, { width: FIGURE_SCALE * size.width, height: FIGURE_SCALE * size.height });
  context.scale(FIGURE_SCALE, FIGURE_SCALE);
  context.fillStyle = style.card;
  context.fillRect(0, 0, size.width, size.height);
  context.fillStyle = style.ink;
  context.font = `600 ${FONT.replace("11px", "17px")}`;
  context.fillText(title, FIGURE_MARGIN, FIGURE_MARGIN + 14, width);
  context.save();
  context.beginPath();
  context.rect(FIGURE_MARGIN, top, width, height);
  context.clip();
  context.translate(FIGURE_MARGIN, top);
  panel.paintOn(context, FIGURE_SCALE);
  context.restore();
  context.font = FONT.replace("11px", "12px");
  for (const { text, color, x, y } of legend.places) {
    context.fillStyle = color;
    context.fillRect(FIGURE_MARGIN + x, top + height + y - 9, 10, 10);
    context.fillStyle = style.ink;
    context.fillText(text, FIGURE_MARGIN + x + 15, top + height + y);
  }
  return canvas;
}

// Positions of the legend entries, in lines below the plot.
function placedLegend(entries, width, pen) {
  pen.font = FONT.replace("11px", "12px");
  let [x, y] = [0, FIGURE_LINE];
  const places = entries.map(({ text, color }) => {
    const needed = pen.measureText(text).width + 33;
    if (x && x + needed > width) [x, y] = [0, y + FIGURE_LINE];
    const place = { text, color, x, y };
    x += needed;
    return place;
  });
  return { places, height: entries.length ? y : 0 };
}
