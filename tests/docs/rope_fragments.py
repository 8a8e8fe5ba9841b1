"""rope_fragments.py PAGE — runs the Python of docs/rope.md: the ten lines, and the fragments that circulate.

Prints what it could not run, because a package is missing.  The expected numbers are formed here, in plain Python."""
import importlib.util
import math
import os
import re
import sys

page = open(sys.argv[1], encoding="utf-8").read()
blocks = re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M)


def block(*words):
    found = [b for b in blocks if all(w in b for w in words)]
    assert len(found) == 1, f"{len(found)} blocks of the page hold {words}"
    return found[0]


def plane(x, m, i):
    angle = m * 10000 ** (-2 * i / len(x))
    c, s = math.cos(angle), math.sin(angle)
    return x[2 * i] * c - x[2 * i + 1] * s, x[2 * i] * s + x[2 * i + 1] * c


def expected(x, m):
    return [v for i in range(len(x) // 2) for v in plane(x, m, i)]


def permuted(x, m):
    y = expected(x, m)
    return y[0::2] + y[1::2]


rows = [[math.sin(3 * t + j) for j in range(8)] for t in range(5)]       # five tokens of one head of eight columns
places = [0, 1, 2, 100, 257]


def same(got, expected, tolerance=1e-5):
    for a, b in zip(got, expected, strict=True):
        for v, w in zip(a, b, strict=True):
            assert abs(float(v) - w) <= tolerance, (list(a), b)


def ten_lines(first_line, make, name):
    space = {}
    exec(block("# " + first_line + "\n", "def rope(x, m)"), space)
    same(space["rope"](make(rows), make(places)), [expected(x, m) for x, m in zip(rows, places)], 1e-5)
    print("ran:", name)


def fails(error, call):
    try:
        call()
    except error:
        return
    raise AssertionError(f"no {error.__name__}")


def with_numpy():
    import numpy as np
    ten_lines("NumPy", np.asarray, "NumPy")

    class K:                                                                 # Keras's names, done by NumPy
        stack, reshape, shape = staticmethod(lambda x, axis: np.stack(x, axis)), staticmethod(np.reshape), staticmethod(np.shape)

    def names(q, table):
        return {"K": K, "stack": K.stack, "reshape": K.reshape, "shape": K.shape, "qw": q, "kw": -q, "sinusoidal_pos": table,
                "repeat_elements": lambda x, rep, axis: np.repeat(x, rep, axis)}

    angle = np.asarray(places)[:, None] * 10000.0 ** (-2 * np.arange(4) / 8)
    table = np.stack([np.sin(angle), np.cos(angle)], -1).reshape(1, 5, 8)     # sines in even columns
    q = np.asarray(rows).reshape(1, 5, 1, 8)
    right = [expected(x, m) for x, m in zip(rows, places)]
    space = names(q, table)
    circulated = block("# as circulated", "qw2")
    exec(circulated, space)
    same(space["qw"][0, :, 0], right)
    same(-space["kw"][0, :, 0], right)
    wide = np.concatenate([table, table, table], -1)                          # hidden_size 24: three heads of 8
    fails(ValueError, lambda: exec(circulated, names(np.concatenate([q, q, q], 2), wide)))
    without = names(q, table)
    del without["K"]
    fails(NameError, lambda: exec(circulated, without))
    assert np.stack([q[..., 1::2], q[..., ::2]], 4).shape == (1, 5, 1, 4, 2)
    exec(block("# corrected", "def rotate"), space)
    same(space["rotate"](q, table)[0, :, 0], right)
    print("ran: the authors' pseudocode")


def with_torch():
    import torch
    ten_lines("PyTorch", torch.tensor, "PyTorch")
    x, angle = torch.tensor(rows), torch.tensor([[m * 10000 ** (-i / 4) for i in range(4)] for m in places])
    table = (angle.sin(), angle.cos())
    space = {"torch": torch}
    circulated = block("# as circulated", "apply_rotary")
    exec(circulated, space)
    fails(TypeError, lambda: space["apply_rotary"](x))
    fails(UnboundLocalError, lambda: space["apply_rotary"](x, table))
    exec(circulated.replace("is None", "is not None"), space)
    same(space["apply_rotary"](x, table), [permuted(v, m) for v, m in zip(rows, places)])
    exec(block("# corrected", "apply_rotary"), space)
    same(space["apply_rotary"](x, table), [expected(v, m) for v, m in zip(rows, places)])
    assert space["apply_rotary"](x) is x
    print("ran: apply_rotary")


def with_keras():
    import numpy as np
    from keras import ops
    ten_lines("Keras", lambda v: ops.convert_to_tensor(np.asarray(v, "float32")), "Keras")


def there(package):
    return importlib.util.find_spec(package) is not None


os.environ.setdefault("KERAS_BACKEND", "torch" if there("torch") else "tensorflow" if there("tensorflow") else "numpy")
for package, run in (("numpy", with_numpy), ("torch", with_torch), ("keras", with_keras)):
    if there(package):
        try:
            run()
        except ImportError as error:                                          # Keras without a backend
            print(f"           skipped: {package} does not load: {error}")
    else:
        print(f"           skipped: {package} is not there (pip install {package}; PYTHON names the interpreter)")
