"""Draws curves over a length with gnuplot, for places.py and times.py."""
import os
import subprocess

CHART = """set terminal svg size 760,420 dynamic font ',12' background '#ffffff'
set output '{path}.svg'
set xlabel '{x}'
set ylabel '{y}'
set key outside right
set grid
{scale}
plot {lines}
"""


def draw(path, x, y, curves, scale):
    """Writes PATH.svg; curves: name and points (x, y) of each."""
    data = path + ".data"
    with open(data, "w") as f:
        for name, points in curves:
            print(f'"{name}"', *(f"{a} {b}" for a, b in points), sep="\n", end="\n\n\n", file=f)
    lines = ", ".join(f"'{data}' index {i} using 1:2 with linespoints title '{name}' noenhanced" for i, (name, _) in enumerate(curves))
    with open(path + ".gp", "w") as f:
        f.write(CHART.format(path=path, x=x, y=y, scale=scale, lines=lines))
    subprocess.run(["gnuplot", path + ".gp"], check=True)
    os.remove(path + ".gp"), os.remove(data)
