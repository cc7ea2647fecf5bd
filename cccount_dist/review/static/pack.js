// A review page without a server: questions and pictures are in the file, answers stay in the browser until they are handed in.

import { all, put } from "./database.js";
import { begin } from "./review.js";
import { written } from "./sheets.js";

const FOR_EVER = 1e9; // seconds: nobody else is waiting for these sheets

class Pack {
  offline = true;

  async points() {
    throw new Error("A pack has no points to show.");
  }

  constructor(content) {
    this.content = content;
    this.rows = [];
    this.questions = new Map();
    for (const sheet of content.sheets) {
      for (const candidate of sheet.candidates) this.questions.set(candidate.question_id, { sheet, candidate });
    }
    this.opening = all("answers", content.id).then((rows) => this.rows.push(...rows)).catch(() => null);
  }

  async session() {
    await this.opening;
    const { id, annotator, campaign } = this.content;
    const { noun = null, question = null } = this.content;
    return { annotator, login: false, workspace: id, campaigns: [{ name: campaign, noun, question }] };
  }

  /** How far this file is: every sheet of it is known. */
  async outlook() {
    const answered = new Set(this.live().map((row) => row.question_id));
    const done = this.content.sheets.filter((sheet) => (this.unspoiled(sheet)?.candidates ?? []).every((c) => answered.has(c.question_id)));
    return { answers: done.length, expected: this.content.sheets.length, exact: true, state: "running", why: null, seconds: null };
  }

  async sheets(campaign, count) {
    const answered = new Set(this.live().map((row) => row.question_id));
    const left = this.content.sheets
      .map((sheet) => this.unspoiled(sheet))
      .filter((sheet) => sheet && !sheet.candidates.every((c) => answered.has(c.question_id)));
    const sheets = left.slice(0, 2 * count).map((sheet) => ({ ...sheet, expires_in: FOR_EVER }));
    return { sheets, state: left.length ? "running" : "packed" };
  }

  /** A sheet without the pictures that were found to be of no use; null if nothing of it can be asked. */
  unspoiled(sheet) {
    const spoiled = new Set(this.flags().map((row) => row.flag_item));
    const candidates = sheet.candidates.filter(({ item }) => !spoiled.has(item.item));
    return spoiled.has(sheet.anchor.item) || !candidates.length ? null : { ...sheet, candidates };
  }

  async recent() {
    const entries = [];
    const rows = new Map(this.live().map((row) => [row.question_id, row]));
    const shown = new Set();
    for (const row of [...rows.values(), ...this.flags()].sort((one, other) => one.place - other.place)) {
      if (row.flag_item !== undefined) {
        entries.push({ sheet: this.flagged(row.flag_item), flagged: row.flag_item, answers: [{ id: row.id }] });
        continue;
      }
      const { sheet } = this.questions.get(row.question_id);
      if (shown.has(sheet.id)) continue;
      shown.add(sheet.id);
      const given = sheet.candidates.map((c) => rows.get(c.question_id)).filter(Boolean);
      const answers = given.map(({ id, question_id, value }) => ({ id, question_id, value }));
      const left = this.unspoiled(sheet);
      if (answers.length === left?.candidates.length) entries.push({ sheet: { ...left, expires_in: FOR_EVER }, answers });
    }
    return { entries: entries.slice(-10) };
  }

  answers(campaign, answers) {
    return this.keep(answers);
  }

  undo(campaign, { id, answer_id }) {
    const { question_id, flag_item } = this.rows.find((row) => row.id === answer_id);
    return this.keep([{ id, question_id, flag_item, undoes: answer_id }]);
  }

  flag(campaign, { id, item, reason }) {
    return this.keep([{ id, flag_item: item, reason }]);
  }

  picture(item) {
    return this.content.pictures[item.item] ?? null;
  }

  /** Save everything that was answered so far as a file. What was undone before anybody else saw it is not mentioned. */
  async handIn() {
    const { campaign, annotator } = this.content;
    const undone = new Map(this.rows.filter((row) => row.undoes).map((row) => [row.undoes, row]));
    const told = new Set(this.rows.filter((row) => row.handed).map((row) => row.id));
    const given = this.rows.filter((row) => (row.undoes ? told.has(row.undoes) : told.has(row.id) || !undone.has(row.id)));
    const rows = given.map((row) => this.row(row, annotator));
    for (const row of given) row.handed = true;
    await put("answers", given).catch(() => null);
    const address = URL.createObjectURL(new Blob([JSON.stringify(rows, null, 1)], { type: "application/json" }));
    const link = document.createElement("a");
    link.href = address;
    link.download = `answers-${campaign}-${annotator.replace(/[^\w.-]+/g, "_")}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }

  row({ id, question_id, value, seconds, clicks, undoes, flag_item, reason, made }, annotator) {
    const { workspace, campaign } = this.content;
    const common = { answer_id: id, annotator, source: "pack", answered_at: new Date(made).toISOString(), workspace, campaign };
    const id_item = flag_item === undefined ? undefined : this.flagged(flag_item).anchor?.name;
    if (flag_item !== undefined) return { ...common, flag_item, id_item, ...(undoes ? { undoes } : { reason }) };
    const { sheet, candidate } = this.questions.get(question_id);
    const [one, other] = [sheet.anchor, candidate.item];
    const pair = { question_id, u: one.item, v: other.item, id_u: one.name, id_v: other.name };
    if (undoes) return { ...common, ...pair, undoes };
    return { ...common, ...pair, value: written(sheet.kind, value), seconds, ...(clicks == null ? {} : { clicks }) };
  }

  /** Answers that were not taken back, in order. */
  live() {
    return this.standing().filter((row) => row.value !== undefined);
  }

  /** Flags that were not taken back, in order. */
  flags() {
    return this.standing().filter((row) => row.flag_item !== undefined);
  }

  standing() {
    const undone = new Set(this.rows.map((row) => row.undoes).filter(Boolean));
    return this.rows.filter((row) => !row.undoes && !undone.has(row.id));
  }

  /** What stands for a flag in the history: the sheet on which it was given is not remembered. */
  flagged(number) {
    const items = this.content.sheets.flatMap((sheet) => [sheet.anchor, ...sheet.candidates.map((candidate) => candidate.item)]);
    const item = items.find((candidate) => candidate.item === number);
    return { id: `flag-${number}`, kind: "pair", anchor: item, candidates: [{ question_id: -1, item }], expires_in: 0 };
  }

  async keep(bodies) {
    const known = new Set(this.rows.map((row) => row.id));
    const rows = bodies
      .filter((body) => !known.has(body.id))
      .map((body, place) => ({ ...body, owner: this.content.id, made: Date.now(), place: this.rows.length + place }));
    this.rows.push(...rows);
    try {
      await put("answers", rows);
    } catch {
      addEventListener("beforeunload", (event) => event.preventDefault()); // nothing is kept here: ask before it is lost
    }
    return { stored: rows.map((row) => row.id), known: [], rejected: [] };
  }
}

begin(new Pack(JSON.parse(document.getElementById("pack").textContent)));
