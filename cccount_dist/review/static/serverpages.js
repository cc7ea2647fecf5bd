// What pages beside the review have in common: they ask the server one thing at a time, about a campaign that is chosen above.

import { element, find } from "./elements.js";

/** What the server says; somebody who has not signed in goes where that is done. With a body it is sent. */
export async function call(path, body) {
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  const response = await fetch(path, { credentials: "same-origin", cache: "no-store", ...sent });
  if (response.status === 401) {
    location.replace("/");
    throw new Error("sign in first");
  }
  const told = await response.json();
  if (!response.ok) throw new Error(typeof told.detail === "string" ? told.detail : `the server says ${response.status}`);
  return told;
}

/** Offer the campaigns; return the one that the address names, or the first. `changed` is called with another one. */
export function offerCampaigns(names, changed) {
  const wanted = new URLSearchParams(location.search).get("campaign");
  const choice = find("campaign");
  choice.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  choice.disabled = names.length < 2;
  choice.value = names.includes(wanted) ? wanted : names[0];
  choice.addEventListener("change", () => changed(choice.value));
  return choice.value;
}
