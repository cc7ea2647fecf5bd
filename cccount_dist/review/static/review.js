// The review page: sign in, show the sheet, take the answer, show the next one. The answer travels meanwhile.

import { clearChoices, drawChoices } from "./choices.js";
import { Clock } from "./clock.js";
import { BAD, FlagDialog, HelpDialog, SavedDialog } from "./dialogs.js";
import { element, find, useTheme } from "./elements.js";
import { History } from "./history.js";
import { Keys, nameOf, shown } from "./keys.js";
import { Look } from "./look.js";
import { newId, Outbox } from "./outbox.js";
import { itemsOf, Queue, refine } from "./queue.js";
import { Stage, VALUE } from "./stage.js";
import { Server, SignedOut } from "./transport.js";

const QUESTION = {
  pair: "Are these two the same?",
  grid: "Which of the others are the same as this one?",
  rating: "How similar are these two?",
};
const EMPTY = {
  done: "This campaign is done. Thank you.",
  stopped: "The campaign asks no more: its budget of questions is used up, or nobody advances it. Thank you.",
  packed: "Everything in this file is answered. Save your answers with the button at the top, and send them back.",
  waiting: "No question is open just now. New ones appear here by themselves.",
};

export class Review {
  constructor(transport) {
    this.transport = transport;
    this.keys = new Keys();
    this.clock = new Clock();
    this.sheet = null;
    this.answered = 0; // sheets, in this visit
    this.seconds = 0;
    this.stage = new Stage(find("stage"), find("between"), { marked: () => this.drawChoices() });
    this.look = new Look(find("stage"), { deepened: () => this.sheet && refine(this.sheet, this.transport) });
    this.history = new History(find("recent"));
    this.help = new HelpDialog(this.keys, { rebound: () => this.sheet && this.drawChoices() });
    this.flags = new FlagDialog({ chosen: (item, reason) => this.flag(item, reason) });
    this.saved = new SavedDialog({
      flush: () => void this.outbox?.flush(),
      forget: () => void this.outbox?.forgetRefused(),
      handIn: () => void this.transport.handIn(),
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
    this.mine = new Set(); // questions that were answered in this visit: a sheet that crossed an answer on its way is not shown
    find("campaign").value = campaign;
    find("to-progress").hidden = this.transport.offline;
    find("to-progress").href = `/progress?campaign=${encodeURIComponent(campaign)}`;
    document.title = `${campaign} · review · cccount`;
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
      this.history.replace(entries.map((entry) => ({ ...entry, sheet: queue.prepared(entry.sheet) })));
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
      return this.explainEmpty();
    }
    find("flag").hidden = false;
    this.labels = sheet.kind === "grid" ? this.keys.labels(sheet.candidates.length) : [];
    this.look.reset();
    this.stage.show(sheet, this.labels);
    this.setMode(sheet.kind);
    find("question").textContent = QUESTION[sheet.kind];
    this.drawChoices();
    this.clock.start();
  }

  /** How many sheets could still be answered if the connection died now. */
  noteAhead() {
    find("main").dataset.ahead = this.queue.ready.length;
  }

  setMode(mode) {
    find("main").dataset.mode = mode;
  }

  explainEmpty() {
    find("question").textContent = "Nothing to answer";
    const { problem, state, filling } = this.queue;
    if (problem) this.notice(`The server cannot be reached: ${problem.message}. Trying again …`);
    else this.notice(filling && state === "waiting" ? "Fetching questions …" : EMPTY[state] ?? EMPTY.waiting);
  }

  notice(text) {
    find("notice").hidden = false;
    if (find("notice").textContent !== text) find("notice").replaceChildren(element("p", {}, text));
  }

  drawChoices() {
    for (const hint of document.querySelectorAll("[data-key-of]")) hint.textContent = shown(this.keys.of(hint.dataset.keyOf)[0] ?? "");
    drawChoices(find("choices"), this.sheet.kind, this.keys, this.stage, {
      answer: (event, answer) => this.byPointer(event, () => this.answer([VALUE[answer]], answer)),
      submit: (event) => this.byPointer(event, () => this.submit()),
    });
  }

  drawUndo() {
    find("undo").disabled = !this.history.length;
  }

  // -- answering -------------------------------------------------------------------------------------------------------

  /** One value for each candidate, in order. */
  answer(values, words) {
    const { sheet } = this;
    if (!sheet) return;
    performance.mark("answered");
    const seconds = this.clock.seconds();
    const each = seconds / sheet.candidates.length; // the seconds of a page are the sum over its answers
    const answers = sheet.candidates.map(({ question_id }, place) => ({ id: newId(), question_id, value: values[place], seconds: each }));
    this.outbox.add(answers.map((body) => ({ kind: "answer", body })));
    this.history.push({ sheet, answers });
    for (const { question_id } of answers) this.mine.add(question_id);
    this.answered += 1;
    this.seconds += seconds;
    this.showNext();
    requestAnimationFrame(() => setTimeout(() => performance.measure("answer to next sheet drawn", "answered")));
    find("pace").textContent = `${this.answered} answered · ${(this.seconds / this.answered).toFixed(1)} s each`;
    this.say(`${words}. ${this.sheet ? "Next." : ""}`);
  }

  submit() {
    if (this.sheet?.kind === "grid") {
      const { same } = this.stage.counts();
      this.answer(this.stage.values(), `${same} of ${this.stage.marks.length} same`);
    } else if (this.sheet?.kind === "rating") {
      const value = Number(find("rating").value);
      this.answer([value], `rated ${value.toFixed(2)}`);
    }
  }

  undo() {
    const entry = this.history.pop();
    if (!entry) return;
    this.outbox.add(entry.answers.map(({ id }) => ({ kind: "undo", body: { id: newId(), answer_id: id } })));
    if (this.sheet) this.queue.putBack(this.sheet);
    for (const { question_id } of entry.answers) this.mine.delete(question_id);
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
    this.showNext();
    this.say("Noted: the picture is not shown again.");
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
    find("swap").addEventListener("click", () => this.stage.swap());
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
    const cell = event.target.closest(".cell");
    if (!cell || this.look.dragged) return;
    this.byPointer(event, () => this.stage.toggle(Number(cell.dataset.place)));
  }

  openFlags() {
    if (this.sheet) this.flags.open(this.sheet, this.labels, this.stage.swapped);
  }

  flagSide(right) {
    if (this.sheet) this.flag(itemsOf(this.sheet)[right === this.stage.swapped ? 0 : 1], BAD);
  }

  pressed(event) {
    const key = nameOf(event);
    if (key === null || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    const focus = document.activeElement;
    if (focus.matches("input:not([type=range]), select, textarea")) return;
    if (focus.matches("button, a, summary") && (key === "Space" || key === "Enter")) return;
    if (focus.matches("input[type=range]") && (key.startsWith("Arrow") || key === "Home" || key === "End")) return;
    const mode = this.sheet?.kind ?? "wait";
    const action = this.keys.action(key, mode === "wait" ? "pair" : mode);
    if (mode === "grid" && action === null && !event.repeat && this.stage.toggleKey(key)) return event.preventDefault();
    if (mode === "rating" && /^[0-9]$/.test(key) && !event.repeat) {
      event.preventDefault();
      return this.answer([Number(key) / 9], `rated ${key} of 9`);
    }
    if (action === null) return;
    if (event.repeat && !["left", "right", "up", "down", "zoomIn", "zoomOut"].includes(action)) return; // a key held down is one answer
    event.preventDefault();
    this.act(action);
  }

  act(action) {
    switch (action) {
      case "same": case "different": case "unsure":
        return this.answer([VALUE[action]], action);
      case "submit": return this.submit();
      case "undo": return this.undo();
      case "flag": return this.openFlags();
      case "badLeft": return this.flagSide(false);
      case "badRight": return this.flagSide(true);
      case "help": return this.help.open();
      case "swap": return this.stage.swap();
      case "reset": return this.look.reset();
      case "zoomIn": return this.look.zoomIn();
      case "zoomOut": return this.look.zoomOut();
      default: return this.look.pan(action);
    }
  }
}

export function begin(transport) {
  void new Review(transport).start();
}

if (!document.getElementById("pack")) begin(new Server());
