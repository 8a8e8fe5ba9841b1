"""Cross-encoders: the order of outputs that a sigmoid cannot tell apart, other functions of them, settings."""
import json
import pathlib
import shutil
import tempfile
import unittest

import numpy as np

import support
from roformer_c import ArgumentError, CrossEncoder, UnsupportedError

TEXTS = ["the a?", "b", "the", "ab cd.", "x, y"]


def loud(folder, to, name, factor):
    """The folder with one tensor multiplied."""
    shutil.copytree(folder, to)
    path = pathlib.Path(to, "model.safetensors")
    data = bytearray(path.read_bytes())
    n = int.from_bytes(data[:8], "little")
    a, b = json.loads(data[8:8 + n])[name]["data_offsets"]
    data[8 + n + a:8 + n + b] = (np.frombuffer(bytes(data[8 + n + a:8 + n + b]), np.float32) * np.float32(factor)).tobytes()
    path.write_bytes(data)


class Cross(unittest.TestCase):
    def test_rank_knows_outputs_beyond_the_sigmoid(self):
        names = [n for n in json.loads(_header(support.folder("classify/models/one"))) if n.startswith("classifier")]
        weight = "classifier.out_proj.weight" if "classifier.out_proj.weight" in names else "classifier.weight"
        for factor in (1e5, -1e5):
            with tempfile.TemporaryDirectory() as work:
                loud(support.folder("classify/models/one"), work + "/m", weight, factor)
                m = CrossEncoder(work + "/m")
                z = m.predict([("a", t) for t in TEXTS], activation_fn=lambda x: x)
                self.assertGreater(abs(z).min(), 20)
                rows = m.rank("a", TEXTS)
                self.assertEqual([r["corpus_id"] for r in rows], np.argsort(-z, kind="stable").tolist())
                self.assertEqual([r["corpus_id"] for r in m.rank("a", TEXTS, top_k=2)],
                                 [r["corpus_id"] for r in rows[:2]])

    def test_functions(self):
        folder, pairs = support.folder("classify/models/one"), [("a", t) for t in TEXTS]
        m = CrossEncoder(folder)
        p = m.predict(pairs)
        z = m.predict(inputs=pairs, activation_fn=lambda x: x)
        np.testing.assert_allclose(1 / (1 + np.exp(-z)), p, atol=1e-6)
        self.assertTrue(np.array_equal(CrossEncoder(folder, activation_fn=lambda x: x).predict(sentences=pairs), z))
        self.assertEqual(m.predict(pairs[0], activation_fn=lambda x: x), z[0])
        order = [r["corpus_id"] for r in m.rank("a", TEXTS, activation_fn=lambda x: -x)]
        self.assertEqual(order, np.argsort(z, kind="stable").tolist())
        three = CrossEncoder(support.folder("classify/models/three"))
        np.testing.assert_allclose(three.predict(pairs, activation_fn=lambda x: 2 * x), 2 * three.predict(pairs))

    def test_prompts(self):
        """A prompt is put before first texts, as by sentence-transformers; a folder of another class has none."""
        near = "ab c, "
        for name in ("one", "three"):
            folder = pathlib.Path(support.folder("classify/models/" + name, label_smoothing=0))
            plain = CrossEncoder(folder)
            pairs, prompted = [("a b", t) for t in TEXTS], [(near + "a b", t) for t in TEXTS]
            expected, without = plain.predict(prompted), plain.predict(pairs)
            self.assertGreater(abs(expected - without).max(), 1e-4)
            np.testing.assert_allclose(plain.predict(pairs, prompt=near), expected, atol=1e-6)
            own = {"model_type": "CrossEncoder", "prompts": {"near": near, "far": ""}, "default_prompt_name": "near"}
            (folder / "modules.json").write_text(json.dumps([{"path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}]))
            (folder / "config_sentence_transformers.json").write_text(json.dumps(own))
            m = CrossEncoder(folder)
            self.assertEqual((m.prompts, m.default_prompt_name), (own["prompts"], "near"))
            np.testing.assert_allclose(m.predict(pairs), expected, atol=1e-6)
            for other in (dict(prompt_name="far"), dict(prompt=""), dict(prompt_name="near", prompt="")):
                np.testing.assert_allclose(m.predict(pairs, **other), without, atol=1e-6)
            np.testing.assert_allclose(CrossEncoder(folder, prompts={"x": near}, default_prompt_name="x").predict(pairs), expected, atol=1e-6)
            with self.assertRaises(ArgumentError):
                m.predict(pairs, prompt_name="other")
            with self.assertRaises(ArgumentError):
                CrossEncoder(folder, default_prompt_name="other")
            if name == "one":
                ranks = m.rank("a b", TEXTS)
                np.testing.assert_allclose([r["score"] for r in ranks], sorted(expected, reverse=True), atol=1e-6)
            own["model_type"] = "SentenceTransformer"
            (folder / "config_sentence_transformers.json").write_text(json.dumps(own))
            np.testing.assert_allclose(CrossEncoder(folder).predict(pairs), without, atol=1e-6)

    def test_template_places_the_prompt(self):
        folder = pathlib.Path(support.folder("classify/models/one", label_smoothing=0.5))
        (folder / "chat_template.jinja").write_text('{{ messages | selectattr("role", "eq", "system") | map(attribute="content") | first | default("a") }} '
                                                    '{{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }} '
                                                    '{{ messages | selectattr("role", "eq", "document") | map(attribute="content") | first }}')
        m = CrossEncoder(folder)
        self.assertEqual(m.predict(("a", "b"), prompt=""), m.predict(("a", "b")))
        with self.assertRaises(UnsupportedError):
            m.predict(("a", "b"), prompt="c")

    def test_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("no torch")
        m, pairs = CrossEncoder(support.folder("classify/models/one"), activation_fn=torch.nn.Identity()), [("a", t) for t in TEXTS]
        z = m.predict(pairs, convert_to_tensor=True)
        self.assertIsInstance(z, torch.Tensor)
        self.assertTrue(torch.equal(torch.stack(m.predict(pairs, convert_to_numpy=False)), z))
        np.testing.assert_allclose(m.predict(pairs, activation_fn=torch.nn.Sigmoid()), torch.sigmoid(z).numpy(), atol=1e-6)

    def test_arguments(self):
        folder = support.folder("classify/models/one")
        m = CrossEncoder(folder, trust_remote_code=True, local_files_only=True, backend="torch", num_labels=1,
                         model_kwargs={"attn_implementation": "sdpa", "torch_dtype": "torch.bfloat16"})
        self.assertIs(m.eval().to("cpu"), m)
        for arguments in ({"num_labels": 3}, {"max_length": 3}):
            with self.assertRaises(ArgumentError, msg=arguments):
                CrossEncoder(folder, **arguments)
        for arguments in ({"backend": "onnx"}, {"model_kwargs": {"device_map": "auto"}}, {"config_kwargs": {"a": 1}}):
            with self.assertRaises(UnsupportedError, msg=arguments):
                CrossEncoder(folder, **arguments)
        with self.assertRaises(TypeError):
            CrossEncoder(folder, unknown=1)


def _header(folder):
    data = pathlib.Path(folder, "model.safetensors").read_bytes()
    return data[8:8 + int.from_bytes(data[:8], "little")]


if __name__ == "__main__":
    unittest.main()
