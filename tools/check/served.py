"""served.py FILE: the server whose messages go to FILE has the models of `serve --demo`, an answer and the page."""
import json
import pathlib
import re
import sys
import time
import urllib.error
import urllib.request

END = time.monotonic() + 300


def address() -> str:
    while time.monotonic() < END:
        found = re.search(r"listening on (http://\S+)", pathlib.Path(sys.argv[1]).read_text())
        if found:
            return found.group(1)
        time.sleep(0.1)
    raise SystemExit("served: it does not listen")


def ask(url: str, body: "object" = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=100) as answer:
        return bytes(answer.read())


def main() -> None:
    where = address()
    while True:
        try:
            ask(where + "/health")
            break
        except urllib.error.HTTPError:
            if time.monotonic() > END:
                raise
            time.sleep(0.1)
    best = json.loads(ask(where + "/search", {"query": "a concert", "top_k": 1}))
    page = ask(where + "/ui")
    if b"<html" not in page:
        raise SystemExit("served: no page: %r" % page[:200])
    print("the page, and %s" % json.dumps(best)[:100])


main()
