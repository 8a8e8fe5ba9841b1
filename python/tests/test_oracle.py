"""The same results as sentence-transformers, transformers, tokenizers and sacrebleu, where these are installed.

Vectors, scores and probabilities agree to 1e-5: both sides compute in f32, in other orders of summation."""
import unittest

import numpy as np

import support
import roformer_c

LONG = "a b c d e f g " * 40
TOLERANCE = 1e-5


def needs(name):
    try:
        return __import__(name)
    except ImportError:
        raise unittest.SkipTest("%s is not installed" % name) from None


class SentenceTransformers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.theirs = needs("sentence_transformers")
        cls.lines = support.lines(60) + ["", "a", "\u6f22\u5b57 \u00e9t\u00e9", "word " * 300]

    def compare(self, folder, **more):
        ours, theirs = roformer_c.SentenceTransformer(folder, **more), self.theirs.SentenceTransformer(folder, device="cpu", **more)
        self.assertEqual(ours.max_seq_length, theirs.max_seq_length)
        self.assertEqual(ours.get_sentence_embedding_dimension(), theirs.get_sentence_embedding_dimension())
        self.assertEqual(ours.similarity_fn_name, theirs.similarity_fn_name)
        return ours, theirs

    def test_vectors(self):
        ours, theirs = self.compare(support.SENTENCES)
        for arguments in ({}, {"normalize_embeddings": True}, {"truncate_dim": 24}, {"prompt": "query: "},
                          {"truncate_dim": 24, "normalize_embeddings": True}, {"batch_size": 3}):
            np.testing.assert_allclose(ours.encode(self.lines, **arguments), theirs.encode(self.lines, **arguments),
                                       atol=TOLERANCE, err_msg=str(arguments))
        a, b = ours.encode(self.lines[:9]), ours.encode(self.lines[9:20])
        for name in ("cosine", "dot", "euclidean", "manhattan"):
            ours.similarity_fn_name = theirs.similarity_fn_name = name
            np.testing.assert_allclose(ours.similarity(a, b), theirs.similarity(a, b).numpy(), atol=TOLERANCE)
            np.testing.assert_allclose(ours.similarity_pairwise(a, b[:9]), theirs.similarity_pairwise(a, b[:9]).numpy(),
                                       atol=TOLERANCE)

    def test_token_embeddings(self):
        ours, theirs = self.compare(support.SENTENCES)
        for options in ({}, {"normalize_embeddings": True}):
            for a, b in zip(ours.encode(self.lines[:20], output_value="token_embeddings", **options),
                            theirs.encode(self.lines[:20], output_value="token_embeddings", **options)):
                np.testing.assert_allclose(a, b.numpy(), atol=TOLERANCE * 10)             # not normalized: |x| up to 10
        e = theirs.tokenizer(self.lines[:20], padding=True, truncation=True, max_length=theirs.max_seq_length,
                             return_tensors="np")
        mine = ours.tokenize(self.lines[:20])
        self.assertTrue(np.array_equal(mine["input_ids"], e["input_ids"]))
        self.assertTrue(np.array_equal(mine["attention_mask"], e["attention_mask"]))

    def test_precision(self):
        """Codes of the same vectors: a number on the edge between two codes may fall on either side."""
        ours, theirs = self.compare(support.SENTENCES)
        for precision in ("int8", "uint8", "binary", "ubinary"):
            a, b = ours.encode(self.lines, precision=precision), theirs.encode(self.lines, precision=precision)
            self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
            if precision.endswith("int8"):
                self.assertLessEqual(abs(a.astype(int) - b).max(), 1)
                self.assertGreater((a == b).mean(), 0.99)
            else:
                bits = np.unpackbits(a.view(np.uint8)) == np.unpackbits(b.view(np.uint8))
                self.assertGreater(bits.mean(), 0.999)

    def test_other_families(self):
        ours, theirs = self.compare(str(support.GOLDEN / "sentences" / "models" / "bert"))
        few = ["a b", "b a a", ""]
        np.testing.assert_allclose(ours.encode(few), theirs.encode(few), atol=TOLERANCE)

    def test_cross_encoders(self):
        pairs = [("a b", "c"), ("a b", "d e f"), ("g", "")]
        for name in ("classify/models/one", "classify/models/three"):
            folder = support.folder(name)
            ours, theirs = roformer_c.CrossEncoder(folder), self.theirs.CrossEncoder(folder, device="cpu")
            np.testing.assert_allclose(ours.predict(pairs), theirs.predict(pairs), atol=TOLERANCE, err_msg=name)
            np.testing.assert_allclose(ours.predict(pairs[0]), theirs.predict(pairs[0]), atol=TOLERANCE)
            if ours.num_labels > 1:
                np.testing.assert_allclose(ours.predict(pairs, apply_softmax=True),
                                           theirs.predict(pairs, apply_softmax=True), atol=TOLERANCE)
            else:
                a, b = (m.rank("a b", ["c", "d e f", "g h"], return_documents=True) for m in (ours, theirs))
                self.assertEqual([(x["corpus_id"], x["text"]) for x in a], [(x["corpus_id"], x["text"]) for x in b])
                np.testing.assert_allclose([x["score"] for x in a], [x["score"] for x in b], atol=TOLERANCE)


class Pipelines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.theirs = needs("transformers")
        needs("torch")

    def same(self, a, b, where):
        """The same shapes and names; numbers to the tolerance."""
        if isinstance(b, dict):
            self.assertEqual(list(a), list(b), where)
            for k in b:
                self.same(a[k], b[k], where + "." + k)
        elif isinstance(b, (list, tuple)):
            self.assertEqual(len(a), len(b), where)
            for i, (x, y) in enumerate(zip(a, b)):
                self.same(x, y, "%s[%d]" % (where, i))
        elif isinstance(b, (float, np.floating)):
            self.assertAlmostEqual(float(a), float(b), delta=TOLERANCE, msg=where)
        else:
            self.assertEqual(a, b, where)

    def compare(self, task, folder, *calls):
        ours, theirs = roformer_c.pipeline(task, folder), self.theirs.pipeline(task, folder, device="cpu", dtype="float32")
        for inputs, arguments in calls:
            self.same(ours(inputs, **arguments), theirs(inputs, **arguments), "%s(%r, %r)" % (task, inputs, arguments))

    def test_fill_mask(self):
        self.compare("fill-mask", support.MASKED,
                     ("She won the gold [MASK] at the Olympic Games.", {}),
                     ("The [MASK] flows into the [MASK] Sea.", {"top_k": 2}),
                     (["a [MASK].", "The [MASK] of the city."], {"top_k": 3}), (["a [MASK]."], {}),
                     ("She won the gold [MASK].", {"targets": ["medal", "title"]}), ("a [MASK].", {"targets": "dog"}))

    def test_text_classification(self):
        for name in ("classify/models/one", "classify/models/three"):
            self.compare("text-classification", support.folder(name),
                         ("a b", {}), (["a b", "c"], {}), ("a b", {"top_k": 1}), ("a b", {"top_k": None}),
                         (["a b", "c"], {"top_k": 2}), ({"text": "a b", "text_pair": "c"}, {}),
                         ([{"text": "a b", "text_pair": "c"}], {}), ("a b", {"function_to_apply": "none"}),
                         ("a b", {"function_to_apply": "sigmoid", "top_k": None}), (LONG, {"max_length": 8}),
                         (LONG, {"truncation": True, "max_length": 9, "padding": "max_length", "top_k": None}),
                         ({"text": "a b", "text_pair": LONG}, {"truncation": "longest_first", "max_length": 11}),
                         ("a b", {"padding": "max_length", "max_length": 12}), (LONG, {"truncation": "only_first", "max_length": 5}),
                         (["a b", "c d e"], {"padding": True, "batch_size": 2, "num_workers": 0}), ([[["a b", "c"]]], {}))
            options = {"truncation": True, "max_length": 7, "top_k": None, "batch_size": 2}
            ours = roformer_c.pipeline("text-classification", support.folder(name), **options)
            theirs = self.theirs.pipeline("text-classification", support.folder(name), device="cpu", dtype="float32", **options)
            for inputs in (LONG, [LONG, "a"], {"text": "a", "text_pair": LONG}):
                self.same(ours(inputs), theirs(inputs), repr(inputs))

    def test_lengths(self):
        self.compare("fill-mask", support.MASKED,
                     ("She won the gold [MASK] at the Olympic Games.", {"tokenizer_kwargs": {"truncation": True, "max_length": 7}}))
        self.compare("feature-extraction", support.folder("bert/masked"),
                     (LONG, {"truncation": True, "tokenize_kwargs": {"max_length": 9}}),
                     (LONG, {"tokenize_kwargs": {"truncation": True, "max_length": 6}}))

    def test_token_classification(self):
        for name in ("bert/token", "heads/token"):
            folder = support.folder(name)
            calls = [(x, {"ignore_labels": [], "aggregation_strategy": s}) for s in ("none", "simple", "first", "average", "max")
                     for x in ("the ab \u00e9c. zz", ["the ab", "c"])]
            self.compare("token-classification", folder, *calls)

    def test_feature_extraction(self):
        self.compare("feature-extraction", support.folder("bert/masked"), ("a b c", {}), (["a b c", "the"], {}))


class Others(unittest.TestCase):
    def test_tokenizers(self):
        tokenizers = needs("tokenizers")
        import json
        import os
        config = json.load(open(os.path.join(support.SENTENCES, "tokenizer_config.json")))
        theirs = tokenizers.BertWordPieceTokenizer(os.path.join(support.SENTENCES, "vocab.txt"),
                                                   lowercase=config.get("do_lower_case", True))
        ours = roformer_c.Tokenizer.from_folder(support.SENTENCES)
        texts = support.lines(300) + ["\u00c9t\u00e9 \u6f22\u5b57\U0001f642 na\u0308\u0301ive", "", "a\u0000b \t\u2003c"]
        for text, a, b in zip(texts, ours.encode_batch(texts), theirs.encode_batch(texts)):
            self.assertEqual((a.ids, a.tokens, a.offsets, a.type_ids, a.special_tokens_mask),
                             (b.ids, b.tokens, b.offsets, b.type_ids, b.special_tokens_mask), text)

    def test_sacrebleu(self):
        sacrebleu = needs("sacrebleu")
        system = ["the cat sat on the mat", "It is a guide, isn't it?", "\u6f22\u5b57 and words"]
        references = [["the cat sat on a mat", "It is the guide, is it not?", "\u6f22\u5b57 and a word"],
                      ["a cat sat", "It is a guide", "words"]]
        for ours, theirs in ((roformer_c.bleu(system, references), sacrebleu.corpus_bleu(system, references)),
                             (roformer_c.bleu(system, references, tokenize="zh"), sacrebleu.corpus_bleu(system, references, tokenize="zh")),
                             (roformer_c.chrf(system, references), sacrebleu.corpus_chrf(system, references)),
                             (roformer_c.chrf(system, references, word_order=2), sacrebleu.corpus_chrf(system, references, word_order=2)),
                             (roformer_c.ter(system, references), sacrebleu.corpus_ter(system, references))):
            self.assertAlmostEqual(ours.score, theirs.score, places=9)
            self.assertEqual(ours.format(), theirs.format())


if __name__ == "__main__":
    unittest.main()
