"""screenshots.py PROGRAM FOLDER — the screenshots of docs/page.md, from `roformer serve --demo` in headless Chromium."""
import os
import sys
import urllib.parse

from browser import Browser, Server

WIDE, PHONE = (960, 640), (390, 780)

# name: panel, shape, scheme, and what is entered
SCREENSHOTS = {
    "attention": ("attention", WIDE, "light", {"layer": "0", "head": "0", "token": "3"}),
    "fill-mask": ("fill-mask", WIDE, "light", {"text": "He was elected to the House of [MASK] in 1998."}),
    "similarity": ("similarity", WIDE, "dark", {}),
    "search": ("search", WIDE, "light", {"query": "sport", "top": "6"}),
    "positions": ("positions", WIDE, "light", {"layer": "2", "head": "1"}),
    "phone-similarity": ("similarity", PHONE, "light", {}),
    "phone-attention": ("attention", PHONE, "dark", {"token": "6"}),
    "phone-positions": ("positions", PHONE, "dark", {"layer": "2", "head": "1"}),
}


def main():
    program, folder = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    with Server(program, "--demo") as server, Browser() as browser:
        for name, (panel, shape, scheme, state) in SCREENSHOTS.items():
            browser.shape(*shape, scheme)
            browser.open(f"{server.url}/#{urllib.parse.urlencode({'view': panel, **state})}")
            path = os.path.join(folder, f"{name}.png")
            browser.picture(path)
            print(f"{path}: {os.path.getsize(path)} bytes")
        if browser.problems:
            sys.exit(f"the console has errors: {browser.problems}")


main()
