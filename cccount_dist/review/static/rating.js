// A `rating`: two pictures and a scale. 0 to 9 answer at once, or the slider and Enter.

import { choice } from "./choices.js";
import { element, find } from "./elements.js";
import { SUBMIT } from "./grid.js";
import { markOf, UNSURE } from "./pair.js";
import { registerSheet } from "./sheets.js";

const MIDDLE = 0.5; // where the slider stands at first

registerSheet("rating", {
  question: "How similar are these two?",
  hint: "Ratings take 0 to 9.",
  actions: { unsure: UNSURE, submit: SUBMIT },
  write: (value) => value,

  choices(keys, press) {
    const value = element("output", { for: "rating" });
    const range = element("input", {
      type: "range", id: "rating", min: 0, max: 1, step: 0.01, "aria-label": "Similarity from 0 to 1",
      oninput: () => (value.textContent = Number(range.value).toFixed(2)),
    });
    const ends = element("div", { class: "ends", "aria-hidden": "true" });
    ends.append(...["nothing alike", "the same"].map((words, end) => element("span", {}, element("kbd", {}, String(end * 9)), ` ${words}`)));
    return [
      element("div", { class: "slide" }, range, ends),
      choice("submit", ["Rate ", value], keys, press),
      choice("unsure", [UNSURE.label], keys, press),
    ];
  },

  refresh(row) {
    row.querySelector("#rating").value = MIDDLE;
    row.querySelector("output").textContent = MIDDLE.toFixed(2);
  },

  answers(action) {
    if (action === "unsure") return { values: [null], words: "unsure" };
    const value = Number(find("rating").value);
    return { values: [value], words: `rated ${value.toFixed(2)}` };
  },

  /** A digit is a rating, whatever else it means on other sheets. */
  pressed: (key) => (/^[0-9]$/.test(key) ? { values: [Number(key) / 9], words: `rated ${key} of 9` } : null),

  mark([{ value }]) {
    if (value === null) return markOf(value);
    return { sign: value.toFixed(1), name: "rated", words: `rated ${value.toFixed(1)}` };
  },
});
