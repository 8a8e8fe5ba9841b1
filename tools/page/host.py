"""host.py — a host for the files of a page in a thread of its own, which can send headers, more files, and answer wrongly."""
import http.server
import os
import threading

PAGE = b"<!doctype html><title>Login</title><p>Please log in."


class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *rest, host, **options):
        self.host = host
        super().__init__(*rest, directory=host.folder, **options)

    def log_message(self, *_):
        pass

    def end_headers(self):
        for name, value in self.host.headers.items():
            self.send_header(name, value)
        super().end_headers()

    def send_bytes(self, kind, data, size=None):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data) if size is None else size))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        name = self.path.lstrip("/").partition("?")[0]
        self.host.asked.append(name)
        if name in self.host.more:
            self.send_bytes("text/javascript", self.host.more[name].encode())
        elif name in self.host.faults:
            self.send_fault(self.host.faults[name], os.path.join(self.host.folder, name))
        else:
            super().do_GET()

    def send_fault(self, fault, path):
        with open(path, "rb") as file:
            data = file.read()
        half = data[:len(data) // 2]
        if fault == "absent":
            self.send_error(404)
        elif fault == "page":                                # as hosts of one page, and networks with a login, do
            self.send_bytes("text/html; charset=utf-8", PAGE)
        elif fault == "type":                                # the right bytes
            self.send_bytes("text/plain", data)
        elif fault == "cut":                                 # the connection ends
            self.close_connection = True
            self.send_bytes("application/octet-stream", half, len(data))
        elif fault == "short":
            self.send_bytes("application/octet-stream", half)
        elif fault == "other":
            self.send_bytes("application/octet-stream", bytes(len(data)))


class Host:
    """Serves a folder. `more`: {path: script} that is not in it; `faults`: {path: fault}; `asked`: the paths so far."""

    def __init__(self, folder, headers=None, more=None, faults=None):
        self.folder, self.headers, self.more, self.faults, self.asked = folder, headers or {}, more or {}, faults or {}, []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a, **o: Handler(*a, host=self, **o))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/index.html"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
