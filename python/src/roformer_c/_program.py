"""The command `roformer`: the program of the C project, which this package has, and which finds the models of the package
roformer-c-models beside it."""
from __future__ import annotations

import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "native", "roformer.exe" if sys.platform == "win32" else "roformer")
MODELS = os.path.join(os.path.dirname(HERE), "roformer_c_models", "models")         # as RF_MODELS in CMakeLists.txt


def _child(arguments: "list[str]") -> int:
    """Runs the program as a child, to which Ctrl-C is left; its exit code, which Windows may have given it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = subprocess.call([PROGRAM, *arguments])
    return code - (1 << 32) if code >= 1 << 31 else code


def main() -> int:
    arguments = sys.argv[1:]
    if not os.path.exists(PROGRAM):
        sys.exit("roformer: %s: expected the program of roformer-c, got no file; install the package again" % PROGRAM)
    if arguments == ["demo"] and not os.path.isdir(MODELS):
        sys.exit("roformer: demo: expected the models of roformer-c-models, got none; pip install roformer-c-models")
    if sys.platform == "win32":
        return _child(arguments)
    for name in ("SIGPIPE", "SIGXFSZ"):                 # which Python ignores, and a program that it starts would, too
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    sys.stdout.flush()
    os.execv(PROGRAM, ["roformer", *arguments])
