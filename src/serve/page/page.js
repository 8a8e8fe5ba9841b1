/* page.js — which panels there are, their forms, and the address, which holds the state: #view=...&model=...&... */
import { behind } from "./behind.js";
import { ask, count, el, isChinese, lines, Refused, sent, setKey, visible } from "./common.js";
import * as looks from "./looks.js";
import * as texts from "./texts.js";
import { local, says } from "./transport.js";
import * as vectors from "./vectors.js";
import * as words from "./words.js";

const all = [...words.panels, ...vectors.panels, ...texts.panels, ...looks.panels].filter((p) => p.local === undefined || p.local === local);
const $ = (id) => document.getElementById(id);
let models = [], info = {}, running = null, current = null, currentModel = null, touched = false;
const memory = {};                                   /* panel: its last state, while the page is open */

const able = (panel) => models.filter((m) => m.can?.includes(panel.can ?? panel.id));
const shown = () => all.filter((p) => able(p).length);

/* ---- the address ------------------------------------------------------------------------------------------------- */

function readAddress() {
  const state = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const panel = shown().find((p) => p.id === state.view) ?? shown()[0];
  if (!panel) return {};
  const model = able(panel).find((m) => m.id === state.model) ?? able(panel)[0];
  return { panel, model, state };
}

const addressOf = (panel, state) => "#" + new URLSearchParams({ view: panel.id, ...state });

/* ---- a form ------------------------------------------------------------------------------------------------------ */

/* [language, name, values of fields]; those in the model's language are first, and the first one fills the form. */
function examplesOf(panel, model) {
  const own = isChinese(model) ? "zh" : "en", list = of(panel.examples, model) ?? [];
  return [...list.filter((x) => x[0] === own), ...list.filter((x) => x[0] !== own)];
}

const initial = (panel, field, model) => String(of(field.value, model) ?? examplesOf(panel, model)[0]?.[2][field.name] ?? "");

/* An example is shown by a model of its language, if there is one. */
function exampleLinks(panel, model) {
  const knows = (m, language) => isChinese(m) === (language === "zh");
  return el("p", { class: "examples" }, "Examples: ", examplesOf(panel, model).map(([language, name, values]) => {
    const by = knows(model, language) ? model : able(panel).find((m) => knows(m, language)) ?? model;
    return [el("a", { href: addressOf(panel, { model: by.id, ...values }) }, name), " "];
  }));
}

const isArea = (field) => field.type === "lines" || field.type === "text";
const isText = (field) => isArea(field) || field.type === "search";
const of = (property, model) => typeof property === "function" ? property(model, info) : property;

/* A label names the limits that control() and wrongNumber() check. */
function labelOf(field, model) {
  const label = of(field.label, model), { min, max } = limitsOf(field, model);
  if (field.type !== "number") return label;
  return max === Number.MAX_SAFE_INTEGER ? `${label} (from ${min})` : `${label} (${min} to ${max})`;
}

const limitsOf = (field, model) => ({ min: of(field.min, model), max: of(field.max, model) });

/* An address may hold what the browser would not let a person enter. */
function wrongNumber(field, model, text) {
  const { min, max } = limitsOf(field, model), x = Number(text);
  return !text.trim() || !Number.isFinite(x) || (!field.step && !Number.isInteger(x)) || x < min || x > max;
}

function control(field, model, value) {
  const id = `field-${field.name}`;
  if (isArea(field)) {
    const area = el("textarea", { id, name: field.name, rows: field.rows ?? 3, spellcheck: "false", dir: "auto" });
    area.value = value;
    return area;
  }
  if (field.type === "select") {
    const select = el("select", { id, name: field.name },
      field.choices(model).map(([v, text]) => el("option", { value: v }, text)));
    select.value = value;
    if (select.selectedIndex < 0) select.selectedIndex = 0;
    return select;
  }
  const input = el("input", { id, name: field.name, type: field.type, ...limitsOf(field, model),
    step: field.step, required: field.type === "number", autocomplete: "off", dir: "auto" });
  input.value = value;
  return input;
}

/* Puts a text file into an area. It becomes a part of the address, which has a limit. */
function fileOf(area) {
  const most = 500000, said = el("small", { role: "status" });
  return [el("input", { type: "file", accept: ".txt,.csv,.tsv,text/*", "aria-label": "A text file for these lines", onchange: async (e) => {
    const [file] = e.target.files, fits = file.size <= most;
    if (fits) area.value = await file.text();
    said.textContent = fits ? `${file.name}: ${count(lines(area.value).length, "line")}` : `${file.name} has ${file.size} bytes; expected at most ${most}.`;
    e.target.value = "";                             /* the same file can be chosen again */
    area.dispatchEvent(new Event("input", { bubbles: true }));
  } }), said];
}

function fieldOf(panel, field, model, state) {
  const input = control(field, model, state[field.name] ?? initial(panel, field, model));
  return el("div", { class: isText(field) ? "field wide" : "field" },
    el("label", { for: `field-${field.name}` }, labelOf(field, model)), input, field.file && fileOf(input));
}

/* Another model has other examples and heads: what was not edited is replaced. */
function onModel(panel, form, old) {
  const model = able(panel).find((m) => m.id === form.elements.model.value), state = stateOf(form);
  for (const f of panel.fields)
    if (f.type === "select" || state[f.name] === initial(panel, f, old)) delete state[f.name];
  show(panel, model, state, true);
}

const stateOf = (form) => Object.fromEntries([...new FormData(form)].map(([k, v]) => [k, String(v)]));

/* What the form has no field for, a chosen token, belongs to the text and the model. */
function stateToSend(panel, form, state) {
  const next = stateOf(form), same = next.model === state.model && panel.fields.every((f) => !isText(f) || next[f.name] === state[f.name]);
  return same ? { ...state, ...next } : next;
}

/* A menu cuts a long name on a phone: below it, all of it can be read. */
function modelField(panel, model) {
  const languages = model.source_language && model.target_language ? `, ${model.source_language} to ${model.target_language}` : "";
  return el("div", { class: "field model" }, el("label", { for: "field-model" }, "Model"),
    el("select", { id: "field-model", name: "model" },
      able(panel).map((m) => el("option", { value: m.id, selected: m === model }, visible(m.id)))),
    el("small", {}, `${visible(model.id)} is ${model.kind}${languages}`));
}

function formOf(panel, model, state) {
  const form = el("form", { onsubmit: (e) => {
    e.preventDefault();
    const address = addressOf(panel, stateToSend(panel, form, state));
    if (address === location.hash) start();
    else location.hash = address;
  } }, panel.fields.map((f) => fieldOf(panel, f, model, state)), modelField(panel, model), el("div", { class: "go" }, el("button", {}, panel.verb),
    el("span", { class: "keys" }, panel.fields.some(isArea) ? "or Ctrl + Enter" : "or Enter")));
  form.elements.model.addEventListener("change", () => onModel(panel, form, model));
  for (const f of panel.fields)                     /* a choice acts at once, a text with Ctrl+Enter */
    form.elements[f.name].addEventListener(f.type === "select" ? "change" : "keydown", (e) => {
      if (e.type === "change" || (e.key === "Enter" && e.ctrlKey)) form.requestSubmit();
    });
  form.addEventListener("input", () => {
    touched = true;
    memory[panel.id] = stateToSend(panel, form, state);
    showNavigation();
  });
  form.addEventListener("invalid", () => $("main").querySelector(".result")?.classList.add("stale"), true);
  return form;
}

/* ---- a panel ----------------------------------------------------------------------------------------------------- */

function showNavigation() {
  $("panels").replaceChildren(...shown().map((p) => el("li", {},
    el("a", { href: addressOf(p, memory[p.id] ?? {}), "aria-current": p === current ? "page" : undefined }, p.title))));
  const absent = all.filter((p) => !able(p).length).map((p) => p.title);
  $("absent").hidden = !absent.length;
  $("absent").textContent = says.absent(absent.join(", "));
}

function failureOf(e) {
  if (e instanceof Refused && e.status === 401) $("key").hidden = false;
  return el("p", { class: "failure", role: "alert" }, e instanceof Refused ? e.message : `This page failed: ${e.message}`);
}

/* The focus stays where it was in the result. */
function replace(out, children) {
  const focused = out.contains(document.activeElement) && document.activeElement.id;
  out.replaceChildren(...children);
  if (focused) $(focused)?.focus({ preventScroll: true });
}

async function run(panel, model, state, out, below) {
  running?.abort();
  const own = running = new AbortController(), begin = performance.now();
  sent.length = 0;
  out.setAttribute("aria-busy", "true");
  try {
    const empty = panel.fields.find((f) => isText(f) && !f.optional && !state[f.name].trim());
    if (empty) throw new Refused(0, empty.missing ?? "Enter a text.");
    const wrong = panel.fields.find((f) => f.type === "number" && wrongNumber(f, model, state[f.name]));
    if (wrong) throw new Refused(0, `Enter a ${wrong.step ? "" : "whole "}number: ${labelOf(wrong, model)}.`);
    await panel.run({ model, state, info, out, signal: own.signal, show: (...c) => replace(out, c.flat()),
      set: (more) => { location.hash = addressOf(panel, { ...state, ...more }); } });
  } catch (e) {
    if (own !== running) return;
    out.replaceChildren(failureOf(e));
  }
  if (own !== running) return;
  out.removeAttribute("aria-busy");
  below.replaceChildren(...behind(performance.now() - begin));
}

function show(panel, model, given, keep) {
  const state = { ...given, view: panel.id, model: model.id };
  for (const f of panel.fields) state[f.name] ??= initial(panel, f, model);
  const form = formOf(panel, model, state), out = el("section", { class: "result", "aria-live": "polite", "aria-label": "Result" });
  const below = el("section", { class: "behind", "aria-label": "Time and request" });
  const focused = document.activeElement?.id;
  if (current === panel)                               /* the page keeps its height until the new result is there */
    out.append(...$("main").querySelector(".result")?.childNodes ?? []);
  current = panel;
  currentModel = model;
  memory[panel.id] = state;
  showNavigation();
  document.title = `${panel.title} – roformer`;
  $("main").replaceChildren(el("h1", {}, panel.title), el("p", { class: "hint" }, typeof panel.hint === "function" ? panel.hint(model) : panel.hint), exampleLinks(panel, model), form, out, below);
  if (focused && $("main").contains($(focused))) $(focused).focus({ preventScroll: true });
  if (keep) history.replaceState(null, "", addressOf(panel, state));
  run(panel, model, state, out, below);
}

function start() {
  const { panel, model, state } = readAddress();
  if (panel) show(panel, model, state);
  else $("main").replaceChildren(el("p", {}, "No model that this page knows is being served."));
}

/* ---- the server -------------------------------------------------------------------------------------------------- */

/* Models that are still being loaded bring their panels later. Until a person has chosen or entered something, the page shows the
   first panel of those that answer. */
async function connect() {
  const first = !models.length;
  let all;
  try {
    all = (await ask("v1/models")).data;
    models = all.filter((m) => m.can);
    if (!models.length) throw new Refused(503, "The models are being loaded …");
    info = await ask("info");
  } catch (e) {
    $("status").textContent = e.message;
    if (e.status === 401) $("key").hidden = false;
    else setTimeout(connect, 1000);
    return;
  }
  $("key").hidden = true;
  const loaded = models.length < all.length ? `${models.length} of ${all.length} models` : count(models.length, "model");
  $("status").textContent = `version ${info.version}, ${count(info.threads, "thread")}, ${loaded}`;
  if (models.length < all.length) setTimeout(connect, 1000);
  if (first) addEventListener("hashchange", start);
  const wanted = new URLSearchParams(location.hash.slice(1)).get("view");
  const { panel, model } = readAddress(), other = panel !== current || model?.id !== currentModel?.id;
  if (first || (other && (wanted ? panel.id === wanted : !touched))) start();
  else showNavigation();
}

$("key").addEventListener("submit", (e) => {
  e.preventDefault();
  setKey($("key-text").value);
  connect();
});
connect();
