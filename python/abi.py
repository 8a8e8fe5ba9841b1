#!/usr/bin/env python3
"""abi.py PLAIN PACKAGE OUT.py OUT.c: declarations of the C library for ctypes, made from its headers.

PLAIN is the file of tools/plain_header.sh. Of what it declares, OUT.py gets what the modules in the folder PACKAGE name
(lib.rf_..., abi.rf_..., abi.RF_...), and the structs that these contain. OUT.c asserts the size of every struct, the
place of every member and every constant as ctypes sees them: a compiler that reads the real headers refuses it if one
of them is wrong, so that the package cannot be built with other layouts than the library has."""
from __future__ import annotations

import ast
import ctypes
import pathlib
import re
import sys

SCALARS = {
    "int": "c_int", "unsigned": "c_uint", "unsigned char": "c_uint8", "char": "c_char", "float": "c_float",
    "double": "c_double", "size_t": "c_size_t", "int32_t": "c_int32", "int64_t": "c_int64", "uint8_t": "c_uint8",
    "uint32_t": "c_uint32", "uint64_t": "c_uint64",
}


class Header:
    """What a plain header declares, each as a line of Python."""

    def __init__(self, text: str) -> None:
        self.constants: dict[str, int] = {}
        self.enums: set[str] = set()
        self.structs: dict[str, list[tuple[str, str]]] = {}          # name: (member, type), in order; nested: "name.member"
        self.unions: dict[str, list[tuple[str, str]]] = {}
        self.functions: dict[str, tuple[str, list[str]]] = {}
        self.callbacks: dict[str, tuple[str, list[str]]] = {}
        for name, value in re.findall(r"^#define (\w+) (-?\d+)$", text, flags=re.M):
            self.constants[name] = int(value)
        code = re.sub(r"/\*.*?\*/", "", re.sub(r"^#.*$", "", text, flags=re.M), flags=re.S)
        statements = list(self.statements(re.sub(r"\s+", " ", code)))
        for s in statements:                                        # enums first: other types name them
            m = re.fullmatch(r"(?:typedef )?enum (\w+ )?\{(.*)\} ?(\w*)", s)
            if m:
                self.add_enum(m.group(3), m.group(2))
        for s in statements:
            self.add(s)

    @staticmethod
    def statements(code: str) -> list[str]:
        out, depth, begin = [], 0, 0
        for i, c in enumerate(code):
            depth += (c == "{") - (c == "}")
            if c == ";" and not depth:
                out.append(code[begin:i].strip())
                begin = i + 1
        return out

    def add_enum(self, name: str, body: str) -> None:
        value = -1
        for row in body.split(","):
            key, _, given = (x.strip() for x in row.partition("="))
            if not key:
                continue
            value = self.constants[given] if given in self.constants else int(given, 0) if given else value + 1
            self.constants[key] = value
        if name:
            self.enums.add(name)

    def add(self, s: str) -> None:
        m = re.fullmatch(r"typedef struct (\w+) \{(.*)\} (\w+)", s)
        if m:
            self.structs[m.group(1)] = self.members(m.group(1), m.group(2))
            return
        m = re.fullmatch(r"typedef (.*?[ *])(\w+)\((.*)\)", s)
        if m and "{" not in s:
            self.callbacks[m.group(2)] = (self.result(m.group(1)), self.parameters(m.group(3)))
            return
        m = re.fullmatch(r"((?:const )?[\w ]+?[ *]+)(rfk?_\w+) ?\((.*)\)", s)
        if m and not s.startswith("typedef"):
            self.functions[m.group(2)] = (self.result(m.group(1)), self.parameters(m.group(3)))

    def members(self, struct: str, body: str) -> list[tuple[str, str]]:
        out: list[tuple[str, str]] = []
        for row in self.statements(body.strip()):
            union = re.fullmatch(r"union \{(.*)\}", row)
            if union:
                name = "%s_union_%d" % (struct, len(self.unions))
                self.unions[name] = self.members(struct, union.group(1))
                out.append(("", name))
            elif "(*" in row:
                out.append((re.findall(r"\(\*(\w+)\)", row)[0], "c_void_p"))
            else:
                out += self.row(row)
        return out

    def row(self, row: str) -> list[tuple[str, str]]:
        """Members of one declaration: "const float *a, *b", "double list[4]"."""
        first, *rest = (x.strip() for x in row.split(","))
        m = re.fullmatch(r"(.*?)((?:\*(?:const )?)*\w+(?:\[\w+\])*)", first)
        if not m:
            raise ValueError("not a member: %s" % row)
        out = []
        for declarator in [m.group(2)] + rest:
            d = re.fullmatch(r"((?:\*(?:const )?)*) ?(\w+)((?:\[\w+\])*)", declarator)
            if not d:
                raise ValueError("not a member: %s" % row)
            kind = self.type(m.group(1).strip() + " " + d.group(1), text=True)
            for size in reversed(re.findall(r"\[(\w+)\]", d.group(3))):
                kind = "%s * %d" % (kind, self.constants[size] if size in self.constants else int(size))
            out.append((d.group(2), kind))
        return out

    def type(self, c: str, text: bool = False) -> str:
        base = " ".join(c.replace("*", " * ").replace("const ", "").replace(" const", "").split())
        if "*" in base:
            return "c_char_p" if text and base == "char *" and "const" in c else "c_void_p"
        if base in self.enums:
            return "c_int"
        return SCALARS.get(base, base)

    def result(self, c: str) -> str:
        return "None" if c.strip() == "void" else self.type(c.strip(), text=True)

    def parameters(self, all_of_them: str) -> list[str]:
        out: list[str] = []
        for p in re.sub(r"\(\*(\w+)\)\([^()]*\)", r"*\1", all_of_them).split(","):     # functions, too, are pointers
            p = p.strip()
            if p in ("void", "..."):
                continue
            if "[" in p:
                out.append("c_void_p")
                continue
            m = re.fullmatch(r"(.*?[ *])\w+", p)
            if not m:
                raise ValueError("not a parameter: %s" % p)
            kind = self.type(m.group(1))
            out.append("c_void_p" if kind in self.callbacks or "*" in p else kind)
        return out


def used(package: pathlib.Path) -> set[str]:
    names: set[str] = set()
    for path in package.rglob("*.py"):
        if path.name != "_abi.py":
            names |= set(re.findall(r"\b(?:lib|abi)\.(rfk?_\w+|RFK?_\w+|ROFORMER_\w+)", path.read_text(encoding="utf-8")))
    return names


def check_calls(h: Header, package: pathlib.Path) -> None:
    """Every call of the library has as many arguments as the function has parameters."""
    for path in sorted(package.rglob("*.py")):
        if path.name == "_abi.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and \
                    isinstance(node.func.value, ast.Name) and node.func.value.id == "lib" and node.func.attr in h.functions:
                expected = len(h.functions[node.func.attr][1])
                if len(node.args) != expected:
                    raise SystemExit("%s:%d: %s: expected %d arguments, got %d" % (
                        path, node.lineno, node.func.attr, expected, len(node.args)))


def closure(h: Header, names: set[str]) -> list[str]:
    """Structs in an order in which each comes after those that it contains."""
    out: list[str] = []

    def visit(name: str) -> None:
        for _, kind in {**h.structs, **h.unions}[name]:
            base = kind.split(" ")[0]
            if base in h.structs or base in h.unions:
                visit(base)
        if name not in out:
            out.append(name)
    for name in sorted(names):
        if name in h.structs:
            visit(name)
    for name in sorted(names):
        for kind in h.functions.get(name, ("", []))[1]:
            if kind in h.structs:
                visit(kind)
    return out


def python_of(h: Header, names: set[str], structs: list[str], plain: str) -> str:
    version = ".".join(str(h.constants["ROFORMER_VERSION_" + x]) for x in ("MAJOR", "MINOR", "PATCH"))
    out = ['"""Declarations of libroformer, made by abi.py from the headers of the library. Do not edit."""',
           "from __future__ import annotations", "",
           "from ctypes import (CFUNCTYPE, Structure, Union, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t,",
           "                    c_uint, c_uint8, c_uint32, c_uint64, c_void_p)", "from typing import Any, Dict, Tuple", "",
           "VERSION = \"%s\"" % version]
    out += ["%s = %d" % (n, h.constants[n]) for n in sorted(names) if n in h.constants]
    for name in structs:
        union = name in h.unions
        members = h.unions[name] if union else h.structs[name]
        out += ["", "", "class %s(%s):" % (name, "Union" if union else "Structure")]
        anonymous = ["u%d" % i for i, (n, _) in enumerate(members) if not n]
        if anonymous:
            out.append("    _anonymous_ = (%s,)" % ", ".join('"%s"' % a for a in anonymous))
        out.append("    _fields_ = [")
        out += ['        ("%s", %s),' % (n or "u%d" % i, k) for i, (n, k) in enumerate(members)]
        out.append("    ]")
    callbacks = [n for n in sorted(names) if n in h.callbacks]
    if callbacks:
        out += ["", ""]
        out += ["%s = CFUNCTYPE(%s)" % (n, ", ".join([h.callbacks[n][0]] + h.callbacks[n][1])) for n in callbacks]
    out += ["", "", "# name: (result, parameters)", "FUNCTIONS: Dict[str, Tuple[Any, Tuple[Any, ...]]] = {"]
    for n in sorted(names):
        if n in h.functions:
            result, parameters = h.functions[n]
            out.append('    "%s": (%s, (%s)),' % (n, result, "".join(p + ", " for p in parameters).rstrip(" ")))
    known = set(h.functions) | set(h.structs) | set(h.constants) | set(h.callbacks)
    unknown = sorted(names - known)
    if unknown:
        raise SystemExit("abi.py: the package names what %s does not declare: %s" % (plain, ", ".join(unknown)))
    return "\n".join(out + ["}", ""])


def assertions(h: Header, names: set[str], structs: list[str], python: str) -> str:
    space: dict[str, type[ctypes.Structure]] = {}
    exec(compile(python, "_abi.py", "exec"), space)
    out = ["/* Made by abi.py: what ctypes holds for the layout of the library's structs. */", "#include <stddef.h>",
           '#include "roformer/roformer.h"',
           "_Static_assert(sizeof(rf_status) == sizeof(int), \"enums\");"]
    for n in sorted(names):
        if n in h.constants:
            out.append('_Static_assert(%s == %d, "%s");' % (n, h.constants[n], n))
    for name in structs:
        if name in h.unions:
            continue
        kind = space[name]
        out.append('_Static_assert(sizeof(%s) == %d, "%s");' % (name, ctypes.sizeof(kind), name))
        for member, _ in h.structs[name]:
            if member:
                descriptor = getattr(kind, member)
                out.append('_Static_assert(offsetof(%s, %s) == %d && sizeof(((%s *)0)->%s) == %d, "%s.%s");' % (
                    name, member, descriptor.offset, name, member, descriptor.size, name, member))
    return "\n".join(out + ["int roformer_abi_holds(void);", "int roformer_abi_holds(void) { return 1; }", ""])


def main() -> None:
    if len(sys.argv) != 5:
        raise SystemExit("usage: abi.py PLAIN PACKAGE OUT.py OUT.c")
    plain, package, out_python, out_c = sys.argv[1:]
    header = Header(pathlib.Path(plain).read_text(encoding="utf-8"))
    names = used(pathlib.Path(package))
    check_calls(header, pathlib.Path(package))
    structs = closure(header, names)
    python = python_of(header, names, structs, plain)
    pathlib.Path(out_c).write_text(assertions(header, names, structs, python), encoding="utf-8")
    pathlib.Path(out_python).write_text(python, encoding="utf-8")


main()
