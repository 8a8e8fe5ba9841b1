/* texts.js — panels about whole texts: similarity, search, labels, tags, answers, translations. */
import { ask, bars, count, el, inParts, lines, Refused, scroll, unknownNote, visible } from "./common.js";

export const cosine = (x) => x.toFixed(3);

/* ---- similarity -------------------------------------------------------------------------------------------------- */

/* Vectors of length 1. */
export const vectorsOf = (model, texts, info, signal) => inParts(texts, info, async (input) =>
  (await ask("v1/embeddings", { model: model.id, input }, signal)).data.map((d) => d.embedding));

export function product(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

function cell(x) {
  return el("td", { style: { "--share": Math.max(0, Math.min(1, x)).toFixed(2) } }, x.toFixed(2));
}

function matrix(texts, cosines) {
  return scroll("Similarity matrix", el("table", { class: "matrix" },
    el("thead", {}, el("tr", {}, el("td", {}), texts.map((t, i) => el("th", { scope: "col", title: t }, String(i + 1))))),
    el("tbody", {}, cosines.map((row, i) => el("tr", {},
      el("th", { scope: "row", class: "line", title: texts[i] }, `${i + 1}  ${texts[i]}`), row.map(cell))))));
}

function nearest(texts, cosines) {
  let best = null;
  cosines.forEach((row, i) => row.forEach((x, j) => {
    if (i < j && (!best || x > best.x)) best = { i, j, x };
  }));
  return best && el("p", {}, `Most similar of these: lines ${best.i + 1} and ${best.j + 1}, with ${best.x.toFixed(2)}.`);
}

async function compare({ model, state, info, signal, show }) {
  const all = lines(state.texts), texts = all.slice(0, 40);
  if (texts.length < 2) throw new Refused(0, "Enter at least two lines.");
  const [vectors, note] = await Promise.all([vectorsOf(model, texts, info, signal), unknownNote(model, texts.join("\n"), signal)]);
  const cosines = vectors.map((a) => vectors.map((b) => product(a, b)));
  show(note, all.length > texts.length ? el("p", { class: "note" }, `These are the first ${texts.length} of ${all.length} lines.`) : "",
    matrix(texts, cosines), nearest(texts, cosines) ?? "");
}

const NEWS = ["The orchestra played a symphony in the concert hall.", "The band recorded a new album of songs.",
  "The team won the match in the last minute.", "The football club signed a new player.",
  "The river flows through the valley to the sea.", "Heavy rain is expected in the north tomorrow."].join("\n");
const MOST_LINES = 1000;
const CHINESE = ["今天下雨了。", "天气很不好。", "他喜欢打篮球。", "球队赢了比赛。"].join("\n");
const QUESTIONS = ["How do I cancel my order?", "I want to return what I bought.", "Where is my parcel?", "When will it be delivered?",
  "My card was refused.", "Can I pay by bank transfer?"].join("\n");
const RIVER = "The old river flows through the valley to the sea. Its source lies in the mountains.";

/* Texts that may also come from a file. */
export const linesField = (label, rows, missing) => ({ name: "texts", label, type: "lines", rows, missing, file: true });

export const sentences = [["en", "news", { texts: NEWS }], ["en", "questions of customers", { texts: QUESTIONS }], ["zh", "Chinese", { texts: CHINESE }]];

/* ---- search and ranks -------------------------------------------------------------------------------------------- */

async function search({ model, state, signal, show }) {
  const body = { model: model.id, query: state.query, top_k: Number(state.top) };
  const [{ results }, note] = await Promise.all([ask("search", body, signal), unknownNote(model, state.query, signal)]);
  show(note, bars("Lines of the index, most similar first (1: the same direction, 0 or less: unrelated)", results.map((r) => ({ name: r.text, value: r.score })), cosine, 1));
}

/* Where the page computes by itself, there is no index: the lines are given with the query. */
async function find({ model, state, info, signal, show }) {
  const all = lines(state.texts), texts = all.slice(0, MOST_LINES);
  const [vectors, note] = await Promise.all([vectorsOf(model, [state.query, ...texts], info, signal), unknownNote(model, state.query, signal)]);
  const ranks = texts.map((name, i) => ({ name, value: product(vectors[0], vectors[i + 1]) })).sort((a, b) => b.value - a.value);
  show(note, all.length > texts.length ? el("p", { class: "note" }, `These are the first ${MOST_LINES} of ${all.length} lines.`) : "",
    bars("Lines, most similar first (1: the same direction, 0 or less: unrelated)", ranks.slice(0, Number(state.top)), cosine, 1));
}

/* A score depends on its own text only: those of all parts are ranked together. */
async function rerank({ model, state, info, signal, show }) {
  const ranks = await inParts(lines(state.texts), info, async (texts) =>
    (await ask("rerank", { model: model.id, query: state.query, texts }, signal)).map((r) => ({ name: texts[r.index], value: r.score })));
  show(bars("Texts, the best first", ranks.sort((a, b) => b.value - a.value), cosine, 1));
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

async function classify({ model, state, signal, show }) {
  const inputs = state.pair.trim() ? [state.text, state.pair] : state.text;
  const labels = await ask("predict", { model: model.id, inputs }, signal);
  show(bars("Labels", labels.map((l) => ({ name: visible(l.label), value: l.score })), undefined, 1));
}

/* Offsets count characters; strings of JavaScript count UTF-16 units. */
function pieces(text, spans) {
  const characters = Array.from(text), parts = [];
  let at = 0;
  for (const s of spans) {
    parts.push({ text: characters.slice(at, s.start).join("") }, { ...s, text: characters.slice(s.start, s.end).join("") });
    at = s.end;
  }
  parts.push({ text: characters.slice(at).join("") });
  return parts.filter((p) => p.text);
}

/* Spans of whole words: the first piece of a word decides. Scripts without spaces have no such words. */
function wholeWords(text, spans) {
  const characters = Array.from(text), whole = [];
  const inWord = (i) => /[\p{L}\p{N}]/u.test(characters[i] ?? "") && !/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(characters[i]);
  for (const s of spans) {
    const last = whole.at(-1);
    let { start, end } = s;
    while (inWord(start) && inWord(start - 1)) start--;
    while (inWord(end - 1) && inWord(end)) end++;
    if (last && start < last.end && s.entity_group === last.entity_group) last.end = Math.max(last.end, end);
    else if (!last || end > last.end) whole.push({ ...s, start: Math.max(start, last?.end ?? 0), end });
  }
  return whole;
}

async function tag({ model, state, signal, show }) {
  const body = { model: model.id, inputs: state.text, parameters: { aggregation_strategy: "simple" } };
  const spans = wholeWords(state.text, await ask("", body, signal));
  const kinds = [...new Set(spans.map((s) => s.entity_group))].sort();
  const color = (kind) => ({ background: `var(--tag-${kinds.indexOf(kind) % 6})` });
  show(el("p", { class: "tagged", dir: "auto" }, pieces(state.text, spans).map((p) => !p.entity_group ? p.text
    : el("mark", { style: color(p.entity_group), title: `score ${p.score.toFixed(3)}` }, p.text, el("small", {}, visible(p.entity_group))))),
  spans.length ? "" : el("p", {}, "No word of this text has a tag."));
}

async function answer({ model, state, signal, show }) {
  const body = { model: model.id, inputs: { question: state.question, context: state.context } };
  const found = await ask("", body, signal);
  show(el("p", { class: "tagged", dir: "auto" }, pieces(state.context, [found]).map((p) => p.score === undefined ? p.text : el("mark", {}, p.text))),
    bars("Answer", [{ name: found.answer, value: found.score }], undefined, 1));
}

/* ---- translations ------------------------------------------------------------------------------------------------ */

/* Both texts as words; a word that is pointed at or focused shows the words that it is aligned with. */
function aligned(source, target, pairs) {
  const make = (text, side) => text.split(/(\s+)/).map((part, i) => i % 2 ? part : el("button", { class: "word", type: "button",
    ...Object.fromEntries(["mouseenter", "focus"].map((on) => [`on${on}`, () => link(side, i / 2, true)])),
    ...Object.fromEntries(["mouseleave", "blur"].map((on) => [`on${on}`, () => link(side, i / 2, false)])) }, part));
  const sides = [make(source, 0), make(target, 1)];
  const word = (side, i) => sides[side][2 * i];
  function link(side, i, on) {
    word(side, i).classList.toggle("linked", on);
    for (const pair of pairs)
      if (pair[side] === i) word(1 - side, pair[1 - side])?.classList.toggle("linked", on);
  }
  return sides.map((s) => el("p", { dir: "auto" }, s));
}

async function translate({ model, state, info, signal, show }) {
  const texts = lines(state.texts);
  const done = await inParts(texts, info, (inputs) => ask("", { model: model.id, inputs, parameters: { alignments: true } }, signal));
  show(el("p", { class: "hint" }, "Point at a word, or step to it with the tabulator key, to see the words that belong to it."),
    el("div", { class: "sides" }, el("h2", {}, model.source_language ?? "Text"), el("h2", {}, model.target_language ?? "Translation"),
      done.flatMap((d, i) => aligned(texts[i], d.translation_text, d.alignments))));
}

const of = (name, label, rows) => ({ name, label, type: "lines", rows });

export const panels = [
  { id: "similarity", title: "Similarity", verb: "Compare", run: compare,
    hint: (model) => "How similar the lines are in meaning, as a number (1: the same direction, 0 or less: unrelated; it is the cosine of the vectors)." +
      (model.kind.includes("sentence") ? "" : " This model was not trained to compare texts; its cosines are high for all of them."),
    examples: sentences,
    fields: [linesField("One text in each line (at most 40)", 6, "Enter at least two lines.")] },
  { id: "find", can: "similarity", local: true, title: "Search", verb: "Search", run: find,
    hint: "Finds lines by their meaning, not by their words: paste your own, or take a text file.",
    examples: [["en", "weather", { query: "bad weather", texts: NEWS }], ["en", "a parcel", { query: "delivery", texts: QUESTIONS }]],
    fields: [{ name: "query", label: "Query", type: "search", missing: "Enter a query." },
      linesField(`One text in each line (at most ${MOST_LINES})`, 6, "Enter at least one line."),
      { name: "top", label: "Results", type: "number", min: 1, max: 100, value: 6 }] },
  { id: "search", local: false, title: "Search", verb: "Search", run: search,
    hint: (model) => `Finds lines by their meaning, not by their words, among the ${count(model.index_texts, "line")} of this server's index.`,
    examples: [["en", "weather", { query: "bad weather" }], ["en", "music", { query: "a musician on stage" }], ["zh", "Chinese", { query: "天气不好" }]],
    fields: [{ name: "query", label: "Query", type: "search", missing: "Enter a query." },
      { name: "top", label: "Results", type: "number", min: 1, max: 100, value: 6 }] },
  { id: "rerank", title: "Rerank", verb: "Rank", run: rerank,
    hint: "How well each text answers the query, read together with it.",
    examples: [["en", "weather", { query: "bad weather", texts: NEWS }], ["en", "a parcel", { query: "delivery", texts: QUESTIONS }],
      ["zh", "Chinese", { query: "天气不好", texts: CHINESE }]],
    fields: [{ name: "query", label: "Query", type: "search", missing: "Enter a query." },
      linesField("One text in each line", 5, "Enter at least one line.")] },
  { id: "classify", title: "Labels", verb: "Label", run: classify,
    hint: "The labels of the model and how likely they are for a text, or for a pair of texts.",
    examples: [["en", "a film", { text: "A warm, funny and touching film." }], ["en", "a pair", { text: "A man plays the piano.", pair: "A man makes music." }],
      ["zh", "Chinese", { text: "这部电影很好看。" }]],
    fields: [of("text", "Text", 3), { ...of("pair", "Second text (for models of pairs)", 2), optional: true }] },
  { id: "tags", title: "Tags", verb: "Tag", run: tag,
    hint: "The model gives a tag to words of the text, for example to names of people and places.",
    examples: [["en", "a meeting", { text: "Angela Merkel met the mayor of Paris in Brussels." }], ["en", "a prize", { text: "In Warsaw the prize went to Marie Curie." }],
      ["zh", "Chinese", { text: "鲁迅生于浙江绍兴。" }]],
    fields: [of("text", "Text", 3)] },
  { id: "answers", title: "Answers", verb: "Answer", run: answer,
    hint: "The part of the text that answers the question.",
    examples: [["en", "a river", { question: "Where does the river flow?", context: RIVER }], ["en", "its source", { question: "Where is the source of the river?", context: RIVER }],
      ["zh", "Chinese", { question: "鲁迅在哪里出生？", context: "鲁迅生于浙江绍兴，是一名作家。" }]],
    fields: [{ name: "question", label: "Question", type: "search", missing: "Enter a question." }, of("context", "Text", 4)] },
  { id: "translate", title: "Translate", verb: "Translate", run: translate,
    hint: "Each line is translated by itself.",
    examples: [["en", "a house", { texts: "This is a sentence.\nThe house is small." }], ["en", "a book", { texts: "I have seen the book and the car today." }]],
    fields: [linesField("One text in each line", 4, "Enter at least one line.")] },
];
