// A page of `same`: one item and up to 24 others. A key or a click marks one; Enter answers all of them.

import { choice } from "./choices.js";
import { dateOf, element, nameTag } from "./elements.js";
import { markOf, nameOfValue, VALUE } from "./pair.js";
import { frame, pane } from "./pictures.js";
import { registerSheet } from "./sheets.js";

const NEXT_MARK = { different: "same", same: "unsure", unsure: "different" };
const MARK = { same: "✓ same", different: "", unsure: "? unsure" };
export const SUBMIT = { label: "Send the page or the rating", usual: ["Enter"] };

const LEAST = 104; // pixels of a picture's longer side: smaller ones cannot be judged
const SHAPE = 3 / 4; // of most photographs
const EDGE = 6; // pixels around all of them, for the ring of a mark

let marks = []; // of the candidates that are shown
let cells = [];
let labels = []; // their keys

registerSheet("grid", {
  question: (one) => (one ? `Which of the others are the same ${one} as this one?` : "Which of the others are the same as this one?"),
  hint: "On a page of candidates, the key below a picture marks it as the same, once more as unsure, once more as different; ⤢ shows it large.",
  layout: "page",
  side: 512,
  actions: { submit: SUBMIT },
  choices: (keys, press) => [choice("submit", [""], keys, press)],
  refresh: (row) => (row.querySelector("span").textContent = onPage()),
  write: nameOfValue,

  draw(sheet, keys) {
    marks = sheet.candidates.map(() => "different");
    labels = keys.labels(sheet.candidates.length, sheet.kind);
    cells = sheet.candidates.map(({ item }, place) => cell(item, sheet.pictures[place + 1], place));
    const slots = cells.map((one, place) => element("div", { class: "slot" }, one, enlarger(sheet.candidates[place].item, place)));
    const candidates = element("div", { class: "candidates", role: "group", "aria-label": "Candidates" }, ...slots);
    room.disconnect();
    room.observe(candidates);
    const anchor = pane(sheet.anchor, sheet.pictures[0]);
    anchor.classList.add("anchor");
    return [anchor, candidates];
  },

  answers: () => ({ values: marks.map((mark) => VALUE[mark]), words: `${count("same")} of ${marks.length} same` }),

  pressed(key, action) {
    const place = action === null ? labels.indexOf(key) : -1;
    if (place < 0 || place >= marks.length) return null;
    toggle(place);
    return {};
  },

  clicked(target) {
    const large = target.closest(".enlarge");
    if (large) {
      const place = Number(large.dataset.place);
      large.dispatchEvent(new CustomEvent("enlarge", { bubbles: true, detail: { place, mark: (name) => set(place, name) } }));
      return true;
    }
    const chosen = target.closest(".cell");
    if (chosen) toggle(Number(chosen.dataset.place));
    return Boolean(chosen);
  },

  mark(answers) {
    if (answers.length === 1) return markOf(answers[0].value);
    const same = answers.filter(({ value }) => value === VALUE.same).length;
    return { sign: `${same}/${answers.length}`, name: "page", words: `page: ${same} of ${answers.length} same` };
  },

  // Candidates keep their keys, and Enter is the anchor.
  places: () => [{ key: "Enter", words: "the one on the left" }, ...labels.map((key) => ({ key, words: "" }))],
});

function cell(item, picture, place) {
  const words = element("span", { class: "mark" });
  const button = element(
    "button",
    { type: "button", class: "cell", "aria-pressed": "false", title: [item.name, item.group, dateOf(item.taken_at)].filter(Boolean).join("\n") },
    frame(picture),
    element("span", { class: "caption" }, element("kbd", {}, (labels[place] ?? "").toUpperCase()), nameTag(item.name)),
    words,
  );
  if (labels[place]) button.setAttribute("aria-keyshortcuts", labels[place]);
  button.dataset.mark = "different";
  button.dataset.place = place;
  return button;
}

/** Shows a candidate large: also where there is no room for a pinch, as on a phone. */
function enlarger(item, place) {
  const button = element("button", { type: "button", class: "enlarge", "aria-label": `Show ${item.name} large` }, element("span", { "aria-hidden": "true" }, "⤢"));
  button.dataset.place = place;
  return button;
}

/** As many columns as make the pictures largest in the room there is; smaller than a thumb's width they scroll instead. */
const room = new ResizeObserver(([{ target: box }]) => {
  const [first] = cells;
  if (!first || !box.clientWidth) return;
  const extra = { x: first.offsetWidth - first.firstChild.offsetWidth, y: first.offsetHeight - first.firstChild.offsetHeight };
  const gap = parseFloat(getComputedStyle(box).columnGap) || 0;
  let best = { size: 0, columns: 1, height: 0 };
  for (let columns = 1; columns <= cells.length; columns += 1) {
    const rows = Math.ceil(cells.length / columns);
    const width = (box.clientWidth - (columns - 1) * gap - EDGE) / columns - extra.x;
    const height = (box.clientHeight - (rows - 1) * gap - EDGE) / rows - extra.y;
    const size = Math.min(width, height / SHAPE);
    if (size > best.size) best = { size, columns, height: Math.min(height, width) };
  }
  if (best.size < LEAST) {
    const columns = Math.max(2, Math.floor(box.clientWidth / (LEAST + gap)));
    const width = (box.clientWidth - (columns - 1) * gap - EDGE) / columns - extra.x;
    best = { columns, height: width * SHAPE };
  }
  box.style.setProperty("--columns", best.columns);
  box.style.setProperty("--picture", `${Math.floor(best.height)}px`);
});

/** Different (as all are at first), same, unsure, and round again. */
function toggle(place) {
  set(place, NEXT_MARK[marks[place]]);
}

function set(place, mark) {
  marks[place] = mark;
  cells[place].dataset.mark = mark;
  cells[place].setAttribute("aria-pressed", mark === "same" ? "true" : mark === "unsure" ? "mixed" : "false");
  cells[place].querySelector(".mark").textContent = MARK[mark];
}

function count(mark) {
  return marks.filter((one) => one === mark).length;
}

function onPage() {
  const [same, unsure] = [count("same"), count("unsure")];
  if (same + unsure === 0) return "None of them";
  return [same ? `${same} the same` : null, unsure ? `${unsure} unsure` : null, "the rest different"].filter(Boolean).join(", ");
}
