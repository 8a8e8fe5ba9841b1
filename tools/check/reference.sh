#!/bin/sh
# reference.sh — the API reference (make docs) has every function of the public headers with its comment, and its links
# are valid.
set -eu
cd "$(dirname "$0")/../.."
command -v python3 > /dev/null || { echo "skipped: no python3"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 tools/api_reference.py "$work/api" > "$work/said"
sh tools/plain_header.sh "$work/plain.h"
tr '\n' ' ' < "$work/plain.h" | tr ';{}' '\n\n\n' | grep -v typedef | grep -oE '\brfk?_[a-z0-9_]+\(' | tr -d '(' | sort -u > "$work/functions"
[ "$(wc -l < "$work/functions")" -gt 200 ] || { echo "include/roformer: hardly a function"; exit 1; }
python3 - "$work" << 'END'
import pathlib, re, sys
work = pathlib.Path(sys.argv[1])
pages = {p.name: p.read_text() for p in (work / "api").glob("*.html")}
ids = {(name, i) for name, text in pages.items() for i in re.findall(r'id="(\w+)"', text)}
bad = ["%s: link to %s#%s, which is not there" % (name, page, i) for name, text in pages.items()
       for page, i in re.findall(r'href="([^"#]+)#(\w+)"', text) if (page, i) not in ids]
anchored = {i for _, i in ids}
declared = set((work / "functions").read_text().split())
bad += ["%s is not in the reference" % f for f in sorted(declared - anchored)]
for name, text in pages.items():
    for section in re.findall(r"<section>(.*?)</section>", text, flags=re.S):
        functions = [f for f in re.findall(r'id="(rfk?_\w+)"', section) if f in declared]
        said = re.sub(r'<pre class="code">.*?</pre>', "", section, flags=re.S)
        said = re.sub(r"<[^>]*>", "", said).strip() or "/*" in section
        if functions and not said:
            bad.append("%s: nothing is said of %s" % (name, ", ".join(functions)))
print("\n".join(bad) if bad else (work / "said").read_text().split(": ")[-1].strip())
sys.exit(bool(bad))
END
