// The row of answers below the pictures: three buttons, one for a whole page, or a scale.

import { element } from "./elements.js";
import { shown } from "./keys.js";

const WORD = { same: "Same", different: "Different", unsure: "Unsure" };

export function drawChoices(row, kind, keys, stage, { answer, submit }) {
  row.dataset.kind = kind;
  if (kind === "grid") {
    row.replaceChildren(submitButton(keys, [onPage(stage.counts())], submit));
  } else if (kind === "rating") {
    const { slide, value } = slider();
    row.replaceChildren(slide, submitButton(keys, ["Rate ", value], submit), choice("unsure", keys, answer));
  } else {
    row.replaceChildren(...Object.keys(WORD).map((name) => choice(name, keys, answer)));
  }
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

function slider() {
  const value = element("output", { for: "rating" }, "0.50");
  const range = element("input", {
    type: "range", id: "rating", min: 0, max: 1, step: 0.01, value: 0.5, "aria-label": "Similarity from 0 to 1",
    oninput: () => (value.textContent = Number(range.value).toFixed(2)),
  });
  const ends = element("div", { class: "ends", "aria-hidden": "true" });
  ends.append(...["nothing alike", "the same"].map((words, end) => element("span", {}, element("kbd", {}, String(end * 9)), ` ${words}`)));
  return { slide: element("div", { class: "slide" }, range, ends), value };
}
