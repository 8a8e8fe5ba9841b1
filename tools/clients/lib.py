"""lib.py — what the clients share: where the servers are, and vectors that `roformer embed` has written."""
import json
import math
import os

WORDS, MASKS, RANK, LABELS, CAUSAL, CHAT, TRANSLATE, NLI, TAGS, ANSWERS = (os.environ[name] for name in (
    "WORDS", "MASKS", "RANK", "LABELS", "CAUSAL", "CHAT", "TRANSLATE", "NLI", "TAGS", "ANSWERS"))
TEXTS = ["the old river of paris", "a red house", "was the city in france?", "unseen words"]

MESSAGES = [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "hello"}]

with open(os.environ["VECTORS"], encoding="ascii") as f:
    VECTORS = [json.loads(line) for line in f]          # of TEXTS, of length 1


def close(a, b, most=2e-7):
    """Two lists of numbers, or of lists, differ by rounding to float at most."""
    if isinstance(a, (int, float)) or not hasattr(a, "__len__"):
        assert math.isclose(float(a), float(b), abs_tol=most), (a, b)
        return
    assert len(a) == len(b), (len(a), len(b))
    for x, y in zip(a, b):
        close(x, y, most)


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def fails(error, function, *arguments, **options):
    """Calls function, which must raise this exception; returns it."""
    try:
        function(*arguments, **options)
    except error as e:
        return e
    raise AssertionError(f"{error} expected")
