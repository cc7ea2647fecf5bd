// Help with the keys and their change, the choice of a bad picture, and what is not saved yet.

import { element, find, nameTag, useTheme } from "./elements.js";
import { nameOf, shown } from "./keys.js";
import { itemsOf } from "./queue.js";
import { sheetKind, sheetKinds } from "./sheets.js";

export const BAD = "bad image";
const REASONS = { [BAD]: () => "It cannot be judged: blurred, dark, empty", "several": (one) => `More than one ${one ? `${one} ` : ""}is in it` };

export class HelpDialog {
  constructor(keys, { rebound }) {
    this.keys = keys;
    this.rebound = rebound;
    this.dialog = find("help-dialog");
    this.waiting = null; // the action that waits for its new key
    find("help-close").addEventListener("click", () => this.dialog.close());
    find("keys-reset").addEventListener("click", () => {
      keys.reset();
      this.draw("The usual keys hold again.");
    });
    find("hints").textContent = sheetKinds().map(([, { hint }]) => hint).filter(Boolean).join(" ");
    find("theme").value = useTheme();
    find("theme").addEventListener("change", () => useTheme(find("theme").value));
    this.dialog.addEventListener("keydown", (event) => this.pressed(event));
    this.dialog.addEventListener("cancel", (event) => {
      if (this.waiting) event.preventDefault(); // Escape itself may be the new key
    });
    this.dialog.addEventListener("close", () => (this.waiting = null));
  }

  open() {
    this.draw("");
    this.dialog.showModal();
    find("help-close").focus({ preventScroll: true });
    this.dialog.scrollTop = 0;
  }

  draw(message, focused = null) {
    find("key-rows").replaceChildren(...Object.entries(this.keys.actions).map(([action, { label }]) => this.row(action, label)));
    find("key-problem").textContent = message;
    if (focused) find(`change-${focused}`).focus();
    this.rebound();
  }

  row(action, label) {
    const keys = this.keys.of(action).flatMap((key) => [element("kbd", {}, shown(key)), " "]);
    const change = element("button", {
      type: "button", id: `change-${action}`, "aria-label": `Change the key of: ${label}`,
      onclick: () => {
        this.waiting = action;
        find("key-problem").textContent = `Press the new key for “${label}”.`;
      },
    }, "Change");
    return element("tr", {}, element("th", { scope: "row" }, label), element("td", {}, ...(keys.length ? keys : ["none"])), element("td", {}, change));
  }

  pressed(event) {
    if (!this.waiting) return;
    const key = nameOf(event);
    if (key === null) return;
    event.preventDefault();
    event.stopPropagation();
    const action = this.waiting;
    this.waiting = null;
    const losers = this.keys.bind(action, key);
    const lost = losers.length ? ` It was the key of “${losers.join("”, “")}” before.` : "";
    this.draw(`${shown(key)} is now “${this.keys.actions[action].label}”.${lost}`, action);
  }
}

export class FlagDialog {
  constructor({ chosen }) {
    this.dialog = find("flag-dialog");
    this.chosen = chosen;
    find("flag-close").addEventListener("click", () => this.dialog.close());
    const options = Object.keys(REASONS).map((reason, place) =>
      element("label", {}, element("input", { type: "radio", name: "reason", value: reason, checked: place === 0 }), element("span", {})),
    );
    find("flag-reasons").append(...options);
    this.dialog.addEventListener("keydown", (event) => {
      const place = this.labels?.indexOf(nameOf(event)) ?? -1;
      if (place < 0 || nameOf(event) === null) return;
      event.preventDefault();
      this.choose(this.items[place]);
    });
  }

  open(sheet, swapped, one = null) {
    for (const input of this.dialog.querySelectorAll("input")) input.nextSibling.textContent = ` ${REASONS[input.value](one)}`;
    this.items = swapped ? itemsOf(sheet).reverse() : itemsOf(sheet);
    const places = sheetKind(sheet.kind).places(sheet);
    this.labels = places.map(({ key }) => key);
    find("flag-items").replaceChildren(
      ...this.items.map((item, index) =>
        element(
          "button",
          { type: "button", onclick: () => this.choose(item) },
          element("kbd", {}, shown(this.labels[index] ?? "")), " ", places[index]?.words ?? "", " ", element("bdi", { class: "name" }, item.name),
        ),
      ),
    );
    this.dialog.showModal();
  }

  choose(item) {
    const reason = this.dialog.querySelector("input:checked").value;
    this.dialog.close();
    this.chosen(item, reason);
  }
}

/** A candidate of a page, large beside the one that it is compared with. */
export class LargeDialog {
  constructor() {
    this.dialog = find("large-dialog");
    find("large-close").addEventListener("click", () => this.dialog.close());
    for (const button of this.dialog.querySelectorAll("[data-mark]")) {
      button.addEventListener("click", () => {
        this.mark?.(button.dataset.mark);
        this.dialog.close();
      });
    }
  }

  /** `pictures`: two of {item, address}, the anchor first; `mark` is called with what was chosen. */
  open(pictures, mark) {
    this.mark = mark;
    find("large-pictures").replaceChildren(
      ...pictures.map(({ item, address }) =>
        element(
          "figure", {},
          address ? element("img", { src: address, alt: item.name }) : element("p", { class: "missing" }, "This item has no picture."),
          element("figcaption", {}, nameTag(item.name)),
        ),
      ),
    );
    this.dialog.showModal();
  }
}

export class SavedDialog {
  constructor({ flush, forget, handIn }) {
    this.dialog = find("saved-dialog");
    find("saved").addEventListener("click", () => this.dialog.showModal());
    find("saved-close").addEventListener("click", () => this.dialog.close());
    find("send-now").addEventListener("click", flush);
    find("forget-refused").addEventListener("click", forget);
    find("hand-in").addEventListener("click", handIn);
  }

  /** Say what is not saved yet, on the button and in the dialog. */
  draw(outbox, offline) {
    const { waiting, refused, problem, kept } = outbox;
    const state = refused.length ? "refused" : problem && waiting.length ? "offline" : waiting.length ? "saving" : "saved";
    const count = waiting.length;
    const words = {
      refused: `${refused.length} refused`, offline: `${count} not saved yet`, saving: `Saving ${count} …`, saved: offline ? "Hand in" : "All saved",
    }[state];
    const button = find("saved");
    if (button.textContent !== words) button.textContent = words;
    button.dataset.state = state;
    find("saved-text").textContent = this.text(count, problem, kept, offline);
    find("send-now").hidden = offline || !count;
    find("forget-refused").hidden = !refused.length;
    find("hand-in").hidden = !offline;
    find("refused").replaceChildren(
      ...refused.map((event) => element("li", {}, `${event.kind} ${event.body.question_id ?? event.body.answer_id ?? event.body.item}: ${event.refused}`)),
    );
  }

  text(count, problem, kept, offline) {
    if (offline) return "Your answers are kept in this browser. Save them to a file and send it back; you can do so as often as you like.";
    if (!count) return "Every answer is on the server's disk.";
    const where = kept ? "They are kept in this browser, also when you close it" : "This browser keeps nothing: leave this page open";
    const answers = count === 1 ? "1 answer is" : `${count} answers are`;
    return `${answers} on the way. ${where}, and sent again by themselves.${problem ? ` The last attempt failed: ${problem}` : ""}`;
  }
}
