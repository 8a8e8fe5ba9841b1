/* thread.js — a thread of the module, in a worker: an instance of its own over the memory of roformer.js, whose message
   says where the stack and the thread-local data of this thread are. It waits there for jobs until the worker is ended. */
import { instantiate } from "./roformer.js";

async function run({ module, memory, number, stack, local }, tell) {
  let exports;
  try {
    exports = await instantiate(module, memory);
    exports.__stack_pointer.value = stack;
    exports.__wasm_init_tls(local);
  } catch (e) {                                              /* which a browser would not tell anyone */
    tell(`${e.name}: ${e.message}`);
    return;
  }
  tell("ready");
  try {
    exports.roformer_thread(number);
  } catch (e) {
    exports.roformer_broken();                               /* or those that wait for this thread wait forever */
    throw e;
  }
}

if (typeof WorkerGlobalScope === "function") {
  addEventListener("message", ({ data }) => run(data, postMessage));
} else {
  const { parentPort } = await import("node:worker_threads");
  parentPort.once("message", (data) => run(data, (text) => parentPort.postMessage(text)));
}
