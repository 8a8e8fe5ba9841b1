#!/usr/bin/env python3
"""trace_plot.py TRACE.json OUT.svg [FIRST LAST] — the plot of a trace (--profile FILE) in the docs.

One row for each kind of operation, one rectangle for each call, from FIRST to LAST milliseconds.  For looking closely
use ui.perfetto.dev; this is what fits on a page."""
import json
import sys

trace, out = sys.argv[1:3]
events = json.load(open(trace))["traceEvents"]
first, last = (float(x) * 1e3 for x in sys.argv[3:5]) if len(sys.argv) > 4 else (0, max(e["ts"] + e["dur"] for e in events))
events = [e for e in events if e["ts"] + e["dur"] > first and e["ts"] < last]
total = {}
for e in events:
    key = e["name"], e["cat"]
    total[key] = total.get(key, 0) + e["dur"]
rows = sorted(total, key=lambda k: -total[k])[:10]
left, right, height, top = 150, 70, 20, 8
width = 860 - left - right
svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 {top + height * len(rows) + 24}" '
       'font-family="sans-serif" font-size="12">', '<rect width="860" height="100%" fill="white"/>']
x = lambda t: left + (min(max(t, first), last) - first) / (last - first) * width
for i, (name, cat) in enumerate(rows):
    y = top + i * height
    svg.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{name}{", backward" if cat == "backward" else ""}</text>')
    svg.append(f'<text x="{860 - right + 8}" y="{y + 13}">{total[name, cat] / 1e3:.1f} ms</text>')
    color = "#c44e52" if cat == "backward" else "#4c72b0"
    for e in events:
        if (e["name"], e["cat"]) == (name, cat):
            a, b = x(e["ts"]), x(e["ts"] + e["dur"])
            svg.append(f'<rect x="{a:.2f}" y="{y + 2}" width="{max(b - a, .4):.2f}" height="{height - 5}" fill="{color}"/>')
y = top + height * len(rows)
svg.append(f'<path d="M{left} {y}H{left + width}" stroke="#888"/>')
for i in range(5):
    at = first + (last - first) * i / 4
    svg.append(f'<text x="{x(at):.0f}" y="{y + 16}" text-anchor="middle">{(at - first) / 1e3:.1f} ms</text>')
svg.append("</svg>")
open(out, "w").write("\n".join(svg) + "\n")
