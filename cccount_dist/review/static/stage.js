// What is shown of a sheet: two pictures, an anchor with its candidates, or two pictures and a scale.

import { dateOf, element, span } from "./elements.js";

const NEXT_MARK = { different: "same", same: "unsure", unsure: "different" };
export const VALUE = { same: 1, different: 0, unsure: null };
const MARK = { same: "✓ same", different: "", unsure: "? unsure" };

export class Stage {
  constructor(root, between, { marked }) {
    this.root = root;
    this.between = between;
    this.marked = marked; // called when a candidate's mark changed
    this.sheet = null;
    this.marks = [];
  }

  show(sheet, labels) {
    this.sheet = sheet;
    this.root.dataset.kind = sheet.kind;
    this.root.classList.remove("swapped");
    this.root.hidden = false;
    if (sheet.kind === "grid") this.showGrid(sheet, labels);
    else this.showPair(sheet);
  }

  clear() {
    this.sheet = null;
    this.root.hidden = this.between.hidden = true;
    this.root.replaceChildren();
  }

  get swapped() {
    return this.root.classList.contains("swapped");
  }

  swap() {
    this.root.classList.toggle("swapped");
  }

  showPair(sheet) {
    const [{ item }] = sheet.candidates;
    this.root.replaceChildren(pane(sheet.anchor, sheet.pictures[0]), pane(item, sheet.pictures[1]));
    const facts = difference(sheet.anchor, item);
    this.between.textContent = facts;
    this.between.hidden = !facts;
  }

  showGrid(sheet, labels) {
    this.marks = sheet.candidates.map(() => "different");
    this.labels = labels;
    this.cells = sheet.candidates.map(({ item }, place) => this.cell(item, sheet.pictures[place + 1], place));
    const candidates = element("div", { class: "candidates", role: "group", "aria-label": "Candidates" }, ...this.cells);
    candidates.dataset.count = sheet.candidates.length > 12 ? "many" : sheet.candidates.length > 6 ? "some" : "few";
    const anchor = pane(sheet.anchor, sheet.pictures[0]);
    anchor.classList.add("anchor");
    this.root.replaceChildren(anchor, candidates);
    this.between.hidden = true;
  }

  cell(item, picture, place) {
    const words = element("span", { class: "mark" });
    const button = element(
      "button",
      { type: "button", class: "cell", "aria-pressed": "false", title: [item.name, item.group, dateOf(item.taken_at)].filter(Boolean).join("\n") },
      frame(picture),
      element("span", { class: "caption" }, element("kbd", {}, (this.labels[place] ?? "").toUpperCase()), element("bdi", { class: "name" }, item.name)),
      words,
    );
    if (this.labels[place]) button.setAttribute("aria-keyshortcuts", this.labels[place]);
    button.dataset.mark = "different";
    button.dataset.place = place;
    return button;
  }

  /** Different (as all are at first), same, unsure, and round again. */
  toggle(place) {
    const mark = NEXT_MARK[this.marks[place]];
    this.marks[place] = mark;
    const cell = this.cells[place];
    cell.dataset.mark = mark;
    cell.setAttribute("aria-pressed", mark === "same" ? "true" : mark === "unsure" ? "mixed" : "false");
    cell.querySelector(".mark").textContent = MARK[mark];
    this.marked();
  }

  toggleKey(key) {
    const place = this.labels.indexOf(key);
    if (place < 0 || place >= this.marks.length) return false;
    this.toggle(place);
    return true;
  }

  counts() {
    return { same: this.marks.filter((m) => m === "same").length, unsure: this.marks.filter((m) => m === "unsure").length };
  }

  values() {
    return this.marks.map((mark) => VALUE[mark]);
  }
}

function pane(item, picture) {
  const when = dateOf(item.taken_at);
  return element(
    "figure",
    { class: "pane" },
    frame(picture),
    element(
      "figcaption",
      {},
      element("bdi", { class: "name" }, item.name),
      when ? element("time", { dateTime: item.taken_at }, when) : null,
      item.group ? element("bdi", { class: "group" }, item.group) : null,
    ),
  );
}

function frame({ element: picture }) {
  return element("div", { class: "frame" }, picture);
}

/** What the two have in common besides their looks; the machine's score is not among it, on purpose. */
export function difference(a, b) {
  const facts = [];
  if (a.taken_at && b.taken_at) {
    const seconds = (new Date(b.taken_at) - new Date(a.taken_at)) / 1000;
    facts.push(seconds === 0 ? "same moment" : `${span(seconds)} apart`);
  }
  if (a.group && b.group) facts.push(a.group === b.group ? `same group: ${a.group}` : "different groups");
  return facts.join(" · ");
}
