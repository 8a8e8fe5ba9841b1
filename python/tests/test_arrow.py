"""encode_to: the rows of Parquet and Arrow files."""
import importlib.util
import os
import pathlib
import tempfile
import unittest

import numpy as np

import support
from roformer_c import ArgumentError, FileError, SentenceTransformer, TextTypeError

HAVE = importlib.util.find_spec("pyarrow") is not None


class EncodeTo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = SentenceTransformer(support.SENTENCES)
        cls.lines = support.lines(150)

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.work = made.name

    def path(self, name):
        return os.path.join(self.work, name)

    def read(self, path):
        if path.endswith(".parquet"):
            import pyarrow.parquet
            return pyarrow.parquet.read_table(path)
        import pyarrow
        with pyarrow.memory_map(path) as file:
            return pyarrow.ipc.open_file(file).read_all()

    @unittest.skipUnless(HAVE, "no pyarrow")
    def test_rows(self):
        expected = self.model.encode(self.lines, normalize_embeddings=True, truncate_dim=32)
        for name in ("a.parquet", "a.arrow", "a.feather"):
            n = self.model.encode_to(self.path(name), iter(self.lines), ids=("id%d" % i for i in range(150)), batch_size=1,
                                     normalize_embeddings=True, truncate_dim=32)
            table = self.read(self.path(name))
            self.assertEqual((n, table.num_rows, table.column_names), (150, 150, ["id", "text", "embedding"]))
            self.assertEqual(table["text"].to_pylist(), self.lines)
            self.assertEqual(table["id"].to_pylist()[149], "id149")
            self.assertEqual(table.schema.field("embedding").type.list_size, 32)
            self.assertTrue(np.array_equal(np.array(table["embedding"].to_pylist(), np.float32), expected))
            self.assertEqual(table.schema.metadata[b"similarity"], b"cosine")
        self.assertEqual(sorted(os.listdir(self.work)), ["a.arrow", "a.feather", "a.parquet"])

    @unittest.skipUnless(HAVE, "no pyarrow")
    def test_few(self):
        self.assertEqual(self.model.encode_to(self.path("none.parquet"), []), 0)
        self.assertEqual(self.read(self.path("none.parquet")).column_names, ["text", "embedding"])
        self.assertEqual(self.model.encode_to(self.path("one.arrow"), "a dog", ids=[7], texts=False), 1)
        table = self.read(self.path("one.arrow"))
        self.assertEqual((table.column_names, table["id"].to_pylist()), (["id", "embedding"], [7]))

    @unittest.skipUnless(HAVE, "no pyarrow")
    def test_bad_input_leaves_what_was_there(self):
        path = self.path("a.parquet")
        self.model.encode_to(path, ["a dog"])
        before = pathlib.Path(path).read_bytes()

        def broken():
            yield from self.lines
            raise KeyError("mine")
        for sentences, more, error, message in (
                (broken(), {}, KeyError, "mine"), (["a", None], {}, TextTypeError, "text 1"),
                (self.lines, {"ids": [1, 2]}, ArgumentError, "ids: expected one for each text, got 2"),
                (["a"], {"ids": [1, 2]}, ArgumentError, "got more"), (["a"], {"ids": [object()]}, Exception, "object"),
                (["a"], {"truncate_dim": 0}, ArgumentError, "truncate_dim"), (["a"], {"prompt_name": "x"}, ArgumentError, "x")):
            with self.subTest(more=more), self.assertRaisesRegex(error, message):
                self.model.encode_to(path, sentences, batch_size=1, **more)
        self.assertEqual(pathlib.Path(path).read_bytes(), before)
        self.assertEqual(os.listdir(self.work), ["a.parquet"])
        with self.assertRaises(FileError):
            self.model.encode_to(os.path.join(self.work, "none", "a.parquet"), ["a"])

    def test_names(self):
        with self.assertRaisesRegex(ArgumentError, "path: expected a name that ends with"):
            self.model.encode_to(self.path("a.csv"), ["a"])

    @unittest.skipIf(HAVE, "pyarrow is there")
    def test_without_pyarrow(self):
        with self.assertRaisesRegex(ImportError, "roformer-c.arrow"):
            self.model.encode_to(self.path("a.parquet"), ["a"])


if __name__ == "__main__":
    unittest.main()
