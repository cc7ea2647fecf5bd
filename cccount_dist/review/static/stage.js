// What is shown of a sheet: what its kind draws, and below it what two items have in common besides their looks.

import { span } from "./elements.js";
import { sheetKind } from "./sheets.js";

export class Stage {
  constructor(root, between) {
    this.root = root;
    this.between = between;
  }

  show(sheet, keys) {
    const kind = sheetKind(sheet.kind);
    this.root.dataset.kind = sheet.kind;
    this.root.dataset.layout = kind.layout;
    this.root.classList.remove("swapped");
    this.root.hidden = false;
    this.root.replaceChildren(...kind.draw(sheet, keys));
    const facts = kind.layout === "two" ? difference(sheet.anchor, sheet.candidates[0].item) : "";
    this.between.textContent = facts;
    this.between.hidden = !facts;
  }

  clear() {
    this.root.hidden = this.between.hidden = true;
    this.root.replaceChildren();
  }

  get swapped() {
    return this.root.classList.contains("swapped");
  }

  swap() {
    this.root.classList.toggle("swapped");
  }
}

/** When and where the two were taken, as the files say: facts, no opinion. The machine's score is not among them, on purpose. */
export function difference(a, b) {
  const facts = [];
  if (a.taken_at && b.taken_at) {
    const seconds = (new Date(b.taken_at) - new Date(a.taken_at)) / 1000;
    facts.push(seconds === 0 ? "taken at the same moment" : `taken ${span(seconds)} apart`);
  }
  if (a.group && b.group) facts.push(a.group === b.group ? `both from ${a.group}` : `from ${a.group} and from ${b.group}`);
  return facts.join(" · ");
}
