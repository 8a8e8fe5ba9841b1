#!/usr/bin/env python3
"""api_reference.py OUT — the API reference, rendered from the comments and declarations of include/roformer: a page of HTML for each
public header and an index, in the folder OUT.  Names of functions, types and constants are links.  `make docs` calls it.

A comment that starts a line belongs to the declarations below it, up to the next such comment.  `/* ---- title ---- */` begins a
section.  Within a comment, lines that are indented further than its text, and rows such as "out    the context", are shown as they
are."""
import html
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent / "include" / "roformer"
STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
pre,code{font:14px/1.45 ui-monospace,monospace}pre{margin:.4rem 0;overflow-x:auto}.code{background:#f4f4f2;padding:.6rem .8rem}
a{color:#0b57a4;text-decoration:none}a:hover{text-decoration:underline}h2{margin-top:2.4rem;border-bottom:1px solid #ccc}
section{margin:1.6rem 0}p{margin:.5rem 0}li{break-inside:avoid}ul.names{columns:3;list-style:none;padding:0}"""


def parse(path):
    """[(comment, code)] of a header: the first is its own comment; code "" with a title is a section."""
    text = path.read_text()
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", text, flags=re.S)
    blocks = []
    for m in re.finditer(r"^/\*(.*?)\*/[ \t]*\n|^([^\n]*\n)", text, flags=re.S | re.M):
        if m.group(1) is not None:
            blocks.append([m.group(1), ""])
        elif blocks:
            blocks[-1][1] += m.group(2)
    for b in blocks:
        b[0] = "\n".join(re.sub(r"^ \*( {0,1})", "", line).rstrip() for line in b[0].strip("\n").split("\n")).strip()
        b[1] = re.sub(r"^#(ifndef|define|endif|include)\s+\w*_H\b.*\n|^#include.*\n|^#endif\s*$\n?", "", b[1], flags=re.M).strip("\n")
        b[1] = re.sub(r"\n{3,}", "\n\n", b[1])
    return blocks


def names_of(code):
    """Functions, types, enumerators and macros that a piece of code declares."""
    plain = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    found = re.findall(r"^(?:[a-z_][\w *]*[ *])(rfk?_\w+)\(", plain, flags=re.M)
    found += re.findall(r"^\s*#define (rfk?_\w+|RFK?_\w+|ROFORMER_\w+)", plain, flags=re.M)
    found += re.findall(r"typedef (?:struct|enum) (rfk?_\w+)", plain)
    found += re.findall(r"^typedef [^;{]*?\b(rfk?_\w+)\s*\(", plain, flags=re.M)
    found += re.findall(r"^typedef [\w ]+?\b(rfk?_\w+);", plain, flags=re.M)
    for body in re.findall(r"enum[ \w]*\{(.*?)\}", plain, flags=re.S):
        found += re.findall(r"\b(RFK?_[A-Z0-9_]+)\b(?=\s*[,=}]|\s*$)", body)
    return list(dict.fromkeys(found))


def page_of(path):
    return str(path.relative_to(ROOT)).replace("/", "-") + ".html"


class Reference:
    def __init__(self):
        self.headers = sorted(ROOT.rglob("*.h"), key=lambda p: (p.parent != ROOT, str(p)))
        self.blocks = {p: parse(p) for p in self.headers}
        self.where = {}
        for p in self.headers:
            for _, code in self.blocks[p]:
                for name in names_of(code):
                    self.where.setdefault(name, page_of(p))

    def link(self, text):
        def one(m):
            page = self.where.get(m.group(0))
            return '<a href="%s#%s">%s</a>' % (page, m.group(0), m.group(0)) if page else m.group(0)
        return re.sub(r"\b(?:rfk?|RFK?|ROFORMER)_\w+", one, html.escape(text, quote=False))

    def comment(self, text):
        out, kind, run = [], None, []

        def flush():
            if run and kind == "p":
                out.append("<p>%s</p>" % self.link(" ".join(run)))
            elif any(run):
                out.append("<pre>%s</pre>" % self.link("\n".join(run).strip("\n")))
        for line in text.split("\n"):
            now = "pre" if line.startswith("  ") or re.match(r"\S+ {2,}\S", line) else "p"
            if not line.strip():
                now = kind if kind == "pre" else None
            if now != kind or now is None:
                flush()
                run, kind = [], now
            if now:
                run.append(line)
        flush()
        return "\n".join(out)

    def render(self, path):
        name = "roformer/%s" % path.relative_to(ROOT)
        blocks = self.blocks[path]
        out = ["<h1><code>%s</code></h1>" % name, self.comment(re.sub(r"^\S+\.h — ", "", blocks[0][0]))]
        rest = [["", blocks[0][1]]] + blocks[1:]
        for comment, code in rest:
            title = re.fullmatch(r"-{3,} *(.*?) *-{3,}", comment, flags=re.S) or re.match(r"-{4} (.*?) -{4,}$", comment)
            if title:
                out.append("<h2>%s</h2>" % self.link(title.group(1)))
                comment = ""
            if not comment and not code:
                continue
            anchors = "".join('<a id="%s"></a>' % n for n in names_of(code) if self.where.get(n) == page_of(path))
            out.append("<section>%s%s%s</section>" % (
                anchors, '<pre class="code">%s</pre>' % self.link(code) if code else "", self.comment(comment)))
        return self.page(name, "\n".join(out))

    @staticmethod
    def page(title, body):
        return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>%s</title><style>%s</style></head>\n<body>'
                '<p><a href="index.html">roformer API</a></p>\n%s\n</body></html>\n' % (title, STYLE, body))

    def index(self):
        out = ["<h1>roformer API reference</h1>"]
        for title, below in (("For users", ""), ("Kernels", "kernel"), ("Tools", "inspect")):
            out.append("<h2>%s</h2><ul>" % title)
            for p in self.headers:
                if (p.parent.name if p.parent != ROOT else "") != below:
                    continue
                first = re.sub(r"^\S+\.h — ", "", self.blocks[p][0][0]).split("\n\n")[0]
                sentence = re.split(r"(?<=[.:])\s", " ".join(first.split()))[0]
                out.append('<li><a href="%s"><code>roformer/%s</code></a> — %s</li>' % (
                    page_of(p), p.relative_to(ROOT), html.escape(sentence, quote=False)))
            out.append("</ul>")
        out.append('<h2>Names</h2><ul class="names">')
        out += ['<li><a href="%s#%s"><code>%s</code></a></li>' % (self.where[n], n, n) for n in sorted(self.where)]
        return self.page("roformer API reference", "\n".join(out + ["</ul>"]))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: api_reference.py OUT")
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    r = Reference()
    for p in r.headers:
        (out / page_of(p)).write_text(r.render(p))
    (out / "index.html").write_text(r.index())
    print("%s: %d headers, %d names" % (out / "index.html", len(r.headers), len(r.where)))


main()
