// The last ten things that were answered here, for undo and for a glance back; after a reload the server tells them again.

import { element } from "./elements.js";
import { sheetKind } from "./sheets.js";

const DEPTH = 10;

export class History {
  constructor(list) {
    this.list = list;
    this.entries = []; // {sheet, answers: [{id, question_id, value}], flagged: an item}, the newest last
  }

  push(entry) {
    this.entries = [...this.entries, entry].slice(-DEPTH);
    this.draw();
  }

  pop() {
    const entry = this.entries.pop() ?? null;
    this.draw();
    return entry;
  }

  replace(entries) {
    this.entries = entries.slice(-DEPTH);
    this.draw();
  }

  get length() {
    return this.entries.length;
  }

  draw() {
    this.list.replaceChildren(...this.entries.map((entry) => mark(entry)));
  }
}

function mark({ sheet, answers, flagged }) {
  if (flagged != null) return labelled("flagged", "⚑", "bad image");
  const { sign, name, words } = sheetKind(sheet.kind).mark(answers);
  return labelled(name, sign, words);
}

function labelled(kind, sign, words) {
  return element("li", { class: kind, title: words }, element("span", { "aria-hidden": "true" }, sign), element("span", { class: "hidden" }, words));
}
