"""Scores of translations, rotations and attention, against the formulas in double."""
import json
import math
import re
import unittest

import numpy as np

import support
from roformer_c import (ArgumentError, DataError, RoformerError, TextTypeError, attention, attention_backward, bleu, chrf,
                        linear_attention, linear_attention_backward, rope, ter)


class Scores(unittest.TestCase):
    def test_orders_are_whole(self):
        self.assertEqual(bleu(["a b"], [["a b"]], max_order=np.int64(2)).score, bleu(["a b"], [["a b"]], max_order=2).score)
        for scored, arguments in ((bleu, {"max_order": 2.9}), (bleu, {"max_order": 2 ** 33 + 4}), (chrf, {"beta": 2.5}),
                                  (chrf, {"char_order": "6"})):
            with self.assertRaises(ArgumentError, msg=arguments):
                scored(["a"], [["a"]], **arguments)

    def test_bleu(self):
        b = bleu(["the cat sat on the mat"], [["the cat sat on a mat"]])
        # 5 of 6 words, 3 of 5 pairs, 2 of 4 triples, 1 of 3 quadruples.
        self.assertAlmostEqual(b.score, 100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25, places=9)
        self.assertEqual(b.format(), "BLEU = 53.73 83.3/60.0/50.0/33.3 (BP = 1.000 ratio = 1.000 hyp_len = 6 ref_len = 6)")
        self.assertIn("tok:13a", b.signature)
        self.assertAlmostEqual(bleu(["a b c d"], [["x"], ["a b c d"]]).score, 100)
        self.assertAlmostEqual(bleu(["A b c d"], [["a b c d"]], lowercase=True).score, 100)
        self.assertAlmostEqual(bleu(["a b"], [["a b c d"]], max_order=2).score, 100 * math.exp(1 - 4 / 2))

    def test_others(self):
        self.assertEqual(chrf(["abc"], [["abc"]]).score, 100)
        self.assertAlmostEqual(ter(["a b c d"], [["a b x d"]]).score, 25)
        self.assertEqual(str(ter(["a b c d"], [["a b x d"]])), "TER = 25.00")
        self.assertEqual(chrf(["abc"], [["abc"]], word_order=2).name, "chrF2++")

    def test_bad_input(self):
        for system, references, kind in (("a", [["a"]], ArgumentError), (["a"], ["a"], ArgumentError),
                                         (["a"], [["a", "b"]], ArgumentError), ([], [[]], ArgumentError),
                                         (["a"], [], ArgumentError), ([None], [["a"]], TextTypeError),
                                         (["\ud800"], [["a"]], DataError)):
            with self.assertRaises(kind, msg=(system, references)):
                bleu(system, references)
        with self.assertRaises(ArgumentError):
            bleu(["a"], [["a"]], tokenize="mecab")


class Rope(unittest.TestCase):
    def rotated(self, x, positions, layout, rotary, base):
        y = x.astype(np.float64)
        planes = rotary // 2
        theta = base ** (-2 * np.arange(planes) / rotary)
        angle = np.asarray(positions, np.float64)[:, None] * theta
        a = np.arange(planes) * (2 if layout == "pairs" else 1)
        b = a + (1 if layout == "pairs" else planes)
        y[..., a] = x[..., a] * np.cos(angle) - x[..., b] * np.sin(angle)
        y[..., b] = x[..., a] * np.sin(angle) + x[..., b] * np.cos(angle)
        return y

    def test_formula(self):
        x = np.random.default_rng(1).normal(size=(2, 3, 5, 16)).astype(np.float32)
        for layout in ("pairs", "halves"):
            for rotary in (16, 8):
                for positions in (np.arange(5), np.array([7, -3, 1000, 0, 12])):
                    y = rope.rotate(x, positions, layout=layout, rotary=rotary, base=500.0)
                    # Angles, sines and cosines are computed in double and rounded once; two products and a sum.
                    np.testing.assert_allclose(y, self.rotated(x, positions, layout, rotary, 500.0), atol=2e-6)
                    back = rope.rotate(y, positions, layout=layout, rotary=rotary, base=500.0, inverse=True)
                    np.testing.assert_allclose(back, x, atol=4e-6)

    def test_scalings_of_transformers(self):
        """Every scaling in both layouts, by the frequencies that transformers computes (relative 1e-6, times angles up to
        5, and one rounding to float)."""
        text = (support.GOLDEN / "rope_scaling.inc").read_text(encoding="utf-8")
        cases = re.findall(r'^\{("(?:[^"\\]|\\.)*"), (\d+), (\d+), (\S+),\n \{([^}]*)\}\}', text, flags=re.M)
        types = set()
        for config, length, planes, gain, theta in cases:
            whole = json.loads(json.loads(config))
            scaling = whole["rope_scaling"]
            base, n, gain = scaling.pop("rope_theta"), int(planes), float(gain)
            scaling.pop("partial_rotary_factor")
            scaling["max_position_embeddings"] = whole["max_position_embeddings"]
            types.add(scaling["rope_type"])
            angle = np.array([0, 5, -3])[:, None] * np.array([float(t) for t in theta.split(",")])
            for layout in ("pairs", "halves"):
                x = np.zeros((3, 2 * n), np.float32)
                a = np.arange(n) * (2 if layout == "pairs" else 1)
                x[:, a] = 1
                y = rope.rotate(x, [0, 5, -3], base=base, layout=layout, scaling=scaling, length=int(length))
                b = a + (1 if layout == "pairs" else n)
                np.testing.assert_allclose(y[:, a], gain * np.cos(angle), atol=6e-6 * gain, err_msg=config)
                np.testing.assert_allclose(y[:, b], gain * np.sin(angle), atol=6e-6 * gain, err_msg=config)
        self.assertEqual((len(cases), types), (48, {"linear", "ntk", "dynamic", "yarn", "longrope", "llama3"}))

    def test_bad_scalings(self):
        x = np.zeros((4, 8), np.float32)
        for scaling, message in (({"rope_type": "other"}, "rope_type"), ({"rope_type": "linear"}, "factor"),
                                 ({"rope_type": "linear", "factro": 2}, "got 'factro'"), ("linear", "expected a dict"),
                                 ({"rope_type": "linear", "factor": float("nan")}, "expected numbers"),
                                 ({"rope_type": "linear", "factor": {1}}, "expected numbers"),
                                 ({"rope_type": "linear", "factor": "2"}, "factor"),
                                 ({"rope_type": "longrope", "factor": 2, "short_factor": [1], "long_factor": [1],
                                   "original_max_position_embeddings": 4}, "short_factor")):
            with self.subTest(scaling=scaling), self.assertRaisesRegex(RoformerError, message):
                rope.rotate(x, scaling=scaling)

    def test_bad_input(self):
        x = np.zeros((4, 8), np.float32)
        for arguments in ({"positions": [1, 2]}, {"positions": np.zeros(4)}, {"layout": "other"}, {"rotary": 3},
                          {"rotary": 10}, {"base": -1.0}, {"positions": [0, 1, 2, 1 << 40]}):
            with self.assertRaises(ArgumentError, msg=arguments):
                rope.rotate(x, **arguments)
        for given in (np.zeros((4, 8)), np.zeros(8, np.float32), [["a"]]):
            with self.assertRaises(ArgumentError):
                rope.rotate(given)
        self.assertEqual(rope.rotate(np.zeros((0, 8), np.float32)).shape, (0, 8))


class Attention(unittest.TestCase):
    def test_forward_and_backward(self):
        random = np.random.default_rng(2)
        q, k, v = (random.normal(size=(2, 3, n, 8)).astype(np.float32) for n in (5, 7, 7))
        for causal in (False, True):
            out, lse = attention(q, k, v, causal=causal, with_lse=True)
            expected, p = self.formula(q, k, v, causal)
            np.testing.assert_allclose(out, expected, atol=2e-6)
            d = random.normal(size=out.shape).astype(np.float32)
            dq, dk, dv = attention_backward(d, q, k, v, out, lse, causal=causal)
            dp = d.astype(float) @ v.swapaxes(-1, -2)
            ds = p * (dp - (dp * p).sum(-1, keepdims=True)) / 8 ** 0.5
            np.testing.assert_allclose(dv, p.swapaxes(-1, -2) @ d, atol=1e-5)
            np.testing.assert_allclose(dq, ds @ k, atol=1e-5)
            np.testing.assert_allclose(dk, ds.swapaxes(-1, -2) @ q, atol=1e-5)

    def formula(self, q, k, v, causal):
        s = q.astype(float) @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
        if causal:
            t, u = np.arange(q.shape[-2])[:, None], np.arange(k.shape[-2])
            s = np.where(u <= t + k.shape[-2] - q.shape[-2], s, -np.inf)
        p = np.exp(s - s.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        return p @ v, p

    def test_bad_input(self):
        x = np.zeros((3, 8), np.float32)
        for q, k, v in ((x, x, x[:2]), (x[:, :4], x, x), (x.astype(float), x, x), (x[None], x, x), (x[:, :0], x[:, :0], x[:, :0])):
            with self.assertRaises(ArgumentError):
                attention(q, k, v)


def features(name, x, w, epsilon, query, causal):
    """phi or psi in double. The maxima that the library subtracts cancel in the quotient."""
    x = x.astype(float)
    if name in ("favor", "relu"):
        x = x / x.shape[-1] ** 0.25
        z = x @ w.T.astype(float)
        if name == "relu":
            return np.maximum(z, 0) + epsilon
        return np.exp(z - (x ** 2).sum(-1, keepdims=True) / 2)
    if name == "elu":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
    if name == "squared_relu":
        return np.maximum(x, 0) ** 2 + epsilon
    e = np.exp(x)
    if name == "exp" or (causal and not query):
        return e
    return e / e.sum(-1 if query else -2, keepdims=True)


def linear_formula(name, q, k, v, w, epsilon, causal, angles):
    f, g = features(name, q, w, epsilon, True, causal), features(name, k, w, epsilon, False, causal)
    seen = np.tril(np.ones((q.shape[-2], q.shape[-2]))) if causal else 1.0

    def rotated(x):
        if angles is None:
            return x
        y, a, b = x.copy(), x[..., 0::2], x[..., 1::2]
        y[..., 0::2], y[..., 1::2] = a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)
        return y
    below = (f @ g.swapaxes(-1, -2) * seen).sum(-1, keepdims=True)
    return (rotated(f) @ rotated(g).swapaxes(-1, -2) * seen) @ v.astype(float) / below


class LinearAttention(unittest.TestCase):
    def cases(self):
        random = np.random.default_rng(3)
        q, k, v = (random.normal(size=(2, 5, 4)).astype(np.float32) for _ in range(3))
        w = random.normal(size=(6, 4)).astype(np.float32)
        for name in ("elu", "shen", "exp", "squared_relu", "favor", "relu"):
            for causal in (False, True):
                for rotate in (False, True):
                    projected = name in ("favor", "relu")
                    epsilon = {"favor": 0.0, "squared_relu": 0.5, "relu": 0.25}.get(name)
                    more = {"feature_map": name, "causal": causal, "rotate_features": rotate, "epsilon": epsilon,
                            "random": w if projected else None}
                    n = 6 if projected else 4
                    angles = np.arange(5)[:, None] * 100.0 ** (-2 * np.arange(n // 2) / n) if rotate else None
                    if rotate:
                        more["base"] = 100.0
                    yield q, k, v, more, lambda a, b, c, m=more, t=angles: linear_formula(
                        m["feature_map"], a, b, c, w, m["epsilon"], m["causal"], t)

    def test_forward(self):
        for q, k, v, more, formula in self.cases():
            with self.subTest(**more):
                # Sums of at most 5 x 6 terms near 1, in float, over a sum that is not small.
                np.testing.assert_allclose(linear_attention(q, k, v, **more), formula(q, k, v), rtol=2e-5, atol=2e-5)

    def test_backward(self):
        """Against central differences of the formula in double: their error is about h^2 = 1e-8."""
        h, d = 1e-4, np.random.default_rng(4).normal(size=(2, 5, 4)).astype(np.float32)
        for q, k, v, more, formula in self.cases():
            got = linear_attention_backward(d, q, k, v, **more)
            for which in range(3):
                expected = np.zeros(q.shape)
                for at in np.ndindex(q.shape):
                    ends = []
                    for sign in (1, -1):
                        x = [a.astype(float) for a in (q, k, v)]
                        x[which][at] += sign * h
                        ends.append((formula(*x) * d).sum())
                    expected[at] = (ends[0] - ends[1]) / (2 * h)
                with self.subTest(which=which, **more):
                    np.testing.assert_allclose(got[which], expected, rtol=2e-4, atol=2e-4)

    def test_bad_input(self):
        x, w = np.zeros((3, 8), np.float32), np.zeros((5, 8), np.float32)
        for more, message in (({"feature_map": "cosine"}, "feature_map"), ({"random": w}, "random: expected None"),
                              ({"feature_map": "favor"}, "random: expected the random features"),
                              ({"feature_map": "favor", "random": w[:, :4]}, "random: expected shape"),
                              ({"positions": [1, 2, 3]}, "positions: expected None"),
                              ({"rotate_features": True, "positions": [1]}, "positions: expected 3 integers"),
                              ({"rotate_features": True, "feature_map": "favor", "random": w}, "")):
            with self.subTest(**more), self.assertRaisesRegex(ArgumentError, message):
                linear_attention(x, x, x, **more)
        with self.assertRaisesRegex(ArgumentError, "one shape"):
            linear_attention(x, x[:2], x[:2])
        with self.assertRaisesRegex(ArgumentError, "d_out"):
            linear_attention_backward(x[:2], x, x, x)
        self.assertEqual(linear_attention(x[:0], x[:0], x[:0]).shape, (0, 8))


if __name__ == "__main__":
    unittest.main()
