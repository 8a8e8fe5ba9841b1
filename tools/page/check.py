"""check.py PROGRAM FOLDER — checks the page in headless Chromium: contrast, labels, focus order, text with markup, addresses,
keyboard, requests, and that a model has its panels and no others.

FOLDER has the small models of tests/cli/serve/serve_models and an index (tools/page/run.sh makes it)."""
import ast
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

from browser import Browser, Server

PANELS = {"model": ["Missing words", "Tokens", "Vectors", "Similarity", "Attention", "Positions"],
          "causal": ["Next word", "Generate", "Tokens", "Vectors", "Similarity", "Attention", "Positions"],
          "pairs": ["Tokens", "Rerank", "Attention"], "labels": ["Tokens", "Labels", "Attention"],
          "translate": ["Tokens", "Vectors", "Similarity", "Translate"], "token": ["Tokens", "Tags", "Attention"], "span": ["Tokens", "Answers", "Attention"]}
VIEWS = ["fill-mask", "next-word", "generate", "tokenize", "embed", "similarity", "search", "rerank", "classify", "tags", "answers", "translate", "attention", "positions"]
MARKUP = "<img src=x onerror=\"window.harmed=1\"><b>old</b> river"
SHAPES = [(1000, 800), (360, 800)]

failures = 0
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "checks.js"), encoding="utf-8") as source:
    CHECKS = source.read()


def expect(condition, *what):
    global failures
    if not condition:
        failures += 1
        print("FAIL:", *what)


def address(server, view, **state):
    return f"{server.url}/#{urllib.parse.urlencode({'view': view, **state})}"


def titles(browser):
    return browser.do("[...document.querySelectorAll('nav a')].map((a) => a.textContent)")


def result(browser):
    return browser.do("document.querySelector('.result').innerText")


def quiet(browser, *allowed):
    """No error in the console, but for those of answers that a test provokes."""
    left = [p for p in browser.problems if not any(a in p for a in allowed)]
    expect(not left, "the console has", left)
    browser.problems.clear()


# ---- tests -----------------------------------------------------------------------------------------------------------

def every_panel_can_be_read(server, browser):
    for shape in SHAPES:
        for scheme in ("light", "dark"):
            browser.shape(*shape, scheme)
            for view in VIEWS:
                browser.open(address(server, view, **({"question": "river"} if view == "answers" else {})))
                where = f"{view}, {shape[0]} wide, {scheme}:"
                expect(browser.do("document.querySelector('nav [aria-current]').href.includes(location.hash.split('&')[0])"), where, "not shown")
                expect(not browser.do("!!document.querySelector('.failure')"), where, result(browser))
                for line in browser.do(CHECKS):
                    expect(False, where, line)
                unnamed(browser, where)
    quiet(browser)


def each_check_can_fail(server, browser):
    browser.shape(1000, 800, "light")
    for html, words in (("<p style='color:#999'>pale</p>", "contrast 2"), ("<input id='bare'>", "no label"), ("<img src='ui/icon.svg'>", "no text for"),
                        ("<h4>deep</h4>", "heading of level 4"), ("<button style='height:9px;min-height:0;padding:0'>a</button>", "smaller than"),
                        ("<p id='main'>again</p>", "twice"), ("<div style='width:3000px'>a</div>", "wide"), ("<h1>b</h1>", "not one h1")):
        browser.open(address(server, "tokenize"))
        browser.do(f"document.querySelector('.result').insertAdjacentHTML('beforeend', {json.dumps(html)})")
        browser.do("document.querySelectorAll('.result [style]').forEach((e) => { e.style.cssText = e.getAttribute('style'); })")
        found = browser.do(CHECKS)
        expect(any(words in line for line in found), "checks.js does not see", html, found)
    browser.problems.clear()                              # the policy refuses inline styles


def unnamed(browser, where):
    """Chromium's own tree for screen readers: what can be used has a name."""
    for node in browser.call("Accessibility.getFullAXTree")["nodes"]:
        role = node.get("role", {}).get("value")
        if role in ("textbox", "searchbox", "combobox", "spinbutton", "slider", "button", "link", "image", "region") and not node["ignored"]:
            expect(node.get("name", {}).get("value"), where, "a", role, "without a name")


FOCUS = """(() => { const e = document.activeElement, s = getComputedStyle(e), b = e.getBoundingClientRect();
  return { at: window.stops.indexOf(e), what: e.outerHTML.slice(0, 80), ring: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2,
    inside: b.bottom > 0 && b.top < innerHeight && b.right > 0 && b.left < innerWidth }; })()"""


def the_keyboard_reaches_everything_in_order(server, browser):
    for shape in SHAPES:
        browser.shape(*shape, "light")
        for view in ("attention", "positions", "translate", "embed"):
            browser.open(address(server, view))
            stops = browser.do("(window.stops = [...document.querySelectorAll('a[href], button, input, select, textarea, [tabindex=\"0\"]')]"
                               ".filter((e) => e.checkVisibility())).length")
            for i in range(stops):
                browser.press("Tab")
                at = browser.do(FOCUS)
                expect(at["at"] == i, view, "step", i, "is at", at)
                expect(at["ring"] and at["inside"], view, "the focus cannot be seen", at)
    browser.open(address(server, "tokenize"))               # a panel by its link, a form by Enter
    browser.do("[...document.querySelectorAll('nav a')].find((a) => a.textContent === 'Search').focus()")
    browser.press("Enter")
    browser.wait("document.querySelector('h1').textContent === 'Search'", "Enter opens a panel")
    browser.settled()
    browser.do("document.getElementById('field-query').focus()")
    browser.call("Input.insertText", text=" again")
    browser.press("Enter")
    browser.wait("location.hash.includes('again')", "Enter sends the form")
    browser.settled()
    quiet(browser)


def text_with_markup_stays_text(server, browser):
    browser.shape(1000, 800, "light")
    fields = {"fill-mask": {"text": MARKUP + " [MASK]"}, "next-word": {"text": MARKUP}, "generate": {"text": MARKUP}, "tokenize": {"text": MARKUP},
              "embed": {"texts": MARKUP}, "similarity": {"texts": MARKUP + "\nb"}, "search": {"query": MARKUP}, "rerank": {"query": MARKUP, "texts": MARKUP},
              "classify": {"text": MARKUP}, "tags": {"text": MARKUP}, "answers": {"question": "old", "context": MARKUP},
              "translate": {"texts": MARKUP}, "attention": {"text": MARKUP}, "positions": {"text": MARKUP}}
    for view in VIEWS:
        browser.open(address(server, view, **fields[view]))
        found = browser.do("[window.harmed, document.querySelectorAll('main img, main b, main script').length]")
        expect(found == [None, 0], view, "made elements of a text", found)
    for view in ("similarity", "tags", "answers", "translate"):
        browser.open(address(server, view, **fields[view]))
        browser.do("document.querySelectorAll('.tagged small').forEach((e) => e.remove())")      # names of tags
        text = browser.do("document.querySelector('.result').textContent")
        expect("onerror" in text and "<b>" in text, view, "does not show the text", text)
    browser.open(address(server, "tokenize", model=MARKUP, text="a"))      # of an address, too
    expect(browser.do("window.harmed") is None, "an address made an element")
    browser.open(address(server, "search", query="line"))
    expect("<i>line</i>" in result(browser), "the index has a line with markup", result(browser))
    quiet(browser)


def an_address_holds_the_state(server, browser):
    browser.shape(1000, 800, "light")
    browser.open(address(server, "tokenize"))
    browser.do("""(() => { const f = document.querySelector('main form');
        f.elements.text.value = 'river & ä=日本 100%'; f.elements.model.value = 'causal'; f.requestSubmit(); })()""")
    browser.wait("location.hash.includes('causal')", "the address changes")
    browser.settled()
    before = result(browser)
    shown = browser.do("[location.href, document.querySelector('main form').elements.text.value]")
    browser.open(shown[0])
    expect(result(browser) == before, "a reload shows", result(browser), "not", before)
    expect(browser.do("document.querySelector('main form').elements.text.value") == shown[1] == "river & ä=日本 100%", shown)
    browser.open(address(server, "attention", model="model", text="the old river"))
    browser.do("document.querySelectorAll('.result .cell')[5].dispatchEvent(new MouseEvent('click'))")
    browser.wait("location.hash.includes('token=1')", "a click on the map chooses a token")
    browser.settled()
    browser.do("history.back()")
    browser.wait("!location.hash.includes('token=1')", "Back goes back")
    browser.settled()
    for view, state in (("none", {}), ("tokenize", {"model": "none"}), ("fill-mask", {"model": "labels", "top": "x"})):
        browser.open(address(server, view, **state))
        expect(browser.do("document.querySelectorAll('h1').length") == 1, "no panel for", view, state)
    quiet(browser, "422")


def a_tab_keeps_its_input(server, browser):
    def go(title):
        browser.do(f"[...document.querySelectorAll('nav a')].find((a) => a.textContent === '{title}').click()")
        browser.wait(f"document.querySelector('h1').textContent === '{title}'", f"{title} opens")
        browser.settled()

    browser.shape(1000, 800, "light")
    browser.open(address(server, "tokenize"))
    browser.do("document.getElementById('field-text').select()")
    browser.call("Input.insertText", text="the old river again")
    go("Search")
    go("Tokens")
    kept = browser.do("document.getElementById('field-text').value")
    expect(kept == "the old river again", "Tokens has", kept)
    go("Search")
    browser.do("document.getElementById('field-top').value = ''; document.querySelector('main form').requestSubmit()")
    expect(browser.do("document.querySelector('.result').classList.contains('stale')"), "an empty number was sent")
    quiet(browser)


def a_click_on_a_map_keeps_the_scroll_position(server, browser):
    browser.shape(1000, 500, "light")
    browser.open(address(server, "positions", model="model"))
    before = browser.do("(window.scrollTo(0, 99999), scrollY)")
    browser.do("[...document.querySelectorAll('.result svg')].at(-1).querySelectorAll('.cell')[1].dispatchEvent(new MouseEvent('click'))")
    browser.wait("document.getElementById('field-head').value === '1'", "a click on the map chooses a head")
    browser.settled()
    after = browser.do("scrollY")
    expect(before > 100 and abs(after - before) < 100, "the page was at", before, "and is at", after)
    quiet(browser)


def unknown_tokens_are_named(server, browser):
    browser.open(address(server, "tokenize", text="the old 日本 river"))
    found = browser.do("[document.querySelectorAll('.tokens .unknown').length, document.querySelector('.note')?.textContent ?? '']")
    expect(found[0] > 0 and "cannot tell them apart" in found[1], "unknown tokens:", found)
    quiet(browser)


def errors_are_sentences(server, browser):
    for view, state, words in (("fill-mask", {"text": "no mask"}, "There is no [MASK] in the text"), ("attention", {"text": "river " * 200}, "tokens"),
                               ("tokenize", {"text": " "}, "Enter a text.")):
        browser.open(address(server, view, **state))
        text = browser.do("document.querySelector('.failure[role=alert]')?.textContent ?? ''")
        expect(words in text, view, state, "says", text)
    quiet(browser, "status of 4")


def only_this_server_is_asked(server, browser):
    browser.call("Network.enable")
    urls = browser.do("performance.getEntriesByType('resource').map((e) => e.name)")
    expect(len(urls) >= 8 and all(u.startswith(server.url + "/") for u in urls), urls)


def a_model_has_its_panels(program, folder, browser):
    for model, expected in PANELS.items():
        with Server(program, "-m", os.path.join(folder, model)) as server:
            browser.open(server.url + "/ui")
            expect(titles(browser) == expected, model, titles(browser))
            absent = browser.do("document.getElementById('absent').textContent")
            expect("Search" in absent and not any(title in absent for title in expected), model, absent)
    quiet(browser)


# `window.fetch` of a page that is opened while models are being loaded, all but one of them until `window.ended` is set
LOADING = """(() => { const real = window.fetch;
  window.fetch = async (path, options) => { const answer = await real(path, options);
    if (path !== 'v1/models') return answer;
    const body = await answer.json(), loaded = (m) => m.id === 'pairs' || window.ended;
    return new Response(JSON.stringify({ data: body.data.map((m) => loaded(m) ? m : { id: m.id }) })); }; })()"""


def opened_while_models_load_it_shows_the_first_panel(server, browser):
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source=LOADING)["identifier"]
    for state, entered, title in (({}, "", "Missing words"), ({}, "again", "Tokens"), ({"view": "rerank"}, "", "Rerank"),
                                  ({"view": "positions"}, "", "Positions")):
        browser.open(f"{server.url}/#{urllib.parse.urlencode(state)}")
        expect(titles(browser) == PANELS["pairs"], "while models load:", titles(browser))
        if entered:
            browser.do("document.querySelector('main textarea').focus()")
            browser.call("Input.insertText", text=entered)
        browser.do("window.ended = 1")
        browser.wait("!document.getElementById('status').textContent.includes(' of ')", "all models are there")
        browser.settled()
        found = browser.do("document.querySelector('h1').textContent")
        expect(found == title, "opened with", state, entered, "the page shows", found)
    browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    quiet(browser)


def many_lines_are_ranked(server, browser):
    browser.open(address(server, "rerank", query="river", texts="\n".join(f"the old river {i}" for i in range(70))))
    scores = browser.do("[...document.querySelectorAll('.result .number')].map((e) => Number(e.textContent))")
    names = browser.do("[...document.querySelectorAll('.result th')].map((e) => e.textContent)")
    expect(len(set(names)) == 70 and scores == sorted(scores, reverse=True), "70 lines are ranked as", names, scores)
    quiet(browser)


def the_request_of_a_view_can_be_sent(server, browser):
    """What is shown for curl and for Python gives the answer of the view."""
    browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite"], origin=server.url)
    text = "it's a \"river\" \\ $HOME `日本`\n%s 🙂"
    for view, state in (("tokenize", {"text": text}), ("similarity", {"texts": text + "\n@a"}), ("fill-mask", {"text": text + " [MASK]"}),
                        ("tags", {"text": text}), ("generate", {"text": "the", "tokens": "3", "seed": "2"})):
        browser.open(address(server, view, **state))
        browser.wait("document.querySelectorAll('.behind pre').length === 2", "the request is shown")
        times = browser.do("document.querySelector('.behind p').textContent")
        expect(re.fullmatch(r"(\d+ tokens?\. )?(In the server \d+ ms, of these \d+ in the model\. )?Shown after \d+ ms\.", times), view, times)
        expect(view in ("generate", "tokenize") or "tokens" in times and "server" in times, view, times)
        browser.do("document.querySelector('.behind details').open = true")
        shown, answers = browser.do("[...document.querySelectorAll('.behind pre')].map((e) => e.textContent)"), []
        for i, command in enumerate((["sh", "-c"], [sys.executable, "-c"])):
            browser.do(f"document.querySelectorAll('.behind button')[{i}].focus()")
            browser.press("Enter")
            copied = browser.do("navigator.clipboard.readText()")
            expect(copied == shown[i], view, "copies", copied, "not", shown[i])
            done = subprocess.run([*command, copied], capture_output=True, text=True, check=False)
            expect(not done.returncode, view, done.stderr)
            answers.append(re.sub(r'"(id|created)":("[^"]*"|\d+),', "", done.stdout).split() if view == "generate"
                           else json.loads(done.stdout) if i == 0 else ast.literal_eval(done.stdout))
        expect(answers[0] == answers[1], view, answers)
        expect(view != "generate" or re.search(r"3 new tokens in \d+\.\d\d s\.", result(browser)), view, result(browser))
    quiet(browser)


# Rows with known principal components: three circles' waves, at right angles to each other, in directions at right angles.
WAVES = """import('./ui/vectors.js').then(({ principal }) => {
  const n = 50, wave = (f, i) => [3 * Math.cos(f * i), 2 * Math.sin(f * i), Math.cos(2 * f * i)];
  const u = [[0.6, 0.8, 0, 0], [-0.48, 0.36, 0.8, 0], [0, 0, 0, 1]], all = Array.from({ length: n }, (_, i) => wave(2 * Math.PI / n, i));
  const rows = all.map((w) => [0, 1, 2, 3].map((j) => 7 + w.reduce((s, x, k) => s + x * u[k][j], 0)));
  const { places, shares } = principal(rows), sign = [0, 1].map((k) => Math.sign(places[7][k] / all[7][k]));
  const same = (a, b) => Math.abs(a - b) < 1e-6;
  return [places.every((p, i) => [0, 1].every((k) => same(sign[k] * p[k], all[i][k]))), same(shares[0], 9 / 14), same(shares[1], 4 / 14),
    JSON.stringify(principal(rows).places) === JSON.stringify(places), principal([[1, 2], [1, 2]]).places.flat().every((x) => x === 0)];
})"""


def vectors_are_mapped_copied_and_saved(server, browser):
    texts = ["the old river", 'a "new", line', "日本 rain", "=1+1"] + [f"river {i}" for i in range(60)]
    browser.open(address(server, "embed", model="model", texts="\n".join(texts)))
    expect(browser.do(WAVES) == [True] * 5, "principal components", browser.do(WAVES))
    sent = urllib.request.Request(server.url + "/v1/embeddings", json.dumps({"model": "model", "input": texts[:32]}).encode(),
                                  {"Content-Type": "application/json"})
    with urllib.request.urlopen(sent) as answer:
        right = [d["embedding"] for d in json.load(answer)["data"]]
    folder = tempfile.mkdtemp()
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
    for name in ("vectors.json", "vectors.csv"):
        browser.do(f"[...document.querySelectorAll('.result button')].find((b) => b.textContent === 'Save {name}').click()")
        browser.until(lambda path=os.path.join(folder, name): os.path.exists(path), f"{name} is saved")
    with open(os.path.join(folder, "vectors.json"), encoding="utf-8") as f:
        saved = json.load(f)
    expect([s["text"] for s in saved] == texts and [s["vector"] for s in saved[:32]] == right, "vectors.json has", saved[:2])
    with open(os.path.join(folder, "vectors.csv"), encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f))[1:]
    expect([[r[0], *map(float, r[1:])] for r in rows] == [[s["text"], *s["vector"]] for s in saved], "vectors.csv has", rows[:2])
    shutil.rmtree(folder)
    browser.do("document.querySelectorAll('.result .dot')[2].dispatchEvent(new MouseEvent('click'))")
    found = browser.do("[document.querySelectorAll('.result .dot').length, document.getElementById('choose-line').value]")
    expect(found == [64, "2"], "a click on the map chooses", found)
    browser.do("document.querySelector('.result h2 button').focus()")
    browser.press("Enter")
    expect(json.loads(browser.do("navigator.clipboard.readText()")) == right[2], "the numbers that are copied")
    quiet(browser)


def lines_can_come_from_a_file(server, browser):
    browser.open(address(server, "embed"))
    path = os.path.join(tempfile.mkdtemp(), "lines.txt")
    for text in ("river\n日本\n", "a" * 500001):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        root = browser.call("DOM.getDocument")["root"]["nodeId"]
        node = browser.call("DOM.querySelector", nodeId=root, selector="input[type=file]")["nodeId"]
        browser.call("DOM.setFileInputFiles", files=[path], nodeId=node)
        says = "lines.txt: 2 lines" if len(text) < 500000 else "lines.txt has 500001 bytes"
        browser.wait(f"document.querySelector('main small').textContent.includes('{says}') && "
                     "document.getElementById('field-texts').value === 'river\\n日本\\n'", "the file is read")
    shutil.rmtree(os.path.dirname(path))
    quiet(browser)


def the_next_word_is_what_is_generated(server, browser):
    browser.open(address(server, "next-word", text="the old", top="20"))
    shares = browser.do("[...document.querySelectorAll('.result .number')].map((e) => parseFloat(e.textContent))")
    expect(2 <= len(shares) <= 20 and shares == sorted(shares, reverse=True) and sum(shares) < 100.1, "the shares are", shares)
    text = "the old"
    for _ in range(3):                                    # click by click, what a temperature of 0 gives
        browser.do("document.querySelector('.result .bars button').click()")
        browser.wait(f"document.getElementById('field-text').value !== {json.dumps(text)}", "the token is appended")
        browser.settled()
        text = browser.do("document.getElementById('field-text').value")
    browser.open(address(server, "generate", text="the old", tokens="3", temperature="0"))
    browser.wait("!document.getElementById('stop')", "the text is complete")
    whole = browser.do("document.querySelector('.generated').textContent")
    expect(whole == text, "clicks give", text, "and the model", whole)
    quiet(browser)


def every_example_has_a_result(server, browser):
    for view in VIEWS:
        browser.open(address(server, view))
        links = browser.do("[...document.querySelectorAll('.examples a')].map((a) => a.href)")
        first = browser.do("[...document.querySelectorAll('main textarea, main input[type=search]')].every((e) => e.value || e.name === 'pair')")
        expect(len(links) >= 2 and first, view, "has the examples", links)
        for link in links:
            browser.open(link)
            expect(not browser.do("!!document.querySelector('.failure')") or "at most 20 tokens" in result(browser), link, result(browser))
    quiet(browser, "status of 422")


def names_cannot_turn_the_text_around_them(program, folder, browser):
    marked = os.path.join(folder, "marked-model-with-a-name-that-no-phone-can-show-in-a-menu")
    shutil.copytree(os.path.join(folder, "labels"), marked)
    path = os.path.join(marked, "config.json")
    with open(path, encoding="utf-8") as f:
        config = json.load(f)
    config["id2label"]["0"] = "safe\u202elive"
    with open(path, "w", encoding="utf-8") as f:
        json.dump(config, f)
    browser.shape(360, 800, "light")
    with Server(program, "-m", marked, "--threads", "1") as server:
        browser.open(address(server, "classify", text="the old river"))
        text = result(browser)
        expect("safe‹U+202E›live" in text and "\u202e" not in text, "a label is shown as", ascii(text))
        status = browser.do("document.getElementById('status').textContent")
        expect("1 thread, 1 model" in status, "the status is", status)
        below = browser.do("document.querySelector('.field.model small').innerText")
        expect(below.startswith(os.path.basename(marked) + " is a text classifier"), "below the menu is", below)
    quiet(browser)


def the_demonstration_shows_what_works(program, browser):
    """Every panel of the shipped models, by each model that it offers."""
    with Server(program, "--demo") as server:
        browser.open(server.url)
        browser.wait("!document.getElementById('status').textContent.includes(' of ')", "all models are loaded")
        for link in browser.do("[...document.querySelectorAll('nav a')].map((a) => a.href)"):
            browser.open(link)
            for model in browser.do("[...document.getElementById('field-model').options].map((o) => o.value)"):
                browser.open(f"{server.url}/#{urllib.parse.urlencode({'view': re.search('view=([a-z-]+)', link)[1], 'model': model})}")
                shown = browser.do("[document.getElementById('field-model').value, !!document.querySelector('.failure'), !!document.querySelector('.note')]")
                expect(shown == [model, False, False], link, model, "shows", shown, result(browser))
    quiet(browser)


def a_server_with_keys_asks_for_one(program, folder, browser):
    keys = os.path.join(folder, "keys")
    with open(keys, "w", encoding="ascii") as f:
        f.write("the-key\n")
    with Server(program, "-m", os.path.join(folder, "model"), "--api-key-file", keys) as server:
        browser.call("Page.navigate", url=server.url)
        browser.wait("!!document.getElementById('key') && !document.getElementById('key').hidden", "the page asks for a key")
        browser.do("document.getElementById('key-text').focus()")
        browser.call("Input.insertText", text="the-key")
        browser.press("Enter")
        browser.settled()
        expect(titles(browser) == PANELS["model"], titles(browser))
    quiet(browser, "401")


def main():
    program, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    names = list(PANELS)
    options = [x for name in ["index-model", *names] for x in ("-m", f"{name}={os.path.join(folder, name)}")]
    with Browser() as browser:
        with Server(program, *options, "--index", os.path.join(folder, "lines.index")) as server:
            for test in (each_check_can_fail, every_panel_can_be_read, the_keyboard_reaches_everything_in_order, text_with_markup_stays_text,
                         an_address_holds_the_state, a_tab_keeps_its_input, a_click_on_a_map_keeps_the_scroll_position, unknown_tokens_are_named,
                         errors_are_sentences, opened_while_models_load_it_shows_the_first_panel, many_lines_are_ranked,
                         the_request_of_a_view_can_be_sent, vectors_are_mapped_copied_and_saved, lines_can_come_from_a_file, the_next_word_is_what_is_generated, every_example_has_a_result, only_this_server_is_asked):
                test(server, browser)
                print(f"{test.__name__}: {failures} failed so far", flush=True)
        a_model_has_its_panels(program, folder, browser)
        the_demonstration_shows_what_works(program, browser)
        names_cannot_turn_the_text_around_them(program, folder, browser)
        a_server_with_keys_asks_for_one(program, folder, browser)
    print(json.dumps({"failed": failures}))
    sys.exit(failures > 0)


main()
