/* looks.js — panels that look into a model: attention of a head, and positions. */
import { ask, bars, el, percent, Refused, scroll } from "./common.js";
import { cells, clock, curves } from "./plot.js";

const upTo = (n) => Array.from({ length: n }, (_, i) => [String(i), String(i)]);
const head = [
  { name: "layer", label: "Layer", type: "select", value: "0", choices: (m) => upTo(m.layers) },
  { name: "head", label: "Head", type: "select", value: "0", choices: (m) => upTo(m.heads) },
];
const sentences = [["en", "a river", { text: "The river flows through the valley, and it reaches the sea." }],
  ["en", "a word twice", { text: "The bank of the river is far from the bank that lent the money." }], ["zh", "Chinese", { text: "今天天气非常好,我们去公园。" }]];

const longest = (model) => Math.min(128, model.max_input_length);
const PAPER = "https://arxiv.org/abs/2104.09864";

/* `around`: added tokens that the route does not count. */
async function askAbout(route, body, around, signal) {
  try {
    return await ask(route, body, signal);
  } catch (e) {
    const [, limit, unit, got] = e.message.match(/`inputs`: expected (?:at most|1 to) (\d+) (tokens|bytes), got (\d+)/) ?? [];
    if (!unit) throw e;
    const more = unit === "tokens" ? around : 0;
    throw new Refused(e.status, `The text has ${Number(got) + more} ${unit}; at most ${Number(limit) + more} fit here.`);
  }
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* The tokens that the tokenizer adds. */
function meaning(marks) {
  const known = { "[CLS]": "[CLS] starts each text and can stand for the whole of it.", "[SEP]": "[SEP] ends a text." };
  return marks.length ? ` The tokenizer adds ${marks.join(" and ")}. ${marks.map((m) => known[m] ?? "").join(" ")}` : "";
}

/* What one token attends to. */
function rowOf(names, weights, m) {
  const rows = weights.map((value, n) => ({ name: `${n}  ${names[n]}`, value })).sort((a, b) => b.value - a.value);
  return bars(`Token ${m}, “${names[m]}”, attends to`, rows.slice(0, 8), undefined, 1);
}

async function attention({ model, state, signal, show, set }) {
  const body = { model: model.id, inputs: state.text, layer: Number(state.layer), head: Number(state.head) };
  const a = await askAbout("attention", body, 0, signal);
  const names = a.tokens.map((t) => t.text), most = Math.max(...a.attention.flat()), named = names.length <= 50;
  const widest = Math.max(...names.map((n) => n.length)), left = named ? 8 + Math.min(20, widest) * 8 : 2;
  const marks = [...new Set(a.tokens.filter((t) => t.special).map((t) => t.text))];
  const token = Math.min(Number(state.token) || 0, names.length - 1);
  const name = (i) => names[i].slice(0, 20);
  const choose = el("select", { id: "choose-token", onchange: (e) => set({ token: e.target.value }) },
    names.map((n, i) => el("option", { value: i, selected: i === token }, `${i}  ${n}`)));
  show(el("div", { class: "plots" },
    el("figure", {}, scroll("Attention map", cells({ title: `Attention of layer ${a.layer}, head ${a.head}`, rows: a.attention, most,
      size: names.length > 40 ? 12 : 20, left, top: left * 0.9, rowName: named && name, columnName: named && name, chosen: [token],
      label: (m, n, p) => `${names[m]} → ${names[n]}: ${percent(p)}`, onchoose: (m) => set({ token: m }) })),
    el("figcaption", {}, `Each row is a token; its weights for the tokens of the columns sum to 100 %. The largest weight is ${percent(most)}. ` +
      "Click a row, or choose its token, to see its largest weights." + meaning(marks) + (named ? "" : " With more than 50 tokens, the map has no names: point at a cell to see its two tokens."))),
    el("div", {}, el("div", { class: "field model" }, el("label", { for: "choose-token" }, "Token"), choose),
      rowOf(names, a.attention[token], token))));
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

/* Sec. 3.4.3 of the paper: the mean of |S_j|, S_j = sum of exp(i delta theta_i) over i < j. */
function decay(theta, delta) {
  let re = 0, im = 0, sum = 0;
  for (const t of theta) {
    re += Math.cos(delta * t);
    im += Math.sin(delta * t);
    sum += Math.hypot(re, im);
  }
  return sum / theta.length;
}

const meanCosine = (theta, delta) => theta.reduce((s, t) => s + Math.cos(delta * t), 0) / theta.length;
const figure = (plot, text) => el("figure", {}, plot, el("figcaption", {}, text));
const range = (n, f) => Array.from({ length: n }, (_, i) => f(i));

/* Two positions, and what each plane makes of them: the angle between the hands depends on the distance alone. */
function rotation(theta) {
  const planes = range(6, (i) => Math.round(i * (theta.length - 1) / 5)).filter((p, i, all) => all.indexOf(p) === i);
  const clocks = el("div", { class: "hands" }), text = el("p", { role: "status" });
  const slider = (name, label, value) => el("div", { class: "slider" }, el("label", { for: name }, label),
    el("input", { id: name, type: "range", min: 0, max: 100, value, oninput: draw }), el("output", { for: name }, String(value)));
  const m = slider("position-m", "Position m of the query (solid)", 3), n = slider("position-n", "Position n of the key (dashed)", 8);
  const at = (box) => Number(box.querySelector("input").value);
  function draw() {
    const d = at(n) - at(m);
    for (const box of [m, n]) box.querySelector("output").textContent = at(box);
    clocks.replaceChildren(...planes.map((p) => figure(clock(`Plane ${p}`, at(m) * theta[p], at(n) * theta[p]), `plane ${p}`)));
    text.textContent = `m = ${at(m)}, n = ${at(n)}: the distance n − m is ${d}. If query and key are equal in every plane, ` +
      `their score is the mean cosine, ${meanCosine(theta, d).toFixed(3)}. Move both by the same amount: it stays.`;
  }
  draw();
  return el("section", {}, el("h2", {}, "Rotation: each plane turns by its own angle for each position"),
    el("div", { class: "sliders" }, m, n), clocks, text);
}

function encodingPlots(a) {
  const theta = a.frequencies, waves = theta.map((t, i) => [i, 2 * Math.PI / t]);
  return [
    figure(curves({ title: "Wavelength of each plane", x: "plane", y: "tokens for one full turn", log: true,
      lines: [{ at: a.max_position_embeddings, text: `longest text: ${a.max_position_embeddings.toLocaleString("en-US")}` }], curves: [{ points: waves, kind: "dot" }] }),
    "Wavelengths: the first planes turn fast and tell neighbors apart; the last ones hardly turn within a text."),
    figure(curves({ title: "Bound of a score over the distance", x: "distance in tokens", y: "mean of |S|", low: 0,
      curves: [{ points: range(257, (d) => [d, decay(theta, d)]) }] }),
    ["Decay: at a distance, each plane is an arrow of length 1, turned by the plane's angle; S is the sum of the first one, two, three … arrows, and |S| its length. " +
      "The mean of |S|, times a number that depends on the two words, is a bound: their score cannot be larger. The bound falls with the distance. It is from section 3.4.3 of ",
    el("a", { href: PAPER, rel: "noopener noreferrer" }, "the RoFormer paper (arXiv:2104.09864)"), "."]),
  ];
}

function headPlots(a) {
  const plots = [], most = a.score && (a.score.mean.length - 1) / 2;
  if (a.score)
    plots.push(figure(curves({ title: "Score over the distance", x: "n − m in tokens", y: "score",
      curves: [{ points: a.score.mean.map((v, i) => [i - most, v]),
        band: a.score.mean.map((v, i) => [i - most, v - a.score.deviation[i], v + a.score.deviation[i]]) }] }),
    `Score of layer ${a.layer}, head ${a.head}: mean over all pairs of a query and a key of the text, as if they were n − m apart. The band: plus and minus one standard deviation.`));
  plots.push(figure(curves({ title: "Attention over the distance", x: "distance in tokens", y: "attention", low: 0,
    curves: [{ points: a.by_distance.map((v, d) => [d, v]) }] }),
  `Attention of layer ${a.layer}, head ${a.head}: mean weight of a token at this distance.`));
  return plots;
}

function headMap(a, set) {
  const rows = range(a.layers, (l) => a.distance.slice(l * a.heads, (l + 1) * a.heads)), most = Math.max(...a.distance);
  return figure(cells({ title: "Mean distance of attention of all heads", rows, most, size: 26, left: 46, top: 40, axes: ["layer", "head"],
    rowName: String, columnName: String, label: (l, h, v) => `layer ${l}, head ${h}: ${v.toFixed(1)} tokens`, chosen: [a.layer, a.head],
    onchoose: (l, h) => set({ layer: l, head: h }) }),
  `Mean distance of attention: a row for each layer, a column for each head; the darkest is ${most.toFixed(1)} tokens, ` +
  `equal attention would be ${a.uniform_distance.toFixed(1)}. Click a cell, or choose layer and head above.`);
}

async function positions({ model, state, signal, show, set }) {
  const body = { model: model.id, layer: Number(state.layer), head: Number(state.head), max_distance: Number(state.distance) };
  if (state.text.trim()) body.inputs = state.text;
  const a = await askAbout("positions", body, 2, signal);
  show(el("p", {}, "In a head, each token has two vectors: a query, which says what it looks for, and a key, which says what it has. " +
      "Their numbers are taken two by two; each pair is a point in a plane, which is rotated. At position m, plane i turns by m times its own " +
      "angle; after that, the score of a query and a key depends on how far apart they are, not on where they stand."),
    el("p", { class: "hint" }, `The formula (${a.encoding}, ${a.source}): ${a.equation}.`),
    rotation(a.frequencies), el("h2", {}, "The encoding, and what the model does with it"),
    el("div", { class: "plots" }, encodingPlots(a), a.by_distance ? [headPlots(a), headMap(a, set)]
      : el("p", {}, "Enter a text to see what the model does with it.")));
}

export const panels = [
  { id: "attention", title: "Attention", verb: "Show attention", run: attention,
    hint: (m) => `How much each token (a word or a part of one) reads from the others. A layer is one step of the computation: this model has ${m.layers}, and each works on the result of the one before. A head is a part of a layer that decides by itself where to read: each layer has ${m.heads}, with a map for each.`,
    examples: sentences,
    fields: [{ name: "text", label: (m) => `Text (at most ${longest(m)} tokens)`, type: "text", rows: 2 }, ...head] },
  { id: "positions", title: "Positions", verb: "Measure", run: positions,
    hint: "How the model knows in which order the words stand: rotary positions, and what one of its heads does with them on your text.",
    examples: sentences,
    fields: [{ name: "text", label: (m) => `Text on which the head is measured (at most ${longest(m)} tokens)`, type: "text", rows: 2, optional: true }, ...head,
      { name: "distance", label: "Score curve: distances up to", type: "number", min: 8, max: 512, value: 64 }] },
];
