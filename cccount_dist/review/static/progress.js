// The progress page: what the answers say so far, what is still needed, and how far people can be relied on.

import { element, find, titled, useTheme } from "./elements.js";
import { newId } from "./outbox.js";
import { call, offerCampaigns } from "./serverpages.js";
import { Server, SignedOut } from "./transport.js";

const EVERY = 10_000; // milliseconds
const MOST_DISPUTES = 24;
const server = new Server();
let session = null;
let campaign = null;
let timer = 0;

const number = (value, digits = 0) =>
  value === null || value === undefined ? "–" : value.toLocaleString(undefined, { maximumFractionDigits: digits });
const percent = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`);
const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;
const time = (minutes) => {
  const whole = Math.round(minutes);
  return minutes < 90 ? `${number(minutes)} min` : `${number(Math.floor(whole / 60))} h ${String(whole % 60).padStart(2, "0")}`;
};
// Counts are whole numbers; an interval grows outwards, so that it never claims more than it knows.
const whole = (value) => Math.max(1, Math.floor(value + 0.5));
const floor = (value) => Math.max(1, Math.floor(value + 1e-9));
const ceil = (value) => Math.ceil(value - 1e-9);

async function start() {
  useTheme();
  try {
    session = await server.session();
  } catch (error) {
    find("below").textContent = `The server cannot be reached: ${error.message}. Trying again …`;
    setTimeout(() => void start(), 3000);
    return;
  }
  if (session.annotator === null) return location.replace("/");
  find("who").textContent = session.annotator;
  const names = session.campaigns.map((one) => one.name);
  if (!names.length) {
    find("headline").textContent = "No campaign yet";
    return;
  }
  campaign = offerCampaigns(names, (name) => {
    campaign = name;
    decided = null;
    void refresh();
  });
  await refresh();
}

async function refresh() {
  clearTimeout(timer);
  try {
    draw(await server.standing(campaign));
    find("fresh").textContent = `as of ${new Date().toLocaleTimeString()}`;
  } catch (error) {
    if (error instanceof SignedOut) return location.replace("/");
    find("fresh").textContent = `not refreshed: ${error.message}`;
  }
  timer = setTimeout(() => void refresh(), EVERY);
}

function draw(standing) {
  document.title = `${campaign} · progress · cccount`;
  find("to-review").href = `/?campaign=${encodeURIComponent(campaign)}`;
  find("to-individuals").href = `/individuals?campaign=${encodeURIComponent(campaign)}`;
  find("kicker").replaceChildren("campaign ", element("bdi", {}, standing.campaign), ` · ${standing.method} · ${stateOf(standing)}`);
  drawResult(standing);
  drawQuality(standing);
  drawCourse(standing);
  drawFigures(standing);
  drawPeople(standing);
  drawAgreement(standing);
  drawContradictions(standing);
}

function stateOf({ state, pending, spent, budget }) {
  if (state === "stopped") return spent >= budget ? "budget used up" : "not advanced just now";
  return { done: "done", waiting: `${plural(pending, "question")} open` }[state] ?? "under way";
}

/** The result in the words of its kind; a result with an estimate is drawn within its interval. */
function drawResult({ result, headline, epoch, noun: [one, many] }) {
  const range = find("range");
  range.hidden = true;
  if (!result || !("estimate" in result)) {
    find("headline").textContent = titled(headline);
    find("below").textContent = result ? "so far, from the answers that were taken in" : "It appears after the first answers are taken in.";
  } else if (result.estimate === null) {
    find("headline").textContent = "No estimate yet";
    find("below").textContent = `for certain between ${number(floor(result.low))} and ${plural(ceil(result.high), one, many)}`;
  } else {
    find("headline").textContent = `About ${plural(whole(result.estimate), one, many)}`;
    const [low, level] = [floor(result.low), percent(result.level)];
    const high = Math.max(low, ceil(result.high));
    find("below").textContent =
      low === high ? `the ${level} interval has no other number` : `${level} sure: between ${number(low)} and ${number(high)}`;
    range.hidden = false;
    range.replaceChildren(interval(result, many));
  }
  if (epoch) find("below").textContent += ` · ${epoch}`;
}

/** Numbers that are easy to read, from nothing to `top`: 0, 10, 20, … */
function ticks(top, most) {
  const rough = top / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough));
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, place) => place * step);
}

/** The estimate within its interval, on a scale that begins at nothing. */
function interval({ estimate, low, high }, many) {
  const top = ceil(high) * 1.15 || 1;
  const place = (value) => `${(100 * Math.max(0, value)) / top}%`;
  const svg = shape("svg", { role: "img", "aria-label": `About ${whole(estimate)} ${many}, between ${floor(low)} and ${ceil(high)}, on a scale from 0` });
  svg.append(
    shape("line", { class: "track", x1: "0%", x2: "100%", y1: 14, y2: 14 }),
    shape("line", { class: "span", x1: place(low), x2: place(high), y1: 14, y2: 14 }),
    shape("circle", { class: "point", cx: place(estimate), cy: 14, r: 8 }),
    ...ticks(top, 6).flatMap((value) => [
      shape("line", { class: "tick", x1: place(value), x2: place(value), y1: 24, y2: 30 }),
      text(number(value), { x: place(value), y: 44, "text-anchor": value === 0 ? "start" : "middle" }),
    ]),
  );
  return svg;
}

/** The result over the answers, with its interval. What does not fit is cut at the top, and says so. */
function drawCourse({ course, noun: [, many], result }) {
  if (course.length < 2) return fill("course", false);
  const narrow = innerWidth < 560;
  const size = { width: narrow ? 330 : 760, height: 260, left: 48, right: 16, top: 18, bottom: 34 };
  const last = course.at(-1);
  const ends = (point) => point.high ?? point.value;
  const most = Math.max(...course.map((point) => point.value), ...course.map(ends));
  const top = Math.max(2, Math.min(most, 3 * ends(last))) * 1.05;
  const right = Math.max(1, ...course.map((point) => point.answers));
  const x = (answers) => size.left + ((size.width - size.left - size.right) * answers) / right;
  const y = (value) => size.top + (size.height - size.top - size.bottom) * (1 - Math.min(value, top) / top);
  const svg = shape("svg", { viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "aria-label": describe(course, many) });
  for (const value of ticks(top, 5)) {
    svg.append(shape("line", { class: "line", x1: size.left, x2: size.width - size.right, y1: y(value), y2: y(value) }));
    svg.append(text(number(value), { x: size.left - 8, y: y(value) + 4, "text-anchor": "end" }));
  }
  for (const value of ticks(right, narrow ? 4 : 7)) svg.append(text(number(value), { x: x(value), y: size.height - 14, "text-anchor": "middle" }));
  svg.append(text("answers", { x: size.width - size.right, y: size.height - 1, "text-anchor": "end" }));
  const banded = course.filter((point) => point.low !== null && point.high !== null);
  if (banded.length > 1) {
    const upper = banded.map((point) => `${x(point.answers)},${y(point.high)}`);
    const lower = banded.map((point) => `${x(point.answers)},${y(point.low)}`).reverse();
    svg.append(shape("polygon", { class: "band", points: [...upper, ...lower].join(" ") }));
  }
  const cut = banded.filter((point) => point.high > top);
  for (const point of cut.filter((_, place) => place % Math.ceil(cut.length / 10) === 0)) {
    svg.append(text("▲", { x: x(point.answers), y: size.top - 3, "text-anchor": "middle" }));
  }
  svg.append(shape("polyline", { class: "curve", points: course.map((point) => `${x(point.answers)},${y(point.value)}`).join(" ") }));
  svg.append(shape("circle", { class: "point", cx: x(last.answers), cy: y(last.value), r: 5 }));
  const legend = banded.length > 1 ? `Line: the estimate. Shaded: its ${result?.level ? `${percent(result.level)} ` : ""}interval.${cut.length ? " ▲: the interval goes on above." : ""}` : `Line: ${many} so far.`;
  fill("course", true, element("h2", {}, "The result over the answers"), svg, element("p", {}, legend));
}

function describe(course, many) {
  const said = ({ answers, value, low, high }) => `${whole(value)}${low === null ? "" : ` (${floor(low)} to ${ceil(high)})`} after ${plural(answers, "answer")}`;
  return `Chart of ${many}: ${said(course[0])}, ${said(course.at(-1))}.`;
}

function shape(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function text(words, attributes) {
  const made = shape("text", attributes);
  made.textContent = words;
  return made;
}

/** Pairs and pages, where there are pages. */
function partsOf({ pairs, pages }) {
  return pages ? `: ${plural(pairs, "pair")} and ${plural(pages, "page")}` : "";
}

function drawFigures(s) {
  const { effort } = s;
  const pace = s.annotators.reduce((sum, one) => sum + (one.answers_per_hour ?? 0), 0);
  const more = s.expected === null ? null : s.expected - effort.pairs - effort.pages;
  const ahead = s.forecast_questions !== null && s.forecast_questions > s.spent;
  const width = s.target_width === null ? "" : ` of ${percent(s.target_width)}`;
  const rows = [
    [number(effort.pairs + effort.pages), `answers${partsOf(effort)}`],
    [more ? `about ${number(more)}` : null, "answers still to come, by budget and forecast"],
    [`${number(Math.floor(s.spent))} of ${number(s.budget)}`, `of the budget used${effort.pages ? "; a page counts as the pairs that take as long" : ""}`],
    [ahead ? number(s.forecast_questions) : null, `answers in all until the wanted width${width}, by the forecast`],
    [ahead && s.forecast_hours ? time(s.forecast_hours * 60) : null, "of people's time to go, by the forecast"],
    [number(s.pending), s.pending === 1 ? "question open" : "questions open"],
    [number(effort.free), "answers for free: they follow from others"],
    [effort.carried ? number(effort.carried) : null, "answers from other campaigns"],
    ...costRows(effort),
    [pace ? number(pace) : null, "answers an hour, all together"],
    [number(s.contradictions.length), "open contradictions"],
  ].filter(([large]) => large !== null); // what is not known yet is left out
  find("figures").replaceChildren(...rows.map(([large, small]) => element("li", {}, element("b", {}, large), element("span", {}, small))));
}

/** What answers take people: as learnt from so many of them, or as assumed until then. */
function costRows({ pairs, pages, costs }) {
  const from = (count) => (count ? `from ${plural(count, "answer")}` : "assumed until it is measured");
  const parts = `${number(costs.page, 1)} s, and ${number(costs.cell, 2)} s a cell and ${number(costs.click, 2)} s a click`;
  const minutes = (costs.pair * pairs + costs.whole_page * pages) / 60;
  const spent = time(minutes);
  return [
    [pairs + pages ? spent : null, "of people's time so far"],
    [costs.pairs || !pages ? `${number(costs.pair, 1)} s` : null, `for a pair, ${from(costs.pairs)}`],
    [costs.pages || pages ? `${number(costs.whole_page, 1)} s` : null, `for a page, ${from(costs.pages)}: ${parts}`],
  ];
}

/** How good the groups are: nothing before it can be honest. */
function drawQuality({ quality, random_pages: pages }) {
  const rows = Object.entries({
    "items in the right group": ["right", "low", "high"],
    "of pairs that are together, those that belong together (precision)": ["precision", "precision_low", "precision_high"],
    "of pairs that belong together, those that are together (recall)": ["recall", "recall_low", "recall_high"],
  })
    .filter(([, [name]]) => quality !== null && quality[name] !== null)
    .map(([words, names]) => {
      const [value, low, high] = names.map((name) => share(quality[name]));
      return element("tr", {}, element("th", { scope: "row" }, words), labelled("about", value), labelled("95 % interval", `${low} to ${high}`));
    });
  const address = (item) => `/images/${item}?side=256&of=${encodeURIComponent(session.workspace)}`;
  const unsure = (quality?.least_sure ?? []).slice(0, MOST_DISPUTES);
  const shown = unsure.map((item) => element("li", {}, element("img", { src: address(item), alt: `item ${item}`, loading: "lazy" })));
  const said = [`Measured on ${plural(pages ?? 0, "random page")}, which are asked now and then for this alone.`];
  if (quality === null) said.push("Too few of them are answered for an honest interval.");
  else if (quality.hour !== null) said.push(`One more hour of a person should bring about ${share(quality.hour)} of the items to their group.`);
  if (quality?.doubtful.length) said.push(`Groups to look at first: ${quality.doubtful.slice(0, MOST_DISPUTES).map((one) => number(one)).join(", ")}.`);
  fill(
    "quality",
    pages !== null,
    element("h2", {}, "How good the groups are"),
    element("p", {}, said.join(" ")),
    rows.length ? table("How good the groups are", ["what", "about", "95 % interval"], rows) : null,
    shown.length ? element("h3", {}, "The least sure items") : null,
    shown.length ? element("ul", { class: "unsure-items" }, ...shown) : null,
  );
}

function share(value) {
  return `${(100 * value).toFixed(1)} %`;
}

function table(caption, head, rows) {
  const top = element("thead", {}, element("tr", {}, ...head.map((cell) => element("th", { scope: "col" }, cell))));
  const inner = element("table", {}, element("caption", { class: "hidden" }, caption), top, element("tbody", {}, ...rows));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, inner);
}

function fill(id, show, ...content) {
  find(id).hidden = !show;
  // A refresh must not take the focus from somebody who reads along.
  if (show && !find(id).contains(document.activeElement)) find(id).replaceChildren(...content.filter(Boolean));
}

function drawPeople({ annotators, given, further, effort }) {
  const head = ["annotator", "answers", "an hour", "checks", "said different, is same", "said same, is different", "changed their mind"];
  const cell = (place, ...content) => {
    const made = element("td", {}, ...content);
    made.dataset.label = head[place]; // on a phone a row is a card, and every number has its name beside it
    return made;
  };
  const rate = (place, value, ends, known, what) =>
    value === null
      ? cell(place, element("span", { class: "ends" }, known ? `too few ${what} (${known})` : `no ${what} yet`))
      : cell(place, percent(value), ends ? element("span", { class: "ends" }, `${percent(ends[0])} to ${percent(ends[1])}`) : null);
  const rows = annotators.map((one) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, element("bdi", {}, one.name), one.suspect ? element("div", { class: "suspect" }, "▲ errs more than the others") : null),
      cell(1, number(one.answers)),
      one.answers_per_hour === null ? cell(2, element("span", { class: "ends" }, "too early to say")) : cell(2, number(one.answers_per_hour)),
      cell(3, number(one.checks)),
      rate(4, one.miss, one.miss_interval, one.miss_checks, "checks"),
      rate(5, one.false_same, one.false_same_interval, one.false_same_checks, "checks"),
      rate(6, one.changed_mind, null, one.repeats, "repeats"),
    ),
  );
  const answers = effort.pairs + effort.pages;
  const sum = further ? `${plural(given, "answer")} in all: ${number(answers)} that settle a question, and ${plural(further, "further vote")} on one. ` : "";
  fill(
    "people",
    rows.length > 0,
    element("h2", {}, "People"),
    element("p", {}, `${sum}A check is an answer that can be compared: with a known pair, or with other people's votes. A rate is shown once it rests on 20 checks, with its 95 % interval.`),
    table("People", head, rows),
  );
}

function drawAgreement({ agreement: { alpha, pairs } }) {
  const rows = pairs.map(([a, b, kappa, common]) =>
    element("tr", {}, element("th", { scope: "row" }, element("bdi", {}, a), " and ", element("bdi", {}, b)), labelled("Cohen's kappa", kappa === null ? "–" : kappa.toFixed(2)), labelled("questions of both", number(common))),
  );
  fill(
    "agreement",
    rows.length > 0,
    element("h2", {}, "Agreement"),
    element("p", {}, `Krippendorff's alpha of all: ${alpha === null ? "not known yet" : alpha.toFixed(2)}. 1 is full agreement, 0 is chance.`),
    table("Agreement", ["two people", "Cohen's kappa", "questions of both"], rows),
  );
}

function labelled(label, words) {
  const made = element("td", {}, words);
  made.dataset.label = label;
  return made;
}

// -- contradictions: opened here, and decided by a lead ------------------------------------------------------------------

const opened = new Set(); // pairs that stay open when the page is drawn again
let decided = null; // the last decision, and how it is taken back
let drawn = "";

function drawContradictions({ contradictions }) {
  // Redrawn only when something changed: whoever is reading, or about to press, is not interrupted.
  const now = JSON.stringify([campaign, contradictions, decided]);
  if (now === drawn || find("contradictions").contains(document.activeElement)) return;
  drawn = now;
  const more = contradictions.length > MOST_DISPUTES ? ` The first ${MOST_DISPUTES} are shown.` : "";
  const whoDecides = session.lead ? "Open one and decide it: what you say stands above the answers." : "A lead can decide them.";
  fill(
    "contradictions",
    contradictions.length > 0 || decided !== null,
    element("h2", {}, "Open contradictions"),
    element("p", {}, contradictions.length ? `People, or what follows from their answers, differ on these; they are asked again. ${whoDecides}${more}` : "None is left."),
    element("p", { role: "status", class: "decided" }, ...(decided ? [decided.text, " ", decided.undoes ? element("button", { type: "button", onclick: takeBack }, "Undo") : null].filter(Boolean) : [])),
    element("ul", { class: "disputes" }, ...contradictions.slice(0, MOST_DISPUTES).map(dispute)),
  );
}

function dispute({ u, v, same, different, said, against }) {
  const key = `${campaign} ${u} ${v}`;
  const address = (item) => `/images/${item}?side=512&of=${encodeURIComponent(session.workspace)}`;
  const picture = (item) => element("img", { src: address(item), alt: `item ${item}`, loading: "lazy" });
  const word = (value) => (value === 1 ? "same" : "different");
  const lines = said.map(([who, value]) => element("li", {}, element("bdi", {}, who), ` said ${word(value)}`));
  const others = against.map(([a, b, value, who]) =>
    element("li", { class: "implied" }, element("span", { class: "two" }, picture(a), picture(b)), element("span", {}, element("bdi", {}, who || "somebody"), ` said ${word(value)}`)),
  );
  const about = `items ${u} and ${v}`;
  const decide = (value) => element("button", { type: "button", class: word(value), "aria-label": `${titled(word(value))}: ${about}`, onclick: () => void decision(u, v, value) }, titled(word(value)));
  const details = element(
    "details",
    { open: opened.has(key) },
    element("summary", { "aria-label": `Who said what about ${about}` }, "Who said what"),
    element("ul", { class: "said" }, ...lines),
    others.length ? element("p", {}, "Other answers imply the opposite:") : null,
    others.length ? element("ul", { class: "said" }, ...others) : null,
    session.lead ? element("div", { class: "decide" }, decide(1), decide(0)) : null,
  );
  details.addEventListener("toggle", () => (details.open ? opened.add(key) : opened.delete(key)));
  return element(
    "li",
    {},
    element("div", { class: "two" }, picture(u), picture(v)),
    element("p", {}, element("span", { class: "votes-same" }, `${same} same`), " · ", element("span", { class: "votes-different" }, `${different} different`), same && different ? "" : " · others imply the opposite"),
    details,
  );
}

async function decision(u, v, value) {
  const id = newId();
  await tell("decisions", { id, u, v, same: value === 1 }, { text: `You decided: items ${u} and ${v} are ${value === 1 ? "the same" : "different"}.`, undoes: id });
}

async function takeBack() {
  await tell("decisions/undo", { id: newId(), undoes: decided.undoes }, { text: "It is taken back.", undoes: null });
}

async function tell(path, body, told) {
  try {
    await call(`/api/${encodeURIComponent(campaign)}/${path}`, body);
    decided = told;
  } catch (error) {
    decided = { text: error.message, undoes: decided?.undoes ?? null };
  }
  document.activeElement?.blur();
  await refresh();
  (find("contradictions").querySelector(".decided button") ?? find("contradictions").querySelector("summary"))?.focus();
}

void start();
