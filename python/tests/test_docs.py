"""The examples in the docstrings."""
import doctest
import importlib
import os
import pkgutil
import unittest

import roformer_c
import support


def load_tests(loader, tests, pattern):
    for module in pkgutil.iter_modules(roformer_c.__path__):
        tests.addTests(doctest.DocTestSuite(importlib.import_module("roformer_c." + module.name), setUp=enter, tearDown=leave)
                       if module.name != "native" else [])
    return tests


def enter(test):
    test.before = os.getcwd()
    os.chdir(support.ROOT / "models")                       # where the models that the examples name are folders


def leave(test):
    os.chdir(test.before)


if __name__ == "__main__":
    unittest.main()
