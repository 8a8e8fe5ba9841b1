/* transport.js — who answers the requests of the page: a worker of its own, in which the module runs (worker.js). The
   same names as in src/serve/page/transport.js, in whose place this file is. */

const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
const waiting = new Map();
let number = 0, failed = null, before = null;

/* Progress of loading a model, in place of the page's status; null: it has ended. */
function showProgress(text) {
  const status = document.getElementById("status");
  before ??= status.textContent;
  status.textContent = text ?? before;
  if (text === null) before = null;
}

const failure = (message) => ({ status: 503, headers: [], text: JSON.stringify({ error: message }) });

worker.addEventListener("message", ({ data }) => {
  if ("progress" in data) showProgress(data.progress);
  else {
    waiting.get(data.number)?.(data);
    waiting.delete(data.number);
  }
});

worker.addEventListener("error", () => {
  failed = failure("A part of this page cannot be loaded: is this device connected to the network?");
  for (const end of waiting.values()) end(failed);
  waiting.clear();
});

export async function request(path, { method, body, signal } = {}) {
  const own = number++;
  const { status, headers, text } = failed ?? await new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => reject(new DOMException("The view has changed.", "AbortError")));
    waiting.set(own, resolve);
    worker.postMessage({ number: own, path, method, body });
  });
  return new Response(text, { status, headers });
}

export const local = true;

export const says = {
  silent: "The page does not answer any more: load it again.",
  status: (code) => `The answer has status ${code}.`,
  times: (all, model) => `Computed in ${all} ms, of these ${model} in the model. `,
  absent: (titles) => `No model of this page can do: ${titles}. Others can: “roformer serve -m FOLDER” serves them.`,
};
