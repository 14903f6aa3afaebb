// Images of points: tiles of one large image, or external images that are loaded only on request.

class Pictures {
  constructor(tiles, addresses) {
    this.tiles = tiles;
    this.addresses = addresses;
    this.loading = false;
    this.sheet = null;
    if (tiles) {
      this.tileOf = new Map(Array.from(arrayAt(tiles.points), (point, tile) => [point, tile]));
      createImageBitmap(new Blob([arrayAt(tiles.png)], { type: "image/png" })).then((sheet) => {
        this.sheet = sheet;
        this.onReady();
      });
    }
  }

  onReady() {}

  get any() {
    return Boolean(this.tiles || this.addresses);
  }

  // Whether images are external and were not requested yet.
  get waiting() {
    return Boolean(this.addresses) && !this.loading;
  }

  has(point) {
    return this.tiles ? this.tileOf.has(point) : this.loading && this.addresses[point] !== "";
  }

  // The part of the sheet with the image of a point, or null.
  partOf(point) {
    if (!this.sheet || !this.tileOf.has(point)) return null;
    const { height, width, across } = this.tiles;
    const tile = this.tileOf.get(point);
    return { point, sheet: this.sheet, left: (tile % across) * width, top: Math.floor(tile / across) * height, width, height };
  }

  // An element that shows the image of a point, or null.
  elementFor(point) {
    if (!this.has(point)) return null;
    if (this.addresses) {
      return Object.assign(new Image(), { src: this.addresses[point], alt: this.addresses[point], loading: "lazy" });
    }
    const part = this.partOf(point);
    if (!part) return null;
    const canvas = canvasOf(part.width, part.height);
    canvas.getContext("2d").drawImage(part.sheet, part.left, part.top, part.width, part.height, 0, 0, part.width, part.height);
    return canvas;
  }
}

// A grid of the images of some points.
class Gallery {
  constructor(element, pictures, { describe, onHover, onPick }) {
    Object.assign(this, { element, pictures, describe, onHover, onPick });
  }

  // Show up to `most` of the points, evenly spaced; returns the number shown.
  show(points, colorOf, most) {
    const shown = spreadOut(points.filter((point) => this.pictures.has(point)), most);
    this.element.replaceChildren(...Array.from(shown, (point) => this.item(point, colorOf(point))));
    return shown.length;
  }

  item(point, color) {
    const button = document.createElement("button");
    button.type = "button";
    const picture = this.pictures.elementFor(point);
    if (picture) button.append(picture);
    button.setAttribute("aria-label", this.describe(point));
    button.title = this.describe(point);
    button.style.setProperty("--class", css(color));
    for (const kind of ["pointerenter", "focus"]) button.addEventListener(kind, () => this.onHover(point));
    for (const kind of ["pointerleave", "blur"]) button.addEventListener(kind, () => this.onHover(-1));
    button.addEventListener("click", () => this.onPick(point));
    return button;
  }
}

function spreadOut(items, most) {
  if (items.length <= most) return items;
  return Array.from({ length: most }, (_, place) => items[Math.floor((place * items.length) / most)]);
}
