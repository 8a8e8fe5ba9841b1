/* vectors.js — the panel of vectors: a map of the texts in two dimensions, the nearest texts of one, and its numbers. */
import { bars, copyButton, count, el, lines, scroll, unknownNote } from "./common.js";
import { scatter } from "./plot.js";
import { cosine, linesField, product, sentences, vectorsOf } from "./texts.js";

const MOST = 1000, STEPS = 300;

/* ---- principal components ---------------------------------------------------------------------------------------- */

/* v at right angles to the axes, of length 1; zero if nothing is left of it. */
function direction(v, axes) {
  for (const a of axes) {
    const p = product(v, a);
    v = v.map((x, j) => x - p * a[j]);
  }
  const length = Math.sqrt(product(v, v));
  return v.map((x) => length > 1e-12 ? x / length : 0);
}

/* The direction in which the rows differ most, at right angles to the axes, by power iteration. */
function nextAxis(rows, axes) {
  let axis = direction(rows[0].map((_, j) => Math.sin((j + 1) ** 2)), axes);
  for (let step = 0, change = 1; step < STEPS && change > 1e-14; step++) {
    const sum = new Float64Array(axis.length);
    for (const row of rows) {
      const p = product(row, axis);
      for (let j = 0; j < sum.length; j++) sum[j] += p * row[j];
    }
    const next = direction(sum, axes);
    change = 1 - Math.abs(product(next, axis));
    axis = next;
  }
  const largest = axis.reduce((most, x) => Math.abs(x) > Math.abs(most) ? x : most, 0);
  return largest < 0 ? axis.map((x) => -x) : axis;
}

/* The place of each vector on the two principal components, and their shares of the variance. The start and the sign are fixed: the
   same vectors have the same places. */
export function principal(vectors) {
  const mean = vectors[0].map((_, j) => vectors.reduce((sum, v) => sum + v[j], 0) / vectors.length);
  const rows = vectors.map((v) => Float64Array.from(v, (x, j) => x - mean[j])), axes = [];
  while (axes.length < 2) axes.push(nextAxis(rows, axes));
  const places = rows.map((r) => axes.map((a) => product(r, a))), total = rows.reduce((sum, r) => sum + product(r, r), 0);
  return { places, shares: axes.map((_, k) => places.reduce((sum, p) => sum + p[k] ** 2, 0) / (total || 1)) };
}

/* ---- the panel --------------------------------------------------------------------------------------------------- */

function saveButton(name, write) {
  return el("button", { class: "plain small", type: "button", onclick: () => {
    const link = el("a", { download: name, href: URL.createObjectURL(new Blob([write()])) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  } }, `Save ${name}`);
}

const jsonOf = (texts, vectors) => JSON.stringify(texts.map((text, i) => ({ text, vector: vectors[i] })), null, 1);

const csvOf = (texts, vectors) => [["text", ...vectors[0].map((_, j) => j)], ...texts.map((text, i) => [`"${text.replaceAll('"', '""')}"`, ...vectors[i]])]
  .map((row) => row.join(",") + "\r\n").join("");

/* What one text is near to, and its numbers. */
function aboutOne(texts, vectors, i) {
  const near = texts.map((name, j) => ({ name, value: product(vectors[i], vectors[j]), j })).filter((r) => r.j !== i)
    .sort((a, b) => b.value - a.value).slice(0, 6);
  return [el("p", { dir: "auto" }, texts[i]), near.length ? bars("Nearest lines", near, cosine, 1) : "",
    el("h2", {}, `Its ${count(vectors[i].length, "number")} `, copyButton(() => JSON.stringify(vectors[i]), "Copy the numbers")),
    el("div", { "aria-live": "off" }, scroll("Numbers", el("pre", { class: "numbers" }, vectors[i].map((x) => x.toFixed(4)).join("  "))))];
}

async function showVectors({ model, state, info, signal, show }) {
  const all = lines(state.texts), texts = all.slice(0, MOST);
  const [vectors, note] = await Promise.all([vectorsOf(model, texts, info, signal), unknownNote(model, texts.slice(0, 40).join("\n"), signal)]);
  const { places, shares } = principal(vectors), share = (k) => `${Math.round(100 * shares[k])} %`;
  const map = el("div"), one = el("div");
  const choice = el("select", { id: "choose-line", onchange: () => choose(Number(choice.value)) }, texts.map((t, i) => el("option", { value: i }, `${i + 1}  ${t}`)));
  function choose(i) {
    choice.value = i;
    map.replaceChildren(scatter({ title: "Map of the lines", points: places, label: (j) => `${j + 1}  ${texts[j]}`, chosen: i, onchoose: choose,
      name: (j) => texts.length > 100 ? "" : texts.length > 12 || texts[j].length < 4 ? String(j + 1) : `${j + 1} ${texts[j].slice(0, 18)}…` }));
    one.replaceChildren(...aboutOne(texts, vectors, i));
  }
  choose(0);
  show(note, all.length > MOST ? el("p", { class: "note" }, `These are the first ${MOST} of ${all.length} lines.`) : "",
    el("div", { class: "plots" },
      texts.length > 2 ? el("figure", {}, map, el("figcaption", {}, `Each point is a line. The map shows the two directions in which the vectors differ ` +
        `most (principal components), with ${share(0)} and ${share(1)} of their variance: what is near on the map is near in these only. Click a point, or choose its line.`)) : "",
      el("div", {}, el("div", { class: "field model" }, el("label", { for: "choose-line" }, "Line"), choice), one)),
    el("p", {}, saveButton("vectors.json", () => jsonOf(texts, vectors)), " ", saveButton("vectors.csv", () => csvOf(texts, vectors))));
}

export const panels = [
  { id: "embed", title: "Vectors", verb: "Compute", run: showVectors,
    hint: "The vector of each line: the numbers by which programs compare texts. A map shows up to a thousand of them in two dimensions.",
    examples: sentences, fields: [linesField(`One text in each line (at most ${MOST})`, 6, "Enter at least one line.")] },
];
