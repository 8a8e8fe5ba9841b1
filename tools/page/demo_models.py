"""demo_models.py PROGRAM FOLDER — writes models.json of the page that needs no server (demo.sh): the models in
FOLDER/models with their files, and what `roformer serve` says of them."""
import json
import os
import sys
import urllib.request

from browser import Server

LEFT_OUT = {"README.md", "checksums.json"}


def files_of(folder):
    for where, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(where, name)
            if name not in LEFT_OUT:
                yield [os.path.relpath(path, folder), os.path.getsize(path)]


def main():
    program, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    # The model of sentences is the first, as in serve --demo.
    names = sorted(os.listdir(os.path.join(folder, "models")), key=len, reverse=True)
    options = [x for name in names for x in ("-m", f"{name}={os.path.join(folder, 'models', name)}")]

    def get(server, path):
        with urllib.request.urlopen(f"{server.url}/{path}") as answer:
            return json.load(answer)

    with Server(program, "--threads", "1", "--dtype", "int8", *options) as server:
        about = []
        while len(about) < len(names):                       # until all are loaded
            about = [m for m in get(server, "v1/models")["data"] if "can" in m]
        info = get(server, "info")
    models = [{"about": {**m, "created": 0}, "dtype": "int8",
               "files": list(files_of(os.path.join(folder, "models", m["id"])))} for m in about]
    with open(os.path.join(folder, "models.json"), "w", encoding="utf-8") as out:
        json.dump({"info": {**info, "isa": "wasm"}, "models": models}, out, indent=1)


main()
