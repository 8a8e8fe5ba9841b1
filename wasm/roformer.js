/* roformer.js — small language models in a browser or in Node.js: the routes of `roformer serve`, computed by a module
   of WebAssembly on one thread. README.md describes it, roformer.d.ts its types.

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

/* ---- WASI: the calls that the module imports; it has no files ---------------------------------------------------- */

const SUCCESS = 0, NO_FILE = 8, NOT_SUPPORTED = 52;

function wasiOf(imports, memory) {
  const view = () => new DataView(memory().buffer);
  const calls = {
    clock_time_get(clock, precision, to) {
      const ms = clock === 0 ? Date.now() : performance.now();
      view().setBigUint64(to, BigInt(Math.round(ms * 1e6)), true);
      return SUCCESS;
    },
    random_get(to, size) {
      for (let i = 0; i < size; i += 65536)
        crypto.getRandomValues(new Uint8Array(memory().buffer, to + i, Math.min(65536, size - i)));
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

async function get(url) {
  let answer;
  try {
    answer = await fetch(url);
  } catch {
    throw new RoformerError(`${url} cannot be loaded: is this device connected to the network?`);
  }
  if (!answer.ok) throw new RoformerError(`${url} cannot be loaded: status ${answer.status}.`, answer.status);
  return answer;
}

/* The bytes of an answer; `progress` is called with the number of those that are there. */
async function bytesOf(answer, url, progress) {
  const parts = [], reader = answer.body.getReader();
  let size = 0;
  for (;;) {
    let got;
    try {
      got = await reader.read();
    } catch {
      throw new RoformerError(`${url} was not loaded to its end: is this device still connected to the network?`);
    }
    if (got.done) break;
    parts.push(got.value);
    size += got.value.length;
    progress?.(size);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/* The files of a folder as {name: bytes}. */
export async function fetchFolder(url, names, progress) {
  const base = new URL(url.endsWith("/") ? url : `${url}/`, globalThis.location?.href), files = {}, had = {};
  await Promise.all(names.map(async (name) => {
    const from = new URL(name, base).href;
    files[name] = await bytesOf(await get(from), from, (size) => {
      had[name] = size;
      progress?.(Object.values(had).reduce((sum, n) => sum + n, 0));
    });
  }));
  return files;
}

/* A name that ends in .gz is that of a compressed module, for servers that compress nothing. */
async function compile(source) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
  const answer = await get(source), type = { headers: { "Content-Type": "application/wasm" } };
  const bytes = String(source).endsWith(".gz") ? answer.body.pipeThrough(new DecompressionStream("gzip")) : answer.body;
  return WebAssembly.compileStreaming(new Response(bytes, type));
}

/* ---- a module ---------------------------------------------------------------------------------------------------- */

export class Roformer {
  #exports;
  #ended = null;

  static async load(source) {
    if (!WebAssembly.validate(WITH_SIMD))
      throw new RoformerError("This browser is too old: it has no SIMD instructions of WebAssembly, which Chrome 91, " +
        "Firefox 89, Safari 16.4 and later ones have.");
    const module = await compile(source), roformer = new Roformer();
    try {
      const wasi = wasiOf(WebAssembly.Module.imports(module), () => roformer.#exports.memory);
      roformer.#exports = (await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi })).exports;
    } catch (e) {
      if (e instanceof RangeError) throw new RoformerError("There is not enough memory for the module.");
      throw e;
    }
    roformer.#run("_initialize");
    return roformer;
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

  /* Bytes, or a text with a zero at its end, in the memory of the module. */
  #put(value) {
    const bytes = typeof value === "string" ? new TextEncoder().encode(`${value}\0`) : value;
    const at = this.#run("roformer_space", bytes.length) >>> 0;
    if (!at) throw new RoformerError(`There is not enough memory: ${bytes.length} bytes more are needed.`);
    this.#bytes(at, bytes.length).set(bytes);
    return at;
  }

  #text(at) {
    const all = new Uint8Array(this.#exports.memory.buffer);
    return new TextDecoder().decode(all.subarray(at >>> 0, all.indexOf(0, at >>> 0)));
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
    if (at) throw new RoformerError(this.#text(at));
  }

  /* Lists a model in /v1/models before it is opened. */
  name(name) {
    this.#with([name], (n) => this.#sentence(this.#run("roformer_name", n)));
  }

  /* files: {"config.json": Uint8Array, ...}. dtype: "f32", "bf16" or "int8". */
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
      const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
      const bytes = new TextEncoder().encode(text);
      const reply = this.#run("roformer_call", m, p, this.#put(bytes), bytes.length);
      if (!reply) throw new RoformerError("There is not enough memory for a request.");
      const [status, type, headers, at, size] = new Uint32Array(this.#exports.memory.buffer, reply >>> 0, 5);
      return { status, type: this.#text(type), text: new TextDecoder().decode(this.#bytes(at, size)),
        headers: this.#text(headers).split("\n").filter(Boolean).map((line) => line.split(": ")) };
    });
  }

  /* The answer as JSON. */
  ask(path, body) {
    const { status, text } = this.call(path, body);
    const value = text ? JSON.parse(text) : null;
    if (status < 400) return value;
    const why = value?.error?.message ?? value?.error ?? value?.message;
    throw new RoformerError(typeof why === "string" ? why : `The answer has status ${status}.`, status);
  }
}
