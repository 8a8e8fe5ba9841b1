/* module_speed.js — seconds that the module takes for one request; in Node.js and in a worker of a browser. */
const FILES = ["config.json", "model.safetensors", "tokenizer_config.json", "vocab.txt", "modules.json",
  "1_Pooling/config.json"];

/* A function that asks once and returns the seconds. */
export async function prepare(base, { threads, dtype, body }) {
  const { fetchFolder, Roformer } = await import(new URL("package/roformer.js", base));
  const roformer = await Roformer.load(new URL("package/roformer.wasm", base), { threads });
  if (roformer.threads !== threads) throw new Error(`expected ${threads} threads, got ${roformer.threads}`);
  roformer.open("m", await fetchFolder(new URL("model/", base), FILES), { dtype });
  return () => {
    const begin = performance.now(), { status, text } = roformer.call("v1/embeddings", body);
    if (status !== 200) throw new Error(text);
    return (performance.now() - begin) / 1000;
  };
}

if (typeof WorkerGlobalScope === "function") {
  let ask;
  addEventListener("message", async ({ data }) => {
    try {
      if (data) ask = await prepare(location.href, data);
      postMessage({ seconds: ask() });
    } catch (e) {
      postMessage({ error: String(e) });
    }
  });
} else {
  const { createInterface } = await import("node:readline");
  const { pathToFileURL } = await import("node:url");
  const ask = await prepare(pathToFileURL(`${process.cwd()}/`), JSON.parse(process.argv[2]));
  for await (const line of createInterface({ input: process.stdin })) if (line) console.log(ask());
}
