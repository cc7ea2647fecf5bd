// The row of answers below the pictures: what the sheet's kind puts there, and buttons for it.

import { element } from "./elements.js";
import { shown } from "./keys.js";
import { sheetKind } from "./sheets.js";

export function drawChoices(row, name, keys, press) {
  const kind = sheetKind(name);
  const drawn = JSON.stringify([name, keys.bound]);
  if (row.dataset.drawn !== drawn) {
    // Only when something else is to be chosen: who tabbed to a button stays on it from sheet to sheet.
    row.dataset.drawn = drawn;
    row.dataset.kind = name;
    row.replaceChildren(...kind.choices(keys, press));
  }
  kind.refresh(row);
}

export function clearChoices(row) {
  row.dataset.drawn = "";
  row.replaceChildren();
}

/** A button for an action, with its key. `words` are texts or elements. */
export function choice(action, words, keys, press) {
  const bound = keys.of(action);
  return element(
    "button",
    { type: "button", class: `choice ${action}`, "aria-keyshortcuts": bound.join(" ") || null, onclick: (event) => press(event, action) },
    element("span", {}, ...words),
    element("kbd", {}, bound.map(shown)[0] ?? ""),
  );
}
