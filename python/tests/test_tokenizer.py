"""Tokens, offsets in characters, batches, decoding."""
import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import numpy as np

import support
from roformer_c import (ArgumentError, DataError, FileError, TextTypeError, Tokenizer, UnsupportedError, _folder, _texts,
                        compile_dictionary)


class Tokens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.t = Tokenizer.from_folder(support.SENTENCES)

    def test_offsets_are_characters(self):
        text = "Ein M\u00e4dchen und \u6f22\u5b57, \u00e9t\u00e9 \U0001f642!"
        e = self.t.encode(text)
        parts = [text[a:b] for a, b in e.offsets]
        self.assertEqual(parts[0], "")                              # [CLS]
        self.assertEqual([p for p in parts if p in ("M\u00e4d", "\u6f22", "\u5b57", "!", "und")],
                         ["M\u00e4d", "und", "\u6f22", "\u5b57", "!"])
        self.assertEqual("".join(parts), text.replace(" ", ""))
        self.assertEqual(e.special_tokens_mask, [1] + [0] * (len(e) - 2) + [1])
        self.assertEqual(len(e.ids), len(e.tokens))

    def test_batches_are_as_single_texts(self):
        texts = support.lines(120) + ["", " ", "\u6f22"]
        batch = self.t.encode_batch(texts)
        self.assertEqual(len(batch), len(texts))
        for text, e in zip(texts, batch):
            one = self.t.encode(text)
            self.assertEqual((e.ids, e.offsets, e.type_ids, e.tokens), (one.ids, one.offsets, one.type_ids, one.tokens))
        self.assertEqual([len(e) for e in batch[1:3]], [len(batch[1]), len(batch[2])])
        self.assertEqual(batch[-1].ids, batch[len(texts) - 1].ids)
        self.assertEqual(len(self.t.encode_batch([])), 0)

    def test_pairs(self):
        e = self.t.encode("a dog", "the \u00e9 cat")
        self.assertEqual(e.tokens, ["[CLS]", "a", "dog", "[SEP]", "the", "e", "cat", "[SEP]"])
        self.assertEqual(e.type_ids, [0, 0, 0, 0, 1, 1, 1, 1])
        self.assertEqual(e.offsets[4:7], [(0, 3), (4, 5), (6, 9)])
        self.assertEqual(self.t.encode_batch([("a dog", "the \u00e9 cat")])[0].ids, e.ids)

    def test_pairs_whose_types_are_all_0(self):
        t = Tokenizer.from_folder(support.GOLDEN / "roberta" / "whole")
        for first, second in (("a \u00e9", "b\u00e9 cd"), ("ab", "\u00e9\u00e9 \u00e9"), ("\u00e9", "cd"), ("", "\u00e9 c"), ("\u00e9 c", "")):
            e = t.encode(first, second)
            self.assertEqual(set(e.type_ids), {0})
            alone = [[o for o, s in zip(x.offsets, x.special_tokens_mask) if not s] for x in (t.encode(first), t.encode(second))]
            self.assertEqual([o for o, s in zip(e.offsets, e.special_tokens_mask) if not s], alone[0] + alone[1])
        with self.assertRaises(TextTypeError):
            t.encode_batch("abc")

    def test_blocks_change_nothing(self):
        texts = support.lines(40) + ["", "\u6f22 " * 50, "a"]
        pairs = list(zip(texts, reversed(texts)))
        whole, whole_pairs = self.t.encode_batch(texts), self.t.encode_batch(pairs)
        with unittest.mock.patch.object(_texts, "CHARACTERS", 60):
            self.assertGreater(len(list(_texts.blocks(texts, len(texts)))), 5)
            self.assertEqual([t for block in _texts.blocks(iter(texts), 7) for t in block], texts)
            self.assertTrue(all(len(block) == 1 or sum(map(len, block)) <= 60 for block in _texts.blocks(texts, 7)))
            cut, cut_pairs = self.t.encode_batch(texts), self.t.encode_batch(pairs)
            with self.assertRaisesRegex(DataError, "text 41"):
                self.t.encode_batch(texts[:41] + ["\ud800"])
        for one, other in ((whole, cut), (whole_pairs, cut_pairs)):
            for a, b in zip(one.encoded, other.encoded):
                self.assertTrue(np.array_equal(a, b) and a.dtype == b.dtype)

    def test_limits_and_specials(self):
        self.assertEqual(self.t.encode("a dog barks", max_length=3).tokens, ["[CLS]", "a", "[SEP]"])
        self.assertEqual(self.t.encode("a dog", add_special_tokens=False).tokens, ["a", "dog"])
        with self.assertRaises(ArgumentError):
            self.t.encode("a", max_length=1)
        with self.assertRaises(ArgumentError):
            self.t.encode("a", max_length=0)

    def test_vocabulary(self):
        self.assertEqual(self.t.id_to_token(self.t.token_to_id("dog")), "dog")
        for none in ("no such token", "dog\0", "\0"):
            self.assertIsNone(self.t.token_to_id(none))
        with self.assertRaisesRegex(ArgumentError, "id: expected an integer, got 1.5"):
            self.t.id_to_token(1.5)
        self.assertIsNone(self.t.id_to_token(1 << 30))
        self.assertIsNone(self.t.id_to_token(-1))
        self.assertEqual(self.t.id_to_token(self.t.get_vocab_size()), None)
        self.assertEqual(self.t.special_ids()["mask_token"], self.t.token_to_id("[MASK]"))

    def test_decode(self):
        ids = self.t.encode("A dog barks, loudly.").ids
        self.assertEqual(self.t.decode(ids), "a dog barks, loudly.")
        self.assertIn("[CLS]", self.t.decode(ids, skip_special_tokens=False))
        self.assertEqual(self.t.decode([]), "")
        self.assertEqual(self.t.decode(np.array(ids)), "a dog barks, loudly.")

    def test_bad_input(self):
        for given in (None, 3, b"a"):
            with self.assertRaises(TextTypeError):
                self.t.encode(given)
        with self.assertRaisesRegex(DataError, "text 1"):
            self.t.encode_batch(["a", "\ud800"])
        with self.assertRaises(ArgumentError):
            self.t.encode_batch([("a", "b", "c")])
        with self.assertRaises(FileError):
            Tokenizer.from_folder("/nonexistent")
        with self.assertRaises(ArgumentError):
            Tokenizer()

    def test_pickle(self):
        self.assertEqual(pickle.loads(pickle.dumps(self.t)).encode("a dog").ids, self.t.encode("a dog").ids)

    def test_chinese(self):
        """The models' package has the dictionary; without it, the message has a command for those who have this package."""
        text, zh = "\u4eca\u5929\u5929\u6c14\u5f88\u597d", support.ROOT / "models" / "roformer-small-zh"
        if importlib.util.find_spec("roformer_c_models"):
            self.assertTrue(_folder.shipped_dictionary())
            self.assertEqual("".join(Tokenizer.from_folder("roformer-small-zh").encode(text).tokens[1:-1]), text)
        with tempfile.TemporaryDirectory() as work, unittest.mock.patch.object(_folder, "shipped_dictionary", lambda: None):
            for name in ("config.json", "tokenizer_config.json", "vocab.txt"):
                shutil.copy(zh / name, work)
            with self.assertRaises(UnsupportedError) as caught:
                Tokenizer.from_folder(work)
            command = str(caught.exception).split("`")[3].split()
            self.assertEqual(command, ["python3", "-m", "roformer_c.dictionary", work])
            debian = "/usr/lib/python3/dist-packages/jieba/dict.txt"
            if not importlib.util.find_spec("jieba") and not os.path.exists(debian):
                self.skipTest("no jieba")
            if importlib.util.find_spec("jieba"):
                subprocess.run([sys.executable, *command[1:]], check=True, stdout=subprocess.DEVNULL)
            else:
                self.assertEqual(compile_dictionary(work, debian), work + "/dictionary.words")
            self.assertEqual("".join(Tokenizer.from_folder(work).encode(text).tokens[1:-1]), text)
            with open(work + "/words.txt", "w", encoding="utf-8") as file:
                file.write("no number\n")
            with self.assertRaises(DataError):
                compile_dictionary(work + "/words", work + "/words.txt")


if __name__ == "__main__":
    unittest.main()
