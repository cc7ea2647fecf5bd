// The sheets that come next: fetched before they are needed, their pictures decoded, so that the next one is drawn at once.

import { sheetKind } from "./sheets.js";

const AHEAD = 8;
const FINEST = 2048; // pixels of a picture's longer side, once somebody zooms in
const POLLS = [1000, 2000, 3000, 5000, 8000]; // milliseconds between looks while there are none, if the server cannot be waited at
const AT_ONCE = 100; // milliseconds after which the next look follows one at which the server waited

export class Queue {
  constructor(transport, { campaign, isAnswered, changed }) {
    this.transport = transport;
    this.campaign = campaign;
    this.isAnswered = isAnswered; // question id -> whether it was answered here
    this.changed = changed;
    this.ready = [];
    this.given = new Set(); // ids of sheets that were shown or answered here
    this.spoiled = new Set(); // items that were flagged here
    this.state = "waiting";
    this.hindrance = null; // why nothing new is asked until somebody has run a command
    this.problem = null;
    this.filling = null; // the look that is under way, unless it waits at the server
    this.looking = null; // the look that is under way
    this.shown = null; // the sheet that was given out last
    this.wanted = false; // whether more was asked for while a look was under way
    this.timer = 0;
    this.empty = 0; // looks in a row that found nothing
    this.looked = false; // whether the server has been asked once
    this.closed = false;
    this.wake = () => void this.fill();
    addEventListener("online", this.wake); // also after a laptop was closed
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    removeEventListener("online", this.wake);
  }

  /** The next sheet, or null if none is here yet. */
  next() {
    const now = performance.now();
    // What lay here past its lease may be with somebody else by now. Without a connection it is better answered than not.
    if (!this.problem) this.ready = this.ready.filter((sheet) => sheet.again || sheet.until > now);
    this.ready = this.ready.filter((sheet) => sheet.again || !this.answered(sheet));
    const sheet = this.ready.shift() ?? null;
    if (sheet) this.given.add(sheet.id);
    this.shown = sheet;
    void this.fill();
    return sheet;
  }

  /** Show a sheet again, before all others. */
  putBack(sheet) {
    this.ready.unshift({ ...sheet, again: true });
  }

  /** A picture is of no use: sheets with it are not shown. */
  spoil(item) {
    this.spoiled.add(item);
    this.ready = this.ready.filter((sheet) => !hasItem(sheet, item));
    void this.fill();
  }

  unspoil(item) {
    this.spoiled.delete(item);
  }

  /**
   * Bring the queue to its length; called after every answer, when all are saved, and by itself while there is nothing to show.
   * The server hands out so many in all, with what it does not know to be answered: a look that crosses answers on their way
   * brings less, and is followed by another. Without it a connection that dies just then leaves people with nothing to do.
   */
  fill() {
    if (this.closed || this.ready.length >= AHEAD) return this.looking;
    if (this.looking) {
      this.wanted = true;
      return this.looking;
    }
    clearTimeout(this.timer);
    // The first look that finds too little comes back at once, so that people are told; the next ones wait at the server.
    const waits = this.transport.holds && !this.problem && this.looked && this.inHands < AHEAD;
    this.looking = this.fetch(waits).finally(() => {
      this.filling = this.looking = null;
      this.changed();
      const more = this.wanted && !this.problem && !waits;
      this.wanted = false;
      if (more) void this.fill();
    });
    this.filling = waits ? null : this.looking;
    return this.looking;
  }

  /** Sheets that are here and not answered, with the one that is shown. */
  get inHands() {
    return this.ready.length + (this.shown && !this.answered(this.shown) ? 1 : 0);
  }

  async fetch(waits) {
    try {
      const { sheets, state, hindrance } = await this.transport.sheets(this.campaign, AHEAD, waits ? this.inHands : null);
      if (this.transport.holds) {
        // What the server does not name any more was settled, or went to somebody who had nothing to do.
        const named = new Set(sheets.map((sheet) => sheet.id));
        this.ready = this.ready.filter((sheet) => sheet.again || named.has(sheet.id));
      }
      const here = new Map(this.ready.map((sheet) => [sheet.id, sheet]));
      for (const sheet of sheets) if (here.has(sheet.id)) here.get(sheet.id).until = until(sheet);
      const fresh = sheets.filter((sheet) => !here.has(sheet.id) && this.isNew(sheet)).map((sheet) => this.prepared(sheet));
      this.ready.push(...fresh);
      this.state = state;
      this.hindrance = hindrance ?? null;
      this.problem = null;
      this.empty = this.ready.length ? 0 : this.empty + 1;
    } catch (error) {
      this.problem = error;
      this.empty += 1;
    }
    if (this.closed) return;
    const goesOn = this.state === "running" || this.state === "waiting";
    if (this.transport.holds && !this.problem && goesOn) {
      this.looked = true;
      if (this.inHands < AHEAD) this.timer = setTimeout(this.wake, waits ? AT_ONCE : 0);
    } else if (!this.ready.length) {
      this.timer = setTimeout(this.wake, POLLS[Math.min(this.empty, POLLS.length) - 1] ?? POLLS[0]);
    }
  }

  isNew(sheet) {
    return !this.given.has(sheet.id) && !this.answered(sheet) && ![...this.spoiled].some((item) => hasItem(sheet, item));
  }

  answered(sheet) {
    return sheet.candidates.every((candidate) => this.isAnswered(candidate.question_id));
  }

  /** The sheet with an element for each of its pictures, the anchor's first; decoding begins now. */
  prepared(sheet) {
    const side = sheetKind(sheet.kind).side;
    const sideOf = typeof side === "function" ? side : () => side;
    const pictures = itemsOf(sheet).map((item, place) => picture(item, this.transport.picture(item, sideOf(place)), this.changed));
    return { ...sheet, pictures, until: until(sheet) };
  }
}

export function itemsOf(sheet) {
  return [sheet.anchor, ...sheet.candidates.map((candidate) => candidate.item)];
}

/** Load the pictures of a sheet finer than before; the coarse ones stay until the fine ones are there. */
export function refine(sheet, transport) {
  if (sheet.fine) return;
  sheet.fine = true;
  for (const [place, item] of itemsOf(sheet).entries()) {
    const entry = sheet.pictures[place];
    const address = transport.picture(item, FINEST);
    if (!address || !(entry.element instanceof HTMLImageElement)) continue;
    const fine = new Image();
    fine.src = address;
    fine.decode().then(() => (entry.element.src = address)).catch(() => null);
  }
}

function until(sheet) {
  return performance.now() + sheet.expires_in * 1000;
}

function hasItem(sheet, item) {
  return itemsOf(sheet).some((one) => one.item === item);
}

/** The items of a sheet whose pictures cannot be shown: nobody can say what they are. */
export function unseen(sheet) {
  return itemsOf(sheet).filter((_, place) => sheet.pictures[place].lost);
}

/** Whether a picture of the sheet is still on its way: nobody can say what they have not seen. */
export function loading(sheet) {
  return sheet.pictures.some((picture) => !picture.seen && !picture.lost);
}

/** An element that is ready to be shown; `element` changes to an explanation if the picture cannot be had. `known` is called when that is clear. */
function picture(item, address, known) {
  if (!address) return { element: missing(item, "This item has no picture."), lost: true };
  const image = new Image();
  image.alt = item.name;
  image.draggable = false;
  image.decoding = "sync"; // it is decoded by the time it is shown; drawing must not wait for another frame
  image.src = address;
  const entry = { element: image, seen: false };
  image
    .decode()
    .catch(() => null) // it may just have been put off: then the picture is there
    .then(() => {
      entry.seen = image.naturalWidth > 0;
      entry.lost = !entry.seen;
      if (entry.lost) entry.element = missing(item, "This picture cannot be shown.");
      if (entry.lost && image.isConnected) image.replaceWith(entry.element);
      known();
    });
  return entry;
}

function missing(item, text) {
  const place = document.createElement("p");
  place.className = "missing";
  place.textContent = `${text} (${item.name})`;
  return place;
}
