"""The adapters, with each library that is installed."""
import copy
import pickle
import types
import unittest

import numpy as np

import support
from roformer_c import SentenceTransformer
from roformer_c.adapters import LangChainEmbeddings, MtebEncoder, SentenceVectorizer, llama_index_embedding

TEXTS = ["A dog barks.", "Prices fell."]
PROMPTS = (("query", "q: "), ("document", "d: "), ("STS", "sts: "), ("Fruits-query", "fq: "), ("Retrieval", "r: "))


class Adapters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = SentenceTransformer(support.SENTENCES)

    def test_langchain(self):
        try:
            from langchain_core.embeddings import Embeddings
        except ImportError:
            self.skipTest("no langchain-core")
        self.assertIsInstance(LangChainEmbeddings(self.model), Embeddings)

    def test_llama_index(self):
        try:
            import llama_index.core  # noqa: F401
        except ImportError:
            self.skipTest("no llama-index-core")
        e = llama_index_embedding(self.model)
        e.embed_batch_size = 7
        for other in (pickle.loads(pickle.dumps(e)), copy.deepcopy(e)):
            self.assertEqual(other.get_text_embedding(TEXTS[0]), e.get_text_embedding(TEXTS[0]))
            self.assertEqual(other.embed_batch_size, 7)

    def test_set_output(self):
        try:
            import pandas
            import sklearn  # noqa: F401
        except ImportError:
            self.skipTest("no scikit-learn and pandas")
        for truncate in (None, 5, 5000):
            frame = SentenceVectorizer(self.model, truncate_dim=truncate).set_output(transform="pandas").fit_transform(TEXTS)
            self.assertIsInstance(frame, pandas.DataFrame)
            self.assertTrue(np.array_equal(frame.to_numpy(), self.model.encode(TEXTS, truncate_dim=truncate)))
            self.assertEqual(frame.columns[1], "embedding1")

    def test_prompts_of_mteb(self):
        """The order is that of mteb.models.abs_encoder.get_prompt_name."""
        encoder = MtebEncoder(support.sentence_folder(prompts=PROMPTS))
        for name, kind, prompt_type, prompt in (
                ("Any", "STS", None, "sts: "), ("Fruits", "Retrieval", "query", "fq: "), ("Fruits", "Retrieval", "document", "r: "),
                ("Any", "Reranking", "query", "q: "), ("Any", "Reranking", "document", "d: "), ("Any", "Reranking", None, "")):
            v = encoder.encode([{"text": TEXTS}], task_metadata=types.SimpleNamespace(name=name, type=kind), prompt_type=prompt_type)
            self.assertTrue(np.array_equal(v, encoder.model.encode(TEXTS, prompt=prompt)), (name, kind, prompt_type))


if __name__ == "__main__":
    unittest.main()
