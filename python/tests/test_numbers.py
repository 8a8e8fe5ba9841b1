"""Scores of translations, rotations and attention, against the formulas in double."""
import math
import unittest

import numpy as np

from roformer_c import ArgumentError, DataError, TextTypeError, attention, attention_backward, bleu, chrf, rope, ter


class Scores(unittest.TestCase):
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


if __name__ == "__main__":
    unittest.main()
