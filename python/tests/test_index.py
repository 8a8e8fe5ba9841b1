"""The index finds what a search of all vectors in double finds."""
import os
import pickle
import subprocess
import tempfile
import threading
import time
import unittest

import numpy as np

import support
from roformer_c import (ArgumentError, ClosedError, DataError, FileError, Index, NumericError, SentenceTransformer,
                        TextTypeError)


class Search(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.vectors = np.random.default_rng(3).normal(size=(500, 24)).astype(np.float32)
        cls.index = Index.build(os.path.join(cls.work.name, "a.index"), cls.vectors)

    @classmethod
    def tearDownClass(cls):
        cls.index.close()
        cls.work.cleanup()

    def path(self, name):
        return os.path.join(self.work.name, name)

    def test_exact(self):
        q = np.random.default_rng(4).normal(size=(7, 24))
        scores, ids = self.index.search(q, 9)
        v = self.vectors.astype(np.float64)
        cosine = (q / np.linalg.norm(q, axis=1, keepdims=True)) @ (v / np.linalg.norm(v, axis=1, keepdims=True)).T
        self.assertTrue(np.array_equal(ids, np.argsort(-cosine, axis=1)[:, :9]))
        # Vectors are stored in f32: 24 products of numbers below 1 with a relative error of 2^-24 each.
        np.testing.assert_allclose(scores, -np.sort(-cosine, axis=1)[:, :9], atol=1e-6)
        self.assertEqual((scores.dtype, ids.dtype, scores.shape), (np.float32, np.int64, (7, 9)))
        one, row = self.index.search(q[0], 1)
        self.assertEqual((one.shape, row[0, 0]), ((1, 1), ids[0, 0]))

    def test_more_than_there_are(self):
        small = Index.build(self.path("small.index"), np.eye(3), texts=["x", "y", "z"])
        scores, ids = small.search([1, 0, 0], 5)
        self.assertEqual(ids[0, 3:].tolist(), [-1, -1])
        self.assertTrue(np.isneginf(scores[0, 3:]).all())
        self.assertEqual([small.text(i) for i in range(3)], ["x", "y", "z"])
        self.assertEqual(len(small), 3)
        with self.assertRaises(ArgumentError):
            small.text(3)

    def test_blocks_of_one_width(self):
        for width in 4, 16:
            with self.assertRaises(ArgumentError):
                Index.build(self.path("widths.index"), iter([np.ones((2, 8)), np.ones((2, width))]))
            self.assertFalse(os.path.exists(self.path("widths.index")))
        with self.assertRaises(TextTypeError):
            Index.build(self.path("letters.index"), np.eye(3), texts="abc")

    def test_texts_while_another_thread_closes(self):
        for _ in range(20):
            index = Index.build(tempfile.mkdtemp(dir=self.work.name) + "/a", np.eye(50))
            done = []

            def read():
                try:
                    while True:
                        done.append(index.text(7) == "7")
                except ClosedError:
                    pass
            threads = [threading.Thread(target=read) for _ in range(3)]
            for t in threads:
                t.start()
            while len(done) < 30:
                time.sleep(0)
            index.close()
            for t in threads:
                t.join()
            self.assertTrue(all(done))

    def test_streams_and_the_program(self):
        model = SentenceTransformer(support.SENTENCES)
        lines = support.lines(150)
        folder = self.path("lines.index")
        index = Index.build(folder, model.encode_stream(iter(lines), batch_size=1), texts=iter(lines), model_name="small")
        self.assertEqual((len(index), index.dimensions, index.model_name), (150, 256, "small"))
        scores, ids = index.search(model.encode(["train a model"]), 3)
        best = model.encode(lines) @ model.encode("train a model")
        self.assertEqual(ids[0].tolist(), np.argsort(-best)[:3].tolist())
        self.assertEqual(index.text(int(ids[0, 0])), lines[ids[0, 0]])
        out = subprocess.run([support.program(), "verify", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(out.returncode, 0, out.stdout.decode())

    def test_bad_input(self):
        with self.assertRaises(FileError):
            Index.open(self.path("none.index"))
        with self.assertRaises(ArgumentError):
            Index.build(self.path("a.index"), self.vectors)                   # it exists
        for vectors, texts, kind in ((np.zeros((2, 3)), None, NumericError), (np.full((2, 3), np.nan), None, NumericError),
                                     (np.ones((2, 3)), ["a"], ArgumentError), (np.ones((2, 3)), ["a"] * 3, ArgumentError),
                                     (np.ones((2, 3)), ["a", "b\nc"], DataError), (np.ones((2, 3)), ["a", None], TextTypeError),
                                     (np.zeros((0, 3)), None, ArgumentError), ([[1, 2], [3]], None, ArgumentError),
                                     (np.array([["a"]]), None, ArgumentError)):
            folder = self.path("bad.index")
            with self.assertRaises(kind, msg=(vectors, texts)):
                Index.build(folder, vectors, texts)
            self.assertFalse(os.path.exists(folder))
        for query, k, kind in ((np.zeros(24), 1, NumericError), (np.ones(23), 1, ArgumentError), (np.ones(24), 0, ArgumentError),
                               (np.full(24, np.inf), 1, NumericError), (None, 1, ArgumentError)):
            with self.assertRaises(kind, msg=query):
                self.index.search(query, k)
        self.assertEqual(self.index.search(np.ones(24), 1)[1].shape, (1, 1))

    def test_pickle_and_close(self):
        other = pickle.loads(pickle.dumps(self.index))
        q = np.ones(24)
        self.assertTrue(np.array_equal(other.search(q, 3)[1], self.index.search(q, 3)[1]))
        other.close()
        for call in (lambda: other.search(q, 1), lambda: len(other), lambda: other.text(0)):
            with self.assertRaises(ClosedError):
                call()


if __name__ == "__main__":
    unittest.main()
