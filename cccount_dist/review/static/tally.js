// How far it is, who answers, and while there is nothing to answer: why, and how long that has been so.

import { find } from "./elements.js";

const EVERY = 10_000; // milliseconds between two looks at how far the campaign is
const WHILE_EMPTY = 4000; // and at why there is nothing
const SECOND = 1000;

export class Tally {
  constructor(transport, { explained }) {
    this.transport = transport;
    this.explained = explained; // called with the reason why there is nothing
    this.timer = this.ticking = 0;
    this.campaign = null;
  }

  open(campaign) {
    Object.assign(this, { campaign, told: null, since: 0, mine: 0, seconds: 0, shown: 0, why: null, left: null, began: 0, last: 0 });
    this.busy();
    void this.look();
  }

  answered(seconds) {
    this.since += 1;
    this.mine += 1;
    this.seconds += seconds;
    this.draw();
  }

  undone() {
    this.since -= 1;
    this.shown -= 1;
    this.mine = Math.max(0, this.mine - 1);
    this.draw();
  }

  /** There is something to answer. */
  busy() {
    if (this.began) this.last = performance.now() - this.began;
    this.began = 0;
    this.why = null;
    clearInterval(this.ticking);
    find("waited").hidden = true;
  }

  /** There is nothing to answer. */
  idle() {
    if (this.began) return;
    this.began = performance.now();
    this.ticking = setInterval(() => this.tick(), SECOND);
    void this.look();
  }

  async look() {
    clearTimeout(this.timer);
    const { campaign, since } = this;
    const empty = this.began > 0;
    const told = await this.transport.outlook(campaign, empty).catch(() => null);
    if (campaign !== this.campaign) return;
    if (told) {
      this.told = told;
      this.since -= since;
      this.draw();
      if (empty && this.began && told.why) {
        this.why = told.why;
        this.left = told.seconds === null ? null : performance.now() + SECOND * told.seconds;
        this.explained(told.why);
      }
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.look(), this.began ? WHILE_EMPTY : EVERY);
  }

  draw() {
    if (!this.told) return;
    const answers = (this.shown = Math.max(0, this.shown, this.told.answers + this.since)); // what is on its way is not taken back
    const { expected, exact } = this.told;
    const of = expected === null ? " answered" : ` of ${exact ? "" : "about "}${Math.max(expected, answers).toLocaleString()}`;
    find("pace").textContent = `${answers.toLocaleString()}${of}`;
    find("tally").title = this.mine ? `${this.mine} by you in this visit, ${(this.seconds / this.mine).toFixed(1)} s each` : "";
  }

  tick() {
    const seconds = (milliseconds) => `${Math.max(0, Math.round(milliseconds / SECOND))} s`;
    const now = performance.now();
    const words = [`You have waited ${seconds(now - this.began)}`];
    if (this.left !== null && this.left > now) words.push(`it goes on in ${seconds(this.left - now)} at the latest`);
    else if (this.last > SECOND) words.push(`the last wait took ${seconds(this.last)}`);
    find("waited").textContent = `${words.join("; ")}.`;
    find("waited").hidden = ["done", "stopped"].includes(this.told?.state);
  }
}
