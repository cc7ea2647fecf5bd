// Which of the two is older? Two pictures, and a button for each.

import { choice } from "./choices.js";
import { registerSheet } from "./sheets.js";

const VALUE = { first: 1, second: 0, unsure: null };
const LABEL = { first: "The left one", second: "The right one", unsure: "Unsure" };
const nameOf = (value) => Object.keys(VALUE).find((name) => VALUE[name] === value);

registerSheet("order", {
  question: "Which of these two is older?",
  actions: {
    first: { label: "The left one is older", usual: ["l"] },
    second: { label: "The right one is older", usual: ["r"] },
    unsure: { label: "Unsure", usual: ["u"] },
  },
  choices: (keys, press) => Object.keys(LABEL).map((name) => choice(name, [LABEL[name]], keys, press)),
  answers: (action) => ({ values: [VALUE[action]], words: LABEL[action] }),
  mark: ([{ value }]) => ({ sign: { 1: "←", 0: "→" }[value] ?? "?", name: nameOf(value), words: nameOf(value) }),
  write: nameOf,
});
