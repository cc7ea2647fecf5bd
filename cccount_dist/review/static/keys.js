// Which key does what. The usual keys can be changed; the change is kept in this browser.

import { sheetKinds } from "./sheets.js";

const STORED = "cccount-keys";

// What every sheet has; `two`: only one with two pictures beside each other.
const COMMON = {
  undo: { label: "Undo", usual: ["Backspace"] },
  flag: { label: "Bad image", usual: ["f"] },
  badLeft: { label: "Bad image, left", usual: ["q"], two: true },
  badRight: { label: "Bad image, right", usual: ["w"], two: true },
  help: { label: "Help", usual: ["h", "?"] },
  swap: { label: "Swap sides (flicker)", usual: ["x"], two: true },
  points: { label: "Matching points", usual: ["m"], two: true },
  zoomIn: { label: "Zoom in", usual: ["+", "="] },
  zoomOut: { label: "Zoom out", usual: ["-"] },
  reset: { label: "Whole picture", usual: ["Escape"] },
  left: { label: "Pan left", usual: ["ArrowLeft"] },
  right: { label: "Pan right", usual: ["ArrowRight"] },
  up: { label: "Pan up", usual: ["ArrowUp"] },
  down: { label: "Pan down", usual: ["ArrowDown"] },
};

/** Everything that a key can mean, and in which modes, which are the kinds of sheets: first what the kinds have of their own. */
function allActions() {
  const found = {};
  for (const [mode, kind] of sheetKinds()) {
    for (const [action, { label, usual: keys }] of Object.entries(kind.actions)) {
      if (action in COMMON) throw new Error(`the action "${action}" of the sheet "${mode}" is the page's own: give it another name`);
      found[action] ??= { label, usual: keys, modes: [] };
      found[action].modes.push(mode);
    }
  }
  for (const [action, { label, usual: keys, two = false }] of Object.entries(COMMON)) {
    const modes = sheetKinds().filter(([, kind]) => !two || kind.layout === "two").map(([mode]) => mode);
    found[action] = { label, usual: keys, modes, always: !two };
  }
  return found;
}

const SHOWN = { Space: "Space", Backspace: "Bksp", Enter: "↵", Escape: "Esc", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };

/** The name of the key that was pressed; null for modifier keys and shortcuts of the browser. */
export function nameOf(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return null;
  if (["Shift", "CapsLock", "Tab", "Dead", "Process", "Unidentified"].includes(event.key)) return null;
  if (event.key === " ") return "Space";
  return event.key.length === 1 ? event.key.toLowerCase() : event.key;
}

export function shown(key) {
  return SHOWN[key] ?? key.toUpperCase();
}

export class Keys {
  constructor() {
    this.actions = allActions();
    this.bound = usual(this.actions);
    try {
      const kept = JSON.parse(localStorage.getItem(STORED) ?? "{}");
      for (const action of Object.keys(this.actions)) {
        const keys = kept[action];
        if (Array.isArray(keys) && keys.every((key) => typeof key === "string")) this.bound[action] = keys;
      }
    } catch {
      // A browser that forbids storage, or something else's value: the usual keys hold.
    }
  }

  /** What a key means in a mode, null while no sheet is shown: the name of an action, or null. */
  action(key, mode) {
    const holds = ({ modes, always }) => (mode === null ? always : modes.includes(mode));
    const found = Object.entries(this.bound).find(([action, keys]) => holds(this.actions[action]) && keys.includes(key));
    return found ? found[0] : null;
  }

  of(action) {
    return this.bound[action];
  }

  /** Give an action one key. Whoever else had it in a common mode loses it; the names of those are returned. */
  bind(action, key) {
    const losers = [];
    for (const [other, keys] of Object.entries(this.bound)) {
      const meet = this.actions[other].modes.some((mode) => this.actions[action].modes.includes(mode));
      if (other !== action && meet && keys.includes(key)) {
        this.bound[other] = keys.filter((k) => k !== key);
        losers.push(this.actions[other].label);
      }
    }
    this.bound[action] = [key];
    this.keep();
    return losers;
  }

  reset() {
    this.bound = usual(this.actions);
    this.keep();
  }

  keep() {
    try {
      localStorage.setItem(STORED, JSON.stringify(this.bound));
    } catch {
      // The keys hold until the page is closed.
    }
  }

  /** Keys that name the candidates of a page: digits, then letters, without those that mean something there. */
  labels(count, mode) {
    const free = [..."1234567890qwertyiopagjklzcvbnmsdux"].filter((key) => this.action(key, mode) === null);
    return free.slice(0, count);
  }
}

function usual(actions) {
  return Object.fromEntries(Object.entries(actions).map(([action, { usual: keys }]) => [action, [...keys]]));
}
