// The review page: sign in, show the sheet, take the answer, show the next one. The answer travels meanwhile.

import { clearChoices, drawChoices } from "./choices.js";
import { Clock } from "./clock.js";
import { BAD, FlagDialog, HelpDialog, LargeDialog, SavedDialog } from "./dialogs.js";
import { element, find, useTheme } from "./elements.js";
import { History } from "./history.js";
import { Keys, nameOf, shown } from "./keys.js";
import { Look } from "./look.js";
import { newId, Outbox } from "./outbox.js";
import { Lines, usePoints } from "./points.js";
import { itemsOf, loading, Queue, refine, unseen } from "./queue.js";
import { sheetKind } from "./sheets.js";
import { Stage } from "./stage.js";
import { Tally } from "./tally.js";
import { Server, SignedOut } from "./transport.js";

const LARGE = 2048; // pixels of a picture's longer side that is shown by itself
const EMPTY = {
  done: "This campaign is done. Thank you.",
  stopped: "The campaign asks no more: its budget of questions is used up, or nobody advances it. Thank you.",
  packed: "Everything in this file is answered. Save your answers to a file, and send it back.",
  waiting: "No question is open just now. New ones appear here by themselves.",
};

const pairOf = (sheet, { item }) => [sheet.anchor.item, item.item].sort((one, other) => one - other).join(" ");

export class Review {
  constructor(transport) {
    this.transport = transport;
    this.keys = new Keys();
    this.clock = new Clock();
    this.sheet = null;
    this.answered = 0; // sheets, in this visit
    this.tally = new Tally(transport, { explained: (why) => !this.sheet && !this.queue?.problem && this.notice(why) });
    this.stage = new Stage(find("stage"), find("between"));
    this.lines = new Lines(find("stage"), { said: (words) => this.say(words) });
    usePoints((first, second) => this.transport.points(find("campaign").value, first, second));
    this.look = new Look(find("stage"), { deepened: () => this.sheet && refine(this.sheet, this.transport), moved: () => this.lines.draw() });
    this.history = new History(find("recent"));
    this.help = new HelpDialog(this.keys, { rebound: () => this.sheet && this.drawChoices() });
    this.large = new LargeDialog();
    this.flags = new FlagDialog({ chosen: (item, reason) => this.flag(item, reason) });
    this.saved = new SavedDialog({
      flush: () => void this.outbox?.flush(),
      forget: () => void this.outbox?.forgetRefused(),
      handIn: () => void this.handIn(),
    });
    this.listen();
  }

  // -- beginning -------------------------------------------------------------------------------------------------------

  async start() {
    useTheme();
    const token = new URLSearchParams(location.hash.slice(1)).get("token");
    if (token) {
      history.replaceState(null, "", location.pathname + location.search); // it does not belong into the browser's history
      await this.transport.login(token).catch(() => null);
    }
    try {
      const session = await this.transport.session();
      if (session.annotator === null) this.askWho();
      else await this.enter(session);
    } catch (error) {
      this.notice(`The server cannot be reached: ${error.message}. Trying again …`);
      setTimeout(() => void this.start(), 3000);
    }
  }

  async enter(session) {
    this.session = session;
    find("who").textContent = session.annotator;
    find("login").hidden = true;
    find("sign-out").hidden = !session.login;
    if (!session.campaigns.length) return this.notice("There is no campaign for people yet. Start one with: cccount count WORKSPACE");
    const wanted = new URLSearchParams(location.search).get("campaign");
    const names = session.campaigns.map((campaign) => campaign.name);
    find("campaign").replaceChildren(...names.map((name) => element("option", { value: name }, name)));
    find("campaign").disabled = names.length < 2;
    await this.open(names.includes(wanted) ? wanted : names[0]);
  }

  async open(campaign) {
    this.outbox?.close();
    this.queue?.close();
    this.sheet = null;
    this.stage.clear();
    this.history.replace([]);
    this.pairs = new Set(); // what was answered in this visit, by its two items
    this.mine = new Set(); // questions that were answered in this visit: a sheet that crossed an answer on its way is not shown
    find("campaign").value = campaign;
    find("to-progress").hidden = this.transport.offline;
    find("to-progress").href = `/progress?campaign=${encodeURIComponent(campaign)}`;
    document.title = `${campaign} · review · cccount`;
    this.words = this.session.campaigns.find(({ name }) => name === campaign) ?? {};
    this.tally.open(campaign);
    const owner = JSON.stringify([this.session.workspace, campaign, this.session.annotator]);
    this.outbox = new Outbox(this.transport, { campaign, owner, changed: () => this.outboxChanged() });
    this.queue = new Queue(this.transport, {
      campaign,
      isAnswered: (question) => this.mine.has(question) || this.outbox.questions().has(question),
      changed: () => this.queueChanged(),
    });
    await this.outbox.open(); // what an earlier visit left goes first: it is part of what the server then tells
    const { queue } = this;
    const recent = this.transport.recent(campaign).catch(() => ({ entries: [] }));
    await queue.fill();
    const { entries } = await recent;
    if (queue === this.queue && !this.history.length) {
      this.history.replace(entries.map((entry) => ({ ...entry, sheet: { ...queue.prepared(entry.sheet), said: entry.answers.map(({ value }) => value) } })));
      this.drawUndo();
    }
  }

  // -- showing ---------------------------------------------------------------------------------------------------------

  showNext() {
    this.show(this.queue.next());
  }

  show(sheet) {
    this.sheet = sheet;
    find("answers").hidden = !sheet && !this.history.length;
    find("notice").hidden = Boolean(sheet);
    this.noteAhead();
    this.drawUndo();
    if (!sheet) {
      this.stage.clear();
      this.setMode("wait");
      clearChoices(find("choices"));
      find("flag").hidden = true;
      this.drawAgain();
      this.drawUnseen();
      return this.explainEmpty();
    }
    find("flag").hidden = false;
    this.lines.clear();
    this.look.reset();
    this.stage.show(sheet, this.keys);
    this.setMode(sheet.kind);
    this.tally.busy();
    find("question").textContent = this.asked();
    this.drawChoices();
    this.drawAgain();
    this.drawUnseen();
    this.clock.start();
  }

  /** What is asked about the sheet: in the user's words where there are some and it shows two pictures. */
  asked() {
    const { question, layout } = this.kind;
    if (this.words.question && layout === "two") return this.words.question;
    return typeof question === "function" ? question(this.words.noun?.[0] ?? null) : question;
  }

  /** Nobody is asked the same twice without being told: it is asked again where one answer is not enough, and nobody else is there. */
  drawAgain() {
    const sheet = this.sheet?.again ? null : this.sheet; // after an undo it is no news
    const count = sheet ? sheet.candidates.filter((candidate) => candidate.again || this.pairs.has(pairOf(sheet, candidate))).length : 0;
    const all = count && count === sheet.candidates.length;
    find("again").textContent = all ? "You answered this before. It is asked once more, to be sure." : "Some of these you saw before. They are asked once more, to be sure.";
    find("again").hidden = !count;
  }

  /** Without all pictures nobody can say more than "unsure": what says more is disabled, and the page says why. */
  drawUnseen() {
    const lost = this.sheet ? unseen(this.sheet) : [];
    const blind = lost.length > 0 && this.isBlind(lost);
    const waits = Boolean(this.sheet) && loading(this.sheet);
    find("stage").dataset.unseen = lost.length;
    find("stage").dataset.loading = waits;
    for (const button of find("choices").querySelectorAll("button.choice, input")) {
      button.disabled = (blind || waits) && !button.classList.contains("unsure");
    }
    const names = lost.map((item) => item.name).join(", ");
    find("unseen").textContent = lost.length ? `Cannot be shown: ${names}. ${blind ? "Answer unsure, or flag it." : "It is left unsure."}` : "";
    find("unseen").hidden = !lost.length;
  }

  /** Whether nothing can be said about the sheet: the anchor, or all that it is compared with, cannot be seen. */
  isBlind(lost) {
    return lost.includes(this.sheet.anchor) || lost.length >= this.sheet.candidates.length;
  }

  /** Of the sheet that is shown. */
  get kind() {
    return sheetKind(this.sheet.kind);
  }

  /** How many sheets could still be answered if the connection died now. */
  noteAhead() {
    find("main").dataset.ahead = this.queue.ready.filter((sheet) => !loading(sheet)).length;
  }

  setMode(mode) {
    find("main").dataset.mode = mode;
  }

  explainEmpty() {
    const { problem, state, filling, hindrance } = this.queue;
    find("question").textContent = state === "packed" ? "All answered" : "Nothing to answer just now";
    if (problem) return this.notice(`The server cannot be reached: ${problem.message}. Trying again …`);
    if (state === "packed") return this.offerToHandIn();
    if (hindrance) return this.notice(`The campaign ${hindrance}. All that was answered counts. New questions then appear here by themselves.`);
    this.notice(filling && state === "waiting" ? "Fetching questions …" : this.tally.why ?? EMPTY[state] ?? EMPTY.waiting);
    this.tally.idle();
  }

  /** A pack is answered: the one thing that is left to do is large. */
  offerToHandIn() {
    if (find("finish")) return;
    const button = element("button", { type: "button", id: "finish", class: "primary finish", onclick: () => void this.handIn() }, "Hand in");
    this.notice(EMPTY.packed);
    find("notice").append(button);
  }

  /** Save a pack's answers as a file, also those that are still on their way into the browser's store. */
  async handIn() {
    await this.outbox?.flush();
    await this.transport.handIn();
  }

  notice(text) {
    find("notice").hidden = false;
    if (find("notice").textContent !== text) find("notice").replaceChildren(element("p", {}, text));
  }

  drawChoices() {
    for (const hint of document.querySelectorAll("[data-key-of]")) hint.textContent = shown(this.keys.of(hint.dataset.keyOf)[0] ?? "");
    drawChoices(find("choices"), this.sheet.kind, this.keys, (event, action) => this.byPointer(event, () => this.act(action)));
  }

  drawUndo() {
    find("undo").disabled = !this.history.length;
  }

  // -- answering -------------------------------------------------------------------------------------------------------

  /** One value for each candidate, in order, and the clicks that it took where they are counted. */
  answer(values, words, clicks = []) {
    const { sheet } = this;
    if (!sheet) return;
    if (loading(sheet) && values.some((value) => value !== null)) return this.say("A picture is still on its way.");
    const lost = unseen(sheet);
    if (lost.length && this.isBlind(lost) && values.some((value) => value !== null)) {
      return this.say("A picture cannot be shown: answer unsure, or flag it.");
    }
    performance.mark("answered");
    const seconds = this.clock.seconds();
    const each = seconds / sheet.candidates.length; // the seconds of a page are the sum over its answers
    const answers = sheet.candidates.map(({ question_id }, place) => ({ id: newId(), question_id, value: lost.includes(sheet.candidates[place].item) ? null : values[place], seconds: each, clicks: clicks[place] ?? null }));
    this.outbox.add(answers.map((body) => ({ kind: "answer", body })));
    this.history.push({ sheet, answers });
    for (const { question_id } of answers) this.mine.add(question_id);
    for (const candidate of sheet.candidates) this.pairs.add(pairOf(sheet, candidate));
    this.answered += 1;
    this.tally.answered(seconds);
    this.showNext();
    requestAnimationFrame(() => setTimeout(() => performance.measure("answer to next sheet drawn", "answered")));
    this.say(`${words}. ${this.sheet ? "Next." : ""}`);
  }

  undo() {
    const entry = this.history.pop();
    if (!entry) return;
    this.outbox.add(entry.answers.map(({ id }) => ({ kind: "undo", body: { id: newId(), answer_id: id } })));
    if (this.sheet && this.sheet.id !== entry.sheet.id) this.queue.putBack(this.sheet); // the same one: a part of it that was left
    for (const { question_id } of entry.answers) this.mine.delete(question_id);
    for (const candidate of entry.sheet.candidates) this.pairs.delete(pairOf(entry.sheet, candidate));
    if (entry.flagged == null) this.tally.undone();
    if (entry.flagged != null) this.queue.unspoil(entry.flagged);
    // What tested us before a reload, and a flag from then, have no question to show again: they are taken back.
    if (entry.sheet.candidates.some(({ question_id }) => question_id < 0)) return this.showNext();
    this.show(entry.sheet);
    this.say("Undone: here it is again.");
  }

  flag(item, reason) {
    const id = newId();
    this.outbox.add([{ kind: "flag", body: { id, item: item.item, reason } }]);
    this.history.push({ sheet: this.sheet, flagged: item.item, answers: [{ id }] });
    this.queue.spoil(item.item);
    const rest = this.kind.without(this.sheet, item.item);
    if (rest) this.goOn(rest);
    else this.showNext();
    this.say("Noted: the picture is not shown again.");
  }

  /** Show what is left of the sheet that is looked at; its clock goes on. */
  goOn(rest) {
    this.sheet = rest;
    this.stage.show(rest, this.keys);
    this.drawChoices();
    this.drawUndo();
    this.drawUnseen();
  }

  // -- what happens meanwhile --------------------------------------------------------------------------------------------

  outboxChanged() {
    this.saved.draw(this.outbox, this.transport.offline);
    if (this.outbox.signedOut) this.askWho();
    else if (this.answered && !this.outbox.waiting.length) void this.queue.fill(); // before the first answer `open` does
  }

  queueChanged() {
    if (this.queue.problem instanceof SignedOut) return this.askWho();
    if (!this.sheet) this.show(this.queue.ready.length ? this.queue.next() : null);
    else this.drawUnseen();
    this.noteAhead();
  }

  askWho() {
    find("login").hidden = false;
    find("notice").hidden = find("answers").hidden = true;
    this.stage.clear();
    this.sheet = null;
    this.setMode("wait");
    find("question").textContent = "Welcome";
    find("token").focus();
  }

  async signIn() {
    find("login-problem").textContent = "";
    try {
      await this.transport.login(find("token").value.trim());
      find("token").value = "";
      await this.enter(await this.transport.session());
    } catch (error) {
      find("login-problem").textContent = error.message;
    }
  }

  say(text) {
    find("said").textContent = text;
  }

  // -- keys and pointer ------------------------------------------------------------------------------------------------

  listen() {
    document.addEventListener("keydown", (event) => this.pressed(event));
    find("stage").addEventListener("click", (event) => this.clicked(event));
    find("undo").addEventListener("click", (event) => this.byPointer(event, () => this.undo()));
    find("flag").addEventListener("click", (event) => this.byPointer(event, () => this.openFlags()));
    find("help").addEventListener("click", () => this.help.open());
    find("stage").addEventListener("enlarge", (event) => this.enlarge(event.detail));
    find("stage").addEventListener("bad-picture", (event) => this.openFlags(event.detail));
    find("campaign").addEventListener("change", () => void this.open(find("campaign").value));
    find("login").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.signIn();
    });
    find("sign-out").addEventListener("click", () => void this.transport.logout().then(() => location.reload()));
    find("adjust").addEventListener("click", () => {
      const panel = find("adjustments");
      panel.hidden = !panel.hidden;
      find("adjust").setAttribute("aria-expanded", String(!panel.hidden));
    });
    for (const id of ["brightness", "contrast"]) find(id).addEventListener("input", () => this.light());
    find("zoom-in").addEventListener("click", () => this.look.zoomIn());
    find("zoom-out").addEventListener("click", () => this.look.zoomOut());
    find("swap").addEventListener("click", () => this.swap());
    find("reset").addEventListener("click", () => {
      find("brightness").value = find("contrast").value = 1;
      this.light();
      this.look.reset();
    });
  }

  light() {
    this.look.light(find("brightness").value, find("contrast").value);
  }

  /** After a click the focus goes back to the page: the next Space should mean what the keys say, not press the button again. */
  byPointer(event, act) {
    if (event.detail > 0) find("main").focus({ preventScroll: true });
    act();
  }

  clicked(event) {
    if (!this.sheet || this.look.dragged || !this.kind.clicked(event.target)) return;
    this.byPointer(event, () => this.drawChoices());
  }

  /** Ask which picture is of no use, or only why if that is known. */
  openFlags(item = null) {
    if (!this.sheet) return;
    this.flags.open(item ? { ...this.sheet, anchor: item, candidates: [] } : this.sheet, this.stage.swapped, this.words.noun?.[0]);
  }

  enlarge({ place, mark, show }) {
    const pictures = [this.sheet.anchor, this.sheet.candidates[place].item].map((item) => ({ item, address: this.transport.picture(item, LARGE) }));
    if (show) return show(pictures);
    this.large.open(pictures, (name) => {
      mark(name);
      this.drawChoices();
    });
  }

  swap() {
    this.stage.swap();
    this.lines.draw();
  }

  flagSide(right) {
    if (this.sheet) this.flag(itemsOf(this.sheet)[right === this.stage.swapped ? 0 : 1], BAD);
  }

  pressed(event) {
    const key = nameOf(event);
    if (key === null || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    const focus = document.activeElement;
    if (focus.matches("input:not([type=range]), select, textarea")) return;
    if (focus.matches("button, a, summary") && (key === "Space" || (key === "Enter" && !("sends" in focus.dataset)))) return;
    if (focus.matches("input[type=range]") && (key.startsWith("Arrow") || key === "Home" || key === "End")) return;
    const action = this.keys.action(key, this.sheet?.kind ?? null);
    const taken = this.sheet && !event.repeat ? this.kind.pressed(key, action) : null;
    if (taken) {
      event.preventDefault();
      return taken.values ? this.answer(taken.values, taken.words) : this.drawChoices();
    }
    if (action === null) return;
    if (event.repeat && !["left", "right", "up", "down", "zoomIn", "zoomOut"].includes(action)) return; // a key held down is one answer
    event.preventDefault();
    this.act(action);
  }

  act(action) {
    switch (action) {
      case "undo": return this.undo();
      case "flag": return this.openFlags();
      case "badLeft": return this.flagSide(false);
      case "badRight": return this.flagSide(true);
      case "help": return this.help.open();
      case "swap": return this.swap();
      case "points": return void this.lines.toggle(...itemsOf(this.sheet).map(({ item }) => item));
      case "reset": return this.look.reset();
      case "zoomIn": return this.look.zoomIn();
      case "zoomOut": return this.look.zoomOut();
      case "left": case "right": case "up": case "down": return this.look.pan(action);
      default: return this.choose(action);
    }
  }

  /** An action of the sheet's own kind. */
  choose(action) {
    const said = this.sheet && this.kind.answers(action);
    if (said) this.answer(said.values, said.words, said.clicks);
  }
}

export function begin(transport) {
  void new Review(transport).start();
}

if (!document.getElementById("pack")) begin(new Server());
