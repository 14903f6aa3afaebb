// A drawing context that writes SVG: the part of the canvas interface that panels use.

class SvgContext {
  constructor(width, height) {
    this.size = [width, height];
    this.parts = [];
    this.path = [];
    this.dash = [];
    this.filled = null;
    this.pen = canvasOf(1, 1).getContext("2d");
    this.textAlign = "left";
    this.lineJoin = "miter";
    this.lineWidth = this.globalAlpha = 1;
    this.fillStyle = this.strokeStyle = "#000";
    this.font = FONT;
  }

  fillRect(x, y, width, height) {
    this.addFilled([`M${rounded(x)} ${rounded(y)}h${rounded(width)}v${rounded(height)}h${rounded(-width)}z`]);
  }

  // Shapes that follow each other in one color become one path.
  addFilled(path) {
    const style = `fill="${this.fillStyle}" fill-opacity="${rounded(this.globalAlpha)}"`;
    if (this.filled && this.filled.style !== style) this.flush();
    if (!this.filled) this.filled = { style, path: [] };
    this.filled.path.push(...path);
  }

  flush() {
    if (this.filled) this.parts.push(`<path ${this.filled.style} d="${this.filled.path.join("")}"/>`);
    this.filled = null;
  }

  beginPath() {
    this.path = [];
  }

  moveTo(x, y) {
    this.path.push(`M${rounded(x)} ${rounded(y)}`);
  }

  lineTo(x, y) {
    this.path.push(`${this.path.length ? "L" : "M"}${rounded(x)} ${rounded(y)}`);
  }

  // Whole circles alone are drawn.
  arc(x, y, radius) {
    const r = rounded(radius);
    this.path.push(`M${rounded(x - radius)} ${rounded(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`);
  }

  closePath() {
    this.path.push("z");
  }

  fill() {
    this.addFilled(this.path);
  }

  stroke() {
    this.flush();
    this.parts.push(`<path fill="none" ${this.strokeAttributes()} d="${this.path.join("")}"/>`);
  }

  strokeAttributes() {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    return `stroke="${this.strokeStyle}" stroke-width="${rounded(this.lineWidth)}" stroke-opacity="${rounded(this.globalAlpha)}" stroke-linejoin="${this.lineJoin}"${dash}`;
  }

  setLineDash(dash) {
    this.dash = dash;
  }

  // Of a text that is written twice, first comes the rim.
  strokeText(text, x, y) {
    this.text(text, x, y, `fill="none" ${this.strokeAttributes()}`);
  }

  fillText(text, x, y) {
    this.text(text, x, y, `fill="${this.fillStyle}"`);
  }

  text(text, x, y, style) {
    this.flush();
    const anchor = { left: "start", center: "middle", right: "end" }[this.textAlign];
    this.parts.push(`<text x="${rounded(x)}" y="${rounded(y)}" text-anchor="${anchor}" style="font: ${this.font}" ${style}>${escaped(text)}</text>`);
  }

  measureText(text) {
    this.pen.font = this.font;
    return this.pen.measureText(text);
  }

  drawImage(image, x, y, width, height) {
    this.flush();
    this.parts.push(`<image x="${rounded(x)}" y="${rounded(y)}" width="${rounded(width)}" height="${rounded(height)}" preserveAspectRatio="none" opacity="${rounded(this.globalAlpha)}" href="${image.toDataURL()}"/>`);
  }

  // Draw within a part of the picture, which nothing leaves.
  within(x, y, width, height, draw) {
    this.flush();
    this.parts.push(`<svg x="${x}" y="${y}" width="${width}" height="${height}">`);
    draw(this);
    this.flush();
    this.parts.push("</svg>");
  }

  toString() {
    this.flush();
    const [width, height] = this.size;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${this.parts.join("\n")}</svg>\n`;
  }
}

function rounded(number) {
  return Math.round(100 * number) / 100;
}

function escaped(text) {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
