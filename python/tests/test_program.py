"""The command `roformer` of the package: the program with its exit code, arguments and signals."""
import subprocess
import sys
import unittest
import unittest.mock

import support  # noqa: F401: the library of this package
from roformer_c import _program

COMMAND = "import sys; from roformer_c import _program; sys.exit(_program.main())"
CHILD = "import sys; from roformer_c import _program; sys.exit(_program._child(sys.argv[1:]))"


class Program(unittest.TestCase):
    def setUp(self):
        if not _program.os.path.exists(_program.PROGRAM):
            self.skipTest("the package has no program")

    def run_as(self, how, *arguments, text=""):
        return subprocess.run([sys.executable, "-c", how, *arguments], input=text, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8")

    def test_exit_codes_arguments_and_input(self):
        for how in (COMMAND, CHILD):                    # on Windows the program is a child
            self.assertIn("roformer ", self.run_as(how, "--version").stdout)
            done = self.run_as(how, "n\u00f6 \"such\" thing")
            self.assertEqual(done.returncode, 2)
            self.assertIn("unknown command n\u00f6 \"such\" thing", done.stderr)
            done = self.run_as(how, "tokenize", "-m", support.SENTENCES, text="A dog barks.\n")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("dog", done.stdout)

    def test_exit_codes_of_windows(self):
        """Those from 2^31 on do not fit into the int that Python takes: 0xC000013A is Ctrl-C."""
        with unittest.mock.patch.object(_program.subprocess, "call", lambda command: 0xC000013A), \
                unittest.mock.patch.object(_program.signal, "signal"):
            self.assertEqual(_program._child([]), -1073741510)

    def test_models_that_are_not_installed(self):
        with unittest.mock.patch.object(_program, "MODELS", "nowhere"), \
                unittest.mock.patch.object(sys, "argv", ["roformer", "demo"]), self.assertRaises(SystemExit) as caught:
            _program.main()
        self.assertIn("pip install roformer-c-models", str(caught.exception))

    @unittest.skipIf(sys.platform == "win32", "signals of POSIX")
    def test_a_closed_pipe_ends_the_program(self):
        """Python ignores SIGPIPE, and a program that it starts would as well."""
        import signal
        shell = COMMAND.replace("sys.exit", "_program.PROGRAM = '/bin/sh'; sys.exit")
        done = subprocess.run([sys.executable, "-c", shell, "-c", "kill -PIPE $$"])
        self.assertEqual(done.returncode, -signal.SIGPIPE)


if __name__ == "__main__":
    unittest.main()
