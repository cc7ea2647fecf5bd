// A sheet: one picture and up to 24 others, of which any number may show the same one. A click, a tap, a stroke across them or a key
// marks them; Enter sends the sheet.

import { choice } from "./choices.js";
import { Closer } from "./closer.js";
import { dateOf, element, nameTag, span } from "./elements.js";
import { columnsFor } from "./fitting.js";
import { SUBMIT } from "./grid.js";
import { markOf, nameOfValue, VALUE } from "./pair.js";
import { frame, pane } from "./pictures.js";
import { registerSheet } from "./sheets.js";

const SIGN = { same: "✓", different: "", unsure: "?" };
const PRESSED = { same: "true", different: "false", unsure: "mixed" };
const STEP = { left: () => -1, right: () => 1, up: () => -columns, down: () => columns };
const SECOND_DIGIT = 800; // milliseconds in which 1 may still become 12
const LONG_PRESS = 500; // milliseconds
const STILL = 8; // pixels that a finger may move and still rest

let sheet = null; // the one that is shown; what was marked stays with it (`said`), through an undo, too
let marks = [];
let clicks = []; // that each cell took
let cells = [];
let box = null; // what holds them
let row = null; // of answers
let columns = 1;
let at = -1; // the cell that keys are about: with the focus, or that was pointed at last
let seen = new Set(); // cells that were on the screen: they stay seen when the room or the number of columns changes
let stroke = null; // of a pointer across the cells
let stroked = false; // whether the click that follows ends a stroke, or a long press
let byKeys = false; // whether cells were last moved through by keys: then the next sheet begins there
let typed = ""; // digits of a number that is not whole yet
let waiting = 0; // its timer
const closer = new Closer();

registerSheet("marking", {
  question: (one) => `Mark every picture that shows the same ${one ?? "one"}`,
  hint: "On a sheet, arrows move and Space marks, or type a picture's number. U says that you cannot tell, Z or a right click shows a picture large beside the first one, where R turns and M mirrors both, and L shows points that match.",
  layout: "page",
  side: (place) => (place === 0 || (innerWidth * devicePixelRatio) / 8 > 300 ? 512 : 256), // the first one, and cells on a large screen
  actions: {
    submit: SUBMIT,
    mark: { label: "Mark a picture of a sheet", usual: ["Space"] },
    cannotTell: { label: "Cannot tell, one picture", usual: ["u"] },
    rest: { label: "Cannot tell, the rest of a sheet", usual: ["c"] },
    closer: { label: "Show a picture of a sheet large", usual: ["z"] },
    turn: { label: "Turn both, when large", usual: ["r"] },
    turnOne: { label: "Turn this one, when large", usual: ["t"] },
    mirror: { label: "Mirror both, when large", usual: ["m"] },
    lines: { label: "Matching points, when large", usual: ["l"] },
  },
  write: nameOfValue,

  choices(keys, press) {
    const rest = choice("rest", [""], keys, press);
    rest.classList.add("unsure"); // it may be said of what nobody can see
    return [choice("submit", [""], keys, press), rest];
  },

  refresh(shown) {
    row = shown;
    tell();
    if (byKeys && !box.contains(document.activeElement)) cells[Math.max(0, at)]?.focus();
  },

  draw(shown, keys) {
    endNumber();
    sheet = shown;
    sheet.said ??= sheet.candidates.map(() => VALUE.different);
    marks = sheet.said.map(nameOfValue);
    clicks = sheet.clicks ?? marks.map(() => 0);
    sheet.clicks = null; // counted anew when it is shown once more
    byKeys = box !== null && box.contains(document.activeElement);
    [at, seen, stroke] = [-1, new Set(), null];
    closer.keys = keys;
    cells = sheet.candidates.map(({ item }, place) => cell(item, sheet.pictures[place + 1], place));
    const slots = cells.map((one, place) => element("div", { class: "slot" }, one, enlarger(place)));
    box = element("div", { class: "candidates marks", role: "group", "aria-label": "Pictures to mark" }, ...slots);
    marks.forEach((_, place) => drawMark(place));
    listen();
    const anchor = pane(sheet.anchor, sheet.pictures[0]);
    anchor.classList.add("anchor");
    anchor.append(element("span", { class: "first" }, "The first one"));
    return [anchor, box];
  },

  answers(action) {
    endNumber();
    if (action === "submit" && below().length) {
      const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
      box.scrollBy({ top: box.clientHeight * 0.9, behavior });
      return null;
    }
    if (action !== "submit" && action !== "rest") return null;
    const said = action === "rest" ? marks.map((mark) => (mark === "different" ? "unsure" : mark)) : marks;
    sheet.said = said.map((mark) => VALUE[mark]);
    return { values: sheet.said, clicks, words: `${count("same")} of ${marks.length} marked` };
  },

  pressed(key, action) {
    if (action === null && /^[0-9]$/.test(key)) return number(key);
    endNumber();
    const zoomed = box.closest(".zoomed");
    if (action in STEP && !zoomed) return moveTo(at < 0 ? 0 : at + STEP[action]());
    if (action === null && (key === "Home" || key === "End")) return moveTo(key === "Home" ? 0 : cells.length - 1);
    if (!["mark", "cannotTell", "closer", "flag"].includes(action)) return null;
    if (at < 0) return action === "flag" ? null : moveTo(0);
    if (action === "mark") toggle(at, "same");
    if (action === "cannotTell") toggle(at, "unsure");
    if (action === "closer") enlarge(at);
    if (action === "flag") flag(at);
    return {};
  },

  clicked(target) {
    if (stroked) return true;
    const large = target.closest(".enlarge");
    const chosen = target.closest(".cell");
    if (large) enlarge(Number(large.dataset.place));
    else if (chosen) toggle(Number(chosen.dataset.place), "same");
    return Boolean(large || chosen);
  },

  mark(answers) {
    if (answers.length === 1) return markOf(answers[0].value);
    const same = answers.filter(({ value }) => value === VALUE.same).length;
    return { sign: `${same}/${answers.length}`, name: "page", words: `sheet: ${same} of ${answers.length} marked` };
  },

  /** The sheet without an item whose picture is of no use, marks and all; null if nothing is left of it. */
  without(shown, item) {
    const left = shown.candidates.flatMap((candidate, place) => (candidate.item.item === item ? [] : [place]));
    if (shown.anchor.item === item || !left.length) return null;
    const kept = (list) => left.map((place) => list[place]);
    const pictures = [shown.pictures[0], ...left.map((place) => shown.pictures[place + 1])];
    return { ...shown, candidates: kept(shown.candidates), pictures, said: kept(shown.said), clicks: kept(clicks) };
  },

  places: ({ candidates }) => [
    { key: "Enter", words: candidates.length ? "the first one" : "" },
    ...candidates.map((_, place) => ({ key: String(place + 1), words: "" })),
  ],
});

function cell(item, picture, place) {
  const facts = context(sheet.anchor, item);
  const button = element(
    "button",
    { type: "button", class: "cell", tabindex: place ? -1 : 0, title: [item.name, item.group, dateOf(item.taken_at)].filter(Boolean).join("\n") },
    frame(picture),
    element("span", { class: "mark" }, element("span", { class: "sign" }), element("span", {}, String(place + 1))),
    element("span", { class: "caption" }, facts ? element("bdi", { class: "facts" }, facts) : nameTag(item.name)),
  );
  button.dataset.place = place;
  button.dataset.sends = ""; // Enter on it sends the sheet
  return button;
}

/** When and where it was taken, beside the first one: facts, in words that nobody takes for an answer. */
function context(anchor, item) {
  const facts = [];
  if (anchor.taken_at && item.taken_at) {
    const seconds = (new Date(item.taken_at) - new Date(anchor.taken_at)) / 1000;
    const apart = span(seconds).split(" ").slice(0, 2).join(" ");
    facts.push(seconds === 0 ? "at that moment" : `${apart} ${seconds > 0 ? "later" : "earlier"}`);
  }
  if (item.group) facts.push(item.group);
  return facts.join(" · ");
}

function enlarger(place) {
  const button = element("button", { type: "button", class: "enlarge", tabindex: -1, "aria-label": `Show picture ${place + 1} large` }, element("span", { "aria-hidden": "true" }, "⤢"));
  button.dataset.place = place;
  return button;
}

// -- marks -----------------------------------------------------------------------------------------------------------------

/** Say this of a cell, or take it back. */
function toggle(place, mark) {
  clicks[place] += 1;
  set(place, marks[place] === mark ? "different" : mark);
}

function set(place, mark) {
  marks[place] = mark;
  sheet.said[place] = VALUE[mark];
  drawMark(place);
  tell();
}

function drawMark(place) {
  const mark = marks[place];
  cells[place].dataset.mark = mark;
  cells[place].setAttribute("aria-pressed", PRESSED[mark]);
  cells[place].querySelector(".sign").textContent = SIGN[mark];
}

function count(mark) {
  return marks.filter((one) => one === mark).length;
}

/** What would be sent, on the buttons. */
function tell() {
  const [submit, rest] = row?.querySelectorAll(".choice > span") ?? [];
  if (!rest) return;
  const [same, unsure, more] = [count("same"), count("unsure"), below().length];
  const marked = [same ? `${same} marked` : null, unsure ? `${unsure} cannot tell` : null].filter(Boolean).join(", ");
  submit.textContent = more ? `See ${more} more ↓` : marked ? `Send ${marked}` : "None of them";
  rest.textContent = same + unsure ? "Cannot tell the rest" : "Cannot tell any";
}

/** The cells that were not on the screen yet: nobody says "none of them" of what they did not see. */
function below() {
  if (!box?.clientHeight) return [];
  const end = box.scrollTop + box.clientHeight;
  for (const one of cells) if (one.parentElement.offsetTop + one.parentElement.offsetHeight / 2 <= end) seen.add(one);
  return cells.filter((one) => !seen.has(one));
}

// -- keys --------------------------------------------------------------------------------------------------------------------

function moveTo(place) {
  if (place < 0 || place >= cells.length) return {};
  cells.forEach((one, other) => (one.tabIndex = other === place ? 0 : -1));
  cells[place].focus();
  at = place;
  return {};
}

/** A digit of a cell's number: it is marked as soon as no other digit can follow. */
function number(digit) {
  const next = Number(typed + digit);
  if (next > cells.length) {
    endNumber();
    return Number(digit) > cells.length ? {} : number(digit);
  }
  if (next === 0) return {};
  typed += digit;
  clearTimeout(waiting);
  if (next * 10 > cells.length) endNumber();
  else waiting = setTimeout(endNumber, SECOND_DIGIT);
  cells.forEach((one, place) => one.classList.toggle("typed", typed !== "" && String(place + 1).startsWith(typed)));
  return {};
}

function endNumber() {
  clearTimeout(waiting);
  if (typed === "") return;
  at = Number(typed) - 1;
  typed = "";
  for (const one of cells) one.classList.remove("typed");
  toggle(at, "same");
  cells[at].scrollIntoView({ block: "nearest" });
}

// -- pointers ----------------------------------------------------------------------------------------------------------------

function listen() {
  room.disconnect();
  room.observe(box);
  box.addEventListener("scroll", tell);
  box.addEventListener("focusin", ({ target }) => (at = placeOf(target)));
  box.addEventListener("pointermove", point);
  box.addEventListener("pointerdown", begin);
  box.addEventListener("pointermove", go);
  // A stroke is no scroll: otherwise Chromium takes a quick one for a flick, and the next tap, on Send, for the finger that stops it.
  box.addEventListener("touchmove", (event) => stroke?.passed && event.cancelable && event.preventDefault(), { passive: false });
  for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, finish);
  box.addEventListener("contextmenu", (event) => {
    if (placeOf(event.target) < 0) return;
    event.preventDefault(); // also what a long press of a finger is to some browsers
    enlarge(placeOf(event.target));
  });
}

function placeOf(target) {
  return Number(target.closest?.(".slot")?.firstChild.dataset.place ?? -1);
}

/** Keys are about what the mouse was moved to last, or what has the focus: never about two cells. */
function point({ target, pointerType, movementX, movementY }) {
  const place = placeOf(target);
  if (pointerType !== "mouse" || place < 0 || place === at || !(movementX || movementY)) return; // a mouse that rests says nothing
  if (cells.includes(document.activeElement)) document.activeElement.blur();
  at = place;
}

function begin(event) {
  clearTimeout(stroke?.timer);
  const chosen = event.target.closest(".cell");
  const several = stroke !== null && stroke.id !== event.pointerId; // two fingers make pictures larger
  stroke = null;
  stroked = false;
  if (!chosen || several || event.button !== 0 || box.closest(".zoomed")) return;
  const place = Number(chosen.dataset.place);
  const to = marks[place] === "same" ? "different" : "same";
  stroke = { id: event.pointerId, place, to, x: event.clientX, y: event.clientY, passed: null, timer: 0 };
  if (event.pointerType !== "mouse") stroke.timer = setTimeout(() => held(place), LONG_PRESS);
}

/** A finger rests on a cell: it is shown large. */
function held(place) {
  stroke = null;
  stroked = true;
  enlarge(place);
}

/** All cells on the way become what the first one becomes; a mouse may fly over several between two events. */
function go(event) {
  if (stroke?.id !== event.pointerId) return;
  const way = Math.hypot(event.clientX - stroke.x, event.clientY - stroke.y);
  if (way > STILL) clearTimeout(stroke.timer);
  const stops = Math.ceil(way / 20);
  for (let stop = 1; stop <= stops; stop += 1) {
    const [x, y] = [stroke.x + ((event.clientX - stroke.x) * stop) / stops, stroke.y + ((event.clientY - stroke.y) * stop) / stops];
    const under = document.elementFromPoint(x, y);
    if (under && box.contains(under)) pass(placeOf(under));
  }
  if (stroke.passed) [stroke.x, stroke.y] = [event.clientX, event.clientY];
}

function pass(place) {
  if (place < 0 || (!stroke.passed && place === stroke.place)) return;
  if (!stroke.passed) {
    stroke.passed = new Set([stroke.place]);
    clicks[stroke.place] += 1; // a stroke is one click, of the cell where it begins
    set(stroke.place, stroke.to);
  }
  if (!stroke.passed.has(place) && marks[place] !== stroke.to) set(place, stroke.to);
  stroke.passed.add(place);
}

function finish(event) {
  if (stroke?.id !== event.pointerId) return;
  clearTimeout(stroke.timer);
  if (stroke.passed) stroked = true;
  stroke = null;
  setTimeout(() => (stroked = false)); // after the click that follows
}

// -- one of them large -----------------------------------------------------------------------------------------------------

function enlarge(place) {
  if (closer.isOpen && closer.place === place) return;
  clicks[place] += 1;
  at = place;
  const shown = sheet;
  const host = {
    count: cells.length,
    mark: marks[place],
    small: [0, place + 1].map((one) => shown.pictures[one].element.src),
    facts: [[dateOf(shown.anchor.taken_at), shown.anchor.group].filter(Boolean).join(" · "), context(shown.anchor, shown.candidates[place].item)],
    say: (mark) => toggle(place, mark),
    flag: () => flag(place),
    go: enlarge,
    closed: () => {
      stroked = false; // the finger that rested is long away
      if (byKeys) cells[at]?.focus();
    },
  };
  const detail = { place, show: (pictures) => closer.show(place, pictures, host) };
  box.dispatchEvent(new CustomEvent("enlarge", { bubbles: true, detail }));
}

function flag(place) {
  box.dispatchEvent(new CustomEvent("bad-picture", { bubbles: true, detail: sheet.candidates[place].item }));
}

const room = new ResizeObserver(() => {
  if (!cells.length || !box.clientWidth) return;
  const shapes = sheet.pictures.slice(1).map(({ element: { naturalWidth, naturalHeight } }) => (naturalWidth ? naturalHeight / naturalWidth : null));
  const fit = columnsFor(box, cells, shapes.filter(Boolean));
  columns = fit.columns;
  box.style.setProperty("--columns", fit.columns);
  box.style.setProperty("--picture", `${fit.height}px`);
  tell();
});
