/* roformer.js — small language models in a browser or in Node.js: the routes of `roformer serve`, computed by a module
   of WebAssembly. README.md describes it, roformer.d.ts its types.

     const roformer = await Roformer.load(new URL("roformer.wasm", import.meta.url));
     roformer.open("en", await fetchFolder("models/roformer-small-en/", names));
     roformer.ask("fill_mask", { inputs: "The river flows into the [MASK] Sea." }); */

export class RoformerError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.name = "RoformerError";
    this.status = status;                            /* of an answer; 0: there is none */
  }
}

const noMemory = (what) => new RoformerError(`There is not enough memory: ${what}. Close other tabs and programs, or use ` +
  "a smaller model or dtype int8.");

/* ---- WASI: the calls that the module imports; it has no files ---------------------------------------------------- */

const SUCCESS = 0, NO_FILE = 8, NOT_SUPPORTED = 52;

function wasiOf(imports, memory, crypto) {
  const view = () => new DataView(memory().buffer);
  const calls = {
    clock_time_get(clock, precision, to) {
      const ms = clock === 0 ? Date.now() : performance.now();
      view().setBigUint64(to, BigInt(Math.round(ms * 1e6)), true);
      return SUCCESS;
    },
    random_get(to, size) {
      for (let i = 0; i < size; i += 65536)                  /* shared memory is refused */
        new Uint8Array(memory().buffer, to + i).set(crypto.getRandomValues(new Uint8Array(Math.min(65536, size - i))));
      return SUCCESS;
    },
    proc_exit(code) {
      throw new RoformerError(`The module has ended with code ${code}.`);
    },
    fd_prestat_get: () => NO_FILE,
    fd_close: () => NO_FILE,
    fd_fdstat_get: () => NO_FILE,
    fd_filestat_get: () => NO_FILE,
    fd_pread: () => NO_FILE,
    fd_read: () => NO_FILE,
    fd_readdir: () => NO_FILE,
    fd_seek: () => NO_FILE,
    fd_write: () => NO_FILE,
  };
  return Object.fromEntries(imports.map(({ name }) => [name, calls[name] ?? (() => NOT_SUPPORTED)]));
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* A function that adds nothing but a vector. */
const WITH_SIMD = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0,
  65, 0, 253, 15, 253, 98, 11]);

/* Node.js loads files, too. */
const inNode = !globalThis.location && globalThis.process?.versions?.node !== undefined;

/* In Node.js, a name without a scheme is that of a file. */
async function absolute(url) {
  if (inNode && !/^[a-z][a-z0-9+.-]+:/i.test(String(url))) return (await import("node:url")).pathToFileURL(String(url));
  return new URL(url, globalThis.location?.href);
}

async function readFile(url) {
  try {
    return new Response(await (await import("node:fs/promises")).readFile(url));
  } catch (e) {
    throw new RoformerError(`${url} cannot be read: ${e.message}`);
  }
}

async function get(url) {
  if (inNode && url.protocol === "file:") return readFile(url);
  let answer;
  try {
    answer = await fetch(url);
  } catch {
    throw new RoformerError(`${url} cannot be loaded: is this device connected to the network?`);
  }
  if (!answer.ok)
    throw new RoformerError(`${url} cannot be loaded: status ${answer.status}. Is the file there, and may it be read?`,
      answer.status);
  if (/^text\/html\b/i.test(answer.headers.get("Content-Type")))
    throw new RoformerError(`${url} cannot be loaded: a web page came in place of the file. ` +
      "Does this network ask for a login, or does the host answer with a page where a file is missing?");
  return answer;
}

/* All of an answer; `progress` is called with the number of bytes that are there. */
async function bytesOf(answer, url, progress) {
  const parts = [], reader = answer.body.getReader();
  let size = 0;
  for (;;) {
    let got;
    try {
      got = await reader.read();
    } catch {
      throw new RoformerError(`${url} was not loaded to its end: is this device still connected to the network? ` +
        "Load it again.");
    }
    if (got.done) break;
    parts.push(got.value);
    size += got.value.length;
    progress?.(size);
  }
  return joined(parts, size);
}

function joined(parts, size) {
  const all = enough(size, () => new Uint8Array(size));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/* The value of `make`, which allocates. */
function enough(what, make) {
  try {
    return make();
  } catch (e) {
    throw e instanceof RangeError ? noMemory(`${what} bytes more are needed`) : e;
  }
}

/* The files of a folder as {name: bytes}. */
export async function fetchFolder(url, names, progress) {
  const folder = String(url), base = await absolute(folder.endsWith("/") ? folder : `${folder}/`), files = {}, had = {};
  await Promise.all(names.map(async (name) => {
    const from = new URL(name.split("/").map(encodeURIComponent).join("/"), base);
    files[name] = await bytesOf(await get(from), from, (size) => {
      had[name] = size;
      progress?.(Object.values(had).reduce((sum, n) => sum + n, 0));
    });
  }));
  return files;
}

/* For servers that compress nothing. */
async function decompressed(bytes) {
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

async function compile(source) {
  if (source instanceof WebAssembly.Module) return source;
  const given = source instanceof ArrayBuffer || ArrayBuffer.isView(source);
  const url = given ? null : await absolute(source), bytes = given ? source : await bytesOf(await get(url), url);
  try {
    return await WebAssembly.compile(bytes[0] === 0x1f ? await decompressed(bytes) : bytes);
  } catch (e) {
    if (given) throw new RoformerError(`The bytes are not the module, or are damaged (${e.message}).`);
    throw new RoformerError(`${url} is not the module, or is damaged (${e.message}). Load it again; if that does not ` +
      "help, the file on the host is wrong.");
  }
}

/* Shared memory is copied: decoders refuse it. */
const textOf = (bytes) => new TextDecoder().decode(bytes.buffer instanceof ArrayBuffer ? bytes : bytes.slice());

/* An instance, whose functions and memory are returned. `memory`: that of a module with threads. */
export async function instantiate(module, memory) {
  let exports;
  const crypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto;             /* Node.js 18 */
  const wasi = wasiOf(WebAssembly.Module.imports(module), () => memory ?? exports.memory, crypto);
  ({ exports } = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi, env: { memory } }));
  return { memory, ...exports };
}

/* ---- threads: workers with instances of their own over one memory (thread.js) ------------------------------------- */

const FIRST_PAGES = 256, STACK = 1 << 20;                /* as in CMakeLists.txt */

/* The memory grows up to its maximum, for which a small device may not have the addresses. */
function sharedMemory() {
  for (const maximum of [65535, 32768, 16384]) {
    try {
      return new WebAssembly.Memory({ initial: FIRST_PAGES, maximum, shared: true });
    } catch (e) {
      if (!(e instanceof RangeError)) throw e;
    }
  }
  throw new RangeError();
}

/* Browsers allow shared memory to pages that are isolated from other origins, and waiting to workers. */
const mayShare = () => typeof SharedArrayBuffer === "function" && typeof document === "undefined" &&
  globalThis.crossOriginIsolated !== false;

/* The module with threads is the file beside the one without. */
const withThreads = (source) => typeof source === "string" || source instanceof URL
  ? String(source).replace(/\.wasm(?=(\.gz)?([?#]|$))/, ".threads.wasm") : source;

async function newWorker() {
  const url = new URL("thread.js", import.meta.url);
  if (globalThis.Worker) return new Worker(url, { type: "module" });
  const worker = new (await import("node:worker_threads")).Worker(url);
  worker.addEventListener = (type, then) => worker.on(type, (data) => then({ data, message: data.message }));
  return worker;
}

/* Until the worker takes jobs; what it gets is in the memory of the module. */
async function startThread(worker, message) {
  await new Promise((resolve, reject) => {
    const fail = (why) => reject(new RoformerError(`A thread cannot be started: ${why}`));
    worker.addEventListener("message", ({ data }) => data === "ready" ? resolve() : fail(data));
    worker.addEventListener("error", (e) => fail(e.message));
    worker.postMessage(message);
  });
  worker.unref?.();                                      /* Node.js does not wait for it */
}

function bodyOf(body) {
  if (body === undefined || typeof body === "string") return body ?? "";
  try {
    return JSON.stringify(body);
  } catch (e) {
    throw new RoformerError(`The body cannot be written as JSON: ${e.message}.`);
  }
}

/* ---- a module ---------------------------------------------------------------------------------------------------- */

export class Roformer {
  #exports;
  #ended = null;
  #workers = [];

  static async load(source = new URL("roformer.wasm", import.meta.url), { threads = 1 } = {}) {
    if (!WebAssembly.validate(WITH_SIMD))
      throw new RoformerError("This browser is too old: it has no SIMD instructions of WebAssembly, which Chrome 91, " +
        "Firefox 89, Safari 16.4 and later ones have.");
    const module = await compile(threads > 1 && mayShare() ? withThreads(source) : source), roformer = new Roformer();
    const several = WebAssembly.Module.imports(module).some(({ kind }) => kind === "memory");
    if (several && !mayShare())
      throw new RoformerError("The module with threads runs in a worker of a page that is isolated from other origins: " +
        "use roformer.wasm here.");
    try {
      roformer.#exports = await instantiate(module, several ? sharedMemory() : undefined);
    } catch (e) {
      throw e instanceof RangeError ? noMemory("the module needs 16 MB") : e;
    }
    roformer.#run("_initialize");
    if (several) await roformer.#start(module, threads - 1);
    return roformer;
  }

  /* How many threads compute. */
  get threads() {
    return this.#workers.length + 1;
  }

  /* Bytes of memory that the module has taken; they are used again, but do not become fewer. */
  get bytes() {
    return this.#exports.memory.buffer.byteLength;
  }

  async #start(module, wanted) {
    const { memory } = this.#exports, n = this.#run("roformer_workers", wanted);
    const start = (number) => {
      const stack = this.#space(STACK) + STACK, line = this.#exports.__tls_align.value;
      const local = this.#space(this.#exports.__tls_size.value + line);
      return { module, memory, number, stack, local: local + line - local % line };
    };
    try {
      for (let i = 0; i < n; i++) this.#workers.push(await newWorker());
      await Promise.all(this.#workers.map((worker, i) => startThread(worker, start(i))));
    } catch (e) {
      this.end();
      throw e;
    }
    this.#run("roformer_threads", n + 1);
  }

  /* Ends the threads, after which the module cannot be used. */
  end() {
    this.#ended = new RoformerError("The module was ended.");
    for (const worker of this.#workers) worker.terminate();
  }

  /* Calls a function of the module. After a failure of its own the module cannot be used. */
  #run(name, ...values) {
    if (this.#ended) throw this.#ended;
    try {
      return this.#exports[name](...values);
    } catch (e) {
      throw this.#ended = e instanceof RoformerError ? e : new RoformerError(`The module has failed: ${e.message}`);
    }
  }

  #bytes(at, size) {
    return new Uint8Array(this.#exports.memory.buffer, at >>> 0, size);
  }

  #space(size) {
    const at = this.#run("roformer_space", size) >>> 0;
    if (!at) throw noMemory(`${size} bytes more are needed`);
    return at;
  }

  /* Bytes, or a text with a zero at its end, in the memory of the module. */
  #put(value) {
    const bytes = typeof value === "string" ? new TextEncoder().encode(`${value}\0`) : value;
    const at = this.#space(bytes.length);
    this.#bytes(at, bytes.length).set(bytes);
    return at;
  }

  #text(at) {
    const all = new Uint8Array(this.#exports.memory.buffer);
    return textOf(all.subarray(at >>> 0, all.indexOf(0, at >>> 0)));
  }

  /* `use` with texts in the memory of the module, which are freed after it. */
  #with(texts, use) {
    const at = [];
    try {
      for (const text of texts) at.push(this.#put(text));
      return use(...at);
    } finally {
      if (!this.#ended) for (const p of at) this.#run("roformer_free", p);
    }
  }

  #sentence(at) {
    if (!at) return;
    const text = this.#text(at);
    throw text.includes("out of memory") ? noMemory(text) : new RoformerError(text);
  }

  /* Lists a model in /v1/models before it is opened; at most 16. */
  name(name) {
    this.#with([name], (n) => this.#sentence(this.#run("roformer_name", n)));
  }

  /* files: {"config.json": Uint8Array, ...}. dtype: "f32", "bf16", "int8" or "int8w". */
  open(name, files, { dtype = "f32" } = {}) {
    const names = Object.keys(files), data = [];
    this.#with([name, dtype, ...names], (n, d, ...at) => {
      let table;
      try {
        for (const key of names) data.push(this.#put(files[key]));
        const rows = names.flatMap((key, i) => [at[i], data[i], files[key].length]);
        table = this.#put(new Uint8Array(Uint32Array.from(rows).buffer));
      } catch (e) {
        if (!this.#ended) for (const p of data) this.#run("roformer_free", p);
        throw e;
      }
      this.#sentence(this.#run("roformer_open", n, d, table, names.length));
    });
  }

  close(name) {
    this.#with([name], (n) => this.#run("roformer_close", n));
  }

  /* The answer of a route: {status, type, headers, text}. Without a body, the request is a GET. */
  call(path, body, method = body === undefined ? "GET" : "POST") {
    return this.#with([method, path.startsWith("/") ? path : `/${path}`], (m, p) => {
      const bytes = new TextEncoder().encode(bodyOf(body));
      const reply = this.#run("roformer_call", m, p, this.#put(bytes), bytes.length);
      if (!reply) throw noMemory("a request does not fit");
      const [status, type, headers, at, size] = new Uint32Array(this.#exports.memory.buffer, reply >>> 0, 5);
      return { status, type: this.#text(type), text: textOf(this.#bytes(at, size)),
        headers: this.#text(headers).split("\n").filter(Boolean).map((line) => line.split(": ")) };
    });
  }

  /* The answer as JSON. */
  ask(path, body) {
    const { status, type, text } = this.call(path, body);
    if (text && !/\bjson\b/.test(type))
      throw new RoformerError(`The answer of ${path} is ${type}, not JSON: use call().`, status < 400 ? 0 : status);
    const value = text ? JSON.parse(text) : null;
    if (status < 400) return value;
    const why = value?.error?.message ?? value?.error ?? value?.message;
    throw new RoformerError(typeof why === "string" ? why : `The answer has status ${status}.`, status);
  }
}
