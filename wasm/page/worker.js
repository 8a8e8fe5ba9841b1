/* worker.js — the module and its models, in a thread of their own, so that the page can be used while they compute. A
   model is loaded when a request first asks for it; models.json has what /v1/models and /info say of all of them. */
import { fetchFolder, Roformer, RoformerError } from "../roformer/roformer.js";

const MOST = 8;                                          /* threads, where the host's headers allow more than one */
const at = (path) => new URL(path, new URL("../", import.meta.url)).href;
const AGAIN = "Load the page again; if that does not help, the file on the host is wrong.";
const opening = new Map();
let started = null;

async function read(path) {
  const files = await fetchFolder(at("./"), [path]);
  try {
    return JSON.parse(new TextDecoder().decode(files[path]));
  } catch (e) {
    throw new RoformerError(`${path} is damaged (${e.message}). ${AGAIN}`);
  }
}

async function start() {
  const list = await read("models.json"), threads = Math.min(MOST, navigator.hardwareConcurrency ?? 1);
  const roformer = await Roformer.load(at("roformer/roformer.wasm.gz"), { threads });
  for (const m of list.models) roformer.name(m.about.id);
  return { roformer, list };
}

/* Again after a failure, as that of the network. */
function begin() {
  started ??= start();
  started.catch(() => { started = null; });
  return started;
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

async function load(roformer, { about, dtype, files }) {
  const all = files.reduce((sum, [, size]) => sum + size, 0), mb = (n) => Math.round(n / 1e6);
  let tenths = -1;
  const progress = (size) => {
    const now = Math.floor(10 * size / all);
    if (now > tenths) postMessage({ progress: `Loading ${about.id}: ${mb(size)} of ${mb(all)} MB …` });
    tenths = Math.max(tenths, now);
  };
  try {
    const folder = await fetchFolder(at(`models/${about.id}`), files.map(([name]) => name), progress);
    for (const [name, size] of files) {
      if (folder[name].length !== size)
        throw new RoformerError(`${about.id}/${name} is damaged: expected ${size} bytes, got ${folder[name].length}. ` +
          AGAIN);
    }
    roformer.open(about.id, folder, { dtype });
  } finally {
    postMessage({ progress: null });
  }
}

function open(roformer, model) {
  if (!opening.has(model)) opening.set(model, load(roformer, model));
  const done = opening.get(model);
  done.catch(() => opening.delete(model));
  return done;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

const json = (value) => ({ status: 200, type: "application/json", headers: [], text: JSON.stringify(value) });

async function answer({ path, method, body }) {
  const { roformer, list } = await begin();
  if (path === "v1/models") return json({ object: "list", data: list.models.map((m) => m.about) });
  if (path === "info") return json({ ...list.info, threads: roformer.threads });
  const name = body && JSON.parse(body).model;
  await open(roformer, list.models.find((m) => m.about.id === name) ?? list.models[0]);
  return roformer.call(path.replace(/^\.\//, ""), body, method);
}

addEventListener("message", async ({ data }) => {
  let out;
  try {
    out = await answer(data);
  } catch (e) {
    const message = e instanceof RoformerError ? e.message : `This page failed: ${e.message}`;
    out = { status: 503, type: "application/json", headers: [], text: JSON.stringify({ error: message }) };
  }
  const headers = [...out.headers, ["content-type", out.type]];
  postMessage({ number: data.number, status: out.status, text: out.text, headers });
});
begin();
