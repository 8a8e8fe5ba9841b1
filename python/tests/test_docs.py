"""The examples in the docstrings and in docs/python.md."""
import doctest
import importlib
import os
import pkgutil
import re
import unittest

import roformer_c
import support


def load_tests(loader, tests, pattern):
    page = support.ROOT / "docs" / "python.md"
    text = re.sub(r"^```.*$", "", page.read_text(encoding="utf-8"), flags=re.M)          # line numbers stay
    tests.addTest(doctest.DocTestCase(doctest.DocTestParser().get_doctest(text, {}, "python.md", str(page), 0),
                                      setUp=enter, tearDown=leave))
    for module in pkgutil.iter_modules(roformer_c.__path__):
        tests.addTests(doctest.DocTestSuite(importlib.import_module("roformer_c." + module.name), setUp=enter, tearDown=leave))
    return tests


def enter(test):
    test.before = os.getcwd()
    os.chdir(support.ROOT / "models")                       # where the models that the examples name are folders


def leave(test):
    os.chdir(test.before)


if __name__ == "__main__":
    unittest.main()
