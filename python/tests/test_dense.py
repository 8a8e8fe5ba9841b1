"""Folders whose Dense modules change the width of vectors: narrower, wider, and back."""
import pathlib
import tempfile
import unittest

import numpy as np

import support
from roformer_c import Index, SentenceTransformer
from roformer_c.adapters import LangChainEmbeddings, SentenceVectorizer

TEXTS = ["A dog barks.", "Prices fell on Monday.", "The orchestra played."]


def matrices(folder):
    """The weights and biases of the Dense modules."""
    import json
    for part in sorted(pathlib.Path(folder).glob("*_Dense")):
        data = (part / "model.safetensors").read_bytes()
        n = int.from_bytes(data[:8], "little")
        rows = json.loads(data[8:8 + n])

        def read(name):
            a, b = rows[name]["data_offsets"]
            return np.frombuffer(data[8 + n + a:8 + n + b], np.float32).reshape(rows[name]["shape"])
        yield read("linear.weight"), read("linear.bias")


class Dense(unittest.TestCase):
    def expected(self, folder):
        x = np.stack([t.astype(np.float64).mean(axis=0) for t in
                      SentenceTransformer(support.SENTENCES).encode(TEXTS, output_value="token_embeddings")])
        for weight, bias in matrices(folder):
            x = np.tanh(x @ weight.astype(np.float64).T + bias)
        return x

    def test_every_place_has_the_width_of_the_last_module(self):
        for widths in ((7,), (600,), (40, 1200), (64, 256), (900, 3)):
            with self.subTest(widths=widths):
                folder, D = support.sentence_folder(dense=widths), widths[-1]
                model, right = SentenceTransformer(folder), self.expected(folder)
                # float32 sums of at most 900 products below 1 in absolute value
                np.testing.assert_allclose(model.encode(TEXTS), right, atol=1e-5)
                for text, row in zip(TEXTS, right):
                    np.testing.assert_allclose(model.encode(text), row, atol=1e-5)
                self.assertEqual(model.encode(iter(TEXTS)).shape, (3, D))
                self.assertEqual(model.encode([]).shape, (0, D))
                self.assertEqual(model.get_sentence_embedding_dimension(), D)
                self.assertIn("dimension=%d" % D, repr(model))
                self.assertEqual([b.shape for b in model.encode_stream(TEXTS)], [(3, D)])
                self.assertEqual(model.encode("a" * 2000).shape, (D,))
                np.testing.assert_allclose(model.encode(TEXTS[0], truncate_dim=2), right[0, :2], atol=1e-5)
                self.assertEqual(model.encode(TEXTS, truncate_dim=5000).shape, (3, D))
                self.assertEqual(model.encode(TEXTS, precision="ubinary").shape, (3, (D + 7) // 8))
                self.assertEqual(len(LangChainEmbeddings(model).embed_query(TEXTS[0])), D)
                vectorizer = SentenceVectorizer(model).fit(TEXTS)
                self.assertEqual(vectorizer.transform(TEXTS).shape[1], len(vectorizer.get_feature_names_out()))
                with tempfile.TemporaryDirectory() as work:
                    index = Index.build(work + "/index", model.encode_stream(TEXTS), texts=TEXTS)
                    self.assertEqual(index.search(model.encode(TEXTS), k=1)[1][:, 0].tolist(), [0, 1, 2])

    def test_tokens_are_not_changed(self):
        plain = SentenceTransformer(support.SENTENCES).encode(TEXTS, output_value="token_embeddings")
        for widths in ((7,), (600,)):
            model = SentenceTransformer(support.sentence_folder(dense=widths))
            for a, b in zip(plain, model.encode(TEXTS, output_value="token_embeddings")):
                self.assertTrue(np.array_equal(a, b))

    def test_arrow(self):
        try:
            import pyarrow.parquet
        except ImportError:
            self.skipTest("no pyarrow")
        model = SentenceTransformer(support.sentence_folder(dense=(600,)))
        with tempfile.TemporaryDirectory() as work:
            self.assertEqual(model.encode_to(work + "/v.parquet", TEXTS), 3)
            column = pyarrow.parquet.read_table(work + "/v.parquet")["embedding"]
            self.assertTrue(np.array_equal(np.array(column.to_pylist(), np.float32), model.encode(TEXTS)))

    def test_sentence_transformers(self):
        try:
            import sentence_transformers
        except ImportError:
            self.skipTest("no sentence-transformers")
        folder = support.sentence_folder(dense=(40, 300))
        other = sentence_transformers.SentenceTransformer(folder, device="cpu")
        np.testing.assert_allclose(SentenceTransformer(folder).encode(TEXTS), other.encode(TEXTS), atol=1e-5)
        for a, b in zip(SentenceTransformer(folder).encode(TEXTS, output_value="token_embeddings"),
                        other.encode(TEXTS, output_value="token_embeddings")):
            np.testing.assert_allclose(a, b.numpy(), atol=2e-5)


if __name__ == "__main__":
    unittest.main()
