// A box that describes the point under the pointer.

const MOST_TEXT = 280;

class Tip {
  constructor(plot) {
    this.element = document.createElement("div");
    this.element.className = "tip";
    this.element.hidden = true;
    plot.append(this.element);
  }

  hide() {
    this.element.hidden = true;
  }

  // Next to a position in a plot, on the side with more room.
  show(parts, x, y, { width, height }) {
    const { element } = this;
    element.hidden = false;
    element.replaceChildren(...parts);
    const left = x + 14 + element.offsetWidth < width ? x + 14 : x - 14 - element.offsetWidth;
    const below = y + 16 + element.offsetHeight < height;
    const top = below ? y + 16 : y - 12 - element.offsetHeight;
    const within = (value, most) => Math.max(6, Math.min(value, most - 6));
    element.style.transform = `translate(${within(left, width - element.offsetWidth)}px, ${within(top, height - element.offsetHeight)}px)`;
  }
}

// Elements for the image, the text, the row and the values of a point.
function tipParts({ head, picture, text, values }) {
  const parts = [];
  if (picture) parts.push(picture);
  if (text) parts.push(line("p", text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text));
  if (head) parts.push(line("b", head));
  if (values.length) {
    const list = document.createElement("dl");
    for (const [name, value] of values) {
      const pair = document.createElement("div");
      pair.append(line("dt", `${name}: `), line("dd", value));
      list.append(pair);
    }
    parts.push(list);
  }
  return parts;
}

function line(tag, text) {
  return Object.assign(document.createElement(tag), { textContent: text });
}
