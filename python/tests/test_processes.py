"""Threads, forks, other processes, Ctrl-C, and the end of the interpreter."""
import concurrent.futures
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

import numpy as np

import roformer_c
import support
from roformer_c import ProcessError, SentenceTransformer, _model

model = None


def encode_in_child(text):
    return model.encode(text)


def open_in_child(text):
    return SentenceTransformer(support.SENTENCES).encode(text)


def run(code, **more):
    return subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                          **more)


CYCLES = """
import gc, os, tempfile
import numpy as np
from roformer_c import Index, SentenceTransformer, Tokenizer, pipeline, set_num_threads

class Owner:
    def __init__(self, owned):
        self.owned, self.itself = owned, self

def open_index():
    folder = os.path.join(tempfile.mkdtemp(), "index")
    return Index.build(folder, np.eye(4, dtype=np.float32))

def begin_stream():
    stream = pipeline("text-generation", %(causal)r).stream("a", max_new_tokens=20)
    next(stream)
    return stream

gc.disable()
for make in (lambda: SentenceTransformer(%(folder)r), lambda: Tokenizer.from_folder(%(folder)r), open_index, begin_stream):
    for _ in range(3):
        Owner(make())
        gc.collect()
for _ in range(3):
    try:
        SentenceTransformer(%(bad)r)
        print("opened")
    except Exception:
        pass
    gc.collect()
print("freed")
"""


class Processes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        global model
        model = cls.model = SentenceTransformer(support.SENTENCES)
        cls.lines = support.lines(200)
        cls.expected = cls.model.encode(cls.lines)

    def test_threads_share_a_model(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            found = list(pool.map(self.model.encode, self.lines))
        self.assertTrue(np.array_equal(np.stack(found), self.expected))

    def test_the_garbage_collector_frees_cycles(self):
        """A model, a tokenizer, an index and a stream that nothing but cycles refers to: freed in any order, without a crash."""
        bad = shutil.copytree(support.folder("models/plain"), os.path.join(tempfile.mkdtemp(), "bad"))
        self.addCleanup(shutil.rmtree, os.path.dirname(bad))
        os.mkdir(os.path.join(bad, "1_Pooling"))
        for name, text in (("modules.json", '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},'
                            '{"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]'),
                           ("1_Pooling/config.json", '{"pooling_mode": "median"}')):
            with open(os.path.join(bad, name), "w") as f:
                f.write(text)
        done = run(CYCLES % {"folder": support.SENTENCES, "causal": support.folder("models/causal"), "bad": bad},
                   env=dict(os.environ, MALLOC_PERTURB_="165"))
        self.assertEqual((done.returncode, done.stdout.decode().strip()), (0, "freed"), done.stderr.decode()[-2000:])

    def test_calls_of_other_threads_go_on(self):
        """The GIL is free during a call: another thread counts meanwhile."""
        counted, stop = [0], threading.Event()

        def count():
            while not stop.is_set():
                counted[0] += 1
                time.sleep(0.0005)
        thread = threading.Thread(target=count)
        thread.start()
        before = counted[0]
        self.model.encode(self.lines * 3)
        during = counted[0] - before
        stop.set()
        thread.join()
        self.assertGreater(during, 20)

    def test_a_forked_child_is_told(self):
        read, write = os.pipe()
        pid = os.fork()
        if not pid:
            code = 1
            try:
                self.model.encode("a")
            except ProcessError as e:
                os.write(write, str(e).encode())
                code = 0
            finally:
                os._exit(code)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        text = os.read(read, 1000).decode()
        os.close(read), os.close(write)
        self.assertIn("child", text)
        self.assertIn(str(pid), text)
        self.assertTrue(np.array_equal(self.model.encode(self.lines[0]), self.expected[0]))

    def test_a_forked_child_opens_its_own(self):
        context = multiprocessing.get_context("fork")
        with context.Pool(2) as pool:
            found = pool.map(open_in_child, self.lines[:4])
        self.assertTrue(np.array_equal(np.stack(found), self.expected[:4]))

    def test_multiprocessing_passes_models(self):
        code = ("import multiprocessing, sys; sys.path.insert(0, %r)\n"
                "import test_processes as t\n"
                "if __name__ == '__main__':\n"
                "    m = t.SentenceTransformer(t.support.SENTENCES)\n"
                "    with multiprocessing.get_context('spawn').Pool(2) as pool:\n"
                "        v = pool.map(m.encode, ['a dog', 'a cat'])\n"
                "    assert all((a == m.encode(t)).all() for a, t in zip(v, ['a dog', 'a cat'])); print('equal')\n"
                % os.path.dirname(__file__))
        with tempfile.NamedTemporaryFile("w", suffix=".py") as f:           # spawn imports it as __main__
            f.write(code)
            f.flush()
            done = subprocess.run([sys.executable, f.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        self.assertEqual((done.stdout.strip(), done.returncode), (b"equal", 0), done.stderr.decode())

    def interrupted(self, work):
        """Seconds from a signal to KeyboardInterrupt."""
        sent = []

        def send():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        timer = threading.Timer(0.5, send)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        timer.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                work()
            return time.monotonic() - sent[0]
        finally:
            timer.join()
            signal.signal(signal.SIGINT, before)

    def test_ctrl_c_in_a_batch(self):
        # The wait looks at signals every 0.1 s and a canceled job ends within an operation of the model.
        many = self.lines * 100
        self.assertLess(self.interrupted(lambda: self.model.encode(many)), 5)
        self.assertTrue(np.array_equal(self.model.encode(self.lines), self.expected))

    def test_ctrl_c_while_tokenizing(self):
        text = "the quick brown fox jumps over the lazy dog, antidisestablishmentarianism " * 12000
        tokenizer, blocks = roformer_c.Tokenizer.from_folder(support.SENTENCES), 1000

        def counted(*arguments):
            done.append(1)
            return whole(*arguments)
        whole, done = _model._encode_block, []
        with unittest.mock.patch.object(_model, "_encode_block", counted):
            self.assertLess(self.interrupted(lambda: tokenizer.encode_batch([text] * blocks)), 5)
        self.assertTrue(0 < len(done) < blocks, len(done))
        self.assertEqual(len(tokenizer.encode("a dog").ids), 4)

    def test_ctrl_c_in_a_call(self):
        fill = roformer_c.pipeline("fill-mask", support.MASKED)
        texts = ["the %d [MASK] of the city was %d" % (i, i) for i in range(20000)]
        self.assertLess(self.interrupted(lambda: fill(texts)), 5)
        self.assertEqual(len(fill("a [MASK].")), 5)

    def test_closing_waits_for_the_calls_of_other_threads(self):
        other, begun = SentenceTransformer(support.SENTENCES), threading.Event()

        def texts():
            for i, line in enumerate(self.lines * 3):
                if i == 5:
                    begun.set()
                yield line
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            found = pool.submit(lambda: other.encode(texts(), batch_size=1))
            begun.wait()
            other.close()
            self.assertTrue(found.done())
            self.assertTrue(np.array_equal(found.result()[:len(self.expected)], self.expected))
        with self.assertRaises(roformer_c.ClosedError):
            other.encode("a")

    def test_ctrl_c_in_functions_of_arrays(self):
        x = np.ones((1, 20000, 64), np.float32)
        self.assertLess(self.interrupted(lambda: [roformer_c.attention(x, x, x) for _ in range(50)]), 5)
        text = " ".join("w%d" % i for i in range(40000))
        self.assertLess(self.interrupted(lambda: [roformer_c.ter([text] * 9, [[text[::-1]] * 9]) for _ in range(50)]), 5)

    def test_end_of_the_interpreter(self):
        code = ("import roformer_c, threading\n"
                "m = roformer_c.SentenceTransformer(%r)\n"
                "m.encode('a')\n"
                "s = m.encode_stream('text %%d' %% i for i in range(10000)); next(s)\n"
                "threading.Thread(target=lambda: m.encode(['b'] * 20000), daemon=True).start()\n"
                "print('end', flush=True)\n" % support.SENTENCES)
        for _ in range(3):
            done = run(code)
            self.assertEqual((done.stdout, done.returncode), (b"end\n", 0), done.stderr.decode())

    def test_jupyter_style_event_loop(self):
        import asyncio

        async def both():
            loop = asyncio.get_running_loop()
            return await asyncio.gather(*(loop.run_in_executor(None, self.model.encode, t) for t in self.lines[:8]))
        self.assertTrue(np.array_equal(np.stack(asyncio.run(both())), self.expected[:8]))


if __name__ == "__main__":
    unittest.main()
