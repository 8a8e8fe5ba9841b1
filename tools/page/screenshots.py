"""screenshots.py PROGRAM FOLDER [MODELS] — the screenshots of docs/page.md in headless Chromium, from `roformer serve --demo` and, if
MODELS is given, from the models that tools/page/example_models.py has made there."""
import os
import sys
import urllib.parse

from browser import Browser, Server

WIDE, PHONE = (960, 640), (390, 780)

# name: panel, shape, scheme, and what is entered
SCREENSHOTS = {
    "attention": ("attention", WIDE, "light", {"layer": "0", "head": "0", "token": "3"}),
    "fill-mask": ("fill-mask", WIDE, "light", {"text": "He was elected to the House of [MASK] in 1998."}),
    "vectors": ("embed", WIDE, "light", {}),
    "similarity": ("similarity", WIDE, "dark", {}),
    "search": ("search", WIDE, "light", {"query": "sport", "top": "6"}),
    "positions": ("positions", WIDE, "light", {"layer": "2", "head": "1"}),
    "phone-similarity": ("similarity", PHONE, "light", {}),
    "phone-attention": ("attention", PHONE, "dark", {"token": "6"}),
    "phone-positions": ("positions", PHONE, "dark", {"layer": "2", "head": "1"}),
}


# by the models of example_models.py; the last word is what the panel must show
OF_EXAMPLES = {
    "generate": ("generate", WIDE, "light", {"text": "The orchestra", "tokens": "40"}, "orchestra"),
    "labels": ("classify", WIDE, "dark", {"text": "The storm came from the north in the evening."}, "Labels\nweather"),
    "tags": ("tags", WIDE, "light", {}, "Angela MerkelPER met the mayor of ParisLOC in BrusselsLOC"),
    "answers": ("answers", WIDE, "light", {}, "Answer\nto the sea"),
    "rerank": ("rerank", WIDE, "dark", {}, "Texts, the best first\nHeavy rain"),
    "translate": ("translate", WIDE, "light", {"texts": "The house is small.\nI have seen the book and the car today."},
                  "Ich habe heute das Buch und das Auto gesehen."),
}
POINT = "(() => { const w = [...document.querySelectorAll('.word')].find((e) => e.textContent === 'today.'); w?.focus(); })()"


def take(server, browser, folder, screenshots):
    for name, (panel, shape, scheme, state, *shows) in screenshots.items():
        browser.shape(*shape, scheme)
        browser.open(f"{server.url}/#{urllib.parse.urlencode({'view': panel, **state})}")
        browser.wait("!document.getElementById('status').textContent.includes(' of ')", "all models are loaded")
        browser.wait("!document.getElementById('stop')", "the text is complete")
        shown = browser.do("document.querySelector('.result').innerText.replace(/\\s*\\n\\s*/g, '\\n')")
        if not all(words in shown for words in shows):
            sys.exit(f"{name}: expected {shows[0]!r}, got {shown!r}")
        browser.do(POINT)
        path = os.path.join(folder, f"{name}.png")
        browser.picture(path)
        print(f"{path}: {os.path.getsize(path)} bytes")
    if browser.problems:
        sys.exit(f"the console has errors: {browser.problems}")


def main():
    program, folder, *models = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    with Browser() as browser:
        with Server(program, "--demo") as server:
            take(server, browser, folder, SCREENSHOTS)
        if models:
            options = [word for name in OF_EXAMPLES for word in ("-m", f"{name}={os.path.join(models[0], name)}")]
            with Server(program, *options) as server:
                take(server, browser, folder, OF_EXAMPLES)


main()
