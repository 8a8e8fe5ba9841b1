/** An error with a sentence for people; `status` is that of an answer, or 0. */
export class RoformerError extends Error {
  status: number;
}

export interface Answer {
  status: number;
  type: string;
  headers: [string, string][];
  text: string;
}

export type Files = Record<string, Uint8Array>;

/** Loads the files of a model folder; Node.js loads them from its files, too. `progress` is called with the number of
 *  bytes that are there. */
export function fetchFolder(url: string | URL, names: string[], progress?: (bytes: number) => void): Promise<Files>;

export class Roformer {
  private constructor();

  /** From an address (default: that of the file in this package), bytes or a compiled module. With more than one thread,
   *  and where threads are allowed, `roformer.threads.wasm` is loaded in its place. Fails with a RoformerError if the
   *  browser has no SIMD of WebAssembly, if there is not enough memory, or if the address cannot be loaded. */
  static load(source?: string | URL | ArrayBuffer | ArrayBufferView | WebAssembly.Module,
    options?: { threads?: number }): Promise<Roformer>;

  /** How many threads compute: 1 where no others are allowed. */
  readonly threads: number;

  /** Bytes of memory that the module has taken: those of closed models are used again, but do not become fewer. */
  readonly bytes: number;

  /** Lists a model in /v1/models, as one that is being loaded. The first name answers requests that name no model. At
   *  most 16 are listed at a time. */
  name(name: string): void;

  /** Opens a model, or another one under this name, from the files of its folder. If that fails, no model is open under
   *  this name, which is listed only if it was before. */
  open(name: string, files: Files, options?: { dtype?: "f32" | "bf16" | "int8" | "int8w" }): void;

  /** Closes a model, frees its memory and takes its name off the list. */
  close(name: string): void;

  /** The answer of a route of `roformer serve`. Without a body, the request is a GET. */
  call(path: string, body?: unknown, method?: string): Answer;

  /** The answer as JSON; an error of the route is thrown, and an answer that is not JSON, such as that of `metrics`. */
  ask(path: string, body?: unknown): any;

  /** Ends the threads; then the module cannot be used any more. */
  end(): void;
}
