// Elements by name. Text goes in as text, never as markup: names of files are what somebody else wrote.

export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined) continue;
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key.includes("-") || ["role", "for", "scope", "tabindex"].includes(key)) made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** A file's name of which the end is seen where there is no room for all of it. */
export function nameTag(name) {
  return element("span", { class: "name", title: name }, element("bdi", {}, name));
}

/** With a capital. */
export const titled = (word) => word.charAt(0).toUpperCase() + word.slice(1);

export function find(id) {
  return document.getElementById(id);
}

/** The reader's choice of colours, kept in this browser. */
export function useTheme(choice = null) {
  try {
    if (choice) localStorage.setItem("cccount-theme", choice);
    choice ??= localStorage.getItem("cccount-theme");
  } catch {
    // The system's colours hold.
  }
  const known = ["light", "dark"].includes(choice) ? choice : "auto";
  document.documentElement.dataset.theme = known;
  return known;
}

export function dateOf(text) {
  if (!text) return null;
  return new Date(text).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });
}

/** How far two moments are apart, in the two largest units. */
export function span(seconds) {
  const whole = Math.round(Math.abs(seconds));
  const units = [["year", 31_557_600], ["day", 86_400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = units.findIndex(([, size]) => whole >= size);
  if (first < 0) return "0 s";
  let rest = whole;
  const parts = [];
  for (const [unit, size] of units.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count) parts.push(`${count} ${unit}${["year", "day"].includes(unit) && count > 1 ? "s" : ""}`);
  }
  return parts.join(" ");
}
