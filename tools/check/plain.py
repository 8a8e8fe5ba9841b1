#!/usr/bin/env python3
"""plain.py PLAIN OPTIONS LIBRARY.so: the plain header is read by cffi, and the table of options is what cffi's own layout of its
structs and the calls of the shared library say: every member of every struct, in order, with offset, size and default."""
import json
import re
import sys

import cffi

plain, options, library = sys.argv[1:]
text = open(plain).read()
table = json.load(open(options))
ffi = cffi.FFI()
ffi.cdef(text)
lib = ffi.dlopen(library)
bad = []


def plain_value(v):
    if isinstance(v, (int, float)):
        return v
    t = ffi.typeof(v)
    if t.kind == "function":
        return None if v == ffi.NULL else True
    if t.kind != "pointer":
        return v
    if v == ffi.NULL:
        return None
    return ffi.string(v).decode() if t.item.kind == "primitive" and t.item.cname == "char" else True


def fields(t):
    """Members as C sees them: those of an unnamed union belong to the enclosing struct."""
    for name, f in t.fields:
        if name:
            yield name, f.offset, f.type
        else:
            for inner, offset, kind in fields(f.type):
                yield inner, f.offset + offset, kind


calls = set(re.findall(r"void (rf_\w+_init)\(rf_\w+ \*\w+, size_t size\);", text))
if set(table) != calls or len(calls) < 15:
    bad.append("calls: %s" % sorted(set(table) ^ calls))
for call, x in table.items():
    t = ffi.typeof(x["struct"])
    o = ffi.new(x["struct"] + " *")
    getattr(lib, call)(o, ffi.sizeof(t))
    own = list(fields(t))
    if x["size"] != ffi.sizeof(t) or [m["name"] for m in x["members"]] != [name for name, _, _ in own]:
        bad.append("%s: another size, or other members" % call)
        continue
    for m, (name, offset, kind) in zip(x["members"], own):
        if m["offset"] != offset or m["size"] != ffi.sizeof(kind):
            bad.append("%s.%s: offset %d, size %d; cffi has %d, %d" % (call, name, m["offset"], m["size"], offset, ffi.sizeof(kind)))
        if kind.kind in ("struct", "union", "array"):
            continue
        value = plain_value(getattr(o, name))
        if kind.kind == "enum":
            value = int(ffi.cast("int64_t", getattr(o, name)))
        if "default" not in m or m["default"] != value:
            bad.append("%s.%s: default %r; the library sets %r" % (call, name, m.get("default"), value))
for line in bad:
    print("check_plain:", line)
if not bad:
    print("check_plain: %d calls, %d members" % (len(table), sum(len(x["members"]) for x in table.values())))
sys.exit(bool(bad))
