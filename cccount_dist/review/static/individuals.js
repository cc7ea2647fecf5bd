// Individuals: a gallery, one of them with all its pictures, and corrections by hand. Every correction can be taken back.

import { dateOf, element, find, nameTag, titled, useTheme } from "./elements.js";
import { call, offerCampaigns } from "./serverpages.js";

const STEP = 120; // cards that are shown at once
const TOAST = 12_000; // milliseconds in which an undo is offered
let campaign = null;
let everybody = [];
let told = null; // what the server said of the gallery
let shown = STEP;
let marked = new Set();
let forgetting = null;
let [one, many] = ["individual", "individuals"];

const address = (rest = "") => `/api/${encodeURIComponent(campaign)}/individuals${rest}`;
const plural = (count, word) => `${count.toLocaleString("en")} ${count === 1 ? word : `${word}s`}`;
const titleOf = (about) => about.name ?? `${titled(one)} ${about.individual}`;
const day = (text) => (text ? new Date(text).toLocaleDateString(undefined, { dateStyle: "medium", timeZone: "UTC" }) : null);

async function start() {
  useTheme();
  const names = (await call("/api/individuals")).campaigns;
  if (!names.length) {
    find("headline").textContent = "Nobody yet";
    find("below").textContent = "Individuals are here as soon as a campaign has groups: cccount cluster, or cccount count.";
    return;
  }
  campaign = offerCampaigns(names, (name) => {
    campaign = name;
    location.hash = "";
    void refresh();
  });
  find("tools").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["text", "sort", "filter"])
    find(id).addEventListener("input", () => {
      shown = STEP;
      drawCards();
    });
  find("more").addEventListener("click", () => {
    shown += STEP;
    drawCards();
  });
  addEventListener("hashchange", () => void route());
  await refresh();
}

/** Read everybody again, and draw what the address says. */
async function refresh() {
  told = await call(address());
  everybody = told.individuals;
  [one, many] = told.noun ?? ["individual", "individuals"];
  await route();
}

async function route() {
  const number = Number.parseInt(location.hash.slice(1), 10);
  marked = new Set();
  if (Number.isInteger(number)) await drawPortrait(number);
  else drawGallery();
}

// -- the gallery ------------------------------------------------------------------------------------------------------

function drawGallery() {
  find("portrait").hidden = true;
  find("gallery").hidden = false;
  find("tools").hidden = false;
  document.title = `${titled(many)} · ${campaign} · cccount`;
  const count = everybody.length;
  const word = count === 1 ? one : many;
  const [least, apart] = told.sides_apart ? ofSides() : [count, null];
  const number = least < count ? `${least.toLocaleString("en")} to ${count.toLocaleString("en")}` : count.toLocaleString("en");
  find("headline").textContent = told.complete ? `${number} ${word}` : `The ${number} ${word} that were seen`;
  const left = least < count ? [apart] : [];
  left.push(`${plural(everybody.reduce((sum, each) => sum + each.photos, 0), "picture")}`);
  if (told.ungrouped) left.push(`${told.ungrouped.toLocaleString("en")} ${told.complete ? "in no group" : "not drawn by the count"}`);
  if (told.no_animals) left.push(`${told.no_animals.toLocaleString("en")} without an animal`);
  find("below").textContent = left.join(" · ");
  drawCards();
}

/** The fewest that there can be, for left and right of one may be two here; and the sides in words. */
function ofSides() {
  const counts = new Map();
  for (const about of everybody) for (const side of about.sides.length ? about.sides : ["no side"]) counts.set(side, (counts.get(side) ?? 0) + 1);
  const words = [...counts].sort().map(([side, count]) => `${side} ${count.toLocaleString("en")}`);
  return [Math.max(0, ...counts.values()), `${words.join(", ")}; one whose two sides nobody has joined is here twice`];
}

const SURE = ["disputed", "by looks", "partly checked", "one picture", "checked", "confirmed"];
const sureOf = (about) => (about.against ? "disputed" : about.sure);
const ORDERS = {
  name: (a, b) => (b.name !== null) - (a.name !== null) || (a.name ?? "").localeCompare(b.name ?? "") || a.individual - b.individual,
  last: (a, b) => (b.last_seen ?? "").localeCompare(a.last_seen ?? "") || a.individual - b.individual,
  photos: (a, b) => b.photos - a.photos || a.individual - b.individual,
  unsure: (a, b) => SURE.indexOf(sureOf(a)) - SURE.indexOf(sureOf(b)) || b.photos - a.photos,
  number: (a, b) => a.individual - b.individual,
};
const FILTERS = {
  "": () => true,
  named: (about) => about.name !== null,
  unnamed: (about) => about.name === null,
  unchecked: (about) => about.sure !== "confirmed" && about.photos > 1,
  against: (about) => about.against > 0,
  once: (about) => about.photos === 1,
};

function matching(text, among = everybody) {
  const words = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const said = (about) => [about.name ?? "", about.note ?? "", one, ...about.places].join(" ").toLowerCase();
  const fits = (about, word) => said(about).includes(word) || (/^\d+$/.test(word) ? Number(word) === about.individual : about.key_photo.toLowerCase().includes(word));
  return among.filter((about) => words.every((word) => fits(about, word)));
}

function drawCards() {
  const found = matching(find("text").value).filter(FILTERS[find("filter").value]).sort(ORDERS[find("sort").value]);
  find("cards").replaceChildren(...found.slice(0, shown).map(card));
  find("more").hidden = found.length <= shown;
  find("found").textContent = found.length === everybody.length ? "" : `${found.length.toLocaleString("en")} of ${everybody.length.toLocaleString("en")} shown`;
}

function shot(item, picture, name, side = 256) {
  const image = picture
    ? element("img", { src: `/images/${item}?side=${side}&of=${encodeURIComponent(picture)}`, alt: name, loading: "lazy" })
    : element("span", { class: "none" }, "no picture");
  return element("span", { class: "shot", style: "display: block" }, image);
}

function badge(about) {
  const sure = sureOf(about);
  const words = { "partly checked": `${about.checked} of ${about.photos} checked`, disputed: "answers disagree" };
  const by = about.checked_by.length ? element("bdi", {}, ` by ${some(about.checked_by)}`) : null;
  return element("span", { class: "badge", "data-sure": sure }, element("span", {}, words[sure] ?? sure, by));
}

function met(about) {
  return about.first_seen ? `${plural(about.photos, "picture")}, ${plural(about.encounters, "encounter")}` : plural(about.photos, "picture");
}

function when(about) {
  const [first, last] = [day(about.first_seen), day(about.last_seen)];
  return first === null ? null : first === last ? first : `${first} – ${last}`;
}

function card(about) {
  const seen = when(about);
  return element(
    "li",
    {},
    element(
      "a",
      { class: "card", href: `#${about.individual}` },
      shot(about.key_item, about.picture, ""),
      element(
        "div",
        { class: "told" },
        element("strong", {}, element("bdi", {}, titleOf(about))),
        element("span", {}, met(about)),
        seen ? element("span", {}, seen) : null,
        about.places.length ? element("span", {}, element("bdi", {}, some(about.places))) : null,
        about.sides.length ? element("span", {}, `${about.sides.length === 1 ? "Side" : "Sides"}: `, element("bdi", {}, some(about.sides))) : null,
        badge(about),
      ),
    ),
  );
}

const SIDES = { left: "Left", right: "Right", other: "Other", unknown: "Not known" };

const some = (places) => (places.length > 3 ? `${places.slice(0, 3).join(", ")} and ${places.length - 3} more` : places.join(", "));

// -- one individual ---------------------------------------------------------------------------------------------------

let wanted = 0;

async function drawPortrait(number) {
  const turn = ++wanted;
  // Nobody corrects the one who was here before while the next one is under way.
  if (present?.individual !== number) find("portrait").hidden = true;
  let portrait;
  try {
    portrait = await call(address(`/${number}`));
  } catch {
    location.hash = "";
    return;
  }
  if (turn !== wanted) return;
  const { about, encounters } = portrait;
  document.title = `${titleOf(about)} · ${campaign} · cccount`;
  find("gallery").hidden = true;
  const section = find("portrait");
  section.hidden = false;
  section.replaceChildren(
    element("a", { class: "back", href: "#" }, `← All ${many}`),
    element("h1", { id: "title", tabindex: "-1" }, element("bdi", {}, titleOf(about))),
    element("p", { class: "below" }, [about.name ? `${titled(one)} ${about.individual}` : null, about.known ? "in the catalogue" : null].filter(Boolean).join(" · ")),
    facts(about),
    naming(about),
    element("div", { class: "encounters" }, ...encounters.map((pictures, place) => encounter(pictures, place))),
    actions(about),
  );
  marks(about);
  scrollTo(0, 0);
}

function facts(about) {
  const checked = about.checked_by.length ? `by ${about.checked_by.join(", ")}` : "by nobody yet";
  const rows = [
    ["Pictures", about.photos.toLocaleString("en")],
    about.first_seen ? ["Encounters", about.encounters.toLocaleString("en")] : null,
    about.first_seen ? ["First seen", day(about.first_seen)] : null,
    about.last_seen ? ["Last seen", day(about.last_seen)] : null,
    about.places.length ? ["Places", about.places.join(", ")] : null,
    about.sides.length ? ["Sides", about.sides.join(", ")] : null,
    ["How sure", about.against ? `${plural(about.against, "answer")} against it` : about.sure],
    ["Checked", checked],
  ];
  return element("dl", { class: "facts" }, ...rows.filter(Boolean).map(([term, value]) => element("div", {}, element("dt", {}, term), element("dd", {}, element("bdi", {}, value)))));
}

function naming(about) {
  const name = element("input", { type: "text", value: about.name ?? "", maxLength: 80, autocomplete: "off" });
  const note = element("input", { type: "text", value: about.note ?? "", maxLength: 1000, autocomplete: "off" });
  const save = async (event) => {
    event.preventDefault();
    if (name.value.trim() !== (about.name ?? "")) await correct({ action: "name", individual: about.individual, text: name.value }, "The name is kept.");
    if (note.value.trim() !== (about.note ?? "")) await correct({ action: "note", individual: about.individual, text: note.value }, "The note is kept.");
  };
  return element(
    "form",
    { class: "naming", onsubmit: save },
    element("label", {}, "Name", name),
    element("label", {}, "Note", note),
    element("button", { type: "submit" }, "Save"),
  );
}

const sideOf = new Map(); // of the pictures that were shown, as the server said it

function encounter(pictures, place) {
  const [{ taken_at: at, place: where }] = pictures;
  for (const picture of pictures) sideOf.set(picture.item, picture.side ?? "unknown");
  const title = [dateOf(at) ?? "Time not known", where].filter(Boolean).join(" · ");
  return element(
    "section",
    { class: "encounter", "aria-label": `Encounter ${place + 1}` },
    element("h2", {}, element("bdi", {}, title)),
    element("ul", { class: "pictures" }, ...pictures.map((picture) => element("li", {}, pick(picture)))),
  );
}

function pick(picture) {
  const button = element(
    "button",
    { type: "button", class: "pick", "aria-pressed": "false", "data-item": picture.item, "aria-label": `Mark ${picture.name}` },
    shot(picture.item, picture.picture, ""),
    element("span", { class: "told" }, nameTag(picture.name), picture.side ? element("span", {}, `${picture.side} side · `) : null, picture.checked ? element("span", { class: "seen" }, "checked") : element("span", {}, "by looks")),
  );
  button.addEventListener("click", () => {
    if (!marked.delete(picture.item)) marked.add(picture.item);
    const on = marked.has(picture.item);
    button.setAttribute("aria-pressed", String(on));
    button.querySelector(".mark")?.remove();
    if (on) button.querySelector(".shot").append(element("span", { class: "mark" }, "marked"));
    marks();
  });
  return button;
}

let buttons = {};

function actions(about) {
  const number = about.individual;
  const make = (text, work, kind = "") => element("button", { type: "button", class: kind, onclick: work }, text);
  const pictures = () => [...marked];
  buttons = {
    count: element("span", { class: "count", role: "status" }),
    confirm: make("Confirm", () => correct({ action: "confirm", individual: number }, `You say: all ${about.photos} pictures show ${titleOf(about)}.`), "primary"),
    merge: make("Merge with …", async () => {
      const other = await choose(`Who is the same as ${titleOf(about)}?`, about, "You say that all pictures of both show one and the same.");
      if (other) await correct({ action: "merge", individual: number, others: [other.individual] }, `You say: ${titleOf(other)} is ${titleOf(about)}.`);
    }),
    split: make("Another one", () => correct({ action: "split", individual: number, pictures: pictures() }, `You say: ${plural(marked.size, "picture")} of ${titleOf(about)} show another one.`)),
    move: make("Move to …", async () => {
      const other = await choose("Whom does the marked picture show?", about, "You say that it shows the same one as all pictures of the one that you choose.");
      if (other) await correct({ action: "move", individual: other.individual, pictures: pictures() }, `You say: it shows ${titleOf(other)}.`);
    }),
    side: make("Side …", async () => {
      const chosen = pictures();
      const side = await chooseSide(chosen.length);
      if (side) await setSides(number, new Map([[side, chosen]]), `You say: ${plural(chosen.length, "picture")} show${chosen.length === 1 ? "s" : ""} ${side === "unknown" ? "a side that is not known" : `the ${side} side`}.`);
    }),
    none: make("Not an animal", () => correct({ action: "no-animal", individual: number, pictures: pictures() }, "You say: it shows no animal.")),
  };
  return element("div", { class: "actions", role: "group", "aria-label": "Correct by hand" }, ...Object.values(buttons));
}

let present = null;

/** What can be done follows from what is marked. */
function marks(about = present) {
  present = about;
  const count = marked.size;
  buttons.count.textContent = count ? `${plural(count, "picture")} marked` : "Mark pictures to correct them";
  buttons.confirm.hidden = count > 0 || about.photos < 2 || about.sure === "confirmed";
  buttons.merge.hidden = count > 0 || everybody.length < 2;
  buttons.split.hidden = count === 0 || count === about.photos;
  buttons.move.hidden = count !== 1 || everybody.length < 2;
  buttons.side.hidden = count === 0;
  buttons.none.hidden = count !== 1;
}

/** Have a side chosen; null if none was. */
function chooseSide(count) {
  const dialog = find("choose");
  return new Promise((chosen) => {
    const end = (side) => {
      dialog.close();
      chosen(side);
    };
    dialog.replaceChildren(
      element("h2", { id: "choose-title" }, `Which side ${count === 1 ? "does the marked picture" : `do the ${count.toLocaleString("en")} marked pictures`} show?`),
      element("p", { class: "below" }, "Pictures of different sides are not compared from the next step of a campaign on."),
      element("div", { class: "row" }, ...Object.entries(SIDES).map(([side, word]) => element("button", { type: "button", onclick: () => end(side) }, word))),
      element("div", { class: "row" }, element("button", { type: "button", onclick: () => end(null) }, "Cancel")),
    );
    dialog.oncancel = () => chosen(null);
    dialog.showModal();
  });
}

/** Have somebody chosen; null if nobody was. */
function choose(title, without, below) {
  const dialog = find("choose");
  const others = everybody.filter((about) => about.individual !== without.individual);
  return new Promise((chosen) => {
    const end = (about) => {
      dialog.close();
      chosen(about);
    };
    const list = element("ul", {});
    const text = element("input", { type: "search", autocomplete: "off", "aria-label": "Search by name, number or place" });
    const draw = () =>
      list.replaceChildren(
        ...matching(text.value, others)
          .sort(ORDERS.name)
          .slice(0, 50)
          .map((about) => element("li", {}, element("button", { type: "button", onclick: () => end(about) }, shot(about.key_item, about.picture, ""), element("span", {}, element("bdi", {}, titleOf(about)), ` · ${met(about)}`)))),
      );
    text.addEventListener("input", draw);
    draw();
    dialog.replaceChildren(
      element("h2", { id: "choose-title" }, title),
      element("p", { class: "below" }, below),
      text,
      list,
      element("div", { class: "row" }, element("button", { type: "button", onclick: () => end(null) }, "Cancel")),
    );
    dialog.oncancel = () => chosen(null);
    dialog.showModal();
  });
}

// -- corrections ------------------------------------------------------------------------------------------------------

const newId = () => crypto.randomUUID?.() ?? [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** Say which side pictures show, by side; to take it back is to say what was said before. */
async function setSides(individual, bySide, said, last = false) {
  const before = new Map();
  try {
    for (const [side, items] of bySide) {
      for (const item of items) before.set(sideOf.get(item), [...(before.get(sideOf.get(item)) ?? []), item]);
      await call(address(), { id: newId(), action: "side", individual, pictures: items, text: side });
    }
  } catch (error) {
    say(error.message);
    return;
  }
  say(said, last ? null : () => setSides(individual, before, "It is taken back.", true));
  await refresh();
}

async function correct(body, said) {
  const id = newId();
  try {
    await call(address(), { id, ...body });
  } catch (error) {
    say(error.message);
    return;
  }
  say(said, body.action === "undo" ? null : () => correct({ action: "undo", individual: body.individual, undoes: id }, "It is taken back."));
  await refresh();
}

function say(text, undo = null) {
  const toast = find("toast");
  clearTimeout(forgetting);
  const hide = () => {
    toast.hidden = true;
  };
  toast.replaceChildren(
    element("span", {}, text),
    undo ? element("button", { type: "button", onclick: undo }, "Undo") : element("button", { type: "button", onclick: hide }, "Close"),
  );
  toast.hidden = false;
  forgetting = setTimeout(hide, TOAST);
}

start().catch((error) => {
  find("headline").textContent = `Nobody can be shown: ${error.message}`;
});
