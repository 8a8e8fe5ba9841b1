#!/usr/bin/env python3
"""The accuracy of bf16, int8 and int8w: loss on a text, cosines of embeddings of its lines, labels of a fine-tuned model; each compared with f32.

    bench/precision.py --roformer build/release/roformer [--text wiki.txt [-m MODEL]] [--finetuned MODEL --input FILE]

McNemar's interval (95 %) of the difference in accuracy is that of the examples on which both types differ.  Needs nothing
but Python 3.9."""
import argparse
import array
import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = ["f32", "bf16", "int8", "int8w"]


def run(o, *arguments):
    done = subprocess.run([o.roformer, *arguments, "--quiet"], capture_output=True)
    if done.returncode:
        sys.exit(f"precision.py: {' '.join(arguments)}: {done.stderr.decode().strip()[:300]}")
    return done.stdout


def model(o):
    return ["-m", o.model] if o.model else []


def loss(o, dtype):
    return json.loads(run(o, "evaluate", *model(o), "--text", o.text, "--eval_documents", str(o.documents), "--json", "--dtype", dtype))


def vectors(o, dtype, lines):
    out = array.array("f")
    out.frombytes(run(o, "embed", *model(o), "--normalize", "--format", "f32", "--dtype", dtype, lines))
    return out


def some_lines(o):
    """A file with the first lines of the text that have several words."""
    with open(o.text, encoding="utf8") as f:
        lines = [line for line in f if len(line.split()) > 4][:o.lines]
    to = tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False, encoding="utf8")
    with to:
        to.writelines(lines)
    return to.name, len(lines)


def cosines(a, b, n):
    width = len(a) // n
    return [sum(x * y for x, y in zip(a[i:i + width], b[i:i + width])) for i in range(0, n * width, width)]


def labels(o, dtype):
    rows = run(o, "predict", "-m", o.finetuned, "--input", o.input, "--format", "jsonl", "--dtype", dtype).decode().splitlines()
    return [json.loads(row)["label"] for row in rows]


def accuracy(o, dtype):
    return json.loads(run(o, "evaluate", "-m", o.finetuned, "--dev", o.input, "--json", "--dtype", dtype))["eval_accuracy"]


def of_text(o):
    file, n = some_lines(o)
    try:
        embedded = {t: vectors(o, t, file) for t in TYPES}
    finally:
        os.remove(file)
    score = {t: loss(o, t) for t in TYPES}
    print(f"{'':6} {'loss':>8} {'of f32':>9} {'accuracy':>9}   cosine: {'mean':>8} {'least':>8}   ({score['f32']['labels']} predictions, {n} lines)")
    for t in TYPES:
        c = cosines(embedded["f32"], embedded[t], n)
        print(f"{t:6} {score[t]['eval_loss']:8.4f} {100 * (score[t]['eval_loss'] / score['f32']['eval_loss'] - 1):+8.3f} % "
              f"{100 * score[t]['eval_accuracy']:7.2f} %           {sum(c) / n:8.5f} {min(c):8.5f}")


def of_labels(o):
    said = {t: labels(o, t) for t in TYPES}
    right = {t: accuracy(o, t) for t in TYPES}
    many = len(said["f32"])
    print(f"{'':6} {'same label':>11} {'accuracy':>9}   difference to f32 ({many} examples)")
    for t in TYPES:
        other = sum(a != b for a, b in zip(said["f32"], said[t]))
        gap = right[t] - right["f32"]
        spread = 1.96 * math.sqrt(max(other - gap ** 2 * many, 0)) / many
        print(f"{t:6} {100 * (1 - other / many):9.2f} % {100 * right[t]:7.2f} %   {100 * gap:+.2f} +- {100 * spread:.2f} points")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--roformer", default=os.path.join(HERE, "..", "build", "release", "roformer"))
    p.add_argument("-m", "--model", help="instead of the shipped model")
    p.add_argument("--text", help="for the loss and the cosines")
    p.add_argument("--documents", type=int, default=500, help="of the text, for the loss")
    p.add_argument("--lines", type=int, default=2000, help="of the text, for embeddings")
    p.add_argument("--finetuned", help="a fine-tuned model of labels")
    p.add_argument("--input", help="labeled examples for it")
    o = p.parse_args()
    if not o.text and not o.finetuned or bool(o.finetuned) != bool(o.input):
        p.error("expected --text, or --finetuned and --input, or all of them")
    if o.text:
        of_text(o)
    if o.finetuned:
        of_labels(o)


if __name__ == "__main__":
    main()
