// Points that two pictures share, as lines between them: only when somebody asks, so that nobody is led.

const SVG = "http://www.w3.org/2000/svg";
let asking = null; // (item, item) => promise of the points

/** Say who knows the points of two items. */
export function usePoints(ask) {
  asking = ask;
}

export class Lines {
  constructor(root, { said }) {
    this.root = root; // holds two frames with a picture each
    this.said = said; // tells what was found
    this.points = null;
    addEventListener("resize", () => this.draw());
    root.addEventListener("load", () => this.draw(), true); // a finer picture took the place of one that was drawn on
  }

  /** Show the lines, or hide them. */
  async toggle(first, second) {
    if (this.points) return this.clear();
    const asked = (this.asked = Symbol("asked"));
    try {
      const { points } = await asking(first, second);
      await Promise.all(this.pictures.map((picture) => picture.decode().catch(() => null))); // lines need to know where they are
      if (asked !== this.asked) return; // another sheet came meanwhile
      this.points = points;
      this.said(points.length ? `${points.length} points match.` : "No points match.");
      this.draw();
    } catch (error) {
      if (asked === this.asked) this.said(error.message);
    }
  }

  get pictures() {
    return [...this.root.querySelectorAll(".frame img")];
  }

  clear() {
    this.asked = this.points = null;
    this.root.querySelector("svg.lines")?.remove();
  }

  draw() {
    this.root.querySelector("svg.lines")?.remove();
    const { pictures } = this;
    if (!this.points?.length || pictures.length !== 2 || pictures.some((picture) => !picture.naturalWidth)) return;
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("class", "lines");
    svg.setAttribute("aria-hidden", "true");
    const origin = this.root.getBoundingClientRect();
    const views = pictures.map(viewOf);
    this.points.forEach(([a, b, c, d], number) => {
      const ends = [views[0](a, b), views[1](c, d)];
      if (ends.some((end) => end === null)) return; // zoomed out of sight
      const [from, to] = ends.map(({ x, y }) => ({ x: x - origin.left, y: y - origin.top }));
      const colour = `hsl(${(number * 137) % 360} 90% 55%)`;
      svg.append(
        drawn("line", { x1: from.x, y1: from.y, x2: to.x, y2: to.y, stroke: colour }),
        ...[from, to].map(({ x, y }) => drawn("circle", { cx: x, cy: y, r: 4, stroke: colour })),
      );
    });
    this.root.append(svg);
  }
}

/** Where a place of a picture, in shares of its size, is on the screen; null if it is not in its frame. */
function viewOf(picture) {
  const box = picture.getBoundingClientRect();
  const frame = picture.closest(".frame").getBoundingClientRect();
  const scale = Math.min(box.width / picture.naturalWidth, box.height / picture.naturalHeight);
  const [width, height] = [picture.naturalWidth * scale, picture.naturalHeight * scale];
  return (across, down) => {
    const x = box.left + (box.width - width) / 2 + across * width;
    const y = box.top + (box.height - height) / 2 + down * height;
    return x < frame.left || x > frame.right || y < frame.top || y > frame.bottom ? null : { x, y };
  };
}

function drawn(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
