// The progress page: what the answers say so far, what is still needed, and how far people can be relied on.

import { element, find, useTheme } from "./elements.js";
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
const rounded = (value) => number(value, value !== null && Math.abs(value) < 100 ? 1 : 0);
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

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
  const names = session.campaigns.map((one) => one.name);
  if (!names.length) {
    find("headline").textContent = "No campaign yet";
    return;
  }
  const wanted = new URLSearchParams(location.search).get("campaign");
  campaign = names.includes(wanted) ? wanted : names[0];
  find("campaign").replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  find("campaign").disabled = names.length < 2;
  find("campaign").value = campaign;
  find("campaign").addEventListener("change", () => {
    campaign = find("campaign").value;
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
  find("kicker").replaceChildren("campaign ", element("bdi", {}, standing.campaign), ` · ${standing.method} · ${stateOf(standing)}`);
  drawResult(standing);
  drawFigures(standing);
  drawPeople(standing);
  drawAgreement(standing);
  drawContradictions(standing);
}

function stateOf({ state, pending, questions, budget }) {
  if (state === "stopped") return questions >= budget ? "budget used up" : "not advanced just now";
  return { done: "done", waiting: `${plural(pending, "question")} open` }[state] ?? "under way";
}

function drawResult({ result, kind }) {
  const range = find("range");
  range.hidden = true;
  if (!result) {
    find("headline").textContent = kind === "count" ? "No estimate yet" : "No groups yet";
    find("below").textContent = "It appears after the first answers are taken in.";
  } else if (result.clusters !== undefined) {
    find("headline").textContent = plural(result.clusters, "group");
    find("below").textContent = "so far, from the answers that were taken in";
  } else if (result.estimate === null || result.estimate === undefined) {
    find("headline").textContent = "No estimate yet";
    find("below").textContent = `for certain between ${rounded(result.low)} and ${rounded(result.high)}`;
  } else {
    find("headline").textContent = `About ${rounded(result.estimate)}`;
    find("below").textContent = `${percent(result.level)} interval ${rounded(result.low)} to ${rounded(result.high)}`;
    range.hidden = false;
    range.replaceChildren(interval(result));
  }
}

/** The estimate within its interval, on a line that begins at nothing. */
function interval({ estimate, low, high }) {
  const top = high * 1.15 || 1;
  const place = (value) => `${(100 * Math.max(0, value)) / top}%`;
  const svg = shape("svg", { role: "img", "aria-label": `The estimate ${rounded(estimate)} between ${rounded(low)} and ${rounded(high)}, drawn from 0` });
  svg.append(
    shape("line", { class: "track", x1: "0%", x2: "100%", y1: "50%", y2: "50%" }),
    shape("line", { class: "span", x1: place(low), x2: place(high), y1: "50%", y2: "50%" }),
    shape("circle", { class: "point", cx: place(estimate), cy: "50%", r: "8" }),
  );
  return svg;
}

function shape(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function drawFigures(s) {
  const pace = s.annotators.reduce((sum, one) => sum + (one.answers_per_hour ?? 0), 0);
  const rows = [
    [number(s.answers), "answers in the log"],
    [number(s.pending), "questions open"],
    [number(s.questions), `questions settled, of a budget of ${number(s.budget)}`],
    [s.forecast_questions === null ? null : number(s.forecast_questions), `questions in all to the wanted width${s.target_width === null ? "" : ` of ${percent(s.target_width)}`}, by the forecast`],
    [s.forecast_hours === null ? null : `${number(s.forecast_hours, 1)} h`, "of people's time to go, by the forecast"],
    [s.seconds_per_pair === null ? null : `${number(s.seconds_per_pair, 1)} s`, "for a pair, as measured"],
    [s.seconds_per_page === null ? null : `${number(s.seconds_per_page, 1)} s`, "for a page, as measured"],
    [pace ? number(pace) : null, "answers an hour, all together"],
    [number(s.contradictions.length), "open contradictions"],
  ].filter(([large]) => large !== null); // what is not known yet is left out
  find("figures").replaceChildren(...rows.map(([large, small]) => element("li", {}, element("b", {}, large), element("span", {}, small))));
}

function table(caption, head, rows) {
  const top = element("thead", {}, element("tr", {}, ...head.map((cell) => element("th", { scope: "col" }, cell))));
  const inner = element("table", {}, element("caption", { class: "hidden" }, caption), top, element("tbody", {}, ...rows));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, inner);
}

function fill(id, show, ...content) {
  find(id).hidden = !show;
  // A refresh must not take the focus from somebody who reads along.
  if (show && !find(id).contains(document.activeElement)) find(id).replaceChildren(...content);
}

function drawPeople({ annotators }) {
  const rate = (value, ends) =>
    element("td", {}, percent(value), ends ? element("span", { class: "ends" }, `${percent(ends[0])} to ${percent(ends[1])}`) : null);
  const rows = annotators.map((one) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, element("bdi", {}, one.name), one.suspect ? element("div", { class: "suspect" }, "▲ errs more than the others") : null),
      element("td", {}, number(one.answers)),
      element("td", {}, number(one.answers_per_hour)),
      rate(one.miss, one.miss_interval),
      rate(one.false_same, one.false_same_interval),
      rate(one.changed_mind, null),
    ),
  );
  fill(
    "people",
    rows.length > 0,
    element("h2", {}, "People"),
    element("p", {}, "Error rates come from questions whose answer is known and from votes of others, with 95 % intervals; – while nothing is known."),
    table("People", ["annotator", "answers", "an hour", "said different, is same", "said same, is different", "changed their mind"], rows),
  );
}

function drawAgreement({ agreement: { alpha, pairs } }) {
  const rows = pairs.map(([a, b, kappa, common]) =>
    element("tr", {}, element("th", { scope: "row" }, element("bdi", {}, a), " and ", element("bdi", {}, b)), element("td", {}, kappa === null ? "–" : kappa.toFixed(2)), element("td", {}, number(common))),
  );
  fill(
    "agreement",
    rows.length > 0,
    element("h2", {}, "Agreement"),
    element("p", {}, `Krippendorff's alpha of all: ${alpha === null ? "not known yet" : alpha.toFixed(2)}. 1 is full agreement, 0 is chance.`),
    table("Agreement", ["two people", "Cohen's kappa", "questions of both"], rows),
  );
}

function drawContradictions({ contradictions }) {
  const address = (item) => `/images/${item}?side=256&of=${encodeURIComponent(session.workspace)}`;
  const picture = (item) => element("img", { src: address(item), alt: `item ${item}`, loading: "lazy" });
  const shown = contradictions.slice(0, MOST_DISPUTES).map(({ u, v, same, different }) =>
    element(
      "li",
      {},
      element("div", { class: "two" }, picture(u), picture(v)),
      element("p", {}, element("span", { class: "votes-same" }, `${same} same`), " · ", element("span", { class: "votes-different" }, `${different} different`), same && different ? "" : " · others imply the opposite"),
    ),
  );
  const more = contradictions.length > MOST_DISPUTES ? ` The first ${MOST_DISPUTES} are shown.` : "";
  fill(
    "contradictions",
    shown.length > 0,
    element("h2", {}, "Open contradictions"),
    element("p", {}, `People, or what follows from their answers, differ on these; they are asked again.${more}`),
    element("ul", { class: "disputes" }, ...shown),
  );
}

void start();
