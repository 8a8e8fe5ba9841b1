"""Training: the folder is that of the command, byte for byte; callbacks, stopping, resuming, and bad options."""
from __future__ import annotations

import filecmp
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict, List

import support
from roformer_c import ArgumentError, BusyError, DataError, FileError, Progress, finetune, pretrain, train_translation

# Two runs differ in these: the process that holds the folder, when the text was written, checksums of what has times.
OWN = {".lock", "tokens.cache", "COMPLETE"}
TIMES = re.compile(rb'"(\w*(seconds|runtime|_per_second|_wait)|metrics_bytes|metrics_crc)": ?[-+.e\d]+')
BASE: Dict[str, Any] = {"max_length": 32, "save_steps": 2, "logging_steps": 1, "seed": 7}


def arguments(options: Dict[str, Any]) -> List[str]:
    out: List[str] = []
    for name, value in options.items():
        out += ["--" + name] if value is True else ["--" + name, str(value)]
    return out


class Runs(unittest.TestCase):
    def setUp(self) -> None:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.work = made.name
        self.text = self.file("text.txt", "\n\n".join(support.lines(60)))
        rows = ["%s\t%s" % (s.replace("\t", " "), "yes" if i % 2 else "no") for i, s in enumerate(support.lines(24))]
        self.examples = self.file("train.tsv", "\n".join(["text\tlabel"] + rows) + "\n")

    def file(self, name: str, text: str) -> str:
        path = os.path.join(self.work, name)
        pathlib.Path(path).write_text(text, encoding="utf-8")
        return path

    def command(self, name: str, *more: str, **options: Any) -> None:
        subprocess.run([support.program(), name, "-q", *arguments(options), *more], check=True, stdout=subprocess.DEVNULL)

    def assert_same(self, one: str, two: str) -> None:
        """Two folders hold the same files with the same bytes, but for times."""
        compared = filecmp.dircmp(one, two, ignore=sorted(OWN))
        self.assertEqual((compared.left_only, compared.right_only), ([], []))
        for name in compared.common_files:
            a, b = (pathlib.Path(folder, name).read_bytes() for folder in (one, two))
            self.assertTrue(TIMES.sub(b"", a) == TIMES.sub(b"", b) if "json" in name else a == b,
                            "%s, %s: %s differs" % (one, two, name))
        for name in compared.common_dirs:
            self.assert_same(os.path.join(one, name), os.path.join(two, name))

    def folder(self, name: str) -> str:
        """A folder whose README.md has the same name as those of others."""
        return os.path.join(self.work, name, "run")


class TestPretrain(Runs):
    def options(self) -> Dict[str, Any]:
        return dict(BASE, tokens_per_batch=128, max_steps=4, eval_steps=2, validation_split=0.2)

    def test_same_folder_as_the_command(self) -> None:
        self.command("pretrain", text=self.text, model=support.MASKED, output_dir=self.folder("c"), **self.options())
        seen: List[Progress] = []
        result = pretrain(self.text, model=support.MASKED, output_dir=self.folder("p"), callback=seen.append,
                          **self.options())
        self.assert_same(self.folder("c"), self.folder("p"))
        self.assertIn("checkpoint-4", os.listdir(self.folder("p")))
        self.assertEqual(result, (self.folder("p"), False, {}))
        self.assertEqual([p.step for p in seen if p.event == "step"], [1, 2, 3, 4])
        self.assertEqual([p.step for p in seen if p.event == "eval"], [2, 4])
        self.assertTrue(all(p.loss > 0 for p in seen if p.event == "step"))

    def test_a_stopped_run_resumes_to_the_same_folder(self) -> None:
        whole, parts = self.folder("whole"), self.folder("parts")
        pretrain(self.text, model=support.MASKED, output_dir=whole, **self.options())
        result = pretrain(self.text, model=support.MASKED, output_dir=parts, **self.options(),
                          callback=lambda p: "stop" if p.event == "step" and p.step == 2 else None)
        self.assertTrue(result.stopped)
        self.assertEqual(os.path.basename(result.folder), "checkpoint-2")
        self.assertFalse(pretrain(output_dir=parts, resume="latest").stopped)
        self.assert_same(whole, parts)

    def test_an_exception_of_the_callback_saves_and_is_raised(self) -> None:
        def fail(p: Progress) -> None:
            if p.event == "step" and p.step == 1:
                raise KeyError("mine")
        with self.assertRaisesRegex(KeyError, "mine"):
            pretrain(self.text, model=support.MASKED, output_dir=self.folder("p"), callback=fail, **self.options())
        self.assertIn("checkpoint-1", os.listdir(self.folder("p")))
        with self.assertRaisesRegex(ArgumentError, "callback: expected None"):
            pretrain(output_dir=self.folder("p"), resume="latest", callback=lambda p: "go")
        self.assertFalse(pretrain(output_dir=self.folder("p"), resume="latest").stopped)

    def test_ctrl_c_saves(self) -> None:
        code = ("import os, signal, sys\n"
                "sys.path.insert(0, %r)\n"
                "import support\n"
                "from roformer_c import pretrain\n"
                "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
                "def callback(p):\n"
                "    if p.event == 'step' and p.step == 3:\n"
                "        os.kill(os.getpid(), signal.SIGINT)\n"
                "try:\n"
                "    pretrain(%r, model=support.MASKED, output_dir=%r, max_length=32, tokens_per_batch=128, "
                "max_steps=100000, callback=callback)\n"
                "except KeyboardInterrupt:\n"
                "    sys.exit(5)\n" % (os.path.dirname(support.__file__), self.text, self.folder("p")))
        self.assertEqual(subprocess.run([sys.executable, "-c", code], timeout=300).returncode, 5)
        saved = [name for name in os.listdir(self.folder("p")) if name.startswith("checkpoint-")]
        self.assertEqual(len(saved), 1)
        self.assertTrue(pretrain(output_dir=self.folder("p"), resume="latest", stop_after=1).stopped)

    def test_mix(self) -> None:
        caches = []
        for i in range(2):
            caches.append(os.path.join(self.work, "%d.cache" % i))
            text = self.file("%d.txt" % i, "\n\n".join(support.lines(80)[40 * i:40 * i + 40]))
            self.command("prepare", "-o", caches[i], text=text, model=support.MASKED)
        options = dict(self.options(), validation_split=0.005, eval_steps=0)
        self.command("pretrain", "--mix", caches[0] + ":0.75", caches[1] + ":0.25", model=support.MASKED,
                     output_dir=self.folder("c"), **options)
        pretrain(mix={caches[0]: 0.75, caches[1]: 0.25}, model=support.MASKED, output_dir=self.folder("p"), **options)
        self.assert_same(self.folder("c"), self.folder("p"))


class TestFinetune(Runs):
    def test_same_folder_as_the_command(self) -> None:
        options = dict(BASE, max_steps=3, batch_size=8, head="bert", eval_strategy="steps", eval_steps=1,
                       load_best_model_at_end=True, metric_for_best_model="accuracy")
        self.command("finetune", train=self.examples, dev=self.examples, model=support.MASKED,
                     output_dir=self.folder("c"), **options)
        seen: List[Progress] = []
        result = finetune(self.examples, dev=self.examples, model=support.MASKED, output_dir=self.folder("p"),
                          callback=seen.append, **options)
        self.assert_same(self.folder("c"), self.folder("p"))
        self.assertEqual([p.event for p in seen if p.event in ("step", "eval")], ["step", "eval"] * 3)
        self.assertEqual({p.metric for p in seen if p.event == "eval"}, {"eval_accuracy"})
        self.assertEqual((list(result.scores)[:2], result.stopped), (["loss", "accuracy"], False))
        self.assertTrue(0 <= result.scores["accuracy"] <= 1)

    def test_stop_and_resume(self) -> None:
        options = dict(BASE, max_steps=4, batch_size=8)
        finetune(self.examples, model=support.MASKED, output_dir=self.folder("whole"), **options)
        stopped = finetune(self.examples, model=support.MASKED, output_dir=self.folder("parts"), stop_after=2, **options)
        self.assertEqual((stopped.stopped, stopped.scores), (True, {}))
        finetune(resume="latest", output_dir=self.folder("parts"))
        self.assert_same(self.folder("whole"), self.folder("parts"))

    def test_folds(self) -> None:
        scores = finetune(self.examples, model=support.MASKED, output_dir=self.folder("p"), k_fold=2, max_steps=1,
                          batch_size=4).scores
        self.assertIn("accuracy_std", scores)


class TestTranslation(Runs):
    def test_same_folder_as_the_command(self) -> None:
        folder = support.folder("marian/trained")
        source = self.file("s.txt", "\n".join("w%d w%d w%d" % (i, i + 1, i + 2) for i in range(3, 30)) + "\n")
        target = self.file("t.txt", "\n".join("w%d w%d" % (i + 1, i) for i in range(3, 30)) + "\n")
        options = dict(model=folder, max_steps=3, max_tokens=128, save_steps=2, max_length=32, warmup_steps=1, seed=7)
        self.command("train-translation", source=source, target=target, output_dir=self.folder("c"), **options)
        steps: List[int] = []
        result = train_translation(source, target, output_dir=self.folder("p"), **options,
                                   callback=lambda p: steps.append(p.step) if p.event == "step" else None)
        self.assert_same(self.folder("c"), self.folder("p"))
        self.assertEqual((steps, result.stopped), ([1, 2, 3], False))
        with self.assertRaisesRegex(ArgumentError, "got only source"):
            train_translation(source)


class TestOptions(Runs):
    def test_refusals(self) -> None:
        def run(**options: Any) -> None:
            finetune(self.examples, model=support.MASKED, output_dir=self.folder("p"), **options)
        for options, message in (
                ({"num_train_epoch": 1}, "num_train_epoch: .*perhaps num_train_epochs"),
                ({"tokens_per_batch": 128}, "tokens_per_batch: expected an option of the command"),
                ({"max_steps": "3"}, "max_steps: expected an integer, got '3'"),
                ({"max_steps": True}, "max_steps: expected an integer, got True"),
                ({"max_steps": 1 << 70}, "max_steps: expected an integer of 64 bits"),
                ({"max_steps": -1}, "max_steps"),
                ({"seed": -1}, "seed: expected an integer of 64 bits"),
                ({"learning_rate": None}, "learning_rate: expected a number, got None"),
                ({"learning_rate": float("nan")}, "learning_rate"),
                ({"bf16": 1}, "bf16: expected True or False, got 1"),
                ({"optim": "adam"}, "optim: expected one of adamw, .*got 'adam'"),
                ({"head": "gpt"}, "head: expected one of roformer, bert"),
                ({"batch_size": 4, "per_device_train_batch_size": 4}, "expected one value"),
                ({"text_column": b"text"}, "text_column: expected a text"),
                ({"text_column": "a\0"}, "text_column: expected a text without NUL"),
                ({"text_column": "\ud800x"}, "text_column: expected a text that UTF-8"),
                ({"task": "poetry"}, "poetry"),
                ({"callback": 3}, "callback: expected a function"),
                ({"threads": -1}, "threads"),
        ):
            with self.subTest(options=options), self.assertRaisesRegex(ArgumentError, message):
                run(**options)
        self.assertFalse(os.path.exists(self.folder("p")))

    def test_files(self) -> None:
        with self.assertRaisesRegex(FileError, "model: .*no-model"):
            finetune(self.examples, model="no-model", output_dir=self.folder("p"))
        with self.assertRaises(FileError):
            finetune(os.path.join(self.work, "none.tsv"), model=support.MASKED, output_dir=self.folder("p"))
        with self.assertRaisesRegex(DataError, "bad.tsv"):
            finetune(self.file("bad.tsv", "text\tlabel\nonly\n"), model=support.MASKED, output_dir=self.folder("p"))
        for call, message in ((lambda: finetune(output_dir="x"), "expected train"),
                              (lambda: finetune(self.examples), "expected output_dir"),
                              (lambda: pretrain(), "expected text, data or mix"),
                              (lambda: pretrain(self.text), "expected model"),
                              (lambda: pretrain(mix={}, model=support.MASKED), "mix: expected a dict")):
            with self.subTest(message=message), self.assertRaisesRegex(ArgumentError, message):
                call()

    def test_two_runs_in_one_folder(self) -> None:
        raised: List[BaseException] = []

        def second(p: Progress) -> None:
            if p.event != "step" or raised:
                return
            try:
                pretrain(self.text, model=support.MASKED, output_dir=self.folder("p"), max_steps=1)
            except BaseException as e:  # noqa: B902
                raised.append(e)
        pretrain(self.text, model=support.MASKED, output_dir=self.folder("p"), max_steps=2, tokens_per_batch=64,
                 max_length=32, callback=second)
        self.assertIsInstance(raised[0], BusyError)


if __name__ == "__main__":
    unittest.main()
