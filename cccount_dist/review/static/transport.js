// How the page talks to the server. `pack.js` has the same functions for a page that has no server.

const PATIENCE = 15_000; // milliseconds
const HOLD = 10; // seconds that the server may hold a request for sheets: shorter than any proxy's patience, and than ours

/** The server did not answer, or could not just now: worth trying again with the same ids. */
export class Unreachable extends Error {}
/** The server does not know who is asking. */
export class SignedOut extends Error {}
/** The server understood and refused: trying again would not help. */
export class Refused extends Error {}

export class Server {
  offline = false;
  holds = true; // a request for more sheets can wait at the server until there are some

  session() {
    return call("GET", "/api/session");
  }

  login(token) {
    return call("POST", "/api/login", { token });
  }

  logout() {
    return call("POST", "/api/logout", {});
  }

  /** Up to `count` sheets, those in this browser's hands included. `have`: wait for more than so many, but not for ever. */
  sheets(campaign, count, have = null) {
    const hold = have === null ? "" : `&have=${have}&wait=${HOLD}`;
    return call("GET", `/api/${encodeURIComponent(campaign)}/sheets?count=${count}${hold}`);
  }

  recent(campaign) {
    return call("GET", `/api/${encodeURIComponent(campaign)}/recent`);
  }

  /** How far the campaign is; `empty`: there is nothing to answer here, so why, and for how long. */
  outlook(campaign, empty = false) {
    return call("GET", `/api/${encodeURIComponent(campaign)}/outlook${empty ? "?empty=true" : ""}`);
  }

  standing(campaign) {
    return call("GET", `/api/${encodeURIComponent(campaign)}/standing`);
  }

  answers(campaign, answers) {
    return call("POST", `/api/${encodeURIComponent(campaign)}/answers`, answers);
  }

  undo(campaign, body) {
    return call("POST", `/api/${encodeURIComponent(campaign)}/undo`, body);
  }

  flag(campaign, body) {
    return call("POST", `/api/${encodeURIComponent(campaign)}/flag`, body);
  }

  /** Points that the pictures of two items share. */
  points(campaign, first, second) {
    return call("GET", `/api/${encodeURIComponent(campaign)}/points?first=${first}&second=${second}`);
  }

  /** The address of an item's picture. The workspace is part of it: another one may be served here tomorrow. */
  picture(item, side) {
    return item.picture ? `/images/${item.item}?side=${side}&of=${encodeURIComponent(item.picture)}` : null;
  }
}

async function call(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method,
      credentials: "same-origin",
      cache: "no-store",
      signal: AbortSignal.timeout(PATIENCE),
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
    });
    if (response.ok) return await response.json();
  } catch (error) {
    throw new Unreachable(error.message);
  }
  const detail = await explained(response);
  if (response.status === 401) throw new SignedOut(detail);
  if (response.status >= 500 || response.status === 429 || response.status === 408) throw new Unreachable(detail);
  throw new Refused(detail);
}

async function explained(response) {
  try {
    const { detail } = await response.json();
    return typeof detail === "string" ? detail : JSON.stringify(detail);
  } catch {
    return `${response.status} ${response.statusText}`;
  }
}
