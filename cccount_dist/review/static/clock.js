// How long somebody looked at a sheet. Time in which the page was hidden does not count.

const MOST_SECONDS = 600;

export class Clock {
  constructor() {
    this.start();
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.gathered = this.milliseconds();
      this.since = performance.now();
      this.stopped = document.hidden;
    });
  }

  start() {
    this.gathered = 0;
    this.since = performance.now();
    this.stopped = document.hidden;
  }

  milliseconds() {
    return this.gathered + (this.stopped ? 0 : performance.now() - this.since);
  }

  seconds() {
    return Math.min(MOST_SECONDS, Math.round(this.milliseconds()) / 1000);
  }
}
