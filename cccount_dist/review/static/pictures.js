// Pictures with what is known about them, for whoever draws a sheet.

import { dateOf, element, nameTag } from "./elements.js";

/** The anchor and its only candidate. */
export function twoPictures(sheet) {
  const [{ item }] = sheet.candidates;
  return [pane(sheet.anchor, sheet.pictures[0]), pane(item, sheet.pictures[1])];
}

export function pane(item, picture) {
  const when = dateOf(item.taken_at);
  return element(
    "figure",
    { class: "pane" },
    frame(picture),
    element(
      "figcaption",
      {},
      nameTag(item.name),
      when ? element("time", { dateTime: item.taken_at }, when) : null,
      item.group ? element("bdi", { class: "group" }, item.group) : null,
    ),
  );
}

export function frame({ element: picture }) {
  return element("div", { class: "frame" }, picture);
}
