/* words.js — panels about words: masks, tokens, generated text. */
import { ask, askStream, bars, count, el, Refused, tokensOf, unknownNote, visible } from "./common.js";

/* ---- masks ------------------------------------------------------------------------------------------------------- */

const maskOf = (model) => model.mask_token ?? "[MASK]";

const blanks = (model) => [["en", "a sea", "The river flows into the [MASK] Sea."], ["en", "a house", "He was elected to the House of [MASK] in 1998."],
  ["en", "two words", "The [MASK] played a [MASK] in the concert hall."], ["zh", "a writer, in Chinese", "他[MASK]于1950年，是一名作家。"],
  ["zh", "the weather, in Chinese", "今天[MASK]气很好。"]]
  .map(([language, name, text]) => [language, name, { text: text.replaceAll("[MASK]", maskOf(model)) }]);

/* The text with the best word at each mask. */
function filled(text, mask, best) {
  const parts = text.split(mask);
  return el("p", { class: "filled", dir: "auto" }, parts.map((part, i) => i ? [el("mark", {}, best[i - 1]?.token_str ?? mask), part] : part));
}

/* The answer of the server, which sees no mask after the last token that the model reads. */
async function askMasks(body, mask, most, signal) {
  try {
    return await ask("fill_mask", body, signal);
  } catch (e) {
    if (!(e instanceof Refused && e.message.includes("expected a mask token"))) throw e;
    throw new Refused(e.status, `The text is too long: the model reads only its first ${most} tokens, and none of them is ${mask}.`);
  }
}

async function fillMasks({ model, state, signal, show }) {
  const mask = maskOf(model), written = state.text.split(mask).length - 1;
  if (!written)
    throw new Refused(0, `There is no ${mask} in the text: write ${mask}${mask === mask.toLowerCase() ? "" : " (in capitals)"} where a word is missing.`);
  const body = { model: model.id, inputs: state.text, top_k: Number(state.top) };
  const [answer, note] = await Promise.all([askMasks(body, mask, model.max_input_length, signal), unknownNote(model, state.text, signal)]);
  const masks = Array.isArray(answer[0]) ? answer : [answer];
  show(note, masks.length < written ? el("p", {}, `The text is too long: the model reads only its first ${model.max_input_length} tokens, with ${masks.length} of the ${written} masks.`) : "",
    filled(state.text, maskOf(model), masks.map((m) => m[0])),
    masks.map((m, i) => bars(masks.length > 1 ? `Mask ${i + 1}` : "The most likely words",
      m.map((w) => ({ name: w.token_str, value: w.score })), undefined, 1)),
    masks.flat().some((w) => w.token_str.startsWith("##")) ? el("p", { class: "hint" }, "A part with ## continues the word before it.") : "");
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

const samples = [["en", "rare words", { text: "Rotary position embeddings, unbelievably simple." }],
  ["en", "numbers and signs", { text: "In 1998, 12.5 % of 3,141 e-mails (½) said “naïve”." }],
  ["zh", "Chinese", { text: "今天天气非常好。" }], ["zh", "Chinese and English", { text: "他用Python写了一个100行的程序。" }]];

export const tokenList = (tokens) => el("ol", { class: "tokens" }, tokens.map((t) =>
  el("li", { class: t.special ? "special" : t.unknown ? "unknown" : undefined, dir: "auto" }, visible(t.text),
    el("small", {}, t.unknown ? `unknown ${t.id}` : String(t.id)))));

async function showTokens({ model, state, signal, show }) {
  const tokens = await tokensOf(model, state.text, signal), unknown = tokens.filter((t) => t.unknown).length;
  const special = tokens.filter((t) => t.special).length;
  show(el("p", {}, `${count(tokens.length, "token")}, ${special} of them added by the tokenizer (dashed). The number below a token is its place in the vocabulary.`),
    unknown ? el("p", { class: "note" }, `Unknown tokens, which are not in the vocabulary: ${unknown} of ${tokens.length}. All unknown tokens have the same number: the model cannot tell them apart.`) : "",
    tokenList(tokens));
}

/* ---- next words -------------------------------------------------------------------------------------------------- */

/* The tokens that may come next; one that is clicked is appended to the text. */
async function nextWords({ model, state, signal, show, set }) {
  const body = { model: model.id, prompt: state.text, max_tokens: 1, temperature: 0, logprobs: Number(state.top) };
  const [choice] = (await ask("v1/completions", body, signal)).choices, [next] = choice.logprobs.top_logprobs;
  const rows = Object.entries(next ?? {}).map(([word, logprob]) => ({ word, value: Math.exp(logprob) })).sort((a, b) => b.value - a.value);
  show(rows.length ? bars("The most likely next tokens", rows.map(({ word, value }) => ({ value, name: el("button", { class: "plain small", type: "button",
    onclick: () => set({ text: state.text + word }) }, visible(word.trim() || JSON.stringify(word))) })), undefined, 1)
    : el("p", {}, "Most likely, the text ends here."));
}

/* ---- generated text ---------------------------------------------------------------------------------------------- */

const beginnings = [["en", "one word", { text: "The" }], ["en", "a river", { text: "The old river" }], ["zh", "Chinese", { text: "从前" }]];

async function generate({ model, state, signal, show, out }) {
  const text = document.createTextNode(""), note = el("p", { class: "hint" }, "Generating …");
  const stopping = new AbortController();
  signal.addEventListener("abort", () => stopping.abort());
  const stop = el("button", { id: "stop", class: "plain", type: "button", onclick: () => stopping.abort() }, "Stop");
  show(el("p", { class: "generated", dir: "auto" }, el("span", { class: "prompt" }, state.text), text), note, stop);
  out.removeAttribute("aria-busy");
  const body = { model: model.id, prompt: state.text, max_tokens: Number(state.tokens), stream: true, stream_options: { include_usage: true },
    temperature: Number(state.temperature), seed: Number(state.seed) };
  const begin = performance.now();
  let reason = "stopped", tokens = 0;
  try {
    for await (const event of askStream("v1/completions", body, stopping.signal)) {
      if (event.error) throw new Error(event.error.message);
      text.data += event.choices[0]?.text ?? "";
      reason = event.choices[0]?.finish_reason ?? reason;
      tokens = event.usage?.completion_tokens ?? tokens;
    }
  } catch (e) {
    if (e.name !== "AbortError" || signal.aborted) throw e;
  }
  stop.remove();
  note.textContent = { length: "It has the length that was asked for.", stop: "The model ended the text." }[reason] ?? "Stopped.";
  if (tokens) note.textContent += ` ${count(tokens, "new token")} in ${((performance.now() - begin) / 1000).toFixed(2)} s.`;
}

export const panels = [
  { id: "fill-mask", title: "Missing words", verb: "Fill", run: fillMasks,
    hint: (model) => `Write ${maskOf(model)} where a word is missing, once or several times: the model says which words are likely there.`,
    examples: blanks,
    fields: [{ name: "text", label: "Text with missing words", type: "text", rows: 2 },
      { name: "top", label: "Words to show", type: "number", min: 1, max: 50, value: 8 }] },
  { id: "next-word", can: "generate", title: "Next word", verb: "Continue", run: nextWords,
    hint: "A language model computes how likely each token is to come next. Click one to append it to the text.",
    examples: beginnings,
    fields: [{ name: "text", label: "Beginning", type: "text", rows: 2 },
      { name: "top", label: "Tokens to show", type: "number", min: 1, max: 20, value: 10 }] },
  { id: "generate", title: "Generate", verb: "Generate", run: generate,
    hint: "The model continues the text. The higher the temperature, the less predictable; 0 takes the likeliest. The same seed gives the same text.",
    examples: beginnings,
    fields: [{ name: "text", label: "Beginning", type: "text" },
      { name: "tokens", label: "New tokens", type: "number", min: 1, max: (model, info) => Math.min(2000, info.max_new_tokens ?? 2000), value: 60 },
      { name: "temperature", label: "Temperature", type: "number", min: 0, max: 5, step: 0.1, value: 0.8 },
      { name: "seed", label: "Seed", type: "number", min: 0, max: Number.MAX_SAFE_INTEGER, value: 1 }] },
  { id: "tokenize", title: "Tokens", verb: "Tokenize", run: showTokens,
    hint: "A model does not read letters or words but tokens: words, and parts of rarer words. This is how it cuts a text.",
    examples: samples,
    fields: [{ name: "text", label: "Text", type: "text" }] },
];
