// The kinds of sheets that this page can show. Each is one file that registers itself here before the page begins, and nothing else
// of the page knows one by its name. A kind has
//   question            the heading above the pictures: a text, or a function of the user's word for one of them (null: none was given)
//   actions             its own keys: {name: {label, usual: [key, …]}}; people can change them; kinds may share a name
//   choices(keys, press)  the row of answers: elements, whose clicks call press(event, action); `choices.js` has buttons for it
//   answers(action)     what an action says: {values: one for each candidate, in order, words}, or null; `clicks` beside the values: that each took
//   mark(answers)       one of the last answers: {sign, name, words}; `name` is its class
//   write(value)        a value, which is not null, as files have it: a word or a number
// An element of it with `data-sends` leaves Enter to the sheet. Its events: "enlarge" with {place, mark} or {place, show}, "bad-picture" with
// an item. What somebody said of a sheet that comes back is in `sheet.said`, one value for each candidate.
// and if it differs from two pictures beside each other
//   hint                a sentence for the dialog of keys, where the keys alone do not tell
//   layout, side        "two" or "page", and the pixels of a picture's longer side, or a function of its place (0: the anchor)
//   draw(sheet, keys)   what is on the stage: elements
//   refresh(row)        called when the row of answers is shown again, or a mark has changed
//   pressed(key, action)  a key that is no common one's: what `answers` returns, {} if it is taken, null if not; `action` is its own, or null
//   clicked(target)     whether a click on the stage was taken
//   without(sheet, item)  the sheet without a candidate whose picture is of no use, or null: the next one is shown
//   places(sheet)       for each item, the anchor first, the key and the words that name it in the dialog of bad pictures

import { twoPictures } from "./pictures.js";

const kinds = new Map();

const TWO_PICTURES = {
  layout: "two",
  side: 1024,
  actions: {},
  draw: (sheet) => twoPictures(sheet),
  refresh: () => null,
  pressed: () => null,
  clicked: () => false,
  without: () => null,
  places: () => [{ key: "1", words: "left" }, { key: "2", words: "right" }],
};

export function registerSheet(name, kind) {
  if (kinds.has(name)) throw new Error(`two files draw the sheet "${name}"`);
  kinds.set(name, { ...TWO_PICTURES, ...kind });
}

export function sheetKind(name) {
  const kind = kinds.get(name);
  if (!kind) throw new Error(`this page has nothing that draws a sheet "${name}": reload it`);
  return kind;
}

/** Names and kinds, in the order in which they registered. */
export function sheetKinds() {
  return [...kinds.entries()];
}

/** A value as files have it. */
export function written(name, value) {
  return value === null ? "unsure" : sheetKind(name).write(value);
}
