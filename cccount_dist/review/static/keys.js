// Which key does what. The usual keys can be changed; the change is kept in this browser.

const STORED = "cccount-keys";

export const ACTIONS = {
  same: { label: "Same", usual: ["s", "1"], modes: ["pair"] },
  different: { label: "Different", usual: ["d", "2"], modes: ["pair"] },
  unsure: { label: "Unsure", usual: ["u", "3", "Space"], modes: ["pair", "rating"] },
  submit: { label: "Send the page or the rating", usual: ["Enter"], modes: ["grid", "rating"] },
  undo: { label: "Undo", usual: ["Backspace"], modes: ["pair", "grid", "rating"] },
  flag: { label: "Bad image", usual: ["f"], modes: ["pair", "grid", "rating"] },
  badLeft: { label: "Bad image, left", usual: ["q"], modes: ["pair", "rating"] },
  badRight: { label: "Bad image, right", usual: ["w"], modes: ["pair", "rating"] },
  help: { label: "Help", usual: ["h", "?"], modes: ["pair", "grid", "rating"] },
  swap: { label: "Swap sides (flicker)", usual: ["x"], modes: ["pair", "rating"] },
  zoomIn: { label: "Zoom in", usual: ["+", "="], modes: ["pair", "grid", "rating"] },
  zoomOut: { label: "Zoom out", usual: ["-"], modes: ["pair", "grid", "rating"] },
  reset: { label: "Whole picture", usual: ["Escape"], modes: ["pair", "grid", "rating"] },
  left: { label: "Pan left", usual: ["ArrowLeft"], modes: ["pair", "grid", "rating"] },
  right: { label: "Pan right", usual: ["ArrowRight"], modes: ["pair", "grid", "rating"] },
  up: { label: "Pan up", usual: ["ArrowUp"], modes: ["pair", "grid", "rating"] },
  down: { label: "Pan down", usual: ["ArrowDown"], modes: ["pair", "grid", "rating"] },
};

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
    this.bound = usual();
    try {
      const kept = JSON.parse(localStorage.getItem(STORED) ?? "{}");
      for (const action of Object.keys(ACTIONS)) {
        const keys = kept[action];
        if (Array.isArray(keys) && keys.every((key) => typeof key === "string")) this.bound[action] = keys;
      }
    } catch {
      // A browser that forbids storage, or something else's value: the usual keys hold.
    }
  }

  /** What a key means in a mode: the name of an action, or null. */
  action(key, mode) {
    const found = Object.entries(this.bound).find(([action, keys]) => ACTIONS[action].modes.includes(mode) && keys.includes(key));
    return found ? found[0] : null;
  }

  of(action) {
    return this.bound[action];
  }

  /** Give an action one key. Whoever else had it in a common mode loses it; the names of those are returned. */
  bind(action, key) {
    const losers = [];
    for (const [other, keys] of Object.entries(this.bound)) {
      const meet = ACTIONS[other].modes.some((mode) => ACTIONS[action].modes.includes(mode));
      if (other !== action && meet && keys.includes(key)) {
        this.bound[other] = keys.filter((k) => k !== key);
        losers.push(ACTIONS[other].label);
      }
    }
    this.bound[action] = [key];
    this.keep();
    return losers;
  }

  reset() {
    this.bound = usual();
    this.keep();
  }

  keep() {
    try {
      localStorage.setItem(STORED, JSON.stringify(this.bound));
    } catch {
      // The keys hold until the page is closed.
    }
  }

  /** Keys that name the candidates of a grid: digits, then letters, without those that mean something there. */
  labels(count) {
    const free = [..."1234567890qwertyiopagjklzcvbnmsdux"].filter((key) => this.action(key, "grid") === null);
    return free.slice(0, count);
  }
}

function usual() {
  return Object.fromEntries(Object.entries(ACTIONS).map(([action, { usual: keys }]) => [action, [...keys]]));
}
