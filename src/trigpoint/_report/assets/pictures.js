// Pictures of points: tiles of one large image, or addresses that are loaded only when asked.

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

  // Whether pictures lie elsewhere and nobody has asked for them yet.
  get waiting() {
    return Boolean(this.addresses) && !this.loading;
  }

  has(point) {
    return this.tiles ? this.tileOf.has(point) : this.loading && this.addresses[point] !== "";
  }

  // An element that shows the picture of a point, or of its landmark if its own is not here.
  elementFor(point, cell) {
    if (this.addresses) return this.has(point) ? this.loaded(this.addresses[point]) : null;
    if (!this.tiles || !this.sheet) return null;
    if (this.tileOf.has(point)) return this.tile(this.tileOf.get(point));
    if (this.tiles.landmarks < 0) return null;
    const element = this.tile(this.tiles.landmarks + cell);
    element.title = "its landmark";
    return element;
  }

  tile(place) {
    const { height, width, across } = this.tiles;
    const canvas = canvasOf(width, height);
    const [left, top] = [(place % across) * width, Math.floor(place / across) * height];
    canvas.getContext("2d").drawImage(this.sheet, left, top, width, height, 0, 0, width, height);
    return canvas;
  }

  loaded(address) {
    return Object.assign(new Image(), { src: address, alt: address, loading: "lazy" });
  }
}

// A grid of the pictures of some points.
class Gallery {
  constructor(element, pictures, { describe, onHover, onPick }) {
    Object.assign(this, { element, pictures, describe, onHover, onPick });
  }

  // Show up to `most` of the points, evenly chosen; returns how many.
  show(points, cells, colorOf, most) {
    const shown = spreadOut(points.filter((point) => this.pictures.has(point)), most);
    this.element.replaceChildren(...shown.map((point) => this.item(point, cells[point], colorOf(point))));
    return shown.length;
  }

  item(point, cell, color) {
    const button = document.createElement("button");
    button.type = "button";
    const picture = this.pictures.elementFor(point, cell);
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
