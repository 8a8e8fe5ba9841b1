/* transport.js — who answers the requests of the page: the server that it comes from. Where the page is a folder of
   files, wasm/page/transport.js is in this place, and a module of WebAssembly answers. */

/* The answer to a request, as fetch has it; `path` is relative. */
export const request = (path, options) => fetch(path, options);

/* Whether this page computes the answers by itself. */
export const local = false;

export const says = {
  silent: "The server does not answer. Is it still running?",
  status: (code) => `The server answered with status ${code}.`,
  times: (all, model) => `In the server ${all} ms, of these ${model} in the model. `,
  absent: (titles) => `No model of this server can do: ${titles}. ` +
    "Other models can; “roformer serve -m FOLDER” serves them.",
};
