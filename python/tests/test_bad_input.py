"""What is not possible is refused with a sentence, and the object is usable afterwards."""
import gc
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np

import roformer_c
import support
from roformer_c import (ArgumentError, ClosedError, DataError, FileError, Index, RoformerError, SentenceTransformer,
                        TextTypeError, Tokenizer)


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = SentenceTransformer(support.SENTENCES)
        cls.expected = cls.model.encode("usable")

    def tearDown(self):
        self.assertTrue(np.array_equal(self.model.encode("usable"), self.expected))

    def refused(self, kind, *names, call=None, given=None):
        with self.assertRaises(kind) as caught:
            (call or self.model.encode)(given)
        self.assertIsInstance(caught.exception, RoformerError)
        for name in names:
            self.assertIn(name, str(caught.exception))

    def test_none(self):
        self.refused(TextTypeError, "NoneType", given=None)
        self.refused(TextTypeError, "text 1", "NoneType", given=["a", None])
        self.refused(TypeError, given=None)

    def test_numbers(self):
        self.refused(TextTypeError, "int", given=3)
        self.refused(TextTypeError, "text 0", "float", given=[1.5])
        self.refused(TextTypeError, "float64", given=np.zeros(3))

    def test_bytes(self):
        self.refused(TextTypeError, "bytes", given=b"a")
        self.refused(TextTypeError, "text 2", "decode", given=["a", "b", b"c"])
        self.refused(TextTypeError, "S1", given=np.array([b"a"]))

    def test_lone_surrogates(self):
        self.refused(DataError, "text 1", "U+D800", "character 2", given=["a", "bc\ud800"])
        self.refused(ValueError, given="\udfff")

    def test_position_in_an_iterator(self):
        self.refused(TextTypeError, "text 2100", given=iter(["a"] * 2100 + [None]))

    def test_nul_is_a_character(self):
        self.assertTrue(np.array_equal(self.model.encode("a\0b c"), self.model.encode("ab c")))
        self.assertTrue(np.array_equal(self.model.encode(["x\0"] * 3)[2], self.model.encode("x")))

    def test_empty(self):
        self.assertEqual(self.model.encode([]).shape, (0, 256))
        self.assertEqual(self.model.encode("").shape, (256,))
        self.assertEqual(len(self.model.encode([], output_value="token_embeddings")), 0)

    def test_dictionaries_and_arrays_of_arrays(self):
        self.refused(TextTypeError, "dict", given={"a": 1})
        self.refused(ArgumentError, "dimension", given=np.array([["a", "b"]]))

    def test_a_folder_that_is_a_file(self):
        path = support.SENTENCES + "/config.json"
        self.refused(FileError, path, "file", call=SentenceTransformer, given=path)
        self.refused(OSError, call=SentenceTransformer, given=path)

    def test_a_model_that_is_not_there(self):
        with mock.patch.dict(os.environ, {"HF_HUB_CACHE": "/nonexistent"}):
            self.refused(FileError, "all-MiniLM", "/nonexistent", "hf download",
                         call=SentenceTransformer, given="all-MiniLM-L6-v2")
            for path in ("/nowhere/model", "../model", "./model", "a/b/c", "model/"):
                self.refused(FileError, path, "no such folder", call=SentenceTransformer, given=path)
        for name in (None, 3, "", "a\0b"):
            self.refused(ArgumentError, "model", call=SentenceTransformer, given=name)

    def test_a_model_in_the_cache(self):
        with tempfile.TemporaryDirectory() as cache:
            root = pathlib.Path(cache, "models--us--tiny")
            (root / "refs").mkdir(parents=True)
            (root / "snapshots").mkdir()
            (root / "refs" / "main").write_text("abc\n")
            (root / "snapshots" / "abc").symlink_to(support.SENTENCES)
            with mock.patch.dict(os.environ, {"HF_HUB_CACHE": cache}):
                v = SentenceTransformer("us/tiny").encode("usable")
            self.assertTrue(np.array_equal(v, self.expected))
            self.assertTrue(np.array_equal(SentenceTransformer("us/tiny", cache_folder=cache, revision="abc").encode("usable"), v))

    def test_texts_that_end_with_nul_in_the_library(self):
        with tempfile.TemporaryDirectory() as work:
            cut = os.path.join(work, "index")
            for call in (Index, lambda folder: Index.build(folder, np.eye(2))):
                self.refused(ArgumentError, "folder: expected a path without NUL", call=call, given=cut + "\0more")
            with self.assertRaisesRegex(ArgumentError, "model_name: expected a text without U.0000"):
                Index.build(cut, np.eye(2), model_name="a\0b")
            self.assertEqual(os.listdir(work), [])

    def test_numbers_that_are_not_integers(self):
        tokenizer = Tokenizer.from_folder(support.SENTENCES)
        for ids in ([42.9], ["42"], ["a"], 5, [1 << 31], [-1], [5, -(1 << 63)], [[1]], [None]):
            self.refused(ArgumentError, "ids", call=tokenizer.decode, given=ids)
        with tempfile.TemporaryDirectory() as work:
            index = Index.build(os.path.join(work, "index"), np.eye(3))
            for row in (1.5, "a", True, 3, -1, None):
                self.refused(ArgumentError, "row", call=index.text, given=row)
            self.assertEqual(index.text(np.int64(2)), "2")
        self.refused(ArgumentError, "folder", call=lambda folder: Index.build(folder, np.eye(3)), given="")
        self.refused(ArgumentError, "task", call=lambda task: roformer_c.pipeline(task, support.SENTENCES), given=None)
        q = np.zeros((1, 2, 4), np.float32)
        self.refused(ArgumentError, "causal", call=lambda c: roformer_c.attention(q, q, q, causal=c), given="x")

    def test_flags_that_are_not_flags(self):
        for value in "no", 2, None, np.ones(2):
            self.refused(ArgumentError, "normalize_embeddings", "True or False",
                         call=lambda t, value=value: self.model.encode(t, normalize_embeddings=value), given=["a"])
        self.assertEqual(self.model.encode(["a"], normalize_embeddings=np.bool_(True)).shape[0], 1)

    @unittest.skipUnless(hasattr(getattr(np, "dtypes", None), "StringDType"), "NumPy before 2.0")
    def test_strings_of_numpy_2(self):
        texts = np.array(["usable", "other"], dtype=np.dtypes.StringDType())
        self.assertTrue(np.array_equal(self.model.encode(texts[:1])[0], self.expected))

    def test_a_damaged_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("config.json", "vocab.txt"):
                pathlib.Path(folder, name).write_bytes(pathlib.Path(support.SENTENCES, name).read_bytes())
            self.refused(FileError, folder, call=SentenceTransformer, given=folder)
            pathlib.Path(folder, "model.safetensors").write_bytes(b"\xff" * 100)
            self.refused(DataError, "model.safetensors", call=SentenceTransformer, given=folder)
            pathlib.Path(folder, "config.json").write_text("{")
            self.refused(DataError, "config.json", call=SentenceTransformer, given=folder)

    def test_a_model_freed_while_an_iterator_is_open(self):
        model = SentenceTransformer(support.SENTENCES)
        stream = model.encode_stream(("text %d" % i for i in range(1000)), batch_size=1)
        first = next(stream)
        del model
        gc.collect()
        self.assertEqual(first.shape, (64, 256))
        self.assertEqual(sum(len(b) for b in stream), 1000 - 64)       # the iterator holds the model

    def test_a_model_closed_while_an_iterator_is_open(self):
        model = SentenceTransformer(support.SENTENCES)
        stream = model.encode_stream(("text %d" % i for i in range(1000)), batch_size=1)
        next(stream)
        model.close()
        with self.assertRaises(RoformerError):
            list(stream)
        with self.assertRaises(ClosedError):
            model.encode("a")
        model.close()

    def test_an_exception_of_an_iterator(self):
        def texts():
            yield from ["a"] * 3000
            raise KeyError("mine")
        with self.assertRaisesRegex(KeyError, "mine"):
            self.model.encode(texts())

    def test_a_million_strings_of_one_character(self):
        small = SentenceTransformer(support.folder("bert/masked"))
        v = small.encode(("ab"[i % 2] for i in range(1000000)), truncate_dim=4)
        self.assertEqual(v.shape, (1000000, 4))
        self.assertTrue(np.array_equal(v[0], v[999998]))
        self.assertTrue(np.array_equal(v[1], small.encode("b", truncate_dim=4)))

    def test_arrays_of_other_types_and_orders(self):
        a = np.random.default_rng(1).normal(size=(6, 8))
        for given in (a, a.astype(np.float32), np.asfortranarray(a), np.repeat(a, 2, axis=0)[::2], a.astype(np.float16)):
            np.testing.assert_allclose(self.model.similarity(given, given), self.model.similarity(a, a), atol=2e-3)
        for given in (np.array([["a"]]), np.zeros((2, 2, 2)), np.zeros((2, 2), complex)):
            with self.assertRaises(ArgumentError):
                self.model.similarity(given, given)
        with self.assertRaises(ArgumentError):
            roformer_c.rope.rotate(a)                     # float64 is refused, not rounded in silence
        x = a.astype(np.float32)
        self.assertTrue(np.array_equal(roformer_c.rope.rotate(np.asfortranarray(x)), roformer_c.rope.rotate(x)))


if __name__ == "__main__":
    unittest.main()
