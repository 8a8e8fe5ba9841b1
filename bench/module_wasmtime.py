"""module_wasmtime.py OPTIONS — as module_speed.js, with the module in wasmtime: each line of the input asks once and gets seconds."""
import json
import pathlib
import struct
import sys
import time

import wasmtime

FILES = ["config.json", "model.safetensors", "tokenizer_config.json", "vocab.txt", "modules.json", "1_Pooling/config.json"]


class Module:
    def __init__(self, path):
        config = wasmtime.Config()
        config.wasm_exceptions = True
        engine = wasmtime.Engine(config)
        self.store = wasmtime.Store(engine)
        self.store.set_wasi(wasmtime.WasiConfig())
        linker = wasmtime.Linker(engine)
        linker.define_wasi()
        self.exports = linker.instantiate(self.store, wasmtime.Module.from_file(engine, path)).exports(self.store)
        self.call("_initialize")

    def call(self, name, *values):
        return self.exports[name](self.store, *values)

    def read(self, at, size):
        return bytes(self.exports["memory"].read(self.store, at, at + size))

    def put(self, data):
        at = self.call("roformer_space", len(data)) & 0xffffffff
        self.exports["memory"].write(self.store, data, at)
        return at

    def open(self, folder, dtype):
        rows = b""
        for name in FILES:
            data = (folder / name).read_bytes()
            rows += struct.pack("<3I", self.put(name.encode() + b"\0"), self.put(data), len(data))
        failed = self.call("roformer_open", self.put(b"m\0"), self.put(dtype.encode() + b"\0"), self.put(rows), len(FILES))
        assert not failed, self.read(failed, 400)

    def ask(self, body):
        at = self.call("roformer_call", self.put(b"POST\0"), self.put(b"/v1/embeddings\0"), self.put(body), len(body))
        status, *_, text, size = struct.unpack("<5I", self.read(at, 20))
        assert status == 200, self.read(text, size)


def main():
    options = json.loads(sys.argv[1])
    module, body = Module("package/roformer.wasm"), json.dumps(options["body"]).encode()
    module.open(pathlib.Path("model"), options["dtype"])
    for _ in sys.stdin:
        begin = time.monotonic()
        module.ask(body)
        print(time.monotonic() - begin, flush=True)


main()
