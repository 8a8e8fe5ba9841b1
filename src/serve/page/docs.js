/* docs.js — /docs: sends the request of a route and shows its answer. */
import { authorization, el } from "./common.js";

async function send(form) {
  const method = form.dataset.method;
  const body = form.querySelector("textarea");
  const path = form.querySelector("input");
  const out = form.querySelector("output");
  out.replaceChildren("...");
  try {
    const headers = { ...authorization(), ...(body ? { "Content-Type": "application/json" } : {}) };
    const began = performance.now();
    const answer = await fetch((path ? path.value : form.dataset.path).replace(/^\/+/, "") || "./",
                               { method, headers, body: body ? body.value : undefined });
    const text = await answer.text();
    const seconds = ((performance.now() - began) / 1000).toFixed(3);
    out.replaceChildren(`${answer.status} in ${seconds} s`, text ? el("pre", {}, text.slice(0, 100000)) : "");
  } catch (e) {
    out.replaceChildren(String(e.message || e));
  }
}

for (const form of document.querySelectorAll(".try")) {
  form.querySelector("button").addEventListener("click", () => send(form));
}
