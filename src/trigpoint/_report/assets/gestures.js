// Pan, zoom and select with pointers, the wheel and keys.

const KEY_STEP = 40;
const KEY_ZOOM = 1.4;
const CLICK_REACH = 4;

const HOVER_REACH = 9;
// Fingers are less precise than a mouse.
const TOUCH_REACH = 22;
const TAP_REACH = 8;

// `tool()` names the effect of a drag; `onSelect(points, add)`, `onHover(panel, point, x, y)` and
// `onClear()` receive the result. One finger scrolls the page and taps points; two move and zoom.
function addGestures(panel, { tool, onSelect, onHover, onClear }) {
  const { canvas } = panel;
  const pointers = new Map();
  let pinch = null;
  let tap = null;
  let scrolling = false;

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    // Some mice report lines instead of pixels.
    const amount = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    panel.zoom(Math.exp(-Math.max(-200, Math.min(200, amount)) / 400), ...place(event));
  }, { passive: false });

  // Without this, moving two fingers together would scroll the page.
  canvas.addEventListener("touchmove", (event) => {
    if (event.touches.length > 1 && event.cancelable) event.preventDefault();
  }, { passive: false });

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    onHover(panel, -1);
    tap = event.pointerType === "touch" && pointers.size === 1 ? place(event) : null;
    scrolling = false;
    if (pointers.size === 2) {
      panel.outline = null;
      pinch = spread(pointers);
    } else if (tool() !== "move") panel.outline = [place(event)];
    else canvas.classList.add("moving");
  });

  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    if (!pointers.has(event.pointerId)) {
      if (event.pointerType !== "touch") onHover(panel, panel.nearestPoint(x, y, HOVER_REACH), x, y);
      return;
    }
    if (tap) {
      const [across, down] = [Math.abs(x - tap[0]), Math.abs(y - tap[1])];
      if (Math.hypot(across, down) < TAP_REACH) return;
      // The page is about to scroll.
      scrolling = !panel.outline && down > across;
      tap = null;
    }
    if (scrolling && !pinch) return;
    const [lastX, lastY] = pointers.get(event.pointerId);
    pointers.set(event.pointerId, [x, y]);
    if (pinch) pinch = pinched(panel, pinch, spread(pointers));
    else if (panel.outline) extendOutline(panel, tool(), x, y);
    else panel.move(x - lastX, y - lastY);
  });

  const end = (event) => {
    pointers.delete(event.pointerId);
    canvas.classList.remove("moving");
    if (pointers.size < 2) pinch = null;
    const tapped = event.type === "pointerup" ? tap : null;
    tap = null;
    if (tapped && !panel.outline) onHover(panel, panel.nearestPoint(...tapped, TOUCH_REACH), ...tapped);
    if (!panel.outline) return;
    const outline = panel.outline;
    panel.outline = null;
    panel.redraw();
    if (event.type === "pointerup") onSelect(enclosed(panel, outline), event.shiftKey);
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", (event) => {
    // On a touch screen, the description remains until the next tap.
    if (event.pointerType !== "touch") onHover(panel, -1);
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (pressed(panel, event.key, onClear)) event.preventDefault();
  });
}

function pressed(panel, key, onClear) {
  const actions = {
    ArrowLeft: () => panel.move(KEY_STEP, 0),
    ArrowRight: () => panel.move(-KEY_STEP, 0),
    ArrowUp: () => panel.move(0, KEY_STEP),
    ArrowDown: () => panel.move(0, -KEY_STEP),
    "+": () => panel.zoom(KEY_ZOOM),
    "=": () => panel.zoom(KEY_ZOOM),
    "-": () => panel.zoom(1 / KEY_ZOOM),
    0: () => panel.home(),
    Escape: onClear,
  };
  if (!actions[key]) return false;
  actions[key]();
  return true;
}

// Midpoint and distance of the first two fingers.
function spread(pointers) {
  const [[x1, y1], [x2, y2]] = [...pointers.values()];
  return { x: (x1 + x2) / 2, y: (y1 + y2) / 2, distance: Math.max(10, Math.hypot(x2 - x1, y2 - y1)) };
}

function pinched(panel, before, now) {
  panel.atHome = false;
  panel.view.move(now.x - before.x, now.y - before.y);
  panel.zoom(now.distance / before.distance, now.x, now.y);
  return now;
}

function extendOutline(panel, tool, x, y) {
  const [startX, startY] = panel.outline[0];
  if (tool === "rectangle") panel.outline = [[startX, startY], [x, startY], [x, y], [startX, y]];
  else {
    const [lastX, lastY] = panel.outline[panel.outline.length - 1];
    if (Math.hypot(x - lastX, y - lastY) > 3) panel.outline.push([x, y]);
  }
  panel.redraw(true);
}

// Points inside an outline; a click selects the point that it hits, if any.
function enclosed(panel, outline) {
  const xs = outline.map(([x]) => x);
  const ys = outline.map(([, y]) => y);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  if (right - left < CLICK_REACH && bottom - top < CLICK_REACH) {
    const hit = panel.nearestPoint(left, top, HOVER_REACH);
    return hit < 0 ? [] : [hit];
  }
  const places = panel.model.points();
  return panel.visiblePoints().filter((point) => {
    const [x, y] = [panel.view.x(places.xs[point]), panel.view.y(places.ys[point])];
    return x >= left && x <= right && y >= top && y <= bottom && isInside(outline, x, y);
  });
}

// Whether a ray from the position crosses the outline an odd number of times.
function isInside(outline, x, y) {
  let inside = false;
  for (let i = 0, j = outline.length - 1; i < outline.length; j = i++) {
    const [xi, yi] = outline[i];
    const [xj, yj] = outline[j];
    if (yi > y !== yj > y && x < xi + ((xj - xi) * (y - yi)) / (yj - yi)) inside = !inside;
  }
  return inside;
}
