"""wasi.py PROGRAM ARGUMENT... — runs a program for WASI in wasmtime, with this environment and all files.

A program for WASI is always in the folder /, so that a relative path is one from there: the folders of the current
folder are there, too, except those whose names / has."""
import os
import sys

import wasmtime

config = wasmtime.Config()
config.wasm_exceptions = True                   # setjmp
engine = wasmtime.Engine(config)
wasi = wasmtime.WasiConfig()
wasi.argv = sys.argv[1:]
wasi.env = list(os.environ.items())
wasi.inherit_stdin()
wasi.inherit_stdout()
wasi.inherit_stderr()
wasi.preopen_dir("/", "/")
for name in os.listdir("."):
    if os.path.isdir(name) and not os.path.exists("/" + name):
        wasi.preopen_dir(name, "/" + name)
store = wasmtime.Store(engine)
store.set_wasi(wasi)
linker = wasmtime.Linker(engine)
linker.define_wasi()
instance = linker.instantiate(store, wasmtime.Module.from_file(engine, sys.argv[1]))
try:
    instance.exports(store)["_start"](store)
except wasmtime.ExitTrap as end:
    sys.exit(end.code)
