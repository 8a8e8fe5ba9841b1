"""check_demo.py PROGRAM FOLDER — the page that needs no server (demo.sh) in headless Chromium, from
`python3 -m http.server`: fills a mask, searches, shows attention and positions, and compares the answers with those of
PROGRAM on rung sse4; what is shown without a network; and how long the first answer takes on one processor core."""
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request

from browser import Browser, Server

PANELS = ["Missing words", "Tokens", "Vectors", "Similarity", "Search", "Attention", "Positions"]
MASKED, SENTENCES = "roformer-small-en", "roformer-small-en-sentences"
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "checks.js"), encoding="utf-8") as source:
    CHECKS = source.read()
failures = 0


def expect(condition, *what):
    global failures
    if not condition:
        failures += 1
        print("FAIL:", *what)


class Files:
    """`python3 -m http.server` for a folder on a free port."""

    def __init__(self, folder):
        command = [sys.executable, "-u", "-m", "http.server", "--bind", "127.0.0.1", "-d", folder, "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = re.search(r"http://\S+?/", self.process.stdout.readline())[0] + "index.html"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


def get(server, path):
    with urllib.request.urlopen(f"{server.url}/{path}") as answer:
        return json.load(answer)


def ask(server, path, body):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{server.url}/{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def address(files, view, **state):
    return f"{files.url}#{urllib.parse.urlencode({'view': view, **state})}"


def bars(browser):
    return browser.do("[...document.querySelectorAll('.result .bars tr')]"
                      ".map((r) => [r.cells[0].textContent, r.cells[1].textContent])")


# ---- tests -----------------------------------------------------------------------------------------------------------

def the_first_answer_is_there_soon(files, browser):
    """Seconds from the request for the page to the words for the mask; again: the files are in the browser's cache."""
    times = []
    for _ in range(4):
        begin = time.monotonic()
        browser.open(address(files, "fill-mask"))
        times.append(time.monotonic() - begin)
        expect(bars(browser)[0][0], "no word for the first example")
        expect(browser.do("document.querySelectorAll('.failure').length") == 0, "a failure is shown")
    first, *again = (round(t, 2) for t in times)
    print(json.dumps({"seconds to the first answer": {"first": first, "again": again}}))
    expect(browser.do("[...document.querySelectorAll('nav a')].map((a) => a.textContent)") == PANELS, "not the panels")


def it_answers_as_the_program(files, browser, server):
    """Every answer has the members and texts of the server's; numbers differ by at most 1e-5."""
    def same(a, b, where):
        if isinstance(a, dict) and isinstance(b, dict):
            expect(a.keys() == b.keys(), where, a.keys(), b.keys())
            for key in a.keys() & b.keys():
                same(a[key], b[key], f"{where}.{key}")
        elif isinstance(a, list) and isinstance(b, list):
            expect(len(a) == len(b), where, len(a), len(b))
            for i, (x, y) in enumerate(zip(a, b)):
                same(x, y, f"{where}[{i}]")
        elif isinstance(a, float) or isinstance(b, float):
            numbers.append(a == b)
            expect(abs(a - b) <= 1e-5 * max(1, abs(a)), where, a, b)
        else:
            expect(a == b, where, a, b)

    text = "The old river flows through the valley, and it reaches the [MASK] “Sea”."
    numbers = []
    for path, body in (("fill_mask", {"model": MASKED, "inputs": text, "top_k": 20}),
                       ("tokenize", {"model": MASKED, "inputs": [text]}),
                       ("v1/embeddings", {"model": SENTENCES, "input": ["bad weather", text] * 20}),
                       ("attention", {"model": MASKED, "inputs": text, "layer": 3, "head": 2}),
                       ("attention", {"model": SENTENCES, "inputs": text, "layer": 7, "head": 1}),
                       ("positions", {"model": MASKED, "inputs": text, "layer": 1, "head": 0, "max_distance": 64}),
                       ("decode", {"model": MASKED, "ids": [[2009, 2010], [5]], "skip_special_tokens": False})):
        options = json.dumps({"method": "POST", "body": json.dumps(body)})
        asked = f"import('./ui/transport.js').then((t) => t.request({json.dumps(path)}, {options}))"
        same(browser.do(f"{asked}.then((answer) => answer.json())"), ask(server, path, body), path)
    print(json.dumps({"numbers compared": len(numbers), "equal": sum(numbers)}))


def masks_are_filled_and_lines_found(files, browser, server):
    text = "He was elected to the House of [MASK] in 1998."
    browser.open(address(files, "fill-mask", text=text, top="5"))
    words = ask(server, "fill_mask", {"model": MASKED, "inputs": text, "top_k": 5})
    expect([w for w, _ in bars(browser)] == [w["token_str"] for w in words], "the words are", bars(browser))
    query, lines = "bad weather", ["The team won the match.", "Heavy rain is expected tomorrow.", "Prices of oil fell."]
    browser.open(address(files, "find", query=query, texts="\n".join(lines), top="3"))
    inputs = {"source_sentence": query, "sentences": lines}
    scores = ask(server, "similarity", {"model": SENTENCES, "inputs": inputs})
    ranks = sorted(zip(lines, scores), key=lambda r: -r[1])
    expect(bars(browser) == [[line, f"{score:.3f}"] for line, score in ranks], "the lines are", bars(browser), ranks)


def every_panel_can_be_read(files, browser):
    for shape in ((1000, 800), (360, 800)):
        for scheme in "light", "dark":
            browser.shape(*shape, scheme)
            for view in "fill-mask", "tokenize", "embed", "similarity", "find", "attention", "positions":
                browser.open(address(files, view))
                shown = browser.do("document.querySelector('.result').innerText")
                where = f"{view}, {shape[0]} wide, {scheme}:"
                expect(not browser.do("!!document.querySelector('.failure')"), where, shown)
                for line in browser.do(CHECKS):
                    expect(False, where, line)
    expect(not browser.problems, "the console has", browser.problems)


ERRORS = """(async () => {
  const { Roformer, fetchFolder } = await import("./roformer/roformer.js"), said = [];
  const failing = async (what) => {
    try { await what(); said.push("no error"); } catch (e) { said.push(`${e.name}: ${e.message}`); }
  };
  const validate = WebAssembly.validate, module = new URL("roformer/roformer.wasm.gz", location).href;
  WebAssembly.validate = () => false;
  await failing(() => Roformer.load(module));
  WebAssembly.validate = validate;
  await failing(() => Roformer.load("no/such.wasm"));
  await failing(() => fetchFolder("models/none", ["config.json"]));
  const roformer = await Roformer.load(module);
  await failing(() => roformer.open("a", { "config.json": { length: 4.2e9 } }));
  await failing(() => roformer.open("a", { "config.json": new TextEncoder().encode("{}") }));
  await failing(() => roformer.ask("fill_mask", { inputs: "a" }));
  roformer.name("a");
  await failing(() => roformer.ask("fill_mask", { inputs: "a" }));
  await failing(() => roformer.ask("fill_mask", { inputs: 1 }));
  said.push(JSON.stringify(roformer.ask("v1/models").data.map((m) => [m.id, !!m.can])));
  said.push(String(roformer.call("no").status), String(roformer.call("health").status));
  return said;
})()"""


def errors_are_sentences(files, browser):
    browser.open(address(files, "fill-mask"))
    said = browser.do(ERRORS)
    expected = ("no SIMD instructions", "cannot be loaded: status 404", "cannot be loaded: status 404",
                "not enough memory: 4200000000 bytes", "model a: ", "no model is open", "the model is being loaded", "`inputs`",
                '[["a",false]]', "404", "503")
    expect(len(said) == len(expected), said)
    for sentence, words in zip(said, expected):
        expect(words in sentence, "expected", words, "got", sentence)
    browser.problems[:] = [p for p in browser.problems if "404" not in p]


def without_a_network_it_says_so(files, browser):
    """What is loaded still answers; a model that is not there yet cannot be loaded."""
    browser.open(address(files, "fill-mask"))
    files.process.kill()
    files.process.wait()
    browser.do("document.querySelectorAll('.examples a')[1].click()")
    browser.settled()
    expect(bars(browser), "what is loaded does not answer")
    browser.do("[...document.querySelectorAll('nav a')].find((a) => a.textContent === 'Search').click()")
    browser.wait("document.querySelector('h1').textContent === 'Search' && !!document.querySelector('.failure')",
                 "the failure is shown")
    shown = browser.do("document.querySelector('.failure').innerText")
    expect("connected to the network?" in shown, "the failure is", shown)
    browser.problems.clear()


def main():
    program, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    os.environ["ROFORMER_ISA"] = "sse4"
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})      # one core for all that is started here
    options = [x for name in (SENTENCES, MASKED) for x in ("-m", f"{name}={os.path.join(folder, 'models', name)}")]
    with Files(folder) as files, Browser() as browser:
        the_first_answer_is_there_soon(files, browser)
        with Server(program, "--threads", "1", "--dtype", "int8", *options) as server:
            while any("can" not in m for m in get(server, "v1/models")["data"]):
                time.sleep(0.05)
            it_answers_as_the_program(files, browser, server)
            masks_are_filled_and_lines_found(files, browser, server)
        every_panel_can_be_read(files, browser)
        errors_are_sentences(files, browser)
        with Browser() as other:                             # nothing is in its cache
            without_a_network_it_says_so(files, other)
    print(json.dumps({"failed": failures}))
    sys.exit(failures > 0)


main()
