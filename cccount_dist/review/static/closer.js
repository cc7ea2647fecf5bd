// One picture of a sheet large beside the first one: both are zoomed, turned and mirrored together, and it can be said what it is.

import { element, nameTag } from "./elements.js";
import { nameOf, shown } from "./keys.js";
import { Look } from "./look.js";
import { Lines } from "./points.js";

const SAID = { same: "Same", unsure: "Cannot tell" };

export class Closer {
  constructor() {
    this.dialog = null; // made when it is first wanted
    this.keys = null;
    this.place = -1;
  }

  get isOpen() {
    return this.dialog?.open ?? false;
  }

  /** `pictures`: two of {item, address}, the first one first; `host`: what the sheet knows about it, and does with it. */
  show(place, pictures, host) {
    if (!this.dialog) this.make();
    Object.assign(this, { place, host, turns: [0, 0], mirrored: this.isOpen && this.mirrored, items: pictures.map(({ item }) => item.item) });
    this.lines.clear();
    this.points.textContent = "";
    this.title.textContent = `Picture ${place + 1} of ${host.count}`;
    this.box.replaceChildren(...pictures.map((picture, side) => this.pane(picture, side)));
    for (const [mark, button] of Object.entries(this.said)) button.setAttribute("aria-pressed", String(host.mark === mark));
    this.look.reset();
    this.turn(0, 0);
    if (!this.isOpen) this.dialog.showModal();
    this.dialog.focus();
  }

  make() {
    const button = (words, action, act, properties = {}) => {
      const key = this.keys.of(action)?.[0];
      return element("button", { type: "button", onclick: act, ...properties }, words, key ? " " : null, key ? element("kbd", {}, shown(key)) : null);
    };
    this.title = element("h2", { id: "closer-title" });
    this.box = element("div", { class: "large-pictures" });
    this.said = {
      same: button(SAID.same, "mark", () => this.say("same"), { class: "said same" }),
      unsure: button(SAID.unsure, "cannotTell", () => this.say("unsure"), { class: "said unsure" }),
    };
    const tools = element(
      "div", { class: "row tools", role: "group", "aria-label": "How both are shown" },
      button("Turn both", "turn", () => this.turn(1, 1)),
      button("Turn this one", "turnOne", () => this.turn(0, 1)),
      button("Mirror both", "mirror", () => this.mirror()),
      button("Matching points", "lines", () => this.showPoints()),
      button("−", "", () => this.look.zoomOut(), { "aria-label": "Zoom out" }),
      button("+", "", () => this.look.zoomIn(), { "aria-label": "Zoom in" }),
    );
    this.points = element("span", { role: "status" });
    tools.append(this.points);
    const answers = element(
      "div", { class: "row" },
      button("←", "", () => this.go(-1), { "aria-label": "The picture before" }),
      this.said.same, this.said.unsure,
      button("→", "", () => this.go(1), { "aria-label": "The next picture" }),
      element("span", { class: "grow" }),
      button("Bad image", "flag", () => this.flag()),
      button("Close", "closer", () => this.dialog.close()),
    );
    this.dialog = element("dialog", { class: "dialog large closer", tabindex: -1, "aria-labelledby": "closer-title" }, this.title, this.box, tools, answers);
    this.dialog.addEventListener("keydown", (event) => this.pressed(event));
    this.dialog.addEventListener("close", () => this.host.closed());
    this.lines = new Lines(this.box, { said: (words) => (this.points.textContent = words) });
    this.look = new Look(this.box, { deepened: () => null, moved: () => this.lines.draw() });
    document.body.append(this.dialog);
  }

  pane({ item, address }, side) {
    const picture = address ? element("img", { src: this.host.small[side] || address, alt: item.name, draggable: false }) : element("p", { class: "missing" }, "This item has no picture.");
    if (address) {
      const fine = new Image();
      fine.src = address;
      fine.decode().then(() => (picture.src = address)).catch(() => null); // the coarse one stays
    }
    const facts = this.host.facts[side];
    const number = element("b", {}, side ? `${this.place + 1}` : "The first one");
    return element("figure", { class: "pane" }, element("div", { class: "frame" }, picture), element("figcaption", {}, number, nameTag(item.name), facts ? element("bdi", {}, facts) : null));
  }

  /** Turn the first one and the other by so many quarters. */
  turn(first, other) {
    this.turns = [this.turns[0] + first, this.turns[1] + other];
    this.lines.clear(); // they are for pictures as they were taken
    [...this.box.children].forEach((figure, side) => {
      figure.classList.toggle("turned", this.turns[side] % 2 === 1);
      figure.style.setProperty("--turn", `${90 * this.turns[side]}deg`);
      figure.style.setProperty("--mirror", this.mirrored ? -1 : 1);
    });
  }

  mirror() {
    this.mirrored = !this.mirrored;
    this.turn(0, 0);
  }

  /** Lines between pictures as they were taken: what was turned or mirrored is turned back. */
  showPoints() {
    this.mirrored = false;
    if (this.turns.some((turn) => turn % 4)) this.turn(-this.turns[0], -this.turns[1]);
    [...this.box.children].forEach((figure) => figure.style.setProperty("--mirror", 1));
    this.points.textContent = "";
    void this.lines.toggle(...this.items);
  }

  say(mark) {
    this.host.say(mark);
    this.dialog.close();
  }

  flag() {
    this.dialog.close();
    this.host.flag();
  }

  go(step) {
    const { count, go } = this.host;
    go((this.place + step + count) % count);
  }

  pressed(event) {
    const key = nameOf(event);
    if (key === null || (event.target.matches("button") && (key === "Space" || key === "Enter"))) return;
    const act = {
      mark: () => this.say("same"), cannotTell: () => this.say("unsure"), closer: () => this.dialog.close(), flag: () => this.flag(),
      turn: () => this.turn(1, 1), turnOne: () => this.turn(0, 1), mirror: () => this.mirror(),
      lines: () => this.showPoints(),
      left: () => this.go(-1), right: () => this.go(1), zoomIn: () => this.look.zoomIn(), zoomOut: () => this.look.zoomOut(),
    }[this.keys.action(key, "marking")];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }
}
