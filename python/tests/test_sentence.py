"""Vectors: those of the program, bit by bit; forms of input; settings."""
import copy
import gc
import io
import itertools
import json
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

import roformer_c
import support
from roformer_c import ArgumentError, DataError, FileError, SentenceTransformer, TextTypeError


class Vectors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = SentenceTransformer(support.SENTENCES)
        cls.lines = support.lines(300)
        cls.vectors = cls.model.encode(cls.lines)

    def test_bits_of_the_program(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as f:
            f.write("".join(line + "\n" for line in self.lines))
            f.flush()
            out = subprocess.run([support.program(), "embed", "-m", support.SENTENCES, f.name], check=True,
                                 stdout=subprocess.PIPE).stdout
        self.assertTrue(np.array_equal(np.load(io.BytesIO(out)), self.vectors))

    def test_a_vector_does_not_depend_on_the_call(self):
        self.assertGreater(len(self.lines), 200)
        for i in (0, 7, 211):
            self.assertTrue(np.array_equal(self.model.encode(self.lines[i]), self.vectors[i]))
        self.assertTrue(np.array_equal(self.model.encode(self.lines[::-1], batch_size=1)[::-1], self.vectors))
        one = SentenceTransformer(support.SENTENCES, threads=1)
        self.assertTrue(np.array_equal(one.encode(self.lines), self.vectors))

    def test_forms_of_input(self):
        few, expected = self.lines[:70], self.vectors[:70]
        for given in (few, tuple(few), np.array(few), np.array(few, dtype=object), iter(few), (x for x in few)):
            self.assertTrue(np.array_equal(self.model.encode(given, batch_size=1), expected))
        self.assertEqual(self.model.encode(few[0]).shape, (256,))
        self.assertEqual(self.model.encode([few[0]]).shape, (1, 256))
        self.assertEqual(self.model.encode([]).shape, (0, 256))
        self.assertEqual(self.model.encode(iter([])).shape, (0, 256))
        self.assertEqual(self.vectors.dtype, np.float32)

    def test_results_are_the_callers(self):
        a = self.model.encode(self.lines[0])
        kept = a.copy()
        self.model.encode(self.lines[1])
        self.assertTrue(np.array_equal(a, kept))
        self.assertTrue(a.flags.writeable)

    def test_stream_takes_texts_as_needed(self):
        taken = []
        texts = (taken.append(i) or "text %d" % i for i in itertools.count())
        stream = self.model.encode_stream(texts, batch_size=1)
        self.assertEqual(next(stream).shape, (64, 256))
        stream.close()
        self.assertLessEqual(len(taken), 64 * 4)
        self.assertEqual(self.model.encode("usable").shape, (256,))

    def test_normalize_and_truncate(self):
        plain = SentenceTransformer(support.MASKED)           # a folder without sentence-transformers' files
        v = plain.encode(self.lines[:9])
        self.assertGreater(abs(np.linalg.norm(v, axis=1) - 1).max(), 1e-3)
        unit = plain.encode(self.lines[:9], normalize_embeddings=True)
        # Rounding of a norm of 256 squares, and of the division: a few units of 2^-24.
        np.testing.assert_allclose(unit, v / np.linalg.norm(v, axis=1, keepdims=True), atol=1e-6)
        self.assertTrue(np.array_equal(plain.encode(self.lines[:9], truncate_dim=10), v[:, :10]))
        cut = plain.encode(self.lines[:9], truncate_dim=10, normalize_embeddings=True)
        np.testing.assert_allclose(cut, v[:, :10] / np.linalg.norm(v[:, :10], axis=1, keepdims=True), atol=1e-6)
        # A folder that normalizes does so before the cut, as sentence-transformers.
        self.assertTrue(np.array_equal(self.model.encode(self.lines[:9], truncate_dim=10), self.vectors[:9, :10]))
        short = SentenceTransformer(support.SENTENCES, truncate_dim=10)
        self.assertEqual(short.get_sentence_embedding_dimension(), 10)
        self.assertTrue(np.array_equal(short.encode(self.lines[:9]), self.vectors[:9, :10]))

    def test_prompts(self):
        m = SentenceTransformer(support.SENTENCES, prompts={"query": "query: "})
        expected = self.model.encode("query: a dog")
        for v in (m.encode("a dog", prompt_name="query"), m.encode("a dog", prompt="query: "), m.encode_query("a dog")):
            self.assertTrue(np.array_equal(v, expected))
        self.assertTrue(np.array_equal(m.encode("a dog"), self.model.encode("a dog")))
        self.assertTrue(np.array_equal(m.encode_document("a dog"), self.model.encode("a dog")))
        default = SentenceTransformer(support.SENTENCES, prompts={"query": "query: "}, default_prompt_name="query")
        self.assertTrue(np.array_equal(default.encode("a dog"), expected))
        with self.assertRaises(ArgumentError):
            m.encode("a dog", prompt_name="none")
        with self.assertWarns(UserWarning):                     # as sentence-transformers
            v = m.encode("a dog", prompt="x: ", prompt_name="query")
        self.assertTrue(np.array_equal(v, self.model.encode("x: a dog")))
        self.assertEqual(self.model.prompts, {"query": "", "document": ""})
        self.assertTrue(np.array_equal(self.model.encode("a dog", prompt_name="query"), self.model.encode("a dog")))

    def test_max_seq_length(self):
        m = SentenceTransformer(support.SENTENCES)
        self.assertEqual(m.max_seq_length, self.model.get_max_seq_length())
        m.max_seq_length = 5
        self.assertEqual(m.tokenize(["a long text of many words"])["input_ids"].shape, (1, 5))
        self.assertTrue(np.array_equal(m.encode("the dog barks at the moon"), m.encode("the dog barks at")))
        with self.assertRaises(ArgumentError):
            m.max_seq_length = 0

    def test_max_seq_length_above_the_positions(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name, "m")
            golden = pathlib.Path(__file__).parents[2] / "tests" / "golden" / "sentences"
            shutil.copytree(golden / "models" / "bert", folder)
            shutil.copytree(golden / "cases" / "bert-saved", folder, dirs_exist_ok=True)
            positions = json.loads((folder / "config.json").read_text())["max_position_embeddings"]
            (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 4096}')
            with self.assertWarnsRegex(UserWarning, "max_seq_length is 4096, but the model has %d positions" % positions):
                m = SentenceTransformer(folder)
            self.assertEqual(m.max_seq_length, positions)
            self.assertTrue(np.array_equal(m.encode("river " * positions), m.encode("river " * (2 * positions))))

    def test_token_embeddings(self):
        few = self.lines[:3]
        tokens = self.model.encode(few, output_value="token_embeddings")
        counts = self.model.tokenize(few)["attention_mask"].sum(axis=1)
        self.assertEqual([len(t) for t in tokens], counts.tolist())
        mean = tokens[1].astype(np.float64).mean(axis=0)
        # The folder pools by the mean and normalizes; float sums of at most 128 rows.
        np.testing.assert_allclose(mean / np.linalg.norm(mean), self.vectors[1], atol=1e-5)
        again = self.model.encode(few[1], output_value="token_embeddings", normalize_embeddings=True)
        self.assertTrue(np.array_equal(again, tokens[1]))       # as sentence-transformers, which normalizes texts only

    def test_precision(self):
        v = self.vectors[:50]
        u = self.model.encode(self.lines[:50], precision="uint8")
        low, step = v.min(axis=0), (v.max(axis=0) - v.min(axis=0)) / 255
        self.assertTrue((abs(u * step + low + step / 2 - v) <= step * 0.501 + 1e-6).all())
        self.assertTrue(np.array_equal(self.model.encode(self.lines[:50], precision="int8"), (u.astype(int) - 128)))
        bits = self.model.encode(self.lines[:50], precision="ubinary")
        self.assertTrue(np.array_equal(np.unpackbits(bits, axis=1), v > 0))
        self.assertTrue(np.array_equal(self.model.encode(self.lines[:50], precision="binary"), bits.astype(int) - 128))
        self.assertEqual(self.model.encode(self.lines[0], precision="ubinary").shape, (32,))
        with self.assertRaises(ArgumentError):
            self.model.encode(self.lines[0], precision="int8")

    def test_similarity(self):
        a, b = self.vectors[:4], self.vectors[4:7]
        unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b)]
        expected = {"cosine": unit[0] @ unit[1].T, "dot": a @ b.T,
                    "euclidean": -np.sqrt(((a[:, None] - b) ** 2).sum(-1)), "manhattan": -abs(a[:, None] - b).sum(-1)}
        for name, s in expected.items():
            m = SentenceTransformer(support.SENTENCES, similarity_fn_name=name)
            np.testing.assert_allclose(m.similarity(a, b), s, atol=1e-5)
            np.testing.assert_allclose(m.similarity_pairwise(a[:3], b), np.diag(s), atol=1e-5)
        self.assertEqual(self.model.similarity(a[0], b).shape, (1, 3))
        with self.assertRaises(ArgumentError):
            self.model.similarity(a, b[:, :10])

    def test_progress_bar(self):
        with mock.patch("sys.stderr", io.StringIO()) as err:
            self.model.encode(self.lines[:100], show_progress_bar=True)
        self.assertIn("100/100 (100 %) texts", err.getvalue())
        with mock.patch("sys.stderr", io.StringIO()) as err:
            self.model.encode(self.lines[:100])
        self.assertEqual(err.getvalue(), "")

    def test_pickle_and_copy(self):
        m = SentenceTransformer(support.SENTENCES, prompts={"query": "query: "}, truncate_dim=20)
        m.max_seq_length = 7
        for other in (pickle.loads(pickle.dumps(m)), copy.deepcopy(m)):
            self.assertEqual((other.max_seq_length, other.truncate_dim, other.prompts), (7, 20, m.prompts))
            self.assertTrue(np.array_equal(other.encode(self.lines[:5]), m.encode(self.lines[:5])))

    def test_dtype(self):
        low = SentenceTransformer(support.SENTENCES, dtype="bfloat16").encode(self.lines[:20])
        self.assertGreater((low * self.vectors[:20]).sum(axis=1).min(), 0.999)
        with self.assertRaises(ArgumentError):
            SentenceTransformer(support.SENTENCES, dtype="float16")

    def test_what_is_not_here_is_an_error(self):
        for arguments in ({"device": "cuda"}, {"device": ["cpu", "cuda"]}, {"batch_size": 0}, {"output_value": "x"}, {"precision": "float16"}, {"truncate_dim": 0}):
            with self.assertRaises(ArgumentError, msg=arguments):
                self.model.encode("a", **arguments)
        for arguments in ({"task": "x"}, {"unknown": 3}):
            with self.assertRaises(TypeError, msg=arguments):
                self.model.encode("a", **arguments)
        for arguments in ({"device": "cuda"}, {"similarity_fn_name": "x"}, {"default_prompt_name": "x"}, {"threads": -1},
                          {"threads": True}):
            with self.assertRaises(ArgumentError, msg=arguments):
                SentenceTransformer(support.SENTENCES, **arguments)

    def test_threads(self):
        before = roformer_c.get_num_threads()
        roformer_c.set_num_threads(3)
        self.assertEqual(roformer_c.get_num_threads(), 3)
        roformer_c.set_num_threads(0)
        self.assertEqual(roformer_c.get_num_threads(), before)
        environment = subprocess.run([support.program(), "info", "--env"], check=True, stdout=subprocess.PIPE, text=True)
        rungs = [line.split()[1:] for line in environment.stdout.splitlines() if line.startswith("rungs ")]
        self.assertIn(roformer_c.processor(), rungs[0])

    def test_module(self):
        self.assertRegex(roformer_c.__version__, r"^\d+\.\d+\.\d+$")
        for name in roformer_c.__all__:
            self.assertTrue(hasattr(roformer_c, name), name)
        self.assertNotIn("roformer", sys.modules)            # PyPI's package of that name is another one


class Memory(unittest.TestCase):
    """A model from memory is that of the folder."""

    def files(self):
        root = pathlib.Path(support.SENTENCES)
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file() and p.stat().st_size}

    def test_same_bits(self):
        texts = support.lines(20)
        expected = SentenceTransformer(support.SENTENCES).encode(texts)
        files = self.files()
        files["vocab.txt"] = memoryview(bytearray(files["vocab.txt"]))
        model = SentenceTransformer(files)
        del files
        gc.collect()
        self.assertTrue(np.array_equal(model.encode(texts), expected))
        self.assertEqual(model.max_seq_length, 128)
        model.close()

    def test_cycles_are_freed(self):
        """The collector runs the finalizers of a cycle in any order; the engine is closed before its files go."""
        for _ in range(3):
            model = SentenceTransformer(self.files())
            model.encode("a dog")
            model._model.own = model._model._engine.memory.own = model
            del model
            gc.collect()

    def test_pickled(self):
        model = pickle.loads(pickle.dumps(SentenceTransformer(self.files())))
        self.assertEqual(model.encode("a dog").shape, (256,))

    def test_bad_files(self):
        files = self.files()
        for change, error, message in (({"config.json": b"{"}, DataError, "config.json"), ({"config.json": 3}, ArgumentError, "config.json"),
                                       ({"/x": b"a"}, ArgumentError, "/x"), ({"../x": b"a"}, ArgumentError, "x"),
                                       ({"vocab.txt": b""}, DataError, "vocab.txt"), ({7: b"a"}, TextTypeError, "name of a file")):
            with self.subTest(change=change), self.assertRaisesRegex(error, message):
                SentenceTransformer({**files, **change})
        with self.assertRaises(ArgumentError):
            SentenceTransformer({})
        with self.assertRaises(FileError):
            SentenceTransformer({"config.json": files["config.json"]})


if __name__ == "__main__":
    unittest.main()
