#!/usr/bin/env python3
"""wheels.py WHEEL...: what is in a wheel of roformer-c fits the systems that its name promises:

- its files are those that a wheel needs, with the licenses of the libraries that are linked into them
- the library and the program are for the processor, and need no library that such a system does not have, and no
  newer glibc or macOS
- the library exports every function that the package declares
- no path of the machine that built it is in it

Needs pyelftools, macholib and pefile. tools/check/wheels.sh runs it."""
from __future__ import annotations

import io
import pathlib
import re
import sys
import zipfile

ROOT = str(pathlib.Path(__file__).resolve().parents[2])
MOST = 8 << 20
LINKED = {"jansson", "utf8proc", "libonig", "zlib", "libzstd", "xxhash", "libmicrohttpd"}
SYSTEM = {          # of a system whose name begins so: its libraries
    "manylinux": {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2",
                  "ld-linux-aarch64.so.1"},
    "musllinux": {"libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"},
    "win": {"kernel32.dll", "msvcrt.dll", "ntdll.dll", "advapi32.dll", "psapi.dll", "shell32.dll", "user32.dll",
            "ws2_32.dll"},
}


NEWER = {"_Fork", "gettid", "reallocarray", "qsort_r", "pthread_getname_np", "statx", "preadv2", "pwritev2",
         "posix_getdents"}      # than musl 1.2.0


class Native:
    """A library or a program: the processor, the libraries that it needs, what it exports, the oldest system."""

    def __init__(self, data: bytes) -> None:
        self.data, self.oldest = data, (0,)
        self.needs: "set[str]" = set()
        self.imports: "set[str]" = set()
        self.exports: "set[str]" = set()
        self.processor, self.kind = "", "?"
        {b"\x7fELF": self.elf, b"\xcf\xfa\xed\xfe": self.macho}.get(data[:4], self.pe)()

    def elf(self) -> None:
        from elftools.elf.elffile import ELFFile
        from elftools.elf.gnuversions import GNUVerNeedSection
        file = ELFFile(io.BytesIO(self.data))
        self.kind, self.processor = "ELF", {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}[file["e_machine"]]
        for part in file.iter_segments("PT_DYNAMIC"):
            for tag in part.iter_tags():
                if tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH"):
                    raise SystemExit("a search path for libraries: %s" % tag)
                if tag.entry.d_tag == "DT_NEEDED":
                    self.needs.add(tag.needed)
        for part in file.iter_segments("PT_GNU_STACK"):
            if part["p_flags"] & 1:
                raise SystemExit("the stack is executable")
        table = file.get_section_by_name(".dynsym")
        for symbol in table.iter_symbols() if table else ():
            if symbol["st_shndx"] == "SHN_UNDEF":
                self.imports.add(symbol.name)
            elif symbol["st_info"]["bind"] == "STB_GLOBAL":
                self.exports.add(symbol.name)
        for section in file.iter_sections():
            if isinstance(section, GNUVerNeedSection):
                for _, versions in section.iter_versions():
                    for version in versions:
                        m = re.fullmatch(r"GLIBC_([\d.]+)", version.name)
                        self.oldest = max(self.oldest, tuple(map(int, m.group(1).split("."))) if m else (99,))

    def macho(self) -> None:
        from macholib.MachO import MachO
        from macholib.mach_o import (CPU_TYPE_NAMES, LC_BUILD_VERSION, LC_CODE_SIGNATURE, LC_RPATH,
                                     LC_VERSION_MIN_MACOSX, dylib_command)
        from macholib.SymbolTable import SymbolTable
        import tempfile
        with tempfile.NamedTemporaryFile() as file:
            file.write(self.data)
            file.flush()
            macho = MachO(file.name)
            symbols = SymbolTable(macho).nlists
        header = macho.headers[0]
        name = CPU_TYPE_NAMES[header.header.cputype]
        self.kind, self.processor = "Mach-O", {"ARM64": "arm64"}.get(name, name.lower())
        signed = False
        for load, command, data in header.commands:
            if isinstance(command, dylib_command) and load.cmd != 0xd:          # LC_ID_DYLIB: its own name
                self.needs.add(data.rstrip(b"\0").decode())
            elif load.cmd == LC_BUILD_VERSION:
                self.oldest = (command.minos >> 16, command.minos >> 8 & 255)
            elif load.cmd == LC_VERSION_MIN_MACOSX:
                self.oldest = (command.version >> 16, command.version >> 8 & 255)
            signed = signed or load.cmd == LC_CODE_SIGNATURE
            if load.cmd == LC_RPATH:
                raise SystemExit("a search path for libraries: %s" % data)
        if self.processor == "arm64" and not signed:
            raise SystemExit("no signature, without which no program of arm64 starts")
        for symbol, text in symbols:                    # N_EXT, and in a section
            if symbol.n_type & 0x0f == 0x0f:
                self.exports.add(text.decode()[1:])

    def pe(self) -> None:
        import pefile
        file = pefile.PE(data=self.data)
        self.kind, self.processor = "PE", {0x8664: "amd64"}[file.FILE_HEADER.Machine]
        self.needs = {row.dll.decode().lower() for row in getattr(file, "DIRECTORY_ENTRY_IMPORT", ())}
        if hasattr(file, "DIRECTORY_ENTRY_EXPORT"):
            self.exports = {row.name.decode() for row in file.DIRECTORY_ENTRY_EXPORT.symbols if row.name}


def check(path: pathlib.Path) -> str:
    name, version, python, abi, platform = path.name[:-4].split("-")
    size = path.stat().st_size
    problems = []
    archive = zipfile.ZipFile(path)
    files = {i.filename: i for i in archive.infolist()}
    info = "%s-%s.dist-info/" % (name, version)
    about = archive.read(info + "WHEEL").decode()
    tags = re.findall(r"^Tag: (.*)$", about, flags=re.M)
    if tags != ["%s-%s-%s" % (python, abi, p) for p in platform.split(".")]:
        problems.append("the tags are %s" % tags)
    if size > MOST:
        problems.append("%d bytes, %d are the limit" % (size, MOST))
    if "roformer = roformer_c._program:main" not in archive.read(info + "entry_points.txt").decode():
        problems.append("no command roformer")
    windows, mac = platform.startswith("win"), platform.startswith("macosx")
    library = "roformer.dll" if windows else "libroformer.dylib" if mac else "libroformer.so"
    program = "roformer.exe" if windows else "roformer"
    own = {f.rsplit("/", 1)[1] for f in files if f.startswith("roformer_c/native/")}
    if own != {library, program}:
        problems.append("roformer_c/native has %s" % sorted(own))
    mode = files["roformer_c/native/" + program].external_attr >> 16
    if not mode & 0o111:
        problems.append("the program's mode is %o" % mode)
    licenses = {f.rsplit("/", 1)[1][:-4] for f in files if f.startswith(info + "licenses/third-party/")}
    wanted = LINKED | ({"mingw-w64", "libgcc"} if windows else {"zig"}) | ({"musl"} if "musl" in platform else set())
    missing = sorted(wanted - licenses) + [n for n in ("LICENSE", "NOTICE") if not any(f.endswith("/" + n) for f in files)]
    if missing:
        problems.append("licenses: %s are missing" % missing)
    elif b"GNU LESSER GENERAL PUBLIC LICENSE" not in archive.read(info + "licenses/third-party/libmicrohttpd.txt"):
        problems.append("licenses: the text of the LGPL is missing")
    if b"Sec-Fetch-Site" not in archive.read("roformer_c/native/" + program):
        problems.append("the program has no server")
    space: "dict[str, object]" = {}
    exec(compile(archive.read("roformer_c/_abi.py"), "_abi.py", "exec"), space)
    oldest, needs = (0,), set()
    for file in (library, program):
        data = archive.read("roformer_c/native/" + file)
        for where in (ROOT.encode() + b"/", b"/site-packages/ziglang"):
            if where in data:
                text = data[data.index(where):][:80].split(b"\0")[0]
                problems.append("%s: has a path of the machine that built it: %r" % (file, text))
        try:
            native = Native(data)
        except SystemExit as e:
            problems.append("%s: %s" % (file, e))
            continue
        if not platform.endswith(native.processor):
            problems.append("%s is for %s" % (file, native.processor))
        foreign = {n for n in native.needs if not n.startswith(("/usr/lib/libSystem.", "/System/"))} if mac else \
            native.needs - next(s for p, s in SYSTEM.items() if platform.startswith(p))
        if foreign:
            problems.append("%s needs %s" % (file, sorted(foreign)))
        promised = tuple(map(int, re.findall(r"_(\d+)_(\d+)_", platform)[0])) if not windows else (0,)
        if not platform.startswith("musl") and native.oldest > promised:
            problems.append("%s needs version %s, promised %s" % (file, native.oldest, promised))
        if platform.startswith("musl") and native.imports & NEWER:
            problems.append("%s needs a newer musl: %s" % (file, sorted(native.imports & NEWER)))
        if file == library and set(space["FUNCTIONS"]) - native.exports:  # type: ignore[call-overload]
            problems.append("%s lacks %s" % (file, sorted(set(space["FUNCTIONS"]) - native.exports)))  # type: ignore
        if file == library and not mac and any(not e.startswith("rf") for e in native.exports):
            problems.append("%s exports %s" % (file, sorted(e for e in native.exports if not e.startswith("rf"))))
        oldest, needs = max(oldest, native.oldest), needs | native.needs
    if problems:
        raise SystemExit("check_wheels: %s: %s" % (path.name, "; ".join(problems)))
    return "%s: %.1f MB, %d licenses, needs %s%s" % (
        path.name, size / 1e6, len(licenses), ", ".join(sorted(needs)) or "nothing",
        "" if oldest == (0,) else "; %s" % ".".join(map(str, oldest)))


for wheel in sys.argv[1:]:
    print("check_wheels:", check(pathlib.Path(wheel)))
