"""What is iterated in another way than by its rows is refused; what holds texts in another type is taken."""
import collections
import types
import unittest

import numpy as np

import support
from roformer_c import ArgumentError, CrossEncoder, SentenceTransformer, TextTypeError, Tokenizer, bleu, pipeline

TEXTS = ["A dog barks.", "Prices fell.", "A dog barks."]


def optional(name):
    try:
        return __import__(name)
    except ImportError:
        raise unittest.SkipTest("no " + name) from None


class Inputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = SentenceTransformer(support.SENTENCES)
        cls.expected = cls.model.encode(TEXTS)

    def refused_everywhere(self, x):
        cross = CrossEncoder(support.folder("classify/models/one"))
        for call in (self.model.encode, self.model.encode_stream, self.model.tokenize, cross.predict,
                     lambda x: cross.rank("a", x), Tokenizer.from_folder(support.SENTENCES).encode_batch,
                     pipeline("feature-extraction", support.SENTENCES), lambda x: bleu(x, [x]),
                     lambda x: bleu(TEXTS, [x]), pipeline("text-classification", support.folder("classify/models/three"))):
            with self.subTest(kind=type(x).__name__, call=call), self.assertRaises((TextTypeError, ArgumentError)):
                call(x)

    def test_keys_and_sets(self):
        for x in (collections.UserDict(text="a", label="b"), types.MappingProxyType({"text": "a"}), set(TEXTS),
                  frozenset(TEXTS), collections.OrderedDict(a="b"), collections.Counter(TEXTS)):
            self.refused_everywhere(x)
        self.assertEqual(self.model.encode(dict.fromkeys(TEXTS).keys()).shape, (2, 256))

    def test_pandas(self):
        pandas = optional("pandas")
        self.refused_everywhere(pandas.DataFrame({"text": TEXTS, "label": TEXTS}))
        kinds = ["object", "string"] + (["string[pyarrow]"] if __import__("importlib").util.find_spec("pyarrow") else [])
        for kind in kinds:
            series = pandas.Series(TEXTS, dtype=kind, index=[5, 3, 9])
            for given in (series, series.array, series.tolist(), pandas.Index(series), series.astype("category")):
                self.assertTrue(np.array_equal(self.model.encode(given), self.expected), kind)

    def test_pyarrow(self):
        pa = optional("pyarrow")
        self.refused_everywhere(pa.table({"text": TEXTS}))
        for kind in (pa.string(), pa.large_string(), pa.string_view()):
            column = pa.array(TEXTS, kind)
            for given in (column, pa.chunked_array([column[:1], column[1:]]), list(column), iter(column)):
                self.assertTrue(np.array_equal(self.model.encode(given), self.expected), kind)
        self.assertTrue(np.array_equal(self.model.encode(pa.scalar(TEXTS[0])), self.expected[0]))
        with self.assertRaisesRegex(TextTypeError, "text 1"):
            self.model.encode(pa.array(["a", None]))


if __name__ == "__main__":
    unittest.main()
