// The row of answers below the pictures: three buttons, one for a whole page, or a scale.

import { element } from "./elements.js";
import { shown } from "./keys.js";

const WORD = { same: "Same", different: "Different", unsure: "Unsure" };

export function drawChoices(row, kind, keys, stage, { answer, submit }) {
  const drawn = JSON.stringify([kind, keys.bound]);
  if (row.dataset.drawn !== drawn) {
    // Only when something else is to be chosen: who tabbed to a button stays on it from sheet to sheet.
    row.dataset.drawn = drawn;
    row.dataset.kind = kind;
    if (kind === "grid") row.replaceChildren(submitButton(keys, [""], submit));
    else if (kind === "rating") row.replaceChildren(...scale(keys, answer, submit));
    else row.replaceChildren(...Object.keys(WORD).map((name) => choice(name, keys, answer)));
  }
  if (kind === "grid") row.querySelector("span").textContent = onPage(stage.counts());
  if (kind === "rating") setRating(row, 0.5);
}

function scale(keys, answer, submit) {
  const value = element("output", { for: "rating" });
  const range = element("input", {
    type: "range", id: "rating", min: 0, max: 1, step: 0.01, "aria-label": "Similarity from 0 to 1",
    oninput: () => (value.textContent = Number(range.value).toFixed(2)),
  });
  const ends = element("div", { class: "ends", "aria-hidden": "true" });
  ends.append(...["nothing alike", "the same"].map((words, end) => element("span", {}, element("kbd", {}, String(end * 9)), ` ${words}`)));
  return [element("div", { class: "slide" }, range, ends), submitButton(keys, ["Rate ", value], submit), choice("unsure", keys, answer)];
}

function setRating(row, value) {
  row.querySelector("#rating").value = value;
  row.querySelector("output").textContent = value.toFixed(2);
}

function choice(name, keys, answer) {
  const bound = keys.of(name);
  return element(
    "button",
    { type: "button", class: `choice ${name}`, "aria-keyshortcuts": bound.join(" ") || null, onclick: (event) => answer(event, name) },
    element("span", {}, WORD[name]),
    element("kbd", {}, bound.map(shown)[0] ?? ""),
  );
}

function submitButton(keys, words, submit) {
  const bound = keys.of("submit");
  return element(
    "button",
    { type: "button", class: "choice submit", "aria-keyshortcuts": bound.join(" ") || null, onclick: submit },
    element("span", {}, ...words),
    element("kbd", {}, bound.map(shown)[0] ?? ""),
  );
}

function onPage({ same, unsure }) {
  if (same + unsure === 0) return "None of them";
  return [same ? `${same} the same` : null, unsure ? `${unsure} unsure` : null, "the rest different"].filter(Boolean).join(", ");
}

export function clearChoices(row) {
  row.dataset.drawn = "";
  row.replaceChildren();
}
