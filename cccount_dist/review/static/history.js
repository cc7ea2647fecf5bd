// The last ten things that were answered here, for undo and for a glance back; after a reload the server tells them again.

import { element } from "./elements.js";

const DEPTH = 10;
const SIGN = { same: "=", different: "≠", unsure: "?" };

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
  const names = answers.map(({ value }) => (value === null ? "unsure" : value === 1 ? "same" : value === 0 ? "different" : "rated"));
  let sign = SIGN[names[0]] ?? answers[0].value.toFixed(1);
  let kind = names[0];
  let words = names[0] === "rated" ? `rated ${sign}` : names[0];
  if (sheet.kind === "rating" && answers[0].value !== null) {
    [sign, kind, words] = [answers[0].value.toFixed(1), "rated", `rated ${answers[0].value.toFixed(1)}`];
  } else if (answers.length > 1) {
    const same = names.filter((name) => name === "same").length;
    [sign, kind, words] = [`${same}/${answers.length}`, "page", `page: ${same} of ${answers.length} same`];
  }
  return labelled(kind, sign, words);
}

function labelled(kind, sign, words) {
  return element("li", { class: kind, title: words }, element("span", { "aria-hidden": "true" }, sign), element("span", { class: "hidden" }, words));
}
