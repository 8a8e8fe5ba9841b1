"""browser.py — headless Chromium through its debugging pipe, and a server to look at. Python's standard library only."""
import base64
import json
import os
import re
import select
import shutil
import subprocess
import tempfile
import time

from png import smaller

PATIENCE = float(os.environ.get("PATIENCE", 60.0))          # seconds


class Server:
    """`roformer serve` with these options on a free port; `with` ends it."""

    def __init__(self, program, *options):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([program, "serve", "--port", "0", *options], stderr=self.errors,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        end, found = time.monotonic() + PATIENCE, None
        while not found:
            self.errors.seek(0)
            text = self.errors.read()
            found = re.search(r"listening on (http://\S+)", text)
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"roformer serve did not start: {text}")
            time.sleep(0.05)
        self.url = found.group(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Browser:
    """One page of Chromium, with these options. `problems`: errors of its console, and exceptions."""

    def __init__(self, *options):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if not program:
            raise SystemExit("chromium is not installed (sh tools/setup.sh page)")
        self.profile = tempfile.mkdtemp()
        to_browser, to_us = os.pipe(), os.pipe()
        self.number, self.held, self.problems = 0, b"", []

        def descriptors():
            first, second = os.dup(to_browser[0]), os.dup(to_us[1])
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update", "--no-first-run", "--hide-scrollbars", "--disable-lcd-text",
             "--disable-dev-shm-usage", f"--user-data-dir={self.profile}", *options, "about:blank"],
            preexec_fn=descriptors, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser[0])
        os.close(to_us[1])
        self.out, self.into = to_browser[1], to_us[0]
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    # ---- the protocol

    def read(self, end):
        while b"\0" not in self.held:
            ready, _, _ = select.select([self.into], [], [], max(0.0, end - time.monotonic()))
            got = os.read(self.into, 1 << 20) if ready else b""
            if not got:
                raise SystemExit("chromium does not answer")
            self.held += got
        message, _, self.held = self.held.partition(b"\0")
        return json.loads(message)

    def note(self, message):
        method, p = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(p["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
            self.problems.append(" ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            self.problems.append(f'{p["entry"]["text"]} {p["entry"].get("url", "")}')

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while True:
            answer = self.read(end)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f'{method}: {answer["error"]["message"]}')
                return answer["result"]
            self.note(answer)

    # ---- a page

    def shape(self, width, height, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def do(self, script):
        """The value of an expression."""
        got = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in got:
            raise SystemExit(f'{script[:100]}: {got["exceptionDetails"]["exception"].get("description")}')
        return got["result"].get("value")

    def wait(self, condition, what):
        """Until a condition of the page is true."""
        self.until(lambda: self.do(condition), what)

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                shown = self.do("document.body.innerText")[:800]
                raise SystemExit(f"waited in vain until {what}; the console: {self.problems}; the page shows: {shown}")
            time.sleep(0.05)

    def open(self, url):
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        self.settled()

    def settled(self):
        self.wait("!!document.querySelector('.result') && !document.querySelector('[aria-busy]') && "
                  "document.querySelector('.result').childElementCount > 0", "the panel has its result")

    def press(self, key, code=None):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key,
                      windowsVirtualKeyCode={"Tab": 9, "Enter": 13}.get(key, 0), text="\r" if key == "Enter" and kind == "keyDown" else "")

    def picture(self, path, whole=True):
        size = self.do("({w: document.documentElement.scrollWidth, h: document.documentElement.scrollHeight})")
        clip = {"x": 0, "y": 0, "width": size["w"], "height": size["h"], "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, **({"clip": clip} if whole else {}))
        with open(path, "wb") as f:
            f.write(smaller(base64.b64decode(data["data"])))
