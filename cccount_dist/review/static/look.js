// Zoom and pan of all pictures together, brightness and contrast: wheel, drag, pinch, keys, sliders.

const MOST_ZOOM = 12;
const STEP = 1.3;
const PAN = 0.12; // of the frame, for one press of an arrow key

export class Look {
  constructor(stage, { deepened, moved = () => null }) {
    this.stage = stage;
    this.moved = moved; // called when pictures are elsewhere in their frames
    this.deepened = deepened; // called once a zoom wants finer pictures
    this.pointers = new Map();
    this.dragged = false;
    this.reset();
    stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    stage.addEventListener("pointerdown", (event) => this.down(event));
    stage.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) stage.addEventListener(end, (event) => this.up(event));
  }

  /** The whole picture again; brightness and contrast stay. */
  reset() {
    this.zoom = 1;
    this.x = this.y = 0; // of the frame's size
    this.apply();
  }

  zoomBy(factor, at = { x: 0, y: 0 }) {
    const zoom = Math.min(MOST_ZOOM, Math.max(1, this.zoom * factor));
    // The point under the pointer stays where it is.
    this.x = at.x - ((at.x - this.x) * zoom) / this.zoom;
    this.y = at.y - ((at.y - this.y) * zoom) / this.zoom;
    this.zoom = zoom;
    this.apply();
    if (zoom > 1.4) this.deepened();
  }

  zoomIn() {
    this.zoomBy(STEP);
  }

  zoomOut() {
    this.zoomBy(1 / STEP);
  }

  panBy(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.apply();
  }

  pan(direction) {
    const [dx, dy] = { left: [PAN, 0], right: [-PAN, 0], up: [0, PAN], down: [0, -PAN] }[direction];
    this.panBy(dx, dy);
  }

  light(brightness, contrast) {
    this.stage.style.setProperty("--brightness", brightness);
    this.stage.style.setProperty("--contrast", contrast);
  }

  apply() {
    const room = (this.zoom - 1) / 2;
    this.x = Math.min(room, Math.max(-room, this.x));
    this.y = Math.min(room, Math.max(-room, this.y));
    this.stage.style.setProperty("--zoom", this.zoom.toFixed(4));
    this.stage.style.setProperty("--x", `${(this.x * 100).toFixed(3)}%`);
    this.stage.style.setProperty("--y", `${(this.y * 100).toFixed(3)}%`);
    this.stage.classList.toggle("zoomed", this.zoom > 1);
    this.moved();
  }

  wheel(event) {
    const frame = event.target.closest(".frame");
    if (!frame || (this.stage.dataset.layout === "page" && !event.ctrlKey)) return; // a page scrolls
    event.preventDefault();
    this.zoomBy(Math.exp(-event.deltaY / 400), place(frame, event));
  }

  down(event) {
    const frame = event.target.closest(".frame");
    if (!frame) return;
    this.pointers.set(event.pointerId, { frame, x: event.clientX, y: event.clientY });
    this.dragged = false;
  }

  move(event) {
    const from = this.pointers.get(event.pointerId);
    if (!from) return;
    const size = from.frame.getBoundingClientRect();
    const others = [...this.pointers.entries()].filter(([id]) => id !== event.pointerId);
    if (others.length) {
      const [, other] = others[0];
      const before = Math.hypot(from.x - other.x, from.y - other.y);
      const after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
      if (before > 0) this.zoomBy(after / before, place(from.frame, event));
      this.dragged = true;
    } else if (this.zoom > 1) {
      if (Math.hypot(event.clientX - from.x, event.clientY - from.y) > 3) {
        this.dragged = true;
        this.stage.setPointerCapture?.(event.pointerId);
      }
      if (!this.dragged) return;
      this.panBy((event.clientX - from.x) / size.width, (event.clientY - from.y) / size.height);
    } else {
      return;
    }
    from.x = event.clientX;
    from.y = event.clientY;
  }

  up(event) {
    this.pointers.delete(event.pointerId);
  }
}

function place(frame, event) {
  const box = frame.getBoundingClientRect();
  return { x: (event.clientX - box.left) / box.width - 0.5, y: (event.clientY - box.top) / box.height - 0.5 };
}
