/* common.js — elements, requests and results that all panels use. Text from outside only becomes text nodes. */
import { request, says } from "./transport.js";

/* An element with attributes and children; strings become text. `style` is an object, on... are listeners. */
export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(e, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "style") for (const [k, v] of Object.entries(value)) e.style.setProperty(k, v);
    else if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else e.setAttribute(key, value === true ? "" : value);
  }
  e.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

let key = sessionStorage.getItem("key") || "";

export function setKey(text) {
  key = text;
  sessionStorage.setItem("key", text);
}

export const hasKey = () => key !== "";
export function authorization() {
  return key ? { Authorization: `Bearer ${key}` } : {};
}

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/* Errors have the form of the route's protocol. */
function messageOf(status, text) {
  try {
    const body = JSON.parse(text);
    const found = body.error?.message ?? body.error ?? body.message;
    if (typeof found === "string") return found;
  } catch {
    /* not JSON: a proxy answered */
  }
  return says.status(status);
}

/* Requests of the view that is shown, in their order; of an answer, its headers. */
export const sent = [];

async function send(path, body, signal) {
  const headers = {}, own = { url: new URL(path, document.baseURI.replace(/#.*/, "")).href, body };
  if (signal && !signal.aborted) sent.push(own);
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await request(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw new Refused(0, says.silent);
  }
  own.headers = answer.headers;
  if (!answer.ok) throw new Refused(answer.status, messageOf(answer.status, await answer.text()));
  return answer;
}

/* The answer of a route as JSON; without a body the request is a GET. Paths are relative: a proxy may have a prefix. */
export async function ask(path, body, signal) {
  return (await send(path || "./", body, signal)).json();
}

/* Server-sent events: each object of a stream. */
export async function* askStream(path, body, signal) {
  const reader = (await send(path, body, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    text += value ?? "";
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const data = event.startsWith("data: ") ? event.slice(6) : "";
      if (data === "[DONE]") return;
      if (data) yield JSON.parse(data);
    }
    if (done) return;
  }
}

/* The answers for a list in as many requests as the server's limit needs; `part` gets a part of the list. */
export async function inParts(list, info, part) {
  const most = info.max_client_batch_size, all = [];
  for (let i = 0; i < list.length; i += most) all.push(...await part(list.slice(i, i + most), i));
  return all;
}

/* ---- unknown tokens ---------------------------------------------------------------------------------------------- */

/* The id that a tokenizer gives to what is not in its vocabulary, if one of these tokens has it. */
const unknownOf = new Map();

async function unknownId(model, ids, signal) {
  if (!unknownOf.has(model.id) && ids.length) {
    const texts = await ask("decode", { model: model.id, ids: ids.map((id) => [id]), skip_special_tokens: false }, signal);
    const at = texts.findIndex((t) => /^(\[UNK\]|<unk>)$/.test(t.trim()));
    if (at >= 0) unknownOf.set(model.id, ids[at]);
  }
  return unknownOf.get(model.id);
}

/* The tokens of a text; those that are not in the vocabulary are marked as unknown. */
export async function tokensOf(model, text, signal) {
  const [tokens] = await ask("tokenize", { model: model.id, inputs: [text] }, signal);
  const own = tokens.filter((t) => !t.special), unknown = await unknownId(model, [...new Set(own.map((t) => t.id))], signal);
  for (const t of own) t.unknown = t.id === unknown;
  return tokens;
}

/* A note if the model knows too little of a text, for example of one in another language. */
export async function unknownNote(model, text, signal) {
  if (!model.can.includes("tokenize")) return "";
  const tokens = (await tokensOf(model, text, signal)).filter((t) => !t.special), unknown = tokens.filter((t) => t.unknown).length;
  return 3 * unknown <= tokens.length ? ""
    : el("p", { class: "note" }, `Tokens that are not in the model's vocabulary: ${unknown} of ${tokens.length}. The model cannot tell them apart, so the result means little. Is the text in a language of the model?`);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

export const percent = (x) => `${(100 * x).toFixed(x >= 0.0995 ? 1 : 2)} %`;

export const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

/* A name with its marks of direction written out: they would reorder the text around them, or pass one name off as another. */
export const visible = (name) => name.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
  (mark) => `‹U+${mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);

export const lines = (text) => text.split("\n").map((t) => t.trim()).filter(Boolean);

export const isChinese = (model) => /zh|chinese/i.test(model.id);

/* rows: [{name, value}]; a value of `most` fills the track. */
export function bars(caption, rows, show = percent, most = Math.max(1e-9, ...rows.map((r) => r.value))) {
  return el("table", { class: "bars" }, el("caption", { class: "label" }, caption),
    el("tbody", {}, rows.map((r) => el("tr", {},
      el("th", { scope: "row", dir: "auto" }, r.name), el("td", { class: "number" }, show(r.value)),
      el("td", { class: "track", "aria-hidden": "true" },
        el("div", { class: "bar", style: { width: `${Math.max(0, Math.min(1, r.value / most)) * 100}%` } }))))));
}

/* Over plain HTTP, a browser has navigator.clipboard only for a server on its own machine: the text of an area can be copied anywhere. */
export function copyButton(text, name) {
  const button = el("button", { class: "plain small", type: "button", "aria-label": name, onclick: () => {
    const area = el("textarea", { class: "skip" });
    area.value = text();
    button.after(area);
    area.select();
    button.textContent = document.execCommand("copy") ? "Copied" : "Not copied";
    area.remove();
    button.focus();
  } }, "Copy");
  return button;
}

/* What is wider than a phone scrolls by itself, by keyboard, too. */
export function scroll(name, ...children) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name }, ...children);
}
