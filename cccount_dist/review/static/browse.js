// The contact sheet of a subclustering campaign: everything at a glance, and what an item or a picture is most like.

import { element, find, nameTag, titled, useTheme } from "./elements.js";
import { call, offerCampaigns } from "./serverpages.js";

const SIDE = 384; // pixels of a picture that is searched for: encoders look at less
const QUALITY = 0.85;
let campaign = null;
let sheets = []; // { section, ids }
let [one, many] = ["subcluster", "subclusters"]; // what the user calls them

const address = (what) => `/api/${encodeURIComponent(campaign)}/${what}`;
const say = (text) => {
  find("said").textContent = text;
};

async function start() {
  useTheme();
  const names = (await call("/api/browse")).campaigns;
  if (!names.length) {
    find("headline").textContent = "No subclusters yet";
    return;
  }
  campaign = offerCampaigns(names, (name) => {
    campaign = name;
    void draw();
  });
  find("text").addEventListener("input", filter);
  find("search").addEventListener("submit", (event) => {
    event.preventDefault();
    const id = find("text").value.trim();
    if (id) void search(() => call(`${address("nearest")}?item=${encodeURIComponent(id)}`), id);
  });
  find("file").addEventListener("change", () => {
    const [file] = find("file").files;
    if (file) void search(async () => call(address("nearest"), { image: await shrunk(file) }), file.name);
  });
  await draw();
}

async function draw() {
  const { subclusters, noun } = await call(address("subclusters"));
  document.title = `${campaign} · browse · cccount`;
  [one, many] = noun ?? ["subcluster", "subclusters"];
  find("headline").textContent = `${subclusters.length} ${subclusters.length === 1 ? one : many}`;
  find("legend").hidden = !subclusters.some((members) => members.some(({ checked }) => checked));
  sheets = subclusters.map((members, number) => ({
    section: element(
      "section",
      { class: "sheet" },
      element("h2", {}, `${titled(one)} ${number + 1} · `, element("bdi", {}, members[0]?.name ?? "empty")),
      element("ul", {}, ...members.map(figure)),
    ),
    ids: members.map((member) => member.name.toLowerCase()),
  }));
  find("sheets").replaceChildren(...sheets.map((sheet) => sheet.section));
  filter();
}

function figure(member) {
  const shown = member.picture
    ? element("img", { src: `/images/${member.item}?side=256&of=${encodeURIComponent(member.picture)}`, alt: member.name, loading: "lazy" })
    : element("div", { class: "none" }, "no picture");
  const title = `${member.name}: ${member.checked ? "people's answers say that it belongs here" : "placed by its looks only"}`;
  const copy = member.copy_of ? element("p", { class: "copy" }, "exact copy of ", element("bdi", {}, member.copy_of)) : null;
  const name = element("figcaption", { title }, nameTag(member.name), copy);
  return element("li", {}, element("figure", { class: member.checked ? "checked" : "" }, shown, name));
}

function filter() {
  const text = find("text").value.trim().toLowerCase();
  let shown = 0;
  for (const { section, ids } of sheets) {
    section.hidden = text !== "" && !ids.some((id) => id.includes(text));
    section.classList.remove("found");
    if (!section.hidden) shown += 1;
  }
  say(text === "" ? "" : `${shown} of ${sheets.length} ${many} have this in an id`);
}

async function search(ask, what) {
  say("Searching …");
  try {
    const { matches } = await ask();
    sheets.forEach(({ section }) => {
      section.hidden = true;
      section.classList.remove("found");
    });
    for (const { subcluster } of matches) sheets[subcluster].section.hidden = false;
    find("sheets").replaceChildren(...matches.map((match) => sheets[match.subcluster].section), ...rest(matches));
    sheets[matches[0].subcluster].section.classList.add("found");
    say(`${what} is most like ${one} ${matches[0].subcluster + 1} (similarity ${matches[0].similarity.toFixed(3)} to ${matches[0].name})`);
  } catch (error) {
    say(error.message);
  }
}

const rest = (matches) => sheets.filter((_, k) => !matches.some((match) => match.subcluster === k)).map((sheet) => sheet.section);

/** The picture as base64, so small that a request may carry it. */
async function shrunk(file) {
  let picture;
  try {
    picture = await createImageBitmap(file);
  } catch {
    throw new Error(`${file.name} is not an image that this browser can read`);
  }
  const scale = Math.min(1, SIDE / Math.max(picture.width, picture.height));
  const canvas = element("canvas", { width: Math.max(1, picture.width * scale), height: Math.max(1, picture.height * scale) });
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/jpeg", QUALITY).split(",")[1];
}

start().catch((error) => {
  find("headline").textContent = `The subclusters cannot be shown: ${error.message}`;
});
