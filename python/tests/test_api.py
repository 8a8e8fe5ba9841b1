"""What sentence-transformers 6 has besides vectors: names, tensors, settings, modules, util; compared with it if here."""
import contextlib
import importlib.metadata
import io
import os
import pathlib
import re
import tempfile
import unittest

import numpy as np

import support
import roformer_c as sentence_transformers
from roformer_c import CrossEncoder, FileError, SentenceTransformer, SimilarityFunction, UnsupportedError, util

TEXTS = ["A dog barks.", "A hound howls.", "Prices fell.", "Prices rose on Monday."]


def other():
    try:
        import sentence_transformers
        return sentence_transformers
    except ImportError:
        raise unittest.SkipTest("no sentence-transformers") from None


class Api(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = SentenceTransformer(support.SENTENCES)
        cls.vectors = cls.model.encode(TEXTS)

    def same(self, a, b):
        self.assertTrue(np.array_equal(a, b))

    def test_names(self):
        m = sentence_transformers.SentenceTransformer(
            support.SENTENCES, trust_remote_code=True, local_files_only=True, backend="torch", token="x",
            similarity_fn_name=SimilarityFunction.DOT, model_kwargs={"attn_implementation": "eager", "dtype": "float32"})
        self.assertEqual(m.similarity_fn_name, "dot")
        self.assertIs(m.eval().to("cpu").cpu(), m)
        for v in (m.encode(inputs=TEXTS), m.encode(sentences=TEXTS), m.encode_query(inputs=TEXTS), m.encode_document(TEXTS),
                  m.encode(TEXTS, precision=None), m.encode(TEXTS, device=["cpu", "cpu"])):
            self.same(v, self.vectors)
        pool = m.start_multi_process_pool(["cpu", "cpu"])
        self.same(m.encode_multi_process(TEXTS, pool, chunk_size=2), self.vectors)
        self.same(m.encode(TEXTS, pool=pool, chunk_size=2), self.vectors)
        m.stop_multi_process_pool(pool)
        with m.truncate_embeddings(5):
            self.same(m.encode(TEXTS), self.vectors[:, :5])
        self.assertIsNone(m.truncate_dim)
        self.assertEqual(m.evaluate(lambda model, path: (model, path), "there"), (m, "there"))
        for arguments in ({"backend": "onnx"}, {"model_kwargs": {"device_map": "auto"}}, {"processor_kwargs": {"a": 1}},
                          {"modules": [1]}):
            with self.assertRaises(UnsupportedError, msg=arguments):
                SentenceTransformer(support.SENTENCES, **arguments)
        with self.assertRaises(TypeError):
            self.model.encode(TEXTS, sentences=TEXTS)

    def test_features(self):
        rows = self.model.encode(TEXTS, output_value=None)
        tokens = self.model.encode(TEXTS, output_value="token_embeddings")
        for row, v, t, text in zip(rows, self.vectors, tokens, TEXTS):
            self.same(row["sentence_embedding"], v)
            self.same(row["token_embeddings"], t)
            self.assertEqual(row["input_ids"].tolist(), self.model.tokenizer.encode(text).ids)
        self.same(self.model.encode(TEXTS[0], output_value=None)["sentence_embedding"], self.vectors[0])

    def test_tensors(self):
        try:
            import torch
        except ImportError:
            with self.assertRaisesRegex(UnsupportedError, "torch"):
                self.model.encode(TEXTS, convert_to_tensor=True)
            return
        t = self.model.encode(TEXTS, convert_to_tensor=True)
        self.assertIsInstance(t, torch.Tensor)
        self.same(t.numpy(), self.vectors)
        self.assertEqual(self.model.encode(TEXTS[0], convert_to_tensor=True).shape, (256,))
        rows = self.model.encode(TEXTS, convert_to_numpy=False)
        self.assertIsInstance(rows, list)
        for s in (self.model.similarity(t, t), self.model.similarity(rows, rows), util.cos_sim(t, t)):
            self.assertIsInstance(s, torch.Tensor)
            self.same(s.numpy(), self.model.similarity(self.vectors, self.vectors))
        self.assertIsInstance(self.model.similarity_pairwise(t, t), torch.Tensor)
        self.assertIsInstance(self.model.encode(TEXTS, output_value="token_embeddings", convert_to_tensor=True)[0], torch.Tensor)

    def test_modules_and_copies(self):
        dense = SentenceTransformer(support.sentence_folder(dense=(7,)))
        self.assertEqual([m.kind for m in dense], ["Transformer", "Pooling", "Dense"])
        self.assertEqual((len(dense), dense[-1].get_config_dict()["out_features"]), (3, 7))
        self.assertEqual([m.kind for m in SentenceTransformer(support.MASKED)], ["Transformer", "Pooling"])
        for folder in (support.SENTENCES, support.MASKED, support.sentence_folder(dense=(7,))):
            m = SentenceTransformer(folder, prompts={"query": "q: "}, similarity_fn_name="dot")
            m.max_seq_length = 9
            with tempfile.TemporaryDirectory() as work:
                m.save_pretrained(work + "/copy", create_model_card=False)
                again = SentenceTransformer(work + "/copy")
                self.assertEqual((again.prompts["query"], again.similarity_fn_name, again.max_seq_length), ("q: ", "dot", 9))
                self.same(again.encode_query(TEXTS), m.encode_query(TEXTS))
        with tempfile.NamedTemporaryFile() as file, self.assertRaises(FileError):
            self.model.save_pretrained(file.name + "/below")
        files = {str(p.relative_to(support.SENTENCES)): p.read_bytes() for p in pathlib.Path(support.SENTENCES).rglob("*") if p.is_file()}
        memory = SentenceTransformer(files)
        self.assertEqual(len(memory), len(self.model))
        with tempfile.TemporaryDirectory() as work:
            memory.save(work)
            self.same(SentenceTransformer(work).encode(TEXTS), self.vectors)

    def test_util(self):
        """Against their definitions, by loops."""
        random = np.random.default_rng(3)
        centers = random.normal(size=(4, 16))
        x = (centers[random.integers(0, 4, 60)] + 0.3 * random.normal(size=(60, 16))).astype(np.float32)
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        cos = unit @ unit.T
        np.testing.assert_allclose(util.pairwise_cos_sim(x[:5], x[5:10]), np.diag(cos[:5, 5:10]), atol=1e-6)
        for sizes in ((100, 500000), (7, 11)):
            for i, row in enumerate(util.semantic_search(x[:9], x, *sizes, top_k=6)):
                self.assertEqual([h["corpus_id"] for h in row], np.argsort(-cos[i], kind="stable")[:6].tolist())
        pairs = util.paraphrase_mining_embeddings(x, top_k=59)
        self.assertEqual(len(pairs), 60 * 59 // 2)
        self.assertEqual([p[0] for p in pairs], sorted((p[0] for p in pairs), reverse=True))
        self.assertEqual([p[1:] for p in util.paraphrase_mining_embeddings(x, max_pairs=10, top_k=59)], [p[1:] for p in pairs[:10]])
        groups = util.community_detection(x, threshold=0.8, min_community_size=3)
        self.assertEqual(len({k for g in groups for k in g}), sum(map(len, groups)))
        self.assertTrue(groups and all(cos[g[0], k] >= 0.8 for g in groups for k in g))
        mined = util.paraphrase_mining(self.model, TEXTS)
        best = np.triu(self.vectors @ self.vectors.T, 1)
        self.assertEqual(mined[0][1:], list(divmod(int(best.argmax()), len(TEXTS))))
        self.assertEqual(util.community_detection([]), [])

    def test_util_of_sentence_transformers(self):
        theirs = other().util
        x = np.random.default_rng(4).normal(size=(80, 6)).astype(np.float32)
        self.assertEqual(util.community_detection(x, 0.6, 3), [[int(k) for k in g] for g in theirs.community_detection(x, 0.6, 3)])
        for arguments in ({}, {"corpus_chunk_size": 13, "top_k": 5}, {"score_function": "dot"}):
            a, b = dict(arguments), dict(arguments)
            if "score_function" in arguments:
                a["score_function"], b["score_function"] = util.dot_score, theirs.dot_score
            for ours, right in zip(util.semantic_search(x[:7], x, **a), theirs.semantic_search(x[:7], x, **b)):
                self.assertEqual([h["corpus_id"] for h in ours], [h["corpus_id"] for h in right])
                np.testing.assert_allclose([h["score"] for h in ours], [h["score"] for h in right], atol=1e-5)
        import torch
        for arguments in ({}, {"top_k": 3, "query_chunk_size": 7}, {"max_pairs": 20}):
            ours = util.paraphrase_mining_embeddings(x, **arguments)
            right = theirs.paraphrase_mining_embeddings(torch.from_numpy(x), **arguments)
            self.assertEqual([p[1:] for p in ours], [p[1:] for p in right])
        for precision in ("int8", "uint8", "binary", "ubinary"):
            for more in ({}, {"calibration_embeddings": x[:40]}, {"ranges": np.stack([x.min(0) - 1, x.max(0)])}):
                self.same(util.quantize_embeddings(x, precision, **more), theirs.quantize_embeddings(x, precision, **more))

    def test_readme_of_sentence_transformers(self):
        """The blocks of its README, with the import line changed and models that are here."""
        model = sentence_transformers.SentenceTransformer(support.SENTENCES)
        embeddings = model.encode(["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."])
        self.assertEqual(embeddings.shape, (3, 256))
        self.assertEqual(model.similarity(embeddings, embeddings).shape, (3, 3))
        cross = CrossEncoder(support.folder("classify/models/one"))
        query, passages = "how many", ["the a?", "b", "ab cd."]
        scores = cross.predict([(query, passage) for passage in passages])
        ranks = cross.rank(query, passages, return_documents=True)
        for rank in ranks:
            self.assertIn("- #%d (%.2f): %s" % (rank["corpus_id"], rank["score"], rank["text"]),
                          ["- #%d (%.2f): %s" % (i, s, p) for i, (s, p) in enumerate(zip(scores, passages))])

    def test_readme_as_it_is(self):
        """Every block of Python in its README runs here, but those of the two classes that docs/python.md says are missing."""
        other()
        blocks = re.findall(r"```python\n(.*?)```", importlib.metadata.metadata("sentence-transformers").get_payload(), re.S)
        ran, missing, names = 0, [], {}
        for block in blocks:
            for a, b in (("from sentence_transformers import", "from roformer_c import"),
                         ("sentence-transformers/all-MiniLM-L6-v2", support.SENTENCES),
                         ("cross-encoder/ms-marco-MiniLM-L6-v2", support.folder("classify/models/one"))):
                block = block.replace(a, b)
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(block, names)
                ran += 1
            except ImportError as e:
                missing.append(str(e).split("'")[1])
        self.assertGreater(ran, 4)
        self.assertEqual(missing, ["SparseEncoder", "MultiVectorEncoder"])


if __name__ == "__main__":
    unittest.main()
