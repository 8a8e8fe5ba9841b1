"""What ctypes holds for the layout of the library's structs cannot drift from the headers."""
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import support
from roformer_c import _abi as abi
from roformer_c._lib import lib


class Layout(unittest.TestCase):
    def test_the_library_knows_the_sizes_of_options(self):
        """A call that sets defaults writes the struct's size, at most what the library itself has."""
        calls = [n for n in abi.FUNCTIONS if n.endswith("_options_init")]
        self.assertGreater(len(calls), 6)
        for call in calls:
            kind = getattr(abi, {"rf_translation_options_init": "rf_train_options"}.get(call, call[:-5]), None)
            self.assertIsNotNone(kind, call)
            space = (ctypes.c_char * 65536)()
            getattr(lib, call)(space, ctypes.sizeof(kind))
            self.assertEqual(kind.from_buffer(space).size, ctypes.sizeof(kind), call)
            self.assertEqual(bytes(space)[ctypes.sizeof(kind):].strip(b"\0"), b"", call)

    def made(self, change=None):
        """Runs abi.py on the headers, compiles its assertions against changed ones: the compiler's messages."""
        cc = shutil.which("cc")
        if not cc:
            self.skipTest("no C compiler")
        with tempfile.TemporaryDirectory() as work:
            plain, include = os.path.join(work, "plain.h"), os.path.join(work, "include")
            subprocess.run(["sh", str(support.ROOT / "tools" / "plain_header.sh"), plain], check=True)
            subprocess.run([sys.executable, str(support.ROOT / "python" / "abi.py"), plain,
                            str(support.ROOT / "python" / "src" / "roformer_c"), work + "/_abi.py", work + "/abi.c"], check=True)
            shutil.copytree(support.ROOT / "include", include)
            if change:
                path = pathlib.Path(include, "roformer", change[0])
                text = path.read_text()
                self.assertEqual(len(re.findall(change[1], text)), 1, change)
                path.write_text(re.sub(change[1], change[2], text))
            made = pathlib.Path(work, "_abi.py").read_text()
            done = subprocess.run([cc, "-std=c11", "-fsyntax-only", "-I", include, work + "/abi.c"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return made, done.stdout.decode() if done.returncode else ""

    def test_the_headers_hold(self):
        made, errors = self.made()
        self.assertEqual(errors, "")
        self.assertEqual(made, pathlib.Path(abi.__file__).read_text(), "the package was built from other headers")

    def test_a_change_of_the_headers_is_refused(self):
        for change, name in (
                (("pipeline.h", r"    int normalize; ", "    int64_t normalize; "), "rf_embed_options"),
                (("index.h", r"typedef struct rf_hit \{ int64_t row; double score; \}",
                  "typedef struct rf_hit { double score; int64_t row; }"), "rf_hit.row"),
                (("model.h", r"    int64_t N, B;", "    int64_t B, N;"), "rf_batch.N"),
                (("context.h", r"    X\(RF_EARG, ", "    X(RF_ENEW, \"\") X(RF_EARG, "), "RF_EARG")):
            _, errors = self.made(change)
            self.assertIn(name, errors, change)


if __name__ == "__main__":
    unittest.main()
