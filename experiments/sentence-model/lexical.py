#!/usr/bin/env python3
"""lexical.py PROGRAM MODEL PAIRS OUT: texts, and target vectors that reflect their words.

  PROGRAM  roformer        PAIRS  what pairs.py wrote
  MODEL    a folder, what the first phase of train.sh made: m(t) is its vector of a text
  OUT      OUT.jsonl, 160,000 of the texts of PAIRS, and OUT.npy, a vector for each, for
           `roformer finetune --task embed --train OUT.jsonl --teacher OUT.npy`

How many words two texts share, weighted by their idf, says more of their likeness than the vectors of a small model
(evaluate.py), which had no reason to keep it when it learned what belongs together.  So the vector to learn has both, as
SPAR (Chen et al. 2022) puts a dense vector beside an imitation of BM25:

    y(t) = (m(t) + s(t)) / |m(t) + s(t)|,    s(t) = c(t) / |c(t)|,    c(t) = sum over the stems w of t of idf(w) r(w)

r(w), of length 1, is to be nearly orthogonal to that of other stems and yet near to what the model makes of the word, or
it takes long to learn (of random ones hardly a tenth was in 1,900 updates): r(w) is the sum over the words v with the
stem of n(v)^(1/2) u(v), u(v) the direction of C^(-1/2) (m(v) - mean), C the covariance of the vectors of words, which
weigh n(v)^(1/2), n(v) of the texts' words being v.  idf(w) = ln(N / (1 + texts with w)).  A stem is a word without six
endings.  It needs NumPy.  The same bytes each time.
"""
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import numpy

TEXTS = 160000
ENDINGS = ("ing", "ed", "es", "ly", "er", "s")


def stem(word):
    """Removes endings as long as there are any: "singers" and "singer" have one stem, "sing"."""
    cut = next((word[:-len(e)] for e in ENDINGS if word.endswith(e) and len(word) - len(e) >= 3), None)
    if cut is not None:
        return stem(cut)
    if word.endswith("e") and len(word) > 3:
        return stem(word[:-1])
    return stem(word[:-1]) if len(word) > 3 and word[-1] == word[-2] else word


def words(text):
    return re.findall(r"\w+", text.lower())


def texts_of(pairs):
    with open(pairs, encoding="utf-8", newline="\n") as f:
        lines = [json.loads(line) for line in f]
    texts = list(dict.fromkeys(" ".join(line[key].split()) for line in lines for key in ("text", "pair")))
    random.Random(4).shuffle(texts)
    return texts[:TEXTS]


def vectors(program, model, lines):
    """Of length 1, in double."""
    with tempfile.TemporaryDirectory() as folder:
        text, out = os.path.join(folder, "lines"), os.path.join(folder, "vectors.npy")
        with open(text, "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in lines)
        subprocess.run([program, "embed", "-q", "-m", model, "--dtype", "bf16", "--normalize", "-o", out, text],
                       check=True)
        return numpy.load(out).astype(float)


def of_length_1(x):
    return x / numpy.maximum(numpy.linalg.norm(x, axis=-1, keepdims=True), 1e-9)


def of_stems(program, model, found):
    """r: the vector of each stem, from those of its words."""
    every = sorted(found)
    weight = numpy.sqrt([found[w] for w in every])[:, None]
    x = vectors(program, model, every)
    x -= (weight * x).sum(0) / weight.sum()
    values, directions = numpy.linalg.eigh((weight * x).T @ x / weight.sum())
    kept = values > 1e-3 * values.mean()    # vectors behind a layer norm have no more than width - 1
    x = weight * of_length_1(x @ (directions[:, kept] / numpy.sqrt(values[kept])) @ directions[:, kept].T)
    stems = sorted({stem(w) for w in every})
    place = {s: i for i, s in enumerate(stems)}
    r = numpy.zeros((len(stems), x.shape[1]))
    numpy.add.at(r, [place[stem(w)] for w in every], x)
    return place, of_length_1(r)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    program, model, pairs, out = sys.argv[1:]
    texts = texts_of(pairs)
    place, r = of_stems(program, model, collections.Counter(w for t in texts for w in words(t)))
    stems = [sorted({place[stem(w)] for w in words(t)}) for t in texts]
    idf = numpy.log(len(texts) / (1 + numpy.bincount([w for some in stems for w in some], minlength=len(r))))
    s = of_length_1(numpy.array([idf[some] @ r[some] for some in stems]))
    with open(out + ".jsonl", "w", encoding="utf-8") as f:
        f.writelines(json.dumps({"text": t}, ensure_ascii=False) + "\n" for t in texts)
    with open(out + ".part", "wb") as f:                        # train.sh takes texts.npy for whole when it is there
        numpy.save(f, of_length_1(vectors(program, model, texts) + s).astype("<f4"))
    os.replace(out + ".part", out + ".npy")


if __name__ == "__main__":
    main()
