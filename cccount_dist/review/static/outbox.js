// Answers on their way. Each is kept in the browser until the server says that it is on disk, and sent again with the same id
// until then: nothing is lost by a dead network, a closed tab or a restarted server, and nothing counts twice.

import { all, put, remove } from "./database.js";
import { Refused, SignedOut } from "./transport.js";

const MOST_AT_ONCE = 100;
const FIRST_WAIT = 1000; // milliseconds, doubled with each failure …
const LONGEST_WAIT = 15_000; // … up to this

export class Outbox {
  /** `owner` tells workspaces, campaigns and people apart: they may share this browser. */
  constructor(transport, { campaign, owner, changed }) {
    this.transport = transport;
    this.campaign = campaign;
    this.owner = owner;
    this.changed = changed;
    this.waiting = [];
    this.refused = [];
    this.problem = null; // why the last attempt failed
    this.signedOut = false;
    this.kept = true; // whether the browser lets us keep events
    this.sending = null;
    this.failures = 0;
    this.timer = 0;
    this.place = 0;
    this.closed = false;
    this.wake = () => void this.flush();
    addEventListener("online", this.wake);
  }

  /** Take up what an earlier visit left. */
  async open() {
    try {
      for (const event of await all("events", this.owner)) (event.refused ? this.refused : this.waiting).push(event);
    } catch {
      this.kept = false;
    }
    this.changed();
    await this.flush();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    removeEventListener("online", this.wake);
  }

  /** Keep events and send them. Returns at once. */
  add(events) {
    const stamped = events.map((event) => ({
      ...event, id: event.body.id, owner: this.owner, made: Date.now(), place: this.place++,
    }));
    this.waiting.push(...stamped);
    this.changed();
    void this.keep(stamped).then(() => this.flush());
  }

  /** Send what waits, in order; true if everything was taken. */
  async flush() {
    if (this.sending) return this.sending;
    clearTimeout(this.timer);
    this.sending = this.sendAll();
    try {
      return await this.sending;
    } finally {
      this.sending = null;
    }
  }

  /** Ids of questions whose answer is on its way and was not taken back. */
  questions() {
    const undone = new Set(this.waiting.filter((e) => e.kind === "undo").map((e) => e.body.answer_id));
    return new Set(this.waiting.filter((e) => e.kind === "answer" && !undone.has(e.id)).map((e) => e.body.question_id));
  }

  async forgetRefused() {
    const ids = this.refused.map((event) => event.id);
    this.refused = [];
    this.changed();
    await this.discard(ids);
  }

  async sendAll() {
    while (this.waiting.length && !this.closed) {
      const batch = this.nextBatch();
      let receipt;
      try {
        receipt = await this.send(batch);
      } catch (error) {
        if (error instanceof Refused && batch.length === 1) {
          receipt = { rejected: [{ id: batch[0].id, reason: error.message }] };
        } else if (error instanceof Refused) {
          this.single = batch.length; // one of them is wrong: find out which
          continue;
        } else {
          this.failed(error);
          return false;
        }
      }
      const settled = await this.settle(batch, receipt);
      if (!settled) {
        this.failed(new Error("the server did not say that it is stored"));
        return false;
      }
      this.failures = 0;
      this.problem = null;
      this.signedOut = false;
      this.changed();
    }
    return !this.waiting.length;
  }

  nextBatch() {
    const [first] = this.waiting;
    if (first.kind !== "answer") return [first];
    const stop = this.waiting.findIndex((event) => event.kind !== "answer");
    let most = MOST_AT_ONCE;
    if (this.single) {
      most = 1;
      this.single -= 1;
    }
    return this.waiting.slice(0, Math.min(stop < 0 ? this.waiting.length : stop, most));
  }

  send(batch) {
    const [{ kind, body }] = batch;
    if (kind === "answer") return this.transport.answers(this.campaign, batch.map((event) => event.body));
    return kind === "undo" ? this.transport.undo(this.campaign, body) : this.transport.flag(this.campaign, body);
  }

  /** Let go of what the receipt names, and of nothing else; true if it names all. */
  async settle(batch, { stored = [], known = [], rejected = [] }) {
    const safe = new Set([...stored, ...known]);
    const reasons = new Map(rejected.map(({ id, reason }) => [id, reason]));
    const bad = batch.filter((event) => reasons.has(event.id)).map((event) => ({ ...event, refused: reasons.get(event.id) }));
    const named = new Set(batch.map((event) => event.id).filter((id) => safe.has(id) || reasons.has(id)));
    this.waiting = this.waiting.filter((event) => !named.has(event.id));
    this.refused.push(...bad);
    await this.discard([...named].filter((id) => !reasons.has(id)));
    if (bad.length) await this.keep(bad); // a refusal is shown until somebody has seen it
    return named.size === batch.length;
  }

  failed(error) {
    this.failures += 1;
    this.problem = error.message;
    this.signedOut = error instanceof SignedOut;
    if (!this.signedOut && !this.closed) {
      const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (this.failures - 1));
      this.timer = setTimeout(this.wake, wait);
    }
    this.changed();
  }

  async keep(events) {
    try {
      await put("events", events);
    } catch {
      this.kept = false;
    }
  }

  async discard(ids) {
    try {
      if (ids.length) await remove("events", ids);
    } catch {
      this.kept = false; // they are sent once more after a reload, and recognised by their ids
    }
  }
}

/** An id that nobody else makes. `crypto.randomUUID` is missing on plain http, which a local network often has. */
export function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
