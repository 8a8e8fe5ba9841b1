"""Pipelines: the shapes of their results, and numbers computed from the model's outputs in other ways."""
import json
import os
import pickle
import shutil
import tempfile
import unittest

import numpy as np

import roformer_c
import support
from roformer_c import ArgumentError, CrossEncoder, DataError, RoformerError, TextTypeError, UnsupportedError, pipeline


class FillMask(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fill = pipeline("fill-mask", support.MASKED)

    def test_shapes(self):
        one = self.fill("She won the gold [MASK] at the Olympic Games.")
        self.assertEqual(len(one), 5)
        self.assertEqual(one[0]["token_str"], "medal")
        self.assertEqual(one[0]["sequence"], "she won the gold medal at the olympic games.")
        self.assertEqual(self.fill.tokenizer.id_to_token(one[0]["token"]), "medal")
        self.assertEqual(sorted(one, key=lambda x: -x["score"]), one)
        two = self.fill("The [MASK] flows into the [MASK].", top_k=3)
        self.assertEqual([len(x) for x in two], [3, 3])
        self.assertIn("[MASK]", two[0][0]["sequence"])
        many = self.fill(["a [MASK].", "She won the gold [MASK] at the Olympic Games."])
        self.assertEqual(many[1], one)
        self.assertEqual(self.fill(x for x in ["a [MASK]."]), [many[0]])

    def test_targets(self):
        found = self.fill("She won the gold [MASK] at the Olympic Games.", targets=["title", "medal"])
        self.assertEqual([x["token_str"] for x in found], ["medal", "title"])
        whole = self.fill("She won the gold [MASK] at the Olympic Games.", top_k=2)
        self.assertEqual(found, whole)
        with self.assertWarnsRegex(UserWarning, "'Medal'; the first token of its text, medal, is used"):      # as transformers
            self.assertEqual(self.fill("a [MASK].", targets="Medal"), self.fill("a [MASK].", targets="medal"))
        with self.assertWarnsRegex(UserWarning, "the first token of its text, medal, is used") as caught:
            self.assertEqual(len(self.fill("a [MASK].", targets=["medals of", "title"])), 2)
        self.assertEqual(caught.filename, __file__)
        with self.assertWarns(UserWarning), self.assertRaisesRegex(ArgumentError, "targets: expected tokens"):
            self.fill("a [MASK]", targets="")

    def test_bad_input(self):
        with self.assertRaises(DataError):
            self.fill("no mask")
        with self.assertRaises(TextTypeError):
            self.fill(None)
        with self.assertRaises(ArgumentError):
            self.fill("a [MASK]", top_k=0)
        with self.assertRaises(TypeError):
            self.fill("a [MASK]", truncation=True)
        for kwargs in ({"stride": 1}, {"max_length": 0, "truncation": True}, {"padding": "max_length"}):
            with self.assertRaises(ValueError, msg=kwargs):
                self.fill("a [MASK]", tokenizer_kwargs=kwargs)
        with self.assertRaises(UnsupportedError):
            pipeline("fill-mask", support.SENTENCES)("a [MASK]")


class Classification(unittest.TestCase):
    def test_texts_and_pairs(self):
        c = pipeline("text-classification", support.folder("classify/models/three"))
        z = np.array([[x["score"] for x in sorted(c(t, top_k=None, function_to_apply="none"), key=lambda x: x["label"])]
                      for t in ("a b", "c")])
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        all_of_them = c(["a b", "c"], top_k=None)
        for row, expected in zip(all_of_them, p):
            np.testing.assert_allclose([x["score"] for x in row], np.sort(expected)[::-1], atol=1e-6)
        self.assertEqual(c("a b"), [all_of_them[0][0]])
        self.assertEqual(c(["a b", "c"]), [r[0] for r in all_of_them])
        self.assertEqual(c("a b", top_k=2), all_of_them[0][:2])
        pair = c({"text": "a b", "text_pair": "c"})
        self.assertEqual(set(pair), {"label", "score"})
        self.assertNotEqual(pair["score"], c("a b")[0]["score"])
        mixed = c([{"text": "a b", "text_pair": "c"}, "a b"])
        self.assertEqual(mixed, [pair, c("a b")[0]])
        sigmoid = c("a b", top_k=None, function_to_apply="sigmoid")
        np.testing.assert_allclose([x["score"] for x in sigmoid], np.sort(1 / (1 + np.exp(-z[0])))[::-1], atol=1e-6)

    def test_bad_input(self):
        c = pipeline("text-classification", support.folder("classify/models/three"))
        for given in ({"a": "b"}, {"text": "a", "more": 1}):
            with self.assertRaises(ArgumentError):
                c(given)
        with self.assertRaises(TextTypeError):
            c([3])
        with self.assertRaises(ArgumentError):
            c("a", function_to_apply="relu")
        with self.assertRaises(UnsupportedError):
            pipeline("text-classification", support.MASKED)("a")


    def test_lengths(self):
        """Truncation as transformers' tokenizers take it: max_length counts the added tokens."""
        c = pipeline("text-classification", support.folder("classify/models/three"))
        long = "a b c d e f g " * 40
        short = c("a b c d e f")                                # 8 tokens with [CLS] and [SEP]
        for arguments in ({"max_length": 8}, {"max_length": 8, "truncation": True}, {"max_length": 8, "truncation": "only_first"}):
            for more in ({}, {"padding": True}, {"padding": "max_length"}, {"batch_size": 3, "num_workers": 1}):
                self.assertAlmostEqual(c(long, **arguments, **more)[0]["score"], short[0]["score"], places=6)
        self.assertEqual(c(long, truncation=True), c(long))
        with self.assertRaises(DataError):
            c(long, truncation=False)
        self.assertEqual(c("a b", truncation=False)[0]["label"], c("a b")[0]["label"])
        self.assertAlmostEqual(c({"text": "a b", "text_pair": long}, max_length=8)["score"],
                               c({"text": "a b", "text_pair": "a b c"})["score"], places=6)
        for arguments in ({"truncation": "none"}, {"max_length": 0}, {"padding": 3}, {"batch_size": 0}, {"num_workers": -1}):
            with self.assertRaises(ArgumentError, msg=arguments):
                c("a", **arguments)
        with self.assertRaises(UnsupportedError):
            c([{"text": "a", "text_pair": "b"}], truncation="only_second", max_length=9)
        one = pipeline("text-classification", support.folder("classify/models/one"))
        self.assertAlmostEqual(one(long, max_length=8)[0]["score"], one("a b c d e f")[0]["score"], places=6)

    def test_tuples(self):
        c = pipeline("text-classification", support.folder("classify/models/three"))
        pair = c({"text": "a b", "text_pair": "c"})
        self.assertEqual(c(("a b", "c")), c(["a b", "c"]))
        self.assertEqual(c([("a b", "c"), "a b"]), [pair, c("a b")[0]])
        self.assertEqual(c([[["a b", "c"]]]), [pair])

    def test_options_of_the_pipeline(self):
        c = pipeline("text-classification", support.folder("classify/models/three"), top_k=None, max_length=8, batch_size=4)
        plain = pipeline("text-classification", c.model)
        long = "a b c d e f g " * 40
        self.assertEqual(c("a b"), [plain("a b", top_k=None)])
        self.assertEqual(c(["a b", "c"]), plain(["a b", "c"], top_k=None))
        self.assertEqual(c(long, top_k=2), plain(long, top_k=2, max_length=8))
        again = pickle.loads(pickle.dumps(c))
        self.assertEqual(again(long), c(long))
        with self.assertRaises(TypeError):
            pipeline("text-classification", c.model, doc_stride=3)


class Cross(unittest.TestCase):
    def test_scores(self):
        m = CrossEncoder(support.folder("classify/models/one"))
        pairs = [("a b", "c"), ("a b", "d e"), ("f", "c"), ("a b", "c")]
        s = m.predict(pairs)
        self.assertEqual((s.shape, s.dtype), ((4,), np.float32))
        self.assertEqual(s[0], s[3])
        for i, p in enumerate(pairs):
            self.assertEqual(m.predict(p), s[i])
            self.assertEqual(m.predict([p], batch_size=1)[0], s[i])
        self.assertTrue(np.array_equal(m.predict(np.array(pairs)), s))
        self.assertTrue(np.array_equal(m.predict(iter(pairs), batch_size=2), s))
        c = pipeline("text-classification", support.folder("classify/models/one"))
        np.testing.assert_allclose(s[1], c({"text": "a b", "text_pair": "d e"})["score"], rtol=1e-6)
        ranked = m.rank("a b", ["c", "d e"], return_documents=True)
        self.assertEqual([r["corpus_id"] for r in ranked], np.argsort(-s[:2]).tolist())
        self.assertEqual(ranked[0]["text"], ["c", "d e"][ranked[0]["corpus_id"]])
        self.assertEqual(len(m.rank("a b", ["c", "d e"], top_k=1)), 1)
        self.assertEqual(m.predict([]).shape, (0,))

    def test_several_outputs(self):
        m = CrossEncoder(support.folder("classify/models/three"))
        z = m.predict([("a", "b"), ("c", "d")])
        self.assertEqual(z.shape, (2, 3))
        p = m.predict([("a", "b"), ("c", "d")], apply_softmax=True)
        np.testing.assert_allclose(p, np.exp(z) / np.exp(z).sum(axis=1, keepdims=True), atol=1e-6)
        with self.assertRaises(ArgumentError):
            m.rank("a", ["b"])

    def test_bad_input(self):
        m = CrossEncoder(support.folder("classify/models/one"))
        for given, kind in (("ab", TextTypeError), (None, TextTypeError), ([("a",)], ArgumentError),
                            ([("a", None)], TextTypeError), ([("a", "\ud800")], DataError), ([(None, "a")], TextTypeError)):
            with self.assertRaises(kind, msg=given):
                m.predict(given)
        for arguments in ({"prompt_name": "none"}, {"batch_size": 0}):
            with self.assertRaises(ArgumentError, msg=arguments):
                m.predict([("a", "b")], **arguments)
        with self.assertRaises(RoformerError):
            CrossEncoder(support.SENTENCES)
        self.assertEqual(m.predict([("a", "b")]).shape, (1,))


class Tokens(unittest.TestCase):
    def setUp(self):
        self.tags = pipeline("token-classification", support.folder("bert/token"))

    def test_entities(self):
        text = "the ab \u00e9c."
        rows = self.tags(text, ignore_labels=())
        e = self.tags.tokenizer.encode(text)
        self.assertEqual([r["index"] for r in rows], list(range(1, len(e) - 1)))
        self.assertEqual([(r["start"], r["end"]) for r in rows], e.offsets[1:-1])
        self.assertEqual([r["word"] for r in rows], ["the", "a", "##b", "e", "##c", "."])
        self.assertTrue(all(0 < r["score"] <= 1 and r["entity"] in self.tags.labels for r in rows))
        kept = self.tags(text, ignore_labels=[rows[0]["entity"]])
        self.assertEqual(kept, [r for r in rows if r["entity"] != rows[0]["entity"]])
        self.assertEqual(self.tags([text, "a"], ignore_labels=())[0], rows)

    def test_words_of_bytes(self):
        self.assertEqual(roformer_c.tags._text_of_bytes("\u0120caf\u00c3\u00a9\u0120\u00e6\u0139\u00a5"), " caf\u00e9 \u65e5")
        self.assertEqual(roformer_c.tags._text_of_bytes("\u00c3"), "\ufffd")
        self.assertEqual(len(set(roformer_c.tags.BYTES.values())), 256)

    def test_groups(self):
        text = "the ab cd."
        rows = self.tags(text, ignore_labels=())
        for strategy in ("simple", "first", "average", "max"):
            groups = self.tags(text, aggregation_strategy=strategy, ignore_labels=())
            self.assertEqual((groups[0]["start"], groups[-1]["end"]), (0, len(text)))
            for g in groups:
                self.assertEqual(set(g), {"entity_group", "score", "word", "start", "end"})
            for a, b in zip(groups, groups[1:]):
                self.assertLessEqual(a["end"], b["start"])
        first = self.tags(text, aggregation_strategy="first", ignore_labels=())
        self.assertEqual(first[0]["entity_group"], rows[0]["entity"].split("-")[-1])
        with self.assertRaises(ArgumentError):
            self.tags(text, aggregation_strategy="last")
        with self.assertRaises(UnsupportedError):
            pipeline("token-classification", support.MASKED)("a")


def served(name):
    """The cases of tests/golden/serving, by transformers' pipelines."""
    return [json.loads(x) for x in (support.GOLDEN / "serving" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[1:]]


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.qa = pipeline("question-answering", support.folder("bert/span"))

    def test_the_best_span(self):
        question, context = "the a?", "bc de. \u00e9 the fg"
        found = self.qa(question=question, context=context, align_to_words=False)
        e = self.qa.tokenizer.encode(question, context)
        z = self.qa.model.logits(self.qa.model.encode([question], [context]))
        at = [i for i in range(len(e)) if e.type_ids[i] == 1 and not e.special_tokens_mask[i]]
        may = [0] + at
        p = np.exp(z[may].astype(float)) / np.exp(z[may].astype(float)).sum(axis=0)
        best = max((p[1 + i, 0] * p[1 + j, 1], i, j) for i in range(len(at)) for j in range(i, min(len(at), i + 15)))
        self.assertAlmostEqual(found["score"], best[0], places=6)
        self.assertEqual((found["start"], found["end"]), (e.offsets[at[best[1]]][0], e.offsets[at[best[2]]][1]))
        self.assertEqual(found["answer"], context[found["start"]:found["end"]])

    def test_words_and_forms(self):
        rows = [{"question": "the a?", "context": "bc de. the fg"}] * 2
        many = self.qa(rows)
        self.assertEqual(many[0], self.qa(question="the a?", context="bc de. the fg"))
        self.assertEqual(many[0], many[1])
        a = many[0]
        self.assertIn(a["answer"], "bc de. the fg")
        self.assertTrue(a["start"] == 0 or not "bc de. the fg"[a["start"] - 1].isalpha() or not a["answer"][0].isalpha())
        self.assertEqual(len(self.qa(question="a", context="bc de. the fg", top_k=3)), 3)
        none = self.qa(question="a", context="bc de", handle_impossible_answer=True, top_k=50)
        self.assertEqual(sum(x["answer"] == "" for x in none), 1)
        self.assertEqual(len({x["answer"].lower() for x in none}), len(none))

    def test_results_of_transformers(self):
        for r in served("span"):
            found, expected = self.qa(r["request"]["inputs"], **r["request"]["parameters"]), r["answer"]
            found, expected = (x if isinstance(x, list) else [x] for x in (found, expected))
            self.assertEqual([(x["answer"], x["start"], x["end"]) for x in found], [(x["answer"], x["start"], x["end"]) for x in expected])
            np.testing.assert_allclose([x["score"] for x in found], [x["score"] for x in expected], atol=1e-5)

    def test_long_contexts(self):
        context = " ".join(["ab"] * 40)
        whole = self.qa(question="a", context=context, max_seq_len=20, doc_stride=4, align_to_words=False)
        self.assertEqual(whole["answer"], context[whole["start"]:whole["end"]])
        with self.assertRaises(ArgumentError):
            self.qa(question="a", context=context, max_seq_len=6, doc_stride=4)
        with self.assertRaises(ArgumentError):
            self.qa(question="a", context=context, max_seq_len=10000)

    def test_bad_input(self):
        for arguments in ({"question": "a"}, {"inputs": {"question": "a"}}, {"inputs": [3]},
                          {"question": ["a", "b"], "context": ["c"]}, {"question": "a", "context": "b", "top_k": 0}):
            with self.assertRaises(ArgumentError, msg=arguments):
                self.qa(**arguments)
        with self.assertRaises(TextTypeError):
            self.qa(question="a", context=[None])


class ZeroShot(unittest.TestCase):
    def test_results_of_transformers(self):
        folder = support.folder("bert/sequence", use_cache=False)
        shutil.copy(support.GOLDEN / "serving" / "nli" / "config.json", folder)
        choose = pipeline("zero-shot-classification", folder)
        rows = [r for r in served("nli") if "candidate_labels" in r["request"]["parameters"]]
        self.assertGreater(len(rows), 15)
        for r in rows:
            found, answer = choose(r["request"]["inputs"], **r["request"]["parameters"]), r["answer"]
            if "path" not in r:                                         # the form of the inference API
                answer = {"labels": [x["label"] for x in answer], "scores": [x["score"] for x in answer]}
            self.assertEqual(isinstance(found, list), isinstance(answer, list))
            for one, expected in zip(*([x] if isinstance(x, dict) else x for x in (found, answer))):
                self.assertEqual(one["labels"], expected["labels"])
                self.assertIn(expected.get("sequence"), (None, one["sequence"]))
                np.testing.assert_allclose(one["scores"], expected["scores"], atol=1e-5)
        many = choose(["a b", "c"], ["a", "b"], multi_label=True)
        self.assertEqual(many[0], choose("a b", ["a", "b"], multi_label=True))
        self.assertEqual([x["sequence"] for x in many], ["a b", "c"])
        for arguments in (("a", []), ("a", [3]), ("a", "b", "no place")):
            with self.assertRaises(ArgumentError, msg=arguments):
                choose(*arguments[:2], **({"hypothesis_template": arguments[2]} if len(arguments) > 2 else {}))
        for arguments in (("", ["b"]), ("a", ["b " * 80])):             # no text; a hypothesis longer than the positions
            with self.assertRaises(DataError, msg=arguments):
                choose(*arguments)
        self.assertEqual(choose([], ["b"]), [])
        with self.assertWarnsRegex(UserWarning, "entailment"):
            other = pipeline("zero-shot-classification", support.folder("bert/sequence"))
        self.assertEqual(other("a", ["b"])["labels"], ["b"])


class Features(unittest.TestCase):
    def test_vectors_of_tokens(self):
        f = pipeline("feature-extraction", support.SENTENCES)
        self.assertEqual(f("a " * 200, return_tensors="np").shape, (1, 202, 256))   # not truncated to model_max_length
        with self.assertRaisesRegex(DataError, "position of token"):
            pipeline("feature-extraction", support.folder("bert/masked"))("a " * 2000)
        v = f("A dog barks.")
        self.assertEqual(np.array(v).shape, (1, 7, 256))
        many = f(["A dog barks.", "a"], return_tensors="np")
        self.assertEqual([m.shape for m in many], [(1, 7, 256), (1, 3, 256)])
        self.assertTrue(np.array_equal(many[0], np.array(v, np.float32)))
        with self.assertRaises(ArgumentError):
            f("a", return_tensors="tf")
        plain = pipeline("feature-extraction", support.folder("bert/masked"))
        most = plain.model.max_positions
        long = "a " * 2000
        for arguments, tokens in (({"truncation": True}, most), ({"tokenize_kwargs": {"truncation": True}}, most),
                                  ({"tokenize_kwargs": {"truncation": True, "max_length": 7, "padding": True}}, 7)):
            self.assertEqual(plain(long, return_tensors="np", batch_size=2, **arguments).shape[1], tokens)
        self.assertEqual(pipeline("feature-extraction", plain.model, truncation=True)(long)[0], plain(long, truncation=True)[0])
        with self.assertRaises(ArgumentError):
            plain(long, truncation=True, tokenize_kwargs={"truncation": True})


class Generation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.generate = pipeline("text-generation", str(support.GOLDEN / "gpt"))

    def test_forms(self):
        one = self.generate("a", max_new_tokens=6)
        self.assertEqual(set(one[0]), {"generated_text"})
        new = self.generate("a", max_new_tokens=6, return_full_text=False)[0]["generated_text"]
        self.assertEqual(one[0]["generated_text"], "a" + new)
        self.assertEqual(self.generate(["a", "a"], max_new_tokens=6), [one, one])
        several = self.generate("a", max_new_tokens=6, do_sample=True, num_return_sequences=3, seed=1)
        self.assertEqual(len(several), 3)
        self.assertEqual(several, self.generate("a", max_new_tokens=6, do_sample=True, num_return_sequences=3, seed=1))
        equal = self.generate(["a"] * 3, max_new_tokens=12, do_sample=True, seed=1)
        self.assertEqual(len({x[0]["generated_text"] for x in equal}), 3)
        self.assertEqual(equal[0], self.generate("a", max_new_tokens=12, do_sample=True, seed=1))
        beams = self.generate("a", max_new_tokens=6, num_beams=3, num_return_sequences=2, early_stopping=True)
        self.assertEqual(len(beams), 2)

    def test_a_given_maximum_counts_over_that_of_the_folder(self):
        with tempfile.TemporaryDirectory() as work:
            folder = shutil.copytree(support.GOLDEN / "gpt", os.path.join(work, "gpt"))
            with open(os.path.join(folder, "generation_config.json"), "w") as f:
                f.write('{"max_length": 4, "num_beams": 2}')
            generate = pipeline("text-generation", folder)
        options = dict(max_new_tokens=12, min_new_tokens=12, return_full_text=False)
        ours, own = (g("a", num_beams=1, **options)[0]["generated_text"] for g in (generate, self.generate))
        self.assertEqual(ours, own)
        self.assertEqual(len(generate("a", do_sample=True, **options)), 1)

    def test_streams(self):
        whole = self.generate("a", max_new_tokens=20, return_full_text=False)[0]["generated_text"]
        pieces = list(self.generate.stream("a", max_new_tokens=20))
        self.assertEqual("".join(pieces), whole)
        self.assertGreater(len(pieces), 1)
        stream = self.generate.stream("a", max_new_tokens=40)
        next(stream)
        stream.close()                                              # ends the generation
        self.assertEqual(self.generate("a", max_new_tokens=20, return_full_text=False)[0]["generated_text"], whole)

    def test_bad_input(self):
        for arguments in ({"max_new_tokens": "6"}, {"max_new_tokens": -1}, {"no_such_option": 1}, {"do_sample": 1},
                          {"temperature": None}, {"early_stopping": "soon"}, {"top_p": 7.0}, {"stop_strings": ["a\0"]}):
            with self.assertRaises(ArgumentError, msg=arguments):
                self.generate("a", **arguments)
        with self.assertRaises(ArgumentError):
            next(self.generate.stream("a", max_new_tokens="6"))
        with self.assertRaises(TextTypeError):
            self.generate([None])
        with self.assertRaises(RoformerError):
            pipeline("text-generation", support.MASKED)("a")


class Tasks(unittest.TestCase):
    def test_settings_of_a_task(self):
        folder = support.GOLDEN / "t5" / "whole"
        translate = pipeline("translation", str(folder))
        rows = [json.loads(line) for line in (folder / "tasks.jsonl").read_text(encoding="utf-8").splitlines()]
        decode = translate.tokenizer.decode
        for row in rows:
            named = translate(row["text"], task=row["task"])
            self.assertEqual(named[0]["translation_text"], decode(row["ids"], skip_special_tokens=True))
        text = rows[-1]["text"]
        task = rows[-1]["task"]
        self.assertEqual(pipeline(task, translate.model)(text), translate(text, task=task))
        typed = translate("summarize: " + text, max_new_tokens=4)
        self.assertEqual(translate(text, max_new_tokens=4, source_prefix="summarize: "), typed)
        self.assertNotEqual(translate(text, task=task, source_prefix="summarize: ", num_beams=1), None)
        with self.assertRaisesRegex(UnsupportedError, "task_specific_params: expected one of the tasks summarization"):
            translate(text, task="other")
        self.assertEqual(len(pipeline("translation_fr_to_en", translate.model)(text, max_new_tokens=2)), 1)


class Translation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = support.folder("marian/trained")
        words = ["</s>"] + ["w%d" % i for i in range(1, 35)] + ["[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PAD]", "<pad>"]
        with open(os.path.join(folder, "vocab.txt"), "w") as f:
            f.write("\n".join(words) + "\n")
        cls.translate = pipeline("translation", folder)

    def test_forms(self):
        one = self.translate("w3 w5 w7", max_new_tokens=8)
        self.assertEqual(set(one[0]), {"translation_text"})
        many = self.translate(["w3 w5 w7", "w9"], max_new_tokens=8)
        self.assertEqual(many[0], one[0])
        several = self.translate("w3 w5 w7", max_new_tokens=8, num_beams=3, num_return_sequences=2)
        self.assertEqual(len(several), 2)
        self.assertEqual(pipeline("translation_en_to_de", self.translate.model)("w3 w5 w7", max_new_tokens=8), one)
        prefixed = self.translate("w3 w5 w7", max_new_tokens=8, prefix="w4")
        self.assertTrue(prefixed[0]["translation_text"].startswith("w4"))
        with self.assertRaisesRegex(ArgumentError, "prefix"):
            self.translate("w3 w5 w7", prefix="w4\0")

    def test_languages(self):
        folder = str(support.GOLDEN / "languages" / "nllb")
        nllb = pipeline("translation", folder, src_lang="eng_Latn", tgt_lang="zho_Hans")
        with open(os.path.join(folder, "texts.jsonl"), encoding="utf-8") as f:
            rows = [json.loads(line) for line in f]
        ids = {(r["source_lang"], r["beams"], r["text"]): r["ids"] for r in rows}
        tokenizer = roformer_c.Tokenizer.from_folder(folder)
        for beams in (1, 4):
            text = rows[0]["text"]
            found = nllb(text, num_beams=beams, max_new_tokens=8)[0]["translation_text"]
            self.assertEqual(found, tokenizer.decode(ids["eng_Latn", beams, text], skip_special_tokens=True))
        with self.assertRaisesRegex(ArgumentError, "target_lang: expected a language of the tokenizer, such as eng_Latn"):
            nllb("the lazy dog", tgt_lang="en")
        with self.assertRaisesRegex(ArgumentError, "source_lang"):
            self.translate("w3", src_lang="en")

    def test_bad_input(self):
        long = " ".join(["w3"] * 100)
        with self.assertRaisesRegex(DataError, "text 1"):
            self.translate(["w3", long], max_new_tokens=8)
        self.assertEqual(len(self.translate(long, max_new_tokens=8, long_source="split")), 1)
        for arguments in ({"long_source": "cut"}, {"num_beams": 1.5}, {"max_length": []}):
            with self.assertRaises(ArgumentError, msg=arguments):
                self.translate("w3", **arguments)
        with self.assertRaises(RoformerError):
            pipeline("translation", support.MASKED)("a")


class Factory(unittest.TestCase):
    def test_tasks(self):
        with self.assertRaisesRegex(ArgumentError, "summarization"):
            pipeline("summarization", support.MASKED)
        with self.assertRaises(ArgumentError):
            pipeline("fill-mask", support.MASKED, device="cuda")
        fill = pickle.loads(pickle.dumps(pipeline("fill-mask", support.MASKED)))
        self.assertEqual(len(fill("a [MASK]")), 5)
        fill.close()
        with self.assertRaises(roformer_c.ClosedError):
            fill("a [MASK]")


if __name__ == "__main__":
    unittest.main()
