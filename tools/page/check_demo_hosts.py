"""check_demo_hosts.py FOLDER — the page that needs no server (demo.sh) where something is missing: every fault of a host
or a browser is a sentence on the page, which says what to do.  And where more is allowed: with threads, the module
answers the same bytes."""
import json
import sys

from browser import Browser
from host import Host

MODULE, THREADS = "roformer/roformer.wasm.gz", "roformer/roformer.threads.wasm.gz"
WEIGHTS = "models/roformer-small-en/model.safetensors"
ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
AGAIN = "Load it again; if that does not help, the file on the host is wrong."

# What is wrong, and what the page says.
FAULTS = [
    (MODULE, "absent", ["roformer.wasm.gz cannot be loaded: status 404", "Is the file there"]),
    (MODULE, "page", ["a web page came in place of the file", "ask for a login"]),
    (MODULE, "cut", ["roformer.wasm.gz was not loaded to its end", "Load it again."]),
    (MODULE, "short", ["roformer.wasm.gz is not the module, or is damaged", AGAIN]),
    (MODULE, "other", ["roformer.wasm.gz is not the module, or is damaged", AGAIN]),
    ("roformer/roformer.js", "absent", ["A part of this page cannot be loaded"]),
    ("models.json", "absent", ["models.json cannot be loaded: status 404"]),
    ("models.json", "short", ["models.json is damaged", "Load the page again"]),
    (WEIGHTS, "absent", ["model.safetensors cannot be loaded: status 404"]),
    (WEIGHTS, "page", ["a web page came in place of the file"]),
    (WEIGHTS, "cut", ["model.safetensors was not loaded to its end"]),
    (WEIGHTS, "short", ["roformer-small-en/model.safetensors is damaged: expected 12890992 bytes, got 6445496"]),
    (WEIGHTS, "other", ["model.safetensors"]),
]
failures = 0


def expect(condition, *what):
    global failures
    if not condition:
        failures += 1
        print("FAIL:", *what, flush=True)


STATE = """(() => {
  const status = document.getElementById("status")?.textContent ?? "Loading";
  const failure = document.querySelector("main .failure")?.innerText;
  if (failure || !/^(Loading|version)/.test(status)) return failure ?? status;
  const result = document.querySelector(".result");
  return result?.childElementCount && !document.querySelector("[aria-busy]") ? "" : null;
})()"""


def shown(browser, host):
    """The failure that the page shows first, or nothing."""
    browser.call("Page.navigate", url=f"{host.url}#view=fill-mask")
    browser.wait(f"{STATE} !== null", "the panel has its result, or a failure is shown")
    return browser.do(STATE)


def says(where, text, words):
    for part in words:
        expect(part in text, f"{where}: expected", part, "got", text)


# ---- tests -----------------------------------------------------------------------------------------------------------

def faults_of_a_host_are_sentences(folder):
    for path, fault, words in FAULTS:
        with Host(folder, faults={path: fault}) as host, Browser() as browser:
            says(f"{path}: {fault}", shown(browser, host), words)


def a_wrong_content_type_does_not_matter(folder):
    with Host(folder, faults={path: "type" for path in (MODULE, WEIGHTS, "models.json")}) as host, Browser() as browser:
        said = shown(browser, host)
        expect(not said, "text/plain:", said)


def after_a_fault_it_can_be_asked_again(folder):
    with Host(folder, faults={WEIGHTS: "cut"}) as host, Browser() as browser:
        says("cut", shown(browser, host), ["not loaded to its end"])
        host.faults.clear()
        browser.do("document.querySelectorAll('.examples a')[1].click()")
        browser.wait("!document.querySelector('.failure') && document.querySelectorAll('.result .bars tr').length > 0",
                     "the words are shown")


def a_browser_without_simd_says_so(folder):
    """Such a processor; the module is not loaded."""
    with Host(folder) as host, Browser("--js-flags=--no-enable-sse4-1 --no-enable-ssse3") as browser:
        says("SIMD", shown(browser, host), ["no SIMD instructions of WebAssembly", "Chrome 91"])
        expect(not {MODULE, THREADS} & set(host.asked), "the module was loaded:", host.asked)


def a_tab_without_memory_says_so(folder):
    """A memory that cannot grow beyond 20 and 30 MB."""
    for pages in 320, 480:
        with Host(folder) as host, Browser(f"--js-flags=--wasm-max-mem-pages={pages}") as browser:
            says(f"{pages} pages", shown(browser, host), ["not enough memory", "Close other tabs"])


WORKER = """
import { fetchFolder, Roformer } from "./roformer/roformer.js";
const list = await (await fetch("models.json")).json(), out = { isolated: crossOriginIsolated, said: [], threads: [] };
const { files } = list.models.find((m) => m.about.id === "roformer-small-en");
const folder = await fetchFolder("models/roformer-small-en", files.map(([name]) => name));
const inputs = "The old river flows through the valley, and it reaches the [MASK] Sea. ".repeat(4);
for (const threads of [1, 2, 4]) {
  const roformer = await Roformer.load("roformer/roformer.wasm.gz", { threads });
  out.threads.push(roformer.threads);
  for (const dtype of ["int8", "f32"]) {
    roformer.open("m", folder, { dtype });
    out.said.push(roformer.call("fill_mask", { inputs, top_k: 50 }).text + roformer.call("attention", { inputs }).text);
  }
  roformer.end();
}
postMessage(out);
"""
ASK = """new Promise((resolve, reject) => {
  const worker = new Worker("threads_check.js", { type: "module" });
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = (e) => reject(new Error(e.message));
})"""


def threads_give_the_same_bytes(folder):
    """Where the host isolates the page, threads compute; elsewhere, one."""
    said = []
    for headers, threads in (ISOLATED, [1, 2, 4]), ({}, [1, 1, 1]):
        with Host(folder, headers, {"threads_check.js": WORKER}) as host, Browser() as browser:
            failure = shown(browser, host)
            expect(not failure, headers, "shows", failure)
            got = browser.do(ASK)
            expect(got["isolated"] == bool(headers), "isolated:", got["isolated"])
            expect(got["threads"] == threads, "threads: expected", threads, "got", got["threads"])
            expect(all("score" in text for text in got["said"]), "the answers are", got["said"][0][:200])
            said.append(got["said"])
            expect(not browser.problems, "the console has", browser.problems)
    one = said[0][:2]
    expect(all(answers == 3 * one for answers in said), "threads: the answers differ")
    print(json.dumps({"bytes of answers with 1, 2 and 4 threads": len("".join(one))}), flush=True)


def main():
    folder = sys.argv[1]
    threads_give_the_same_bytes(folder)
    a_browser_without_simd_says_so(folder)
    a_tab_without_memory_says_so(folder)
    a_wrong_content_type_does_not_matter(folder)
    after_a_fault_it_can_be_asked_again(folder)
    faults_of_a_host_are_sentences(folder)
    print(json.dumps({"failed": failures}))
    sys.exit(failures > 0)


main()
