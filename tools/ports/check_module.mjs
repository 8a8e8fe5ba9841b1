/* check_module.mjs PACKAGE — the module for JavaScript in Node.js: it answers the same bytes with several threads as with
   one, with both models and every dtype; its errors are sentences.  PACKAGE is the folder wasm of a build for WASI. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

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
  const masks = await fetchFolder("models/roformer-small-en", MODEL);
  expect(roformer.threads === 1, "a module without threads has", roformer.threads);
  for (const [words, what] of [
    ["cannot be read: ENOENT", () => Roformer.load("none.wasm")],
    ["is not the module, or is damaged", () => Roformer.load("README.md")],
    ["cannot be read: ENOENT", () => fetchFolder("models/roformer-small-en", ["none.json"])],
    ["model a:", () => roformer.open("a", { "config.json": new TextEncoder().encode("{}") })],
    ["no model is open", () => roformer.ask("fill_mask", { inputs: text })],
    ["dtype: expected f32, bf16, int8 or int8w, got 'fp16'", () => roformer.open("a", masks, { dtype: "fp16" })],
    ["`inputs`", () => { roformer.open("a", masks); roformer.ask("fill_mask", { inputs: 1 }); }],
    ["is text/plain", () => roformer.ask("metrics")],
    ["cannot be written as JSON", () => roformer.ask("fill_mask", { inputs: text, top_k: 3n })],
    ["The bytes are not the module", () => Roformer.load(new Uint8Array([1, 2, 3]))],
    ["The module was ended.", () => { roformer.end(); roformer.ask("v1/models"); }],
  ]) {
    const got = await said(what);
    expect(got.includes(words), "expected", words, "got", got);
  }
}

/* A closed model, and one that could not be opened, are listed no more, and others take their places. */
async function modelsAreClosed() {
  const roformer = await Roformer.load(), masks = await fetchFolder("models/roformer-small-en", MODEL);
  const listed = () => String(roformer.ask("v1/models").data.map(({ id }) => id));
  roformer.name("first");
  roformer.open("second", masks);
  roformer.open("third", masks, { dtype: "int8" });
  await said(() => roformer.open("none", {}));
  await said(() => roformer.open("first", {}));
  expect(listed() === "first,second,third", "listed:", listed());
  roformer.close("first");
  expect(listed() === "second,third", "listed:", listed());
  const answer = (model) => roformer.call("fill_mask", { model, inputs: text }).text;
  expect(answer() === answer("second") && answer("third") !== answer(), "the first is not the second");
  for (let i = 0; i < 40; i++) {
    roformer.open(`more ${i}`, masks);
    roformer.close(`more ${i}`);
  }
  roformer.close("second");
  roformer.close("third");
  expect(listed() === "" && roformer.call("fill_mask", { inputs: text }).status === 404, "listed:", listed());
}

/* Models of growing size in the place of the one before take no more memory than the largest. */
async function memoryIsUsedAgain(threads) {
  const roformer = await Roformer.load(undefined, { threads }), masks = await fetchFolder("models/roformer-small-en", MODEL);
  const more = (i) => Math.round(1.16 ** i * 4e6), last = 12;
  let first;
  for (let i = 0; i <= last; i++) {
    roformer.open("m", { ...masks, "more.bin": new Uint8Array(more(i)) });
    expect(roformer.call("fill_mask", { inputs: text }).status === 200, "an answer");
    roformer.close("m");
    first ??= roformer.bytes;
  }
  const grown = roformer.bytes - first, most = more(last) - more(0) + 8e6;
  expect(grown <= most, threads, "threads: models have left", grown, "bytes that others cannot use; at most", most);
  roformer.end();
}

/* As of the server: a query is ignored, and another method is told which there are. */
async function pathsAreTheServers() {
  const roformer = await Roformer.load();
  expect(roformer.call("v1/models?a=b").status === 200, "a path with a query");
  const { status, headers } = roformer.call("fill_mask", undefined, "GET");
  expect(status === 405 && String(headers) === "Allow,POST", status, headers);
}

/* Characters that have a meaning in an address have none in the name of a file. */
async function namesOfFilesAreNames() {
  const at = mkdtempSync(join(tmpdir(), "roformer-names-")), folder = join(at, "a#b %20?c");
  mkdirSync(folder);
  writeFileSync(join(folder, "d#e%?.txt"), "here");
  const files = await fetchFolder(folder, ["d#e%?.txt"]);
  expect(new TextDecoder().decode(files["d#e%?.txt"]) === "here", "a file's name");
  rmSync(at, { recursive: true });
}

function thePackageIsWhole() {
  const about = JSON.parse(readFileSync(new URL("package.json", folder)));
  for (const file of about.files) expect(existsSync(new URL(file, folder)), file, "is not there");
}

thePackageIsWhole();
await errorsAreSentences();
await modelsAreClosed();
await pathsAreTheServers();
await namesOfFilesAreNames();
await memoryIsUsedAgain(2);                             // that of the other is Zig's
await threadsGiveTheSameBytes();
console.log(JSON.stringify({ failed: failures }));
process.exitCode = Number(failures > 0);
