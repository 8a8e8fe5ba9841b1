#!/usr/bin/env python3
"""speed_pipelines.py FOLDERS TEXT [--times N]: how long the library and tokenizers take for the tokenizer.json of published folders.

    pip install tokenizers==0.23.3
    python3 tools/speed_pipelines.py ../shared/published/folders ../shared/wikitext-2/wiki.test.raw > results/published/pipelines-speed.txt

One folder for each different pipeline.  One thread, the lines of TEXT one by one, processor time of the thread; the two programs take turns, and the best of N times of each
counts.  "long" is the time for each byte of all lines as one line, compared with that of half of it: 1 if the time is linear."""
import argparse
import ctypes
import datetime
import glob
import json
import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "check"))
import random_pipelines as pipelines
import tokenizers
from tokenizers import Tokenizer


def short(x, key):
    """The names of a part and of its steps."""
    if not x:
        return "-"
    if key in x:
        return "+".join(short(y, key) for y in x[key]) or "-"
    more = [str(v) for k, v in x.items() if k in ("behavior", "prepend_scheme", "use_regex", "individual_digits")] + list(x.get("pattern", {}))
    return x["type"] + ("(%s)" % ",".join(more) if more else "")


def pipeline(file):
    return (short(file.get("normalizer"), "normalizers"), short(file.get("pre_tokenizer"), "pretokenizers"), file["model"].get("type", "?"))


def ours(lib, t, lines):
    start = time.thread_time()
    for x in lines:
        if lib.lib.rf_encode(t, x, ctypes.c_size_t(len(x)), None, ctypes.c_size_t(0), ctypes.c_size_t(0), 0, ctypes.byref(lib.e), None, ctypes.byref(lib.why)):
            raise SystemExit(lib.why.text)
    return time.thread_time() - start


def theirs(t, lines):
    start = time.thread_time()
    for x in lines:
        t.encode(x)
    return time.thread_time() - start


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("folders")
    a.add_argument("text")
    a.add_argument("--times", type=int, default=5)
    a.add_argument("--lines", type=int, default=400)
    a.add_argument("--library", default="build/release/libroformer.so")
    o = a.parse_args()
    lib, seen = pipelines.Library(os.path.abspath(o.library)), set()
    with open(o.text, encoding="utf-8") as f:
        lines = [x.strip() for x in f if x.strip()][:o.lines]
    data, whole = [x.encode() for x in lines], " ".join(lines).encode()
    print("speed_pipelines.py --times %d --lines %d; tokenizers %s, %s, %s, one thread, %d bytes; the best of %d times, in turns, on a machine that others use"
          % (o.times, o.lines, tokenizers.__version__, datetime.date.today(), pipelines.processor(), len(whole), o.times))
    print("%-12s %8s %8s %6s %6s  %s" % ("folder", "ours ms", "theirs", "ratio", "long", "normalizer | pre_tokenizer | model"))
    for path in sorted(glob.glob(os.path.join(o.folders, "*", "tokenizer.json"))):
        with open(path, encoding="utf-8") as f:
            file = json.load(f)
        file.update(truncation=None, padding=None)
        if not file.get("model"):
            continue
        name = pipeline(file)
        t = None if name in seen else lib.open(file)
        if not t:
            continue
        seen.add(name)
        other, best = Tokenizer.from_str(json.dumps(file)), [1e9] * 4
        for _ in range(o.times):
            for i, x in enumerate((ours(lib, t, data), theirs(other, lines), ours(lib, t, [whole[:len(whole) // 2]]), ours(lib, t, [whole]))):
                best[i] = min(best[i], x)
        lib.lib.rf_tokenizer_free(t)
        print("%-12s %8.2f %8.2f %6.3f %6.2f  %s" % (os.path.basename(os.path.dirname(path)), 1e3 * best[0], 1e3 * best[1], best[0] / best[1], best[3] / best[2] / 2, " | ".join(name)), flush=True)


if __name__ == "__main__":
    main()
