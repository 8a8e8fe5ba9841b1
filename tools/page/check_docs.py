"""check_docs.py PROGRAM FOLDER — /docs in headless Chromium: requests of its routes are sent, and their answers are shown."""
import os
import sys

from browser import Browser, Server

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "checks.js"), encoding="utf-8") as source:
    CHECKS = source.read()
failures = 0


def expect(condition, *what):
    global failures
    if not condition:
        failures += 1
        print("FAIL:", *what)


def sent(browser, method, path, change=""):
    """What the page shows of a route's example after a click on its button."""
    form = f"document.querySelector('.try[data-method=\"{method}\"][data-path=\"{path}\"]')"
    browser.do(f"{{ const form = {form}; {change}; form.querySelector('button').click(); }}")
    browser.wait(f"/ s(\\s|$)/.test({form}.querySelector('output').innerText)", f"{method} {path} is answered")
    return browser.do(f"{form}.querySelector('output').innerText")


def main():
    program, folder = sys.argv[1:]
    os.chdir(folder)
    with Server(program, "-m", "model", "-m", "labels") as server, Browser() as browser:
        for scheme in "light", "dark":
            browser.shape(390, 800, scheme)
            browser.call("Page.navigate", url=server.url + "/docs")
            browser.wait("document.readyState === 'complete' && document.querySelectorAll('.try').length > 0", "the page")
            for line in browser.do(CHECKS):
                expect(False, "docs:", scheme, line)
        for method, path, change, words in (("POST", "/embed", "", ("200 in ", "[[")), ("GET", "/info", "", ("200 in ", "\"model_id\":\"model\"")),
                                            ("POST", "/predict", "", ("424 in ", "set `model` to 'labels'")),
                                            ("POST", "/fill_mask", "form.querySelector('textarea').value = '{'", ("400 in ", "error")),
                                            ("GET", "/v1/models/{model}", "form.querySelector('input').value = 'v1/models/labels'", ("200 in ", "\"id\":\"labels\"")),
                                            ("GET", "/", "", ("200 in ",))):
            shown = sent(browser, method, path, change)
            expect(all(w in shown for w in words), method, path, shown[:200])
        tries = browser.do("document.querySelectorAll('.try').length")
        expect(tries > 40, "requests to try", tries)
        left = [p for p in browser.problems if "424" not in p and "400" not in p]
        expect(not left, "the console has", left)
    print("docs: requests are sent, answers are shown")
    sys.exit(failures > 0)


main()
