// The view of a panel as a picture to keep: title, plot and legend, as PNG or SVG.

const FIGURE_MARGIN = 20;
const FIGURE_LINE = 22;
// Pixels of a PNG for each of the page.
const FIGURE_SCALE = 2;

// Draw the figure on a context; `within` draws in a part that nothing leaves.
function drawFigure(context, size, panel, title, legend, style, within) {
  const { width, height } = panel.view;
  context.fillStyle = style.card;
  context.fillRect(0, 0, size.width, size.height);
  context.fillStyle = style.ink;
  context.textAlign = "left";
  context.font = `600 ${FONT.replace("11px", "17px")}`;
  context.fillText(shortened(context, title, width), FIGURE_MARGIN, FIGURE_MARGIN + 14);
  within(FIGURE_MARGIN, size.top, width, height, (inside) => panel.paintOn(inside));
  context.textAlign = "left";
  context.font = FONT.replace("11px", "12px");
  for (const { text, color, x, y } of legend.places) {
    context.fillStyle = color;
    context.fillRect(FIGURE_MARGIN + x, size.top + height + y - 9, 10, 10);
    context.fillStyle = style.ink;
    context.fillText(text, FIGURE_MARGIN + x + 15, size.top + height + y);
  }
}

// Places of the legend's entries in lines below the plot.
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

// {context, size}: what it is drawn on, and how.
function figureOf(panel, title, entries, style, make) {
  const legend = placedLegend(entries, panel.view.width, canvasOf(1, 1).getContext("2d"));
  const top = FIGURE_MARGIN + 30;
  const size = {
    top,
    width: panel.view.width + 2 * FIGURE_MARGIN,
    height: top + panel.view.height + legend.height + FIGURE_MARGIN,
  };
  const { context, within, result } = make(size);
  drawFigure(context, size, panel, title, legend, style, within);
  return result();
}

function svgFigure({ width, height }) {
  const context = new SvgContext(width, height);
  return {
    context,
    within: context.within.bind(context),
    result: () => new Blob([String(context)], { type: "image/svg+xml" }),
  };
}

function pngFigure({ width, height }) {
  const canvas = canvasOf(FIGURE_SCALE * width, FIGURE_SCALE * height);
  const context = canvas.getContext("2d");
  context.scale(FIGURE_SCALE, FIGURE_SCALE);
  const within = (x, y, w, h, draw) => {
    context.save();
    context.beginPath();
    context.rect(x, y, w, h);
    context.clip();
    context.translate(x, y);
    draw(context);
    context.restore();
  };
  return { context, within, result: () => new Promise((done) => canvas.toBlob(done, "image/png")) };
}
