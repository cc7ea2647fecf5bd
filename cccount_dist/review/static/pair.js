// A pair of `same`: two pictures, answered same, different or unsure.

import { choice } from "./choices.js";
import { registerSheet } from "./sheets.js";

export const VALUE = { same: 1, different: 0, unsure: null };
const LABEL = { same: "Same", different: "Different", unsure: "Unsure" };
const SIGN = { same: "=", different: "≠", unsure: "?" };
export const UNSURE = { label: LABEL.unsure, usual: ["u", "3", "Space"] };

export function nameOfValue(value) {
  return value === null ? "unsure" : value === 1 ? "same" : "different";
}

export function markOf(value) {
  const name = nameOfValue(value);
  return { sign: SIGN[name], name, words: name };
}

registerSheet("pair", {
  question: (one) => (one ? `Are these two the same ${one}?` : "Are these two the same?"),
  actions: {
    same: { label: LABEL.same, usual: ["s", "1"] },
    different: { label: LABEL.different, usual: ["d", "2"] },
    unsure: UNSURE,
  },
  choices: (keys, press) => Object.entries(LABEL).map(([name, label]) => choice(name, [label], keys, press)),
  answers: (action) => ({ values: [VALUE[action]], words: action }),
  mark: ([{ value }]) => markOf(value),
  write: nameOfValue,
});
