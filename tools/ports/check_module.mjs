/* check_module.mjs PACKAGE — the module for JavaScript in Node.js: it answers the same bytes with several threads as with
   one, with both models and every dtype; its errors are sentences.  PACKAGE is the folder wasm of a build for WASI. */
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

const at = resolve(process.argv[2]), folder = pathToFileURL(`${at}/`);
const { fetchFolder, Roformer, RoformerError } = await import(new URL("roformer.js", folder));
let failures = 0;

function expect(condition, ...what) {
  if (condition) return;
  failures++;
  console.log("FAIL:", ...what);
}

const MODEL = ["config.json", "model.safetensors", "special_tokens_map.json", "tokenizer_config.json", "vocab.txt"];
const SENTENCES = [...MODEL, "modules.json", "sentence_bert_config.json", "1_Pooling/config.json"];
const text = "The old river flows through the valley, and it reaches the [MASK] “Sea”.";
const many = Array.from({ length: 16 }, (_, i) => `${text} `.repeat(i % 7 + 1));
const QUESTIONS = [["fill_mask", { model: "masks", inputs: text, top_k: 20 }], ["tokenize", { model: "masks", inputs: many }],
  ["v1/embeddings", { model: "sentences", input: many }], ["v1/embeddings", { model: "sentences", input: [text] }],
  ["attention", { model: "masks", inputs: text, layer: 3, head: 2 }],
  ["similarity", { model: "sentences", inputs: { source_sentence: text, sentences: many } }]];

async function answers(threads, dtype) {
  const roformer = await Roformer.load(undefined, { threads });
  expect(roformer.threads === threads, "expected", threads, "threads, got", roformer.threads);
  roformer.open("masks", await fetchFolder("models/roformer-small-en", MODEL), { dtype });
  roformer.open("sentences", await fetchFolder("models/roformer-small-en-sentences", SENTENCES), { dtype });
  const before = performance.now(), texts = QUESTIONS.map(([path, body]) => {
    const { status, text } = roformer.call(path, body);
    expect(status === 200, path, status, text);
    return text;
  });
  const again = QUESTIONS.map(([path, body]) => roformer.call(path, body).text);
  expect(String(again) === String(texts), dtype, threads, "threads: a second answer differs");
  const ms = Math.round(performance.now() - before);
  roformer.end();
  return { texts, ms };
}

async function threadsGiveTheSameBytes() {
  for (const dtype of ["f32", "bf16", "int8"]) {
    const one = await answers(1, dtype), time = [`1: ${one.ms} ms`];
    for (const threads of [2, 5]) {
      const more = await answers(threads, dtype);
      more.texts.forEach((text, i) => expect(text === one.texts[i], dtype, threads, "threads:", QUESTIONS[i][0], "differs"));
      time.push(`${threads}: ${more.ms} ms`);
    }
    console.log(`${dtype}: ${one.texts.join("").length} bytes of answers compared; threads ${time.join(", ")}`);
  }
}

async function said(what) {
  try {
    await what();
  } catch (e) {
    expect(e instanceof RoformerError, "not an error with a sentence:", e);
    return e.message;
  }
  return "no error";
}

async function errorsAreSentences() {
  const module = readFileSync(new URL("roformer.wasm", folder)), roformer = await Roformer.load(module, { threads: 4 });
  expect(roformer.threads === 1, "a module without threads has", roformer.threads);
  for (const [words, what] of [
    ["cannot be read: ENOENT", () => Roformer.load("none.wasm")],
    ["is not the module, or is damaged", () => Roformer.load("README.md")],
    ["cannot be read: ENOENT", () => fetchFolder("models/roformer-small-en", ["none.json"])],
    ["model a:", () => roformer.open("a", { "config.json": new TextEncoder().encode("{}") })],
    ["`inputs`", () => roformer.ask("fill_mask", { inputs: 1 })],
    ["The module was ended.", () => { roformer.end(); roformer.ask("v1/models"); }],
  ]) {
    const got = await said(what);
    expect(got.includes(words), "expected", words, "got", got);
  }
}

function thePackageIsWhole() {
  const about = JSON.parse(readFileSync(new URL("package.json", folder)));
  for (const file of about.files) expect(existsSync(new URL(file, folder)), file, "is not there");
}

thePackageIsWhole();
await errorsAreSentences();
await threadsGiveTheSameBytes();
console.log(JSON.stringify({ failed: failures }));
process.exitCode = Number(failures > 0);
